/**
 * - `ERR_NOT_ONLINE`: nothing was sent, since there is no connection; commands are never queued for a later one.
 * - `ERR_LOST`: the connection broke before the reply; whether the command was carried out is unknown.
 * - `ERR_REPLY`: the server answered with an error; `prefix` is its code.
 * - `ERR_DENIED`: a subscription, or the whole connection, was refused.
 * - `ERR_CLOSED`: `close()` or `unsubscribe()` was called, or their signal was aborted.
 * - `ERR_COMMAND`: the command would change what the connection is, and is left to the client's own methods.
 * - `ERR_TIMEOUT`: the server did not answer a command in time; it may have carried it out.
 * - `ERR_SETUP`: the client cannot work here: there is no WebSocket, or the address is none.
 * - `ERR_DECODE`: a codec could not read a payload; the message was not delivered.
 * - `ERR_LIMIT`: the server does not take a command of this size; it was not sent.
 * - `ERR_OVERFLOW`: a subscription that was told to end rather than to lose messages was not read fast enough.
 */
export type RespcastErrorCode =
  | 'ERR_NOT_ONLINE'
  | 'ERR_LOST'
  | 'ERR_REPLY'
  | 'ERR_DENIED'
  | 'ERR_CLOSED'
  | 'ERR_COMMAND'
  | 'ERR_TIMEOUT'
  | 'ERR_SETUP'
  | 'ERR_DECODE'
  | 'ERR_LIMIT'
  | 'ERR_OVERFLOW'

/** An error of the client library: `code` is stable, `message` is for people. Each kind has a class of its own. */
export class RespcastError extends Error {
  override readonly name: string = 'RespcastError'
  readonly code: RespcastErrorCode
  /** The code of the server's error reply (`NOPERM`, `ERR`), where there was one. */
  readonly prefix: string | undefined

  constructor(code: RespcastErrorCode, message: string, prefix?: string) {
    super(message)
    this.code = code
    this.prefix = prefix
  }
}

/** There is no connection (`ERR_NOT_ONLINE`), it broke before the reply (`ERR_LOST`), or no reply came (`ERR_TIMEOUT`). */
export class ConnectionError extends RespcastError {
  override readonly name = 'ConnectionError'
}

/** A mistake on this side (`ERR_SETUP`), which no server has seen. */
export class SetupError extends RespcastError {
  override readonly name = 'SetupError'
}

/** The server answered a command with an error (`ERR_REPLY`). */
export class ReplyError extends RespcastError {
  override readonly name = 'ReplyError'
}

/** A subscription, or the client as a whole, was refused (`ERR_DENIED`). */
export class DeniedError extends RespcastError {
  override readonly name = 'DeniedError'
}

/** The client, or the subscription, was ended by its owner (`ERR_CLOSED`). */
export class ClosedError extends RespcastError {
  override readonly name = 'ClosedError'
}

/** Messages did not fit into the buffer of a subscription that must not lose any (`ERR_OVERFLOW`). */
export class OverflowError extends RespcastError {
  override readonly name = 'OverflowError'
}

/** A command is larger than the server takes (`ERR_LIMIT`): it was not sent, and the connection stays. */
export class LimitError extends RespcastError {
  override readonly name = 'LimitError'
}

/** A payload that a codec could not read (`ERR_DECODE`); `cause` is what the codec threw. */
export class DecodeError extends RespcastError {
  override readonly name = 'DecodeError'
  override readonly cause: unknown

  constructor(channel: string, cause: unknown) {
    super('ERR_DECODE', `A message of ${channel} could not be decoded: ${String(cause)}`)
    this.cause = cause
  }
}

/**
 * Thrown by a token provider when nobody is signed in and there is no token: the client stops instead of
 * trying again.
 */
export class SignedOutError extends Error {
  override readonly name = 'SignedOutError'
}
