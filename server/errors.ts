/**
 * Every error that this server throws, by code. docs/errors.md lists each with its remedy, and a test compares the two.
 * A Redis client never reads one of these: handlers answer with an error reply.
 */
export const ERROR_CODES = {
  ERR_RESP_PROTOCOL: 'The peer sent bytes that are not a RESP request.',
  ERR_RESP_TOO_LARGE: 'The peer sent a command larger than its transport allows.',
  ERR_RESP_CROSS_PROTOCOL: 'The peer speaks another protocol (HTTP or TLS) to the RESP port.',
  ERR_CONFIG: 'The configuration cannot be used.',
  ERR_ACL_FILE: 'The ACL file cannot be read or holds errors.',
  ERR_LISTEN: 'A listener could not be opened.',
  ERR_DATA_DIR: 'The data directory cannot be used.',
  ERR_MINT: 'A token was not minted, since the server would refuse it.',
  ERR_NOT_PUBLISHED: 'A message could not be handed to the upstream, or its answer did not come.',
  ERR_NESTED_COMMAND: 'A command was completed within another one, which no event may do.',
  ERR_DIR_IN_USE: 'Another server uses the data directory.',
} as const

/** A code of {@link ERROR_CODES}. */
type ErrorCode = keyof typeof ERROR_CODES

/** An error of ours: `code` is stable, `message` is for people. */
export class RespcastError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'RespcastError'
    this.code = code
  }
}
