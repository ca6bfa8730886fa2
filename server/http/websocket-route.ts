import type { ServerResponse } from 'node:http'
import fastifyWebsocket from '@fastify/websocket'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import { RESP3_SUBPROTOCOL } from '../../shared/subprotocol.ts'
import {
  hostAndPort,
  isLoopback,
  leavesLoopback,
  LocalAddress,
  plainAddress,
} from '../addresses.ts'
import type { Rejection } from '../command/counters.ts'
import type { Core } from '../core.ts'
import type { KeepAlive } from '../transport/keep-alive.ts'
import type { WaitingSockets } from '../transport/waiting-sockets.ts'
import { connectWebSocket } from '../transport/reception.ts'
import {
  CompressingSink,
  ServedWebSocket,
  serveWebSocket,
  WebSocketSink,
  type WebSocketHost,
} from '../transport/websocket.ts'
import { subprotocolProblem, tokenOfUpgrade } from './credentials.ts'
import { headerProblem, peerAddress } from './headers.ts'
import { isOriginAllowed } from './origin.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of an upgrade: the response that the framework made, and that is never sent. */
    unusedResponse: ServerResponse | undefined
  }
}

/** A WebSocket at one path of a listener. */
interface WebSocketRoute {
  readonly core: Core
  readonly keepAlive: KeepAlive
  readonly listener: 'public' | 'admin'
  readonly path: string
  /** The connections of the listener that are no WebSockets; an embedding application counts its own. */
  readonly waiting?: WaitingSockets | undefined
}

interface OpenRoute extends WebSocketRoute {
  readonly local: LocalAddress
}

/** Most fragments of one message, and most chunks in which it arrives: many small ones would cost memory (CVE-2026-48779). */
const MAX_FRAGMENTS = 64
const MAX_BUFFERED_CHUNKS = 1_024

/** Larger messages may arrive in as many chunks as the smallest TCP segments would make of them (RFC 9293: 536 bytes). */
const SEGMENT_BYTES = 536

/** Compression with bounded memory for each connection; small messages are sent as they are. */
const DEFLATE = {
  serverNoContextTakeover: true,
  clientNoContextTakeover: true,
  serverMaxWindowBits: 10,
  threshold: 1_024,
  zlibDeflateOptions: { memLevel: 5 },
}

/** Time for the closing handshake, in ms: a peer that never logs in is gone 7 s after it connected, `auth-timeout` included. */
const CLOSE_TIMEOUT_MS = 1_500

/** Retry-After of a client that cannot be admitted, in seconds. */
const RETRY_AFTER_SECONDS = 5

/**
 * Opens the WebSocket at one path of an HTTP server; an upgrade on any other is refused, though the plugin would accept it on
 * every GET route.
 */
export async function openWebSocketRoute(
  app: FastifyInstance,
  options: WebSocketRoute,
): Promise<void> {
  const route: OpenRoute = { ...options, local: new LocalAddress() }
  const { core, path } = route
  const { config } = core
  await app.register(fastifyWebsocket, {
    options: withUntyped({
      ...messageLimits(config.memory('ws-max-payload')),
      maxFragments: MAX_FRAGMENTS,
      perMessageDeflate: config.boolean('ws-permessage-deflate') && DEFLATE,
      // Without a handler the first name offered would be echoed, even a token.
      handleProtocols: (protocols: Set<string>) =>
        protocols.has(RESP3_SUBPROTOCOL) ? RESP3_SUBPROTOCOL : false,
    }),
    // Instead of the plugin's own, which closes clients without a reason: the gateway has closed them by now.
    preClose: (done) => app.websocketServer.close(() => done()),
    errorHandler: (_error, socket) => socket.terminate(),
  })
  // Connections that are open keep the limits that they were made with.
  config.onChange(['ws-max-payload'], (settings) => {
    Object.assign(app.websocketServer.options, messageLimits(settings.memory('ws-max-payload')))
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (isUpgrade(request) && request.routeOptions.url !== path) {
      void reply.code(404).send({ error: `WebSockets are served at ${path} only` })
    } else if (isUpgrade(request) && route.waiting === undefined) {
      // The listeners of the server itself let in every request so.
      const { socket } = request.raw
      core.admission.whenDue(route.listener, done, () => socket.destroy())
    } else {
      done()
    }
  })
  const host = { keepAlive: route.keepAlive, nowMs: () => core.clock.monotonicMs() }
  app.decorateRequest('unusedResponse', undefined)
  app.route({
    method: 'GET',
    url: path,
    exposeHeadRoute: false,
    onRequest: (request, reply, done) => {
      const refusal = isUpgrade(request) ? refusalOf(request, route) : NOT_AN_UPGRADE
      if (refusal) {
        refuse(reply, refusal)
        return
      }
      request.unusedResponse = reply.raw
      done()
    },
    handler: (_request, reply) => refuse(reply, NOT_AN_UPGRADE),
    wsHandler: (webSocket: WebSocket, request: FastifyRequest) => {
      forgetUpgrade(webSocket, request)
      accept(webSocket as ServedWebSocket, request, route, host)
    },
  })
}

/**
 * Lets go of the request of an upgrade. The error listener of @fastify/websocket and the response that was never sent would keep
 * it alive for as long as the socket: 6 kB for each WebSocket. `serveWebSocket` adds a listener of its own.
 */
