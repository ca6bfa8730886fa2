/**
 * Fault of a stream that is not RESP, or not accepted.
 *
 * - `ERR_RESP_TYPE`: a value starts with a byte that names no type.
 * - `ERR_RESP_LINE`: a line is not ended by CR LF, or its content does not fit its type.
 * - `ERR_RESP_BULK_END`: a bulk string is not followed by CR LF.
 * - `ERR_RESP_PUSH`: a push is inside another value.
 * - `ERR_RESP_LINE_LIMIT`, `ERR_RESP_BULK_LIMIT`, `ERR_RESP_ITEM_LIMIT`, `ERR_RESP_DEPTH_LIMIT`: a limit of the reader
 *   is exceeded.
 */
type RespErrorCode =
  | 'ERR_RESP_TYPE'
  | 'ERR_RESP_LINE'
  | 'ERR_RESP_BULK_END'
  | 'ERR_RESP_PUSH'
  | 'ERR_RESP_LINE_LIMIT'
  | 'ERR_RESP_BULK_LIMIT'
  | 'ERR_RESP_ITEM_LIMIT'
  | 'ERR_RESP_DEPTH_LIMIT'

/** Thrown by the reader. The stream cannot be read further: the start of the next value is unknown. */
export class RespProtocolError extends Error {
  override readonly name = 'RespProtocolError'
  readonly code: RespErrorCode

  constructor(code: RespErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
