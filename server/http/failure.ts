import type { FastifyReply } from 'fastify'
import type { Core } from '../core.ts'
import type { ErrorLine } from '../resp/reply-writer.ts'
import type { Refusal } from './entrance.ts'

/**
 * A refused request: its status, and a code for programs. Replies of commands keep their code and text (`NOPERM`, `WRONGPASS`,
 * `TRYAGAIN`); the other codes are HTTP's own.
 */
export interface Failure {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Codes of refusals that no command has made, by status. */
const CODES: Readonly<Record<number, string>> = {
  400: 'BADREQUEST',
  403: 'FORBIDDEN',
  413: 'TOOLARGE',
  415: 'UNSUPPORTED',
  422: 'KEYREUSED',
  429: 'TOOFAST',
  431: 'TOOLARGE',
  503: 'NOROOM',
}

/** Seconds after which a request that could not be served may be sent again. */
const RETRY_AFTER = { 'retry-after': '1' }

/** A browser that is asked for Basic would ask its user, and send the password with the requests of any page from then on. */
const CHALLENGE = { 'www-authenticate': 'Bearer' }

/** The failure that a refusal at the entrance is. */
export function failureOf({ status, error, headers }: Refusal): Failure {
  const failure = { status, code: CODES[status] ?? 'ERR', message: error }
  return headers ? { ...failure, headers } : failure
}

/**
 * The failure that an error reply is.
 *
 * @param line Byte string: names in it are shown as UTF-8.
 */
export function failureOfLine(line: ErrorLine): Failure {
  const space = line.indexOf(' ')
  const code = line.slice(0, space)
  const message = Buffer.from(line.slice(space + 1), 'latin1').toString('utf8')
  switch (code) {
    case 'NOAUTH':
    case 'WRONGPASS':
      return { status: 401, code, message, headers: CHALLENGE }
    case 'NOPERM':
      return { status: 403, code, message }
    case 'TRYAGAIN':
      return { status: 503, code, message, headers: RETRY_AFTER }
    default:
      if (message.startsWith('too many'))
        return { status: 429, code, message, headers: RETRY_AFTER }
      return { status: message === 'internal error' ? 500 : 400, code, message }
  }
}

/**
 * Answers a request with a failure.
 *
 * @param isBodyRead False: what the peer still sends is not read, and the connection ends.
 */
export function fail(
  { counters }: Pick<Core, 'counters'>,
  reply: FastifyReply,
  { status, code, message, headers }: Failure,
  isBodyRead = false,
): FastifyReply {
  counters.countHttpFailure(code)
  if (headers) void reply.headers(headers)
  if (!isBodyRead) void reply.header('connection', 'close')
  return reply.code(status).send({ error: { code, message } })
}
