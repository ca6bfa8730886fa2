/** Reason why the bytes of a peer cannot be parsed further. */
type ProtocolErrorKind = 'protocol' | 'too-large' | 'cross-protocol'

const CODES = {
  protocol: 'ERR_RESP_PROTOCOL',
  'too-large': 'ERR_RESP_TOO_LARGE',
  'cross-protocol': 'ERR_RESP_CROSS_PROTOCOL',
} as const

/**
 * Thrown by the request parser; the connection ends with it.
 *
 * `protocol` is answered with `-ERR Protocol error: <message>` and then closed, `too-large` likewise,
 * `cross-protocol` is closed without a byte (Redis does so for `POST` and `Host:`).
 */
export class ProtocolError extends Error {
  readonly kind: ProtocolErrorKind
  readonly code: (typeof CODES)[ProtocolErrorKind]

  constructor(message: string, kind: ProtocolErrorKind = 'protocol') {
    super(message)
    this.name = 'ProtocolError'
    this.kind = kind
    this.code = CODES[kind]
  }
}
