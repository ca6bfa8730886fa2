import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import type { Core } from '../core.ts'
import type { KeepAlive } from '../transport/keep-alive.ts'
import type { ServerTls } from '../transport/tls.ts'
import type { WaitingSockets } from '../transport/waiting-sockets.ts'
import type { RespcastHandle } from './handle.ts'
import { openEventsRoute } from './events-route.ts'
import { openApiDocument } from './openapi.ts'
import { openPublishRoute } from './publish-route.ts'
import { createHttpServer, serveFolder } from './server.ts'
import { openWebSocketRoute } from './websocket-route.ts'

/** Options of the plugin. */
interface RespcastPluginOptions {
  readonly core: Core
  readonly keepAlive: KeepAlive
  readonly waiting?: WaitingSockets
  /** The application is this project's own. */
  readonly isOwn?: boolean
}

/** The core as a Fastify plugin: the WebSocket at `ws-path`, streams of events, requests that publish, and `app.respcast`. */
export const respcastPlugin: FastifyPluginAsync<RespcastPluginOptions> = async (app, options) => {
  const { core, keepAlive, waiting, isOwn = false } = options
  app.decorate('respcast', handleOf(core))
  await openWebSocketRoute(app, {
    core,
    keepAlive,
    listener: 'public',
    path: core.config.text('ws-path'),
    waiting,
    isOwn,
  })
  const eventsPath = core.config.text('http-events-path')
  if (eventsPath !== '') {
    openEventsRoute(app, { core, keepAlive, listener: 'public', waiting }, eventsPath)
  }
  const publishPath = core.config.text('http-publish-path')
  if (publishPath !== '') {
    await openPublishRoute(app, { core, listener: 'public', waiting }, publishPath)
  }
}

// The decoration is for the whole application, not for a scope of its own (Fastify, "Encapsulation").
Object.defineProperty(respcastPlugin, Symbol.for('skip-override'), { value: true })

/** A page of any origin may read what the server can do. */
const READABLE_BY_ALL = { 'access-control-allow-origin': '*' }

/** The client library is public: a page of any origin may load it, also one that is isolated (COEP). */
const OPEN_TO_ALL = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
}

/** The public listener: the WebSocket, messages over HTTP and their OpenAPI document, the page at `/`, and the client bundle in `/client/`. */
export async function createPublicApp(
  core: Core,
  keepAlive: KeepAlive,
  waiting: WaitingSockets,
  tls: ServerTls | undefined,
): Promise<FastifyInstance> {
  const app = createHttpServer(core, 'public', waiting, tls)
  await app.register(respcastPlugin, { core, keepAlive, waiting, isOwn: true })
  const { config } = core
  const document = openApiDocument({
    publish: config.text('http-publish-path'),
    events: config.text('http-events-path'),
  })
  app.get('/openapi.json', (_request, reply) => reply.headers(READABLE_BY_ALL).send(document))
  await serveFolder(app, 'page', '/')
  await serveFolder(app, 'client', '/client/', OPEN_TO_ALL)
  return app
}

/** `app.respcast` of a core. */
function handleOf(core: Core): RespcastHandle {
  return {
    publish: (channel, payload) => core.publish('channel', bytesOf(channel), bytesOf(payload)),
    spublish: (channel, payload) => core.publish('shard', bytesOf(channel), bytesOf(payload)),
  }
}

/** A copy, since the core keeps the bytes and the caller may change them. */
function bytesOf(value: string | Uint8Array): Buffer {
  return typeof value === 'string' ? Buffer.from(value, 'utf8') : Buffer.from(value)
}
