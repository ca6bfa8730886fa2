import { issuersOf } from '../config/issuers.ts'
import type { Settings } from '../config/settings.ts'

/** Told to whoever opens a WebSocket that lets nobody in. */
export const CLOSED_TO_BROWSERS =
  'No issuer is configured: browsers cannot log in. Set jwt-issuer, jwt-audience and a source of keys, or http-port 0.'

/** Reports whether there is a public WebSocket, and no way to log in on it. */
export function isClosedToBrowsers(settings: Settings): boolean {
  return (
    settings.integer('http-port') !== 0 &&
    issuersOf(settings).length === 0 &&
    !settings.boolean('ws-password-auth')
  )
}
