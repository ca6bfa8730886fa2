import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import type { Core } from '../core.ts'
import { Metrics } from '../metrics/metrics.ts'
import type { KeepAlive } from '../transport/keep-alive.ts'
import { builtFolder } from './built-folder.ts'
import { createHttpServer } from './server.ts'
import { openWebSocketRoute } from './websocket-route.ts'

/** The administrators' listener: the console, health for orchestrators, metrics, and a WebSocket on which ACL users log in by password. */
export async function createAdminApp(core: Core, keepAlive: KeepAlive): Promise<FastifyInstance> {
  const app = createHttpServer(core, undefined)
  app.addHook('onRequest', (request, reply, done) => {
    if (isHostAllowed(request.headers.host ?? '', core)) done()
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
  // What the console has to know before it can ask by command.
  app.get('/console.json', (_request, reply) => reply.send({ webSocketPath }))
  await openWebSocketRoute(app, { core, keepAlive, listener: 'admin', path: webSocketPath })
  const page = builtFolder('console')
  if (page !== undefined) await app.register(fastifyStatic, { root: page, prefix: '/' })
  return app
}

function notReady(core: Core): string[] {
  const problems: string[] = []
  if (core.admission.closing) problems.push('shutting down')
  if (!core.backplane.isReady) problems.push('backplane not connected')
  problems.push(...core.tokens.revocation.problems)
  return problems
}

/** A page that had its name resolved to this machine must not get through (DNS rebinding). */
function isHostAllowed(host: string, { config }: Core): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  const own = ['localhost', '127.0.0.1', '[::1]']
  const bound = config.list('admin-bind').map((address) => address.replace(/^-/, ''))
  const hosts = [...own, ...bound, ...bound.map((address) => `[${address}]`)]
  return [...hosts, ...config.list('admin-hosts')].some((each) => each.toLowerCase() === name)
}
