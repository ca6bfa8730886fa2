import type { IncomingMessage } from 'node:http'
import { isLoopback, leavesLoopback, plainAddress } from '../addresses.ts'
import type { Rejection } from '../command/counters.ts'
import type { Core } from '../core.ts'
import type { WaitingSockets } from '../transport/waiting-sockets.ts'
import { tokenOfUpgrade } from './credentials.ts'
import { headerProblem, peerAddress } from './headers.ts'
import { isOriginAllowed } from './origin.ts'

/** A way in for clients: a listener, and what judges those who come by it. */
export interface Entrance {
  readonly core: Core
  readonly listener: 'public' | 'admin'
  /** The connections of the listener that are no clients; an embedding application counts its own. */
  readonly waiting?: WaitingSockets | undefined
}

/** A request as it is judged: one of the framework, or one that does without it. */
export interface EntranceRequest {
  readonly raw: Pick<IncomingMessage, 'rawHeaders' | 'socket'>
  readonly headers: IncomingMessage['headers']
  readonly socket: IncomingMessage['socket']
  readonly host: string
  readonly ip: string
  /** Behind trusted proxies: the hops, the nearest first. */
  readonly ips?: string[] | undefined
  readonly query: unknown
}

/** An HTTP answer instead of a client. */
export interface Refusal {
  readonly status: number
  readonly error: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Retry-After of a client that cannot be admitted, in seconds. */
const RETRY_AFTER_SECONDS = 5

/** Counts a new client by its address, unless the listener has counted its connection. */
export function refusalOfRate(
  request: EntranceRequest,
  ip: string,
  { core, waiting }: Entrance,
): Refusal | undefined {
  // The server's own listeners have counted the connections that do not come through a proxy.
  const isCounted =
    waiting !== undefined && ip === plainAddress(request.raw.socket.remoteAddress ?? '')
  return !isCounted && core.admission.isTooFast('http', ip) ? rejectionRefusal('rate') : undefined
}

/** Judges a request that is no upgrade by all that is known before anybody logs in. */
export function refusalOfRequest(
  request: EntranceRequest,
  entrance: Entrance,
): Refusal | undefined {
  // The server's own listeners have looked at the headers. An embedding application's may keep more, or drop some.
  const problem = entrance.waiting === undefined ? headerProblem(request.raw.rawHeaders) : undefined
  return problem ?? refusalOfPlace(request, entrance) ?? refusalOfCookie(request, entrance.core)
}

/** Judges by which address of this machine a request came, and from which page. */
export function refusalOfPlace(
  request: EntranceRequest,
  { core: { config, counters, peerLog }, listener }: Entrance,
): Refusal | undefined {
  const { localAddress = '' } = request.raw.socket
  if (listener === 'public' && isUndeclared(localAddress, config.list('http-bind'))) {
    peerLog.write('listenerUndeclared', () => ({ localAddress, address: request.ip }))
    return { status: 403, error: 'this listener serves its own machine only' }
  }
  const { origin } = request.headers
  const allowed = listener === 'public' ? config.list('ws-allowed-origins') : []
  if (!isOriginAllowed({ origin, host: request.host }, allowed)) {
    counters.originsRefused++
    peerLog.write('originRefused', () => ({
      origin,
      host: request.host,
      address: peerAddress(request),
    }))
    return { status: 403, error: 'this origin may not connect' }
  }
  return undefined
}

/**
 * A browser sends cookies with the requests of any page: one counts as a token only where the page is known. A request for a stream
 * of the own origin has no Origin, but says so (Fetch Metadata).
 */
export function refusalOfCookie(request: EntranceRequest, core: Core): Refusal | undefined {
  const isAmbient =
    core.config.text('ws-token-cookie') !== '' &&
    request.headers.origin === undefined &&
    request.headers['sec-fetch-site'] !== 'same-origin' &&
    tokenOf(request, core, { cookie: false }) === undefined &&
    tokenOf(request, core) !== undefined
  return isAmbient ? { status: 403, error: 'a cookie counts only with an Origin' } : undefined
}

/**
 * Reports whether a connection came in by an address that a configuration for loopback does not know. It may where an application
 * that embeds the server listens elsewhere than it says.
 *
 * @param localAddress Empty for a Unix socket.
 * @param binds `http-bind`.
 */
export function isUndeclared(localAddress: string, binds: readonly string[]): boolean {
  return localAddress !== '' && !isLoopback(localAddress) && !leavesLoopback(binds)
}

/** The answer to a client that admission rejects. */
export function rejectionRefusal(rejection: Rejection): Refusal {
  const isOfAddress = rejection === 'address' || rejection === 'rate'
  return {
    status: isOfAddress ? 429 : 503,
    error: isOfAddress ? 'too many connections from this address' : 'no room for another client',
    headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
  }
}

/** The token of a request, from wherever the directives allow one. */
export function tokenOf(
  request: EntranceRequest,
  { config }: Core,
  { cookie = true, query = true } = {},
): string | undefined {
  const { headers } = request
  return tokenOfUpgrade(
    {
      authorization: headers.authorization,
      cookie: headers.cookie,
      subprotocols: headers['sec-websocket-protocol'],
      query: (request.query ?? {}) as Record<string, unknown>,
    },
    {
      cookieName: cookie ? config.text('ws-token-cookie') : '',
      query: query && config.boolean('ws-token-query'),
    },
  )
}
