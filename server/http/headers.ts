import type { IncomingMessage } from 'node:http'
import { plainAddress } from '../addresses.ts'

/** Most headers of one request. */
export const MAX_HEADERS = 64

/**
 * Headers that a request may have once. Of two the runtime would take the first and drop the second, or join them, while a
 * proxy in front may judge by the other one (RFC 9112 section 3.2, RFC 6454 section 7.3, RFC 6455 section 11.3).
 */
const SINGLE_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'host',
  'origin',
  'sec-websocket-key',
  'sec-websocket-version',
])

/** Lengths of their names: most headers have another. */
const SINGLE_LENGTHS: ReadonlySet<number> = new Set([...SINGLE_HEADERS].map(({ length }) => length))

/** Status and text of a request whose headers are refused. */
interface HeaderProblem {
  readonly status: 400 | 431
  readonly error: string
}

/**
 * Judges the headers of a request as they came.
 *
 * @param rawHeaders Names and values in turn, as the runtime gives them. At least one more than {@link MAX_HEADERS} has to be
 *   kept: what the runtime drops cannot be judged.
 */
export function headerProblem(rawHeaders: readonly string[]): HeaderProblem | undefined {
  if (rawHeaders.length > MAX_HEADERS * 2) {
    return { status: 431, error: `more than ${MAX_HEADERS} headers` }
  }
  const seen = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const raw = rawHeaders[at] ?? ''
    if (!SINGLE_LENGTHS.has(raw.length)) continue
    const name = raw.toLowerCase()
    if (!SINGLE_HEADERS.has(name)) continue
    if (seen.has(name)) return { status: 400, error: `more than one header ${name}` }
    seen.add(name)
  }
  return undefined
}

/** The addresses of a request, as the framework tells them. */
interface PeerRequest {
  readonly ip: string
  readonly ips?: string[] | undefined
  readonly socket: Pick<IncomingMessage['socket'], 'remoteAddress'>
}

/**
 * The IP address of a peer: behind trusted proxies that of the last hop that they vouch for. A hop that is no address, as
 * `unknown` (RFC 7239 section 6.2), is left out: the proxy that reported it stands for it.
 *
 * @returns Empty for a socket that is gone.
 */
export function peerAddress(request: PeerRequest): string {
  const hops = request.ips ?? [request.ip]
  for (let at = hops.length - 1; at >= 0; at--) {
    const address = plainAddress(hops[at] ?? '')
    if (address !== undefined) return address
  }
  return plainAddress(request.socket.remoteAddress ?? '') ?? ''
}
