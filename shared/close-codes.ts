import { utf8Length } from './bytes.ts'

/**
 * Reaction of a client to a close.
 *
 * - `reconnect`: with the token it has, after the hint and a jittered wait.
 * - `new-token`: asks for a fresh token first; without a way to get one it stops.
 * - `stop`: reconnecting would end the same way.
 */
type CloseAction = 'reconnect' | 'new-token' | 'stop'

/** One reason why a WebSocket is closed. */
interface CloseCode {
  /** RFC 6455 section 7.4.2 leaves 4000–4999 to applications. */
  readonly code: number
  /** The first part of the close reason. */
  readonly name: string
  readonly action: CloseAction
  /** All messages for this client were sent before the close, so no earlier message is missing. */
  readonly complete: boolean
}

/**
 * The close policy of browsers. One code may have several names; the name then decides. server/client/close.ts
 * says when the server uses which name.
 */
export const CLOSE_CODES = [
  /** The client sent something that is not RESP. */
  { code: 4400, name: 'protocol-error', action: 'stop', complete: false },
  /** The token is missing, invalid or expired. */
  { code: 4401, name: 'unauthorized', action: 'new-token', complete: true },
  /** The client holds a subscription that its user may no longer have. */
  { code: 4403, name: 'permissions-changed', action: 'reconnect', complete: false },
  /** The token, or all tokens of its subject, group, role, key or issuer, were revoked. */
  { code: 4403, name: 'revoked', action: 'new-token', complete: false },
  /** This user may not connect here, with any token. */
  { code: 4403, name: 'forbidden', action: 'stop', complete: false },
  /** The client did not log in within auth-timeout. */
  { code: 4408, name: 'auth-timeout', action: 'reconnect', complete: true },
  /** A command is larger than ws-max-payload or has too many arguments. */
  { code: 4413, name: 'too-large', action: 'reconnect', complete: false },
  /** The client connects or sends too often. */
  { code: 4429, name: 'rate-limited', action: 'reconnect', complete: false },
  /** The client reads too slowly; one that does not read at all sees 1006 instead. */
  { code: 4450, name: 'slow-consumer', action: 'reconnect', complete: false },
  /** The server failed while serving this client. */
  { code: 4500, name: 'server-error', action: 'reconnect', complete: false },
  /** The server is going away; another one, or the next one, takes over. */
  { code: 4503, name: 'draining', action: 'reconnect', complete: true },
  /** The server does not know what was revoked, and delivers nothing until it does. */
  { code: 4503, name: 'cut-off', action: 'reconnect', complete: false },
  /** The server cannot judge the token now, since the keys of its issuer cannot be loaded. */
  { code: 4503, name: 'unavailable', action: 'reconnect', complete: true },
] as const satisfies readonly CloseCode[]

/** The name of a close, as it stands first in the reason. */
export type CloseName = (typeof CLOSE_CODES)[number]['name']

/** A close that the table does not know, such as a lost network (1006): reconnect, and assume that messages were lost. */
const OTHER_CLOSE = {
  name: 'lost',
  action: 'reconnect',
  complete: false,
} as const

/** The entry of a name. */
export function closeNamed(name: CloseName): CloseCode {
  // The type of `name` is made of the table itself.
  return CLOSE_CODES.find((entry) => entry.name === name) as CloseCode
}

/**
 * The entry that a client acts upon. An unknown name falls back to the first entry of its code, an unknown code to one
 * that reconnects.
 *
 * @param name The first part of the reason, if it could be read.
 */
export function classifyClose(code: number, name?: string): CloseCode {
  const entries: readonly CloseCode[] = CLOSE_CODES.filter((entry) => entry.code === code)
  return entries.find((entry) => entry.name === name) ?? entries[0] ?? { code, ...OTHER_CLOSE }
}

/** RFC 6455 section 5.5: a control frame holds 125 bytes, 2 of which are the code. */
const MAX_REASON_BYTES = 123

/** The parts of a close reason. */
interface CloseReason {
  readonly name: string
  /** The earliest time for another attempt, in milliseconds from the close; undefined where the server gave none. */
  readonly retryMs: number | undefined
  /** For people. */
  readonly text: string
}

/**
 * Writes a close reason `name|retry_ms|text`, at most 123 bytes of UTF-8; a longer text is cut between characters.
 *
 * @param retryMs Whole milliseconds; undefined leaves the part empty.
 */
export function closeReason(name: CloseName, retryMs: number | undefined, text: string): string {
  let reason = `${name}|${retryMs ?? ''}|`
  let bytes = utf8Length(reason)
  for (const character of text) {
    bytes += utf8Length(character)
    if (bytes > MAX_REASON_BYTES) break
    reason += character
  }
  return reason
}

/** Reads a reason that {@link closeReason} wrote; undefined for anything else, such as a proxy's own words. */
export function parseCloseReason(reason: string): CloseReason | undefined {
  const match = /^([a-z-]+)\|(\d{0,15})\|(.*)$/s.exec(reason)
  if (!match) return undefined
  const [, name = '', retry = '', text = ''] = match
  return { name, retryMs: retry === '' ? undefined : Number(retry), text }
}
