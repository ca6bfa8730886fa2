import { splitWords } from '../../shared/words.ts'
import { ProtocolError } from './protocol-error.ts'

/** Bytes of a line that are examined. */
const HEAD_BYTES = 16
const TAIL_BYTES = 12

/**
 * Splits a line as Redis does for inline commands.
 *
 * @param line Bytes without the line end.
 * @returns The arguments, or undefined where quotes are unbalanced.
 */
export function splitInline(line: Buffer): Buffer[] | undefined {
  return splitWords(line.toString('latin1'))?.map((word) => Buffer.from(word, 'latin1'))
}

/**
 * The arguments of an inline command; none for an empty line.
 *
 * @param line Bytes without the line end.
 * @throws ProtocolError It is no command, or larger than `limits` allow.
 */
export function inlineArguments(
  line: Buffer,
  limits: { readonly maxCommandBytes: number; readonly maxArguments: number },
): Buffer[] {
  if (isTlsHandshake(line[0], line[1]) || isHttp(line) || isProxyHeader(line)) throw crossProtocol()
  if (line.includes(0)) throw new ProtocolError('unexpected NUL in inline request')
  const { maxCommandBytes, maxArguments } = limits
  if (line.length > maxCommandBytes) {
    throw new ProtocolError(`command of more than ${maxCommandBytes} bytes`, 'too-large')
  }
  const args = splitInline(line)
  if (args === undefined) throw new ProtocolError('unbalanced quotes in request')
  if (args.length > maxArguments) {
    throw new ProtocolError(`more than ${maxArguments} arguments`, 'too-large')
  }
  return args
}

/**
 * Reports whether an inline line is HTTP: a request line, `POST`, or a `Host:` header. A web page that posts to the RESP port must
 * not get a single command through.
 */
function isHttp(line: Buffer): boolean {
  const head = line.toString('latin1', 0, Math.min(line.length, HEAD_BYTES)).trimStart()
  if (/^(post|host:)(\s|$)/i.test(head)) return true
  return / HTTP\/1\.\d$/i.test(line.toString('latin1', Math.max(0, line.length - TAIL_BYTES)))
}

/** Reports whether an inline line is a PROXY header (version 1), whose proxy would else be taken for each of its clients. */
function isProxyHeader(line: Buffer): boolean {
  return /^PROXY (TCP4|TCP6|UNKNOWN)( |$)/.test(line.toString('latin1', 0, HEAD_BYTES))
}

/** Reports whether bytes begin a TLS handshake (RFC 8446 section 5.1: record type 22, legacy version 3.x). */
export function isTlsHandshake(first: number | undefined, second: number | undefined): boolean {
  return first === 0x16 && second === 0x03
}

/** The end of a peer that speaks another protocol; the same wherever its bytes were cut. */
export function crossProtocol(): ProtocolError {
  return new ProtocolError('HTTP, TLS or a PROXY header on the RESP port', 'cross-protocol')
}