function forgetUpgrade(webSocket: WebSocket, request: FastifyRequest): void {
  webSocket.removeAllListeners('error')
  request.unusedResponse?.detachSocket(request.raw.socket)
  request.unusedResponse = undefined
}

/** Limits of ws on the messages of a peer. */
export function messageLimits(maxPayload: number): {
  maxPayload: number
  maxBufferedChunks: number
} {
  return {
    maxPayload,
    maxBufferedChunks: Math.max(MAX_BUFFERED_CHUNKS, Math.ceil(maxPayload / SEGMENT_BYTES)),
  }
}

/** Options that ws's types lack (8.23), or whose class they want to be ws's own. */
function withUntyped<Options extends object>(options: Options): Options {
  return { ...options, closeTimeout: CLOSE_TIMEOUT_MS, WebSocket: ServedWebSocket }
}

/** An HTTP answer instead of a WebSocket. */
interface Refusal {
  readonly status: number
  readonly error: string
  readonly headers?: Readonly<Record<string, string>>
}

const NOT_AN_UPGRADE: Refusal = {
  status: 426,
  error: 'this path speaks WebSocket only',
  headers: { upgrade: 'websocket' },
}

function refuse(reply: FastifyReply, { status, error, headers }: Refusal): void {
  void reply
    .code(status)
    .headers({ ...headers, connection: 'close' })
    .send({ error })
}

function isUpgrade(request: FastifyRequest): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket'
}

function refusalOf(
  request: FastifyRequest,
  { core, listener, waiting }: WebSocketRoute,
): Refusal | undefined {
  const { config, counters, admission, peerLog } = core
  // Of an embedding application's server too, which may keep more headers, or drop some.
  const badHeaders = headerProblem(request.raw.rawHeaders)
  if (badHeaders) return badHeaders
  const ip = peerAddress(request)
  // The server's own listeners have counted the connections that do not come through a proxy.
  const isCounted =
    waiting !== undefined && ip === plainAddress(request.raw.socket.remoteAddress ?? '')
  if (!isCounted && admission.isTooFast('http', ip)) return rejectionRefusal('rate')
  const subprotocols = request.headers['sec-websocket-protocol']
  // Node asks for a Host on requests, and not on upgrades (RFC 9112 section 3.2, RFC 6455 section 4.2.1).
  if (request.headers.host === undefined) return { status: 400, error: 'a Host header is needed' }
  const problem = subprotocolProblem(subprotocols)
  if (problem !== undefined) return { status: 400, error: problem }
  const { localAddress = '' } = request.raw.socket
  if (listener === 'public' && isUndeclared(localAddress, config.list('http-bind'))) {
    peerLog.write('listenerUndeclared', () => ({ localAddress, address: request.ip }))
    return { status: 403, error: 'this listener serves its own machine only' }
  }
  const { origin } = request.headers
  const allowed = listener === 'public' ? config.list('ws-allowed-origins') : []
  if (!isOriginAllowed({ origin, host: request.host }, allowed)) {
    counters.originsRefused++
    peerLog.write('originRefused', () => ({ origin, host: request.host, address: ip }))
    return { status: 403, error: 'this origin may not connect' }
  }
  if (config.text('ws-token-cookie') !== '' && origin === undefined && hasCookie(request, core)) {
    return { status: 403, error: 'a cookie counts only with an Origin' }
  }
  const rejection = admission.admit({ transport: 'websocket', ip, listener })
  return rejection && rejectionRefusal(rejection)
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

/** The answer to an upgrade that admission rejects. */
export function rejectionRefusal(rejection: Rejection): Refusal {
  const isOfAddress = rejection === 'address' || rejection === 'rate'
  return {
    status: isOfAddress ? 429 : 503,
    error: isOfAddress ? 'too many connections from this address' : 'no room for another client',
    headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
  }
}

function hasCookie(request: FastifyRequest, core: Core): boolean {
  return tokenOf(request, core, false) === undefined && tokenOf(request, core, true) !== undefined
}

function tokenOf(
  request: FastifyRequest,
  { config }: Core,
  withCookie: boolean,
): string | undefined {
  const { authorization, cookie } = request.headers
  return tokenOfUpgrade(
    {
      authorization,
      cookie,
      subprotocols: request.headers['sec-websocket-protocol'],
      query: request.query as Record<string, unknown>,
    },
    {
      cookieName: withCookie ? config.text('ws-token-cookie') : '',
      query: config.boolean('ws-token-query'),
    },
  )
}

function accept(
  webSocket: ServedWebSocket,
  request: FastifyRequest,
  route: OpenRoute,
  host: WebSocketHost,
): void {
  const { core, listener } = route
  const { socket } = request.raw
  const ip = peerAddress(request)
  route.waiting?.release(socket)
  const Transport = core.config.boolean('ws-permessage-deflate') ? CompressingSink : WebSocketSink
  const sink = new Transport(webSocket, socket)
  const connection = connectWebSocket(
    core,
    {
      listener,
      address: hostAndPort(ip, socket.remotePort ?? 0),
      localAddress: route.local.of(socket),
      origin: request.headers.origin,
    },
    sink,
    tokenOf(request, core, true),
  )
  core.admission.joined(connection.client, ip)
  serveWebSocket(webSocket, connection, host)
}
