/** How much of a line is looked at. */
const HEAD_BYTES = 16
const TAIL_BYTES = 12

/**
 * Whether an inline line is HTTP: a request line, `POST`, or a `Host:` header. A web page that posts to the RESP port must
 * not get a single command through.
 */
export function isHttp(line: Buffer): boolean {
  const head = line.toString('latin1', 0, Math.min(line.length, HEAD_BYTES)).trimStart()
  if (/^(post|host:)(\s|$)/i.test(head)) return true
  return / HTTP\/1\.\d$/i.test(line.toString('latin1', Math.max(0, line.length - TAIL_BYTES)))
}

/** Whether bytes begin a TLS handshake (RFC 8446 section 5.1: record type 22, legacy version 3.x). */
export function isTlsHandshake(first: number | undefined, second: number | undefined): boolean {
  return first === 0x16 && second === 0x03
}
