import { BlockList, isIP, isIPv4, isIPv6, SocketAddress, type Socket } from 'node:net'

/** Begins an IPv4 address that is mapped into IPv6 (RFC 4291 section 2.5.5.2). */
const MAPPED = '::ffff:'

/** `ip:port`, or `[ip]:port` for IPv6. */
export function hostAndPort(host: string, port: number): string {
  // Joined, not concatenated: a concatenation keeps its parts, 100 bytes more for each connection.
  return [host.includes(':') ? `[${host}]` : host, port].join(':')
}

/** Addresses of a socket as the runtime tells them. */
export type SocketAddresses = Pick<
  Socket,
  'localAddress' | 'localPort' | 'remoteAddress' | 'remotePort'
>

/** Local address of connections: nearly always the same for one listener, so that they share one string. */
export class LocalAddress {
  #last = ''

  of(socket: SocketAddresses): string {
    const address = hostAndPort(socket.localAddress ?? '', socket.localPort ?? 0)
    if (address !== this.#last) this.#last = address
    return this.#last
  }
}

/** Takes `ip:port` or `[ip]:port` apart; an IPv4 address that is mapped into IPv6 is written as IPv4. */
export function splitAddress(address: string): { ip: string; port: number } {
  const colon = address.lastIndexOf(':')
  const host = address.slice(0, colon)
  const port = Number(address.slice(colon + 1))
  if (isIPv4(host)) return { ip: host, port }
  const ip = host.replace(/^\[|\]$/g, '')
  return { ip: ip.replace(/^::ffff:/i, ''), port }
}

/**
 * The address in a text of a peer or a proxy (X-Forwarded-For), without port, brackets and zone, and in one spelling: IPv6 is
 * compressed and in lower case, and an IPv4 address that is mapped into IPv6 is written as IPv4.
 *
 * @returns Undefined if it is no IP address.
 */
export function plainAddress(text: string): string | undefined {
  // Nearly all, as the runtime tells them: several looks at each connection.
  if (isIPv4(text)) return text
  const mapped = text.startsWith(MAPPED) ? text.slice(MAPPED.length) : ''
  if (isIPv4(mapped)) return mapped
  const trimmed = text.trim()
  const inBrackets = /^\[([^\]]*)\](?::\d+)?$/.exec(trimmed)?.[1]
  const withPort = /^([\d.]+):\d+$/.exec(trimmed)?.[1]
  const address = (inBrackets ?? withPort ?? trimmed).split('%', 1)[0] ?? ''
  const family = isIP(address)
  if (family === 0 || (inBrackets !== undefined && family === 4)) return undefined
  if (family === 4) return address
  return new SocketAddress({ address, family: 'ipv6' }).address.replace(/^::ffff:(?=.*\.)/, '')
}

/** Reports whether an address is this machine's own. */
export function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '')
  if (plain === 'localhost' || plain === '::1') return true
  return isIP(plain) === 4 && plain.startsWith('127.')
}

/**
 * An address of the directive `bind`: `-` before it means that it may be missing, `*` is every IPv4 and `::*` every IPv6
 * address.
 *
 * @see redis.conf, `bind`
 */
export function bindAddress(text: string): { host: string; optional: boolean } {
  const optional = text.startsWith('-')
  const address = optional ? text.slice(1) : text
  const host = address === '*' ? '0.0.0.0' : address === '::*' ? '::' : address
  return { host, optional }
}

/** Reports whether one of these addresses, as in `bind`, is not this machine's own. */
export function leavesLoopback(addresses: readonly string[]): boolean {
  return addresses.some((address) => !isLoopback(bindAddress(address).host))
}

/**
 * The part of an address that limits per address count: a whole IPv4 address, or the /64 of an IPv6 address, which mostly
 * belongs to one subscriber.
 */
export function networkOf(address: string): string {
  if (isIPv4(address)) return address
  const ip = plainAddress(address) ?? address
  if (!isIPv6(ip)) return ip
  const [head = '', tail] = ip.split('::', 2)
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : 8 - front.length - back.length
  const groups = [...front, ...Array<string>(Math.max(zeros, 0)).fill('0'), ...back]
  return groups
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')
}

/** Reports whether a text is an IP address or a network in CIDR notation. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (bits === undefined) return most > 0
  return rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most
}

/**
 * Makes a test for addresses in these networks: addresses, or CIDR such as `10.0.0.0/8`.
 *
 * @returns False where no network is named.
 */
export function trustOf(networks: readonly string[]): ((address: string) => boolean) | false {
  if (networks.length === 0) return false
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/', 2)
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return (text) => {
    const address = plainAddress(text)
    if (address === undefined) return false
    return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
}
