import type { FastifyInstance } from 'fastify'
import type { Core } from '../core.ts'
import { Metrics } from '../metrics/metrics.ts'
import type { KeepAlive } from '../transport/keep-alive.ts'
import type { ServerTls } from '../transport/tls.ts'
import type { WaitingSockets } from '../transport/waiting-sockets.ts'
import { createHttpServer, serveFolder } from './server.ts'
import { openWebSocketRoute } from './websocket-route.ts'

/** The administrators' listener: the console, health for orchestrators, metrics, and a WebSocket on which ACL users log in by password. */
export async function createAdminApp(
  core: Core,
  keepAlive: KeepAlive,
  waiting: WaitingSockets,
  tls: ServerTls | undefined,
): Promise<FastifyInstance> {
  const app = createHttpServer(core, waiting, tls)
  app.addHook('onRequest', (request, reply, done) => {
    const { config } = core
    const host = request.headers.host ?? ''
    if (isHostAllowed(host, config.list('admin-bind'), config.list('admin-hosts'))) done()
    else void reply.code(403).send({ error: 'unknown Host; add it to admin-hosts' })
  })
  app.get('/livez', (_request, reply) => reply.send({ status: 'alive' }))
  app.get('/readyz', (_request, reply) => {
    const problems = notReady(core)
    return reply
      .code(problems.length === 0 ? 200 : 503)
      .send({ status: problems.length === 0 ? 'ready' : 'not ready', problems })
  })
  const metrics = new Metrics(core)
  metrics.watchProcess()
  app.get('/metrics', async (_request, reply) => {
    const text = await metrics.scrape()
    return reply
      .headers({ 'content-type': metrics.contentType, 'cache-control': 'no-store' })
      .send(text)
  })
  const webSocketPath = core.config.text('ws-path')
  // For the console, before it can send commands.
  app.get('/console.json', (_request, reply) => reply.send({ webSocketPath }))
  await openWebSocketRoute(app, {
    core,
    keepAlive,
    listener: 'admin',
    path: webSocketPath,
    waiting,
  })
  await serveFolder(app, 'console', '/')
  return app
}

function notReady(core: Core): string[] {
  const problems: string[] = []
  if (core.admission.closing) problems.push('shutting down')
  if (!core.backplane.isReady) problems.push('backplane not connected')
  problems.push(...core.tokens.revocation.problems)
  return problems
}

/**
 * Reports whether the administrators' listener answers a request for a host. A page whose name was resolved to this machine
 * (DNS rebinding) must not get through.
 *
 * @param host The Host header.
 * @param binds `admin-bind`.
 * @param hosts `admin-hosts`.
 */
export function isHostAllowed(
  host: string,
  binds: readonly string[],
  hosts: readonly string[],
): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  const own = ['localhost', '127.0.0.1', '[::1]']
  const bound = binds.map((address) => address.replace(/^-/, ''))
  const allowed = [...own, ...bound, ...bound.map((address) => `[${address}]`), ...hosts]
  return allowed.some((each) => each.toLowerCase() === name)
}
