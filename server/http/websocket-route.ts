import type { IncomingMessage, ServerResponse } from 'node:http'
import fastifyWebsocket from '@fastify/websocket'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import { RESP3_SUBPROTOCOL } from '../../shared/subprotocol.ts'
import { hostAndPort, LocalAddress, trustOf } from '../addresses.ts'
import type { KeepAlive } from '../transport/keep-alive.ts'
import { forgetAddresses } from '../transport/raw-socket.ts'
import { connectWebSocket } from '../transport/reception.ts'
import {
  CompressingSink,
  ServedWebSocket,
  serveWebSocket,
  WebSocketSink,
  type WebSocketHost,
} from '../transport/websocket.ts'
import { subprotocolProblem } from './credentials.ts'
import {
  refusalOfCookie,
  refusalOfPlace,
  refusalOfRate,
  rejectionRefusal,
  tokenOf,
  type Entrance,
  type EntranceRequest,
  type Refusal,
} from './entrance.ts'
import { headerProblem, peerAddress } from './headers.ts'
import { endInTime } from './stalled.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of an upgrade: the response that the framework made, and that is never sent. */
    unusedResponse: ServerResponse | undefined
  }
}

/** A WebSocket at one path of a listener. */
interface WebSocketRoute extends Entrance {
  readonly keepAlive: KeepAlive
  readonly path: string
  /** Its server belongs to it, so that no hook of an application has a say in an upgrade. */
  readonly isOwn?: boolean
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
      // The core keeps all clients; ws would add a listener to each.
      clientTracking: false,
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
      const refusal = isUpgrade(request)
        ? (refused.get(request.raw) ?? refusalOf(request, route))
        : NOT_AN_UPGRADE
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
  if (route.isOwn === true) upgradeDirectly(app, route, host)
}

/** Refusals of upgrades that were judged before the framework saw them: it answers them. */
const refused = new WeakMap<IncomingMessage, Refusal>()

/**
 * Lets upgrades that can be served at once past the framework. Its router, its hooks, its request, its reply and a response that is
 * never sent are made for each otherwise: 50 of 450 µs of CPU for an upgrade with its login. All others go on to the listeners that
 * the server has: what is refused, what has to wait for its turn, what comes through a proxy, and any address but the plain path.
 */
function upgradeDirectly(app: FastifyInstance, route: OpenRoute, host: WebSocketHost): void {
  const { server, websocketServer } = app
  const { admission, config } = route.core
  const isProxy = trustOf(config.list('trusted-proxies'))
  const listeners = server.listeners('upgrade') as UpgradeListener[]
  const isPlain = (request: IncomingMessage): boolean =>
    request.url === route.path &&
    request.method === 'GET' &&
    isUpgrade(request) &&
    !(isProxy && isProxy(request.socket.remoteAddress ?? ''))
  const upgrade = (
    request: IncomingMessage,
    socket: IncomingMessage['socket'],
    head: Buffer,
  ): boolean => {
    if (!isPlain(request)) return false
    const direct = new DirectUpgrade(request)
    const refusal = refusalOf(direct, route)
    if (refusal) {
      refused.set(request, refusal)
      return false
    }
    let isServed = false
    websocketServer.handleUpgrade(request, socket, head, (webSocket) => {
      isServed = true
      accept(webSocket as ServedWebSocket, direct, route, host)
    })
    // ws has answered, and closes the connection.
    if (!isServed) endInTime(request.socket)
    return true
  }
  server.removeAllListeners('upgrade')
  server.on(
    'upgrade',
    (request: IncomingMessage, socket: IncomingMessage['socket'], head: Buffer) => {
      let isDone = false
      admission.atOnce(route.listener, () => {
        isDone = upgrade(request, socket, head)
      })
      if (isDone) return
      for (const listener of listeners) listener.call(server, request, socket, head)
    },
  )
}

type UpgradeListener = (
  request: IncomingMessage,
  socket: IncomingMessage['socket'],
  head: Buffer,
) => void

/** An upgrade that comes straight from its peer, and needs no framework to be judged. */
class DirectUpgrade implements EntranceRequest {
  readonly raw: IncomingMessage
  readonly query = undefined

  constructor(raw: IncomingMessage) {
    this.raw = raw
  }

  get headers(): IncomingMessage['headers'] {
    return this.raw.headers
  }

  get host(): string {
    return this.raw.headers.host ?? ''
  }

  get ip(): string {
    return this.raw.socket.remoteAddress ?? ''
  }

  get socket(): IncomingMessage['socket'] {
    return this.raw.socket
  }
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

function isUpgrade(request: Pick<IncomingMessage, 'headers'>): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket'
}

function refusalOf(request: EntranceRequest, route: WebSocketRoute): Refusal | undefined {
  // Of an embedding application's server too, which may keep more headers, or drop some.
  const badHeaders = headerProblem(request.raw.rawHeaders)
  if (badHeaders) return badHeaders
  const ip = peerAddress(request)
  const tooFast = refusalOfRate(request, ip, route)
  if (tooFast) return tooFast
  // Node asks for a Host on requests, and not on upgrades (RFC 9112 section 3.2, RFC 6455 section 4.2.1).
  if (request.headers.host === undefined) return { status: 400, error: 'a Host header is needed' }
  const problem = subprotocolProblem(request.headers['sec-websocket-protocol'])
  if (problem !== undefined) return { status: 400, error: problem }
  const refusal = refusalOfPlace(request, route) ?? refusalOfCookie(request, route.core)
  if (refusal) return refusal
  const { core, listener } = route
  const rejection = core.admission.admit({ transport: 'websocket', ip, listener })
  return rejection && rejectionRefusal(rejection)
}

function accept(
  webSocket: ServedWebSocket,
  request: EntranceRequest,
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
    tokenOf(request, core),
  )
  core.admission.joined(connection.client, ip)
  forgetAddresses(socket)
  serveWebSocket(webSocket, connection, host)
}
