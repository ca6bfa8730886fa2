import { RespcastError } from '../errors.ts'
import { readNamedFile } from '../files.ts'
import type { Settings } from './settings.ts'

/** Shorter ones can be guessed. */
const LEAST_BYTES = 16

/**
 * The token that `/metrics` wants, of `metrics-token-file` or `metrics-token`; a line end at its end does not count.
 *
 * @returns A byte string; undefined where none is set.
 * @throws RespcastError `ERR_CONFIG` names the directive, and never repeats the token.
 */
export function readMetricsToken(settings: Settings): string | undefined {
  const path = settings.path('metrics-token-file')
  const directive = path === '' ? 'metrics-token' : `metrics-token-file ${path}`
  const text =
    path === ''
      ? settings.text('metrics-token')
      : readNamedFile('metrics-token-file', path).toString('latin1')
  if (path === '' && text === '') return undefined
  const token = text.replace(/\r?\n$/, '')
  if (/^[!-~]+$/.test(token) && token.length >= LEAST_BYTES) return token
  throw new RespcastError(
    'ERR_CONFIG',
    `${directive}: a token is at least ${LEAST_BYTES} printable characters without spaces. Make one with: openssl rand -hex 32`,
  )
}
