import { isIPv4 } from 'node:net'

/** Fields of a PROXY header of version 2; without changes that of a client over TCP and IPv4. */
export interface HeaderFields {
  /** Version and command. */
  readonly command?: number
  /** Family and protocol. */
  readonly family?: number
  readonly addresses?: Buffer
  /** TLVs as they are. */
  readonly more?: Buffer
}

const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')

/** A PROXY header of version 2. */
export function binaryHeader(fields: HeaderFields = {}): Buffer {
  const { command = 0x21, family = 0x11, more = Buffer.alloc(0) } = fields
  const addresses = fields.addresses ?? addressesOf('203.0.113.7', 40_001)
  const rest = Buffer.concat([addresses, more])
  const fixed = Buffer.from([command, family, rest.length >> 8, rest.length & 0xff])
  return Buffer.concat([SIGNATURE, fixed, rest])
}

/** The header of version 2 that a proxy sends for a client. @param ip IPv6 in eight groups. */
export function headerFor(ip: string, port = 40_001): Buffer {
  return binaryHeader({
    family: isIPv4(ip) ? 0x11 : 0x21,
    addresses: addressesOf(ip, port),
  })
}

/** A health check of the proxy itself: command LOCAL. */
export const LOCAL_HEADER = binaryHeader({
  command: 0x20,
  family: 0,
  addresses: Buffer.alloc(0),
})

/** Both addresses, the second of the same family, and both ports. */
function addressesOf(ip: string, port: number): Buffer {
  const source = isIPv4(ip)
    ? Buffer.from(ip.split('.').map(Number))
    : Buffer.from(
        ip
          .split(':')
          .map((group) => group.padStart(4, '0'))
          .join(''),
        'hex',
      )
  const ports = Buffer.alloc(4)
  ports.writeUInt16BE(port, 0)
  ports.writeUInt16BE(6380, 2)
  return Buffer.concat([source, Buffer.alloc(source.length, 1), ports])
}
