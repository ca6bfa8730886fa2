import { existsSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { trustOf } from '../addresses.ts'
import type { Core } from '../core.ts'
import { guardPeers, type ServerTls } from '../transport/tls.ts'
import type { WaitingSockets } from '../transport/waiting-sockets.ts'
import { headerProblem, MAX_HEADERS } from './headers.ts'
import { limitPipelines } from './pipelines.ts'
import { endInTime, REQUEST_TIMEOUT_MS } from './stalled.ts'

/** Limits on requests: slow or endless ones must not hold sockets and memory. */
const HEADERS_TIMEOUT_MS = 5_000
const HANDSHAKE_TIMEOUT_MS = 5_000
/** Between two requests. */
const KEEP_ALIVE_TIMEOUT_MS = 5_000
/** Without a byte in either direction: a peer that does not read its answer. */
const STALL_TIMEOUT_MS = 10_000
const CHECKING_INTERVAL_MS = 1_000
const MAX_HEADER_BYTES = 16_384
const MAX_BODY_BYTES = 65_536

/** Pages run only scripts that this server serves, and no page may frame them. */
const CONTENT_SECURITY_POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'"

/**
 * Makes an HTTP server with this project's limits and headers, and no routes.
 *
 * @param waiting Its connections that are no WebSockets.
 * @param tls Undefined is plain HTTP.
 */
export function createHttpServer(
  core: Core,
  listener: 'public' | 'admin',
  waiting: WaitingSockets,
  tls: ServerTls | undefined,
): FastifyInstance {
  const trustProxy = trustOf(core.config.list('trusted-proxies'))
  const options = {
    // Requests are not logged: a line with a query string could hold a token.
    logger: false,
    trustProxy,
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: STALL_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    forceCloseConnections: true,
    frameworkErrors: refuseAddress,
  }
  const http = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: CHECKING_INTERVAL_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
  }
  const app = (
    tls
      ? fastify({ ...options, https: { ...http, ...tls, handshakeTimeout: HANDSHAKE_TIMEOUT_MS } })
      : fastify({ ...options, http })
  ) as FastifyInstance
  limitPipelines(app.server)
  if (tls) guardPeers(app.server, core.config, tls.auth)
  watchConnections(app, waiting, tls !== undefined, ({ remoteAddress = '' }) => {
    // A proxy opens connections for many. Upgrades that come through it count by the address that it vouches for.
    const isProxy = trustProxy !== false && trustProxy(remoteAddress)
    return !isProxy && core.admission.isTooFast('http', remoteAddress)
  })
  app.addHook('onRequest', (request, _reply, done) => {
    const { socket } = request.raw
    core.admission.whenDue(
      listener,
      () => {
        // Nobody is left to be answered.
        if (!socket.destroyed) done()
      },
      () => socket.destroy(),
    )
  })
  // The runtime drops what goes beyond, an Origin too, so one more has to be seen.
  app.server.maxHeadersCount = MAX_HEADERS + 1
  app.addHook('onRequest', (request, reply, done) => {
    const problem = headerProblem(request.raw.rawHeaders)
    if (problem === undefined) {
      done()
      return
    }
    const { status, error } = problem
    void reply.code(status).header('connection', 'close').send({ error })
  })
  endRefusedUpgrades(app)
  app.addHook('onSend', (_request, reply, payload, done) => {
    void reply.headers({
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    done(null, payload)
  })
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'not found' }))
  app.setErrorHandler((error: { statusCode?: number; code?: string }, _request, reply) => {
    if (error.code === 'EMFILE' || error.code === 'ENFILE') {
      return reply.code(503).header('retry-after', '5').send({ error: 'no room, try again later' })
    }
    const status = error.statusCode ?? 500
    if (status >= 500) core.log.error({ err: error }, 'HTTP request failed')
    return reply.code(status).send({ error: status >= 500 ? 'internal error' : 'bad request' })
  })
  return app
}

/**
 * Counts the connections of a server, and closes those that have waited longest where there are too many.
 *
 * @param isSecure The server speaks TLS.
 * @param isTooFast One whose address opens too many, which is closed at once.
 */
function watchConnections(
  app: FastifyInstance,
  waiting: WaitingSockets,
  isSecure: boolean,
  isTooFast: (socket: IncomingMessage['socket']) => boolean,
): void {
  const { server } = app
  server.on('connection', (socket: IncomingMessage['socket']) => {
    if (isTooFast(socket)) socket.destroy()
    else waiting.add(socket, isSecure)
  })
  server.on('request', (request, response) => {
    const { socket } = request
    waiting.startRequest(socket)
    response.once('close', () => waiting.endRequest(socket))
  })
  server.on('upgrade', (request: IncomingMessage) => waiting.startRequest(request.socket))
  // The framework listens for errors until the server listens. One to accept a connection, for want of descriptors, ends nothing.
  server.on('error', () => {})
}

/**
 * Answers a request whose address cannot be decoded, which reaches no hook. The runtime has let go of the socket of an upgrade:
 * nobody else would end it.
 */
function refuseAddress(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  reply.raw.once('finish', () => request.raw.socket.destroySoon())
  void reply
    .code(error.statusCode ?? 500)
    .header('connection', 'close')
    .send({ error: 'bad request' })
}

/**
 * Ends the sockets of upgrades that are refused by a hook or a handler, or that nothing answers in time. The runtime lets go of a
 * socket at its upgrade, with all of its deadlines, and @fastify/websocket ends only those that its own hook has seen.
 */
function endRefusedUpgrades(app: FastifyInstance): void {
  const upgrades = new WeakSet<IncomingMessage>()
  app.server.on('upgrade', (request: IncomingMessage) => {
    upgrades.add(request)
    endInTime(request.socket)
  })
  app.addHook('onResponse', (request, _reply, done) => {
    if (upgrades.has(request.raw)) request.raw.socket.destroySoon()
    done()
  })
}

/**
 * Serves a folder of the build below a prefix, if it was built.
 *
 * @param headers Of each of its files.
 */
export async function serveFolder(
  app: FastifyInstance,
  name: string,
  prefix: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const root = builtFolder(name)
  // Only one of the folders of a listener can have `reply.sendFile`, and none needs it.
  if (root === undefined) return
  await app.register(fastifyStatic, {
    root,
    prefix,
    decorateReply: false,
    setHeaders: (reply) => void reply.headers(headers),
  })
}

/**
 * Returns the path of a folder of the build, seen from the sources or from `dist/`; undefined where it was not built.
 *
 * @param name `page`, `client`, `console`.
 */
export function builtFolder(name: string): string | undefined {
  for (const path of [`../../${name}`, `../../dist/${name}`]) {
    const folder = fileURLToPath(new URL(path, import.meta.url))
    if (folder.includes('dist') && existsSync(folder)) return folder
  }
  return undefined
}
