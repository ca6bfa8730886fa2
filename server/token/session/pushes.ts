import { encodePush } from '../../resp/push.ts'
import { toByteString } from '../text.ts'

/** Kind of the token pushes: their first element. */
const TOKEN = 'token'

/**
 * RESP3 pushes that tell a session about its token. Times are whole milliseconds.
 *
 * `accepted <user> <ms left>`, `expiring <ms left>`, `expired <grace ms>`, `revoked <channel or empty> <message>`.
 */
export const tokenPushes = {
  /** @param user Byte string. */
  accepted: (user: string, leftMs: number): Buffer =>
    encodePush(3, [TOKEN, 'accepted', user, wholeMs(leftMs)]),
  expiring: (leftMs: number): Buffer => encodePush(3, [TOKEN, 'expiring', wholeMs(leftMs)]),
  expired: (graceMs: number): Buffer => encodePush(3, [TOKEN, 'expired', wholeMs(graceMs)]),
  /** @param channel The channel or pattern that was lost (byte string), empty where it is more than one. */
  revoked: (channel: string, message: string): Buffer =>
    encodePush(3, [TOKEN, 'revoked', channel, toByteString(message)]),
}

function wholeMs(ms: number): number {
  return Math.max(0, Math.floor(ms))
}
