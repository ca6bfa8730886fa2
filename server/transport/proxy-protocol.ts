import { isIPv4, isIPv6 } from 'node:net'
import { plainAddress } from '../addresses.ts'

/** The client that a proxy speaks for. */
export interface ProxiedClient {
  readonly ip: string
  readonly port: number
}

/** A PROXY header that is whole. */
export interface ProxyHeader {
  /** Its length in bytes; what follows is the client's. */
  readonly length: number
  /** Undefined: the connection is the proxy's own (`LOCAL`, health checks), or the proxy does not know the address. */
  readonly client: ProxiedClient | undefined
}

/** Bytes that begin no PROXY header. */
export interface ProxyFault {
  readonly fault: string
}

/** Most bytes of a header, TLVs included. The addresses take 232 at most. */
const MAX_HEADER_BYTES = 4_096

/** Most bytes of a header of version 1, line end included. */
const MAX_LINE_BYTES = 107

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const LINE_START = Buffer.from('PROXY ', 'latin1')

/** Signature, version and command, family and protocol, length of the rest. */
const FIXED_BYTES = 16

/** Version and command, in one byte. */
const LOCAL = 0x20
const PROXY = 0x21

/** Family and protocol, in one byte. */
const UNSPECIFIED = 0x00
const TCP_OVER_IPV4 = 0x11
const TCP_OVER_IPV6 = 0x21
const UNIX_STREAM = 0x31

/** Bytes that the addresses of a family take. */
const ADDRESS_BYTES: ReadonlyMap<number, number> = new Map([
  [UNSPECIFIED, 0],
  [TCP_OVER_IPV4, 12],
  [TCP_OVER_IPV6, 36],
  [UNIX_STREAM, 216],
])

/**
 * Reads a header of the PROXY protocol, version 1 (text) or 2 (binary). TLVs are skipped. Bytes that cannot become a header are a
 * fault as soon as they are seen: nothing waits for the rest of them.
 *
 * @param bytes All that has come on the connection.
 * @returns Undefined while the header is not whole.
 * @see HAProxy, doc/proxy-protocol.txt
 */
export function parseProxyHeader(bytes: Buffer): ProxyHeader | ProxyFault | undefined {
  if (startsAlike(bytes, SIGNATURE)) {
    return bytes.length < FIXED_BYTES ? undefined : parseBinary(bytes)
  }
  if (startsAlike(bytes, LINE_START)) return parseLine(bytes)
  return { fault: 'there is none' }
}

/** Reports whether bytes are the start of a prefix, or begin with it. */
function startsAlike(bytes: Buffer, prefix: Buffer): boolean {
  const length = Math.min(bytes.length, prefix.length)
  return bytes.compare(prefix, 0, length, 0, length) === 0
}

function parseBinary(bytes: Buffer): ProxyHeader | ProxyFault | undefined {
  const command = bytes[12] as number
  const family = bytes[13] as number
  const rest = bytes.readUInt16BE(14)
  const length = FIXED_BYTES + rest
  if (command !== LOCAL && command !== PROXY) return { fault: 'unknown version or command' }
  if (length > MAX_HEADER_BYTES) return { fault: `more than ${MAX_HEADER_BYTES} bytes` }
  if (command === LOCAL) return bytes.length < length ? undefined : { length, client: undefined }
  const needed = ADDRESS_BYTES.get(family)
  if (needed === undefined) return { fault: 'neither TCP nor a Unix stream' }
  if (rest < needed) return { fault: 'too short for its addresses' }
  if (bytes.length < length) return undefined
  return { length, client: clientOf(bytes, family) }
}

function clientOf(bytes: Buffer, family: number): ProxiedClient | undefined {
  const at = FIXED_BYTES
  if (family === TCP_OVER_IPV4) {
    return { ip: bytes.subarray(at, at + 4).join('.'), port: bytes.readUInt16BE(at + 8) }
  }
  if (family !== TCP_OVER_IPV6) return undefined
  const groups = Array.from({ length: 8 }, (_, group) => bytes.readUInt16BE(at + group * 2))
  const text = groups.map((group) => group.toString(16)).join(':')
  return { ip: plainAddress(text) ?? text, port: bytes.readUInt16BE(at + 32) }
}

function parseLine(bytes: Buffer): ProxyHeader | ProxyFault | undefined {
  const end = bytes.subarray(0, MAX_LINE_BYTES).indexOf('\r\n')
  if (end < 0) {
    return bytes.length < MAX_LINE_BYTES ? undefined : { fault: `a line without an end` }
  }
  const length = end + 2
  const [, family, source = '', target = '', sourcePort = '', ...more] = bytes
    .toString('latin1', 0, end)
    .split(' ')
  if (family === 'UNKNOWN') return { length, client: undefined }
  const isAddress = family === 'TCP4' ? isIPv4 : isIPv6
  if (family !== 'TCP4' && family !== 'TCP6') return { fault: 'neither TCP4 nor TCP6 nor UNKNOWN' }
  if (!isAddress(source) || !isAddress(target)) return { fault: 'not an address of its family' }
  if (more.length !== 1 || ![sourcePort, ...more].every(isPort)) return { fault: 'not two ports' }
  return { length, client: { ip: plainAddress(source) ?? source, port: Number(sourcePort) } }
}

function isPort(text: string): boolean {
  return /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535
}
