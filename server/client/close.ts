import { CLOSE_CODES, closeNamed, closeReason, type CloseName } from '../../shared/close-codes.ts'
import type { OutputEnd } from '../delivery/output.ts'
import type { WebSocketClose } from '../delivery/sink.ts'

/** A way in which a connection ends. */
export interface CloseCause extends OutputEnd {
  /** Word for the log and label of the metric. */
  readonly name: string
}

/** A close with a code of shared/close-codes.ts, which decides the reaction of browsers. */
export interface CodedCause extends CloseCause {
  readonly name: CloseName
  readonly close: WebSocketClose
  /** For people: the last part of the reason. */
  readonly text: string
}

/**
 * Every way in which a connection ends. Those with an empty text are given one where they happen, see
 * {@link closeWith}.
 */
export const CLOSES = {
  /** QUIT, or the end of an administrator's single command. */
  quit: plain('quit', 'flush'),
  /** The peer ended the connection and receives nothing more. */
  peerClosed: plain('peer-closed', 'drop'),
  /** The peer sends nothing more, but still reads. */
  peerEnded: plain('peer-closed', 'flush'),
  /** `timeout`. */
  idle: plain('idle', 'drop'),
  /** CLIENT KILL. */
  killed: plain('killed', 'drop'),
  /** SHUTDOWN, for the client that sent it. */
  shutdown: plain('shutdown', 'drop'),
  /** `client-query-buffer-limit`, on TCP. */
  queryBuffer: plain('query-buffer', 'drop'),
  /** HTTP or TLS on a RESP port. */
  crossProtocol: plain('cross-protocol', 'drop'),
  /** Pings, and pongs as well. RFC 6455 section 7.4.1: 1008 is a violation of a policy. */
  pingFlood: plain('ping-flood', 'drop', { code: 1008, reason: 'too many pings or pongs' }),
  /** A frame that breaks RFC 6455: ws has sent the code by then. */
  badFrame: plain('bad-frame', 'drop'),
  /** `upstream-gap-tcp`, `upstream-gap-ws`: it may have missed messages. Code 1013 (registered with IANA) is "try again later". */
  upstreamGap: plain('upstream-gap', 'flush', {
    code: 1013,
    reason: 'messages from the upstream may be missing',
  }),

  protocolError: coded('protocol-error', 'flush', ''),

  /** Five failed logins on one WebSocket. */
  tooManyFailedLogins: coded('unauthorized', 'flush', 'too many failed logins', 10_000),
  /** Too much was sent before the login. */
  notLoggedIn: coded('unauthorized', 'flush', 'log in first'),
  invalidToken: coded('unauthorized', 'flush', 'invalid token'),
  /** At the login, and at the end of a session. */
  tokenExpired: coded('unauthorized', 'flush', 'token expired'),

  /** The user's rules changed, and the client holds a subscription that they do not cover. */
  permissionsChanged: coded('permissions-changed', 'drop', 'permissions changed'),
  userDeleted: coded('permissions-changed', 'drop', 'the user was deleted'),

  /** A revoked token logs in. */
  tokenRevoked: coded('revoked', 'flush', 'token revoked'),
  /** A live session is revoked. */
  sessionRevoked: coded('revoked', 'drop', ''),
  keyRemoved: coded('revoked', 'drop', 'the key of the token was removed'),
  issuerChanged: coded('revoked', 'drop', 'the issuer of the token was changed'),

  /** The ceiling of the token's subject or issuer is off. The peer is not told so. */
  subjectDisabled: coded('forbidden', 'flush', 'invalid token'),

  /** `auth-timeout`, `tcp-auth-timeout`. */
  authTimeout: coded('auth-timeout', 'flush', ''),

  /** A request that a transport does not take. */
  requestTooLarge: coded('too-large', 'flush', ''),
  /** `ws-max-payload`. */
  messageTooLarge: coded('too-large', 'drop', 'message too large'),
  /** The counterpart of `query-buffer` on a WebSocket. */
  backlogTooLarge: coded('too-large', 'flush', 'too much waits to be executed'),

  /** `ws-command-rate`, `ws-publish-rate`, `ws-subscription-rate`, `ws-input-rate`. */
  tooFast: coded('rate-limited', 'flush', ''),
  /** `ws-max-connections-per-user`. */
  tooManyConnections: coded('rate-limited', 'flush', 'ERR too many connections of this user'),

  /** `ws-max-unauthenticated`, `tcp-max-unauthenticated`, `maxclients`: it gives way to a newcomer. */
  crowdedOut: coded('rate-limited', 'drop', 'too many connections that have not logged in'),

  /** `client-output-buffer-limit`. */
  outputLimit: coded('slow-consumer', 'drop', ''),
  /** `ws-pong-timeout`. */
  noPong: coded('slow-consumer', 'drop', 'no answer to a ping'),
  /** `maxmemory-clients`. */
  evicted: coded('slow-consumer', 'drop', 'the memory of all clients is over its limit'),

  serverError: coded('server-error', 'drop', 'internal error'),

  /** The keys of a token's issuer cannot be loaded: the token may be good. */
  keysUnavailable: coded('unavailable', 'flush', 'the keys of the issuer cannot be loaded', 5_000),
  /** The gateway does not know what was revoked: for a minute, or as somebody logs in. */
  cutOff: coded('cut-off', 'drop', 'this gateway is cut off from the others'),
  draining: coded('draining', 'flush', 'the server is going away'),
} as const

/** The names of all causes, those with a code first: the labels of the metric. */
export const CLOSE_NAMES: readonly string[] = [
  ...new Set([...CLOSE_CODES, ...Object.values(CLOSES)].map(({ name }) => name)),
]

/**
 * The same close with a text or a hint of its own.
 *
 * @param details.text At most about 80 bytes survive.
 * @param details.retryMs No new attempt before so many milliseconds.
 */
export function closeWith(
  cause: CodedCause,
  details: { readonly text?: string; readonly retryMs?: number | undefined },
): CodedCause {
  return coded(cause.name, cause.output, details.text ?? cause.text, details.retryMs)
}

function plain(name: string, output: CloseCause['output'], close?: WebSocketClose): CloseCause {
  return { name, output, close }
}

function coded(
  name: CloseName,
  output: CloseCause['output'],
  text: string,
  retryMs?: number,
): CodedCause {
  const close = { code: closeNamed(name).code, reason: closeReason(name, retryMs, text) }
  return { name, output, close, text }
}
