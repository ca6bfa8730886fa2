/**
 * - `ERR_NOT_ONLINE`: nothing was sent, since there is no connection; commands are never queued for a later one.
 * - `ERR_LOST`: the connection broke before the reply; whether the command was carried out is unknown.
 * - `ERR_REPLY`: the server answered with an error; `prefix` is its code.
 * - `ERR_DENIED`: a subscription, or the whole connection, was refused.
 * - `ERR_CLOSED`: `close()` was called.
 * - `ERR_COMMAND`: the command would change what the connection is, and is left to the client's own methods.
 */
export type RespcastErrorCode =
  | 'ERR_NOT_ONLINE'
  | 'ERR_LOST'
  | 'ERR_REPLY'
  | 'ERR_DENIED'
  | 'ERR_CLOSED'
  | 'ERR_COMMAND'

/** An error of the client library: `code` is stable, `message` is for people. */
export class RespcastError extends Error {
  override readonly name = 'RespcastError'
  readonly code: RespcastErrorCode
  /** The code of the server's error reply (`NOPERM`, `ERR`), where there was one. */
  readonly prefix: string | undefined

  constructor(code: RespcastErrorCode, message: string, prefix?: string) {
    super(message)
    this.code = code
    this.prefix = prefix
  }
}

/**
 * Thrown by a token provider when there is no token to be had, since nobody is signed in: the client stops instead of
 * trying again.
 */
export class SignedOutError extends Error {
  override readonly name = 'SignedOutError'
}
