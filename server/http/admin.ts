import type { FastifyInstance } from 'fastify'
import { bindAddress, isLoopback } from '../addresses.ts'
import type { Core } from '../core.ts'
import { Metrics } from '../metrics/metrics.ts'
import type { KeepAlive } from '../transport/keep-alive.ts'
import type { ServerTls } from '../transport/tls.ts'
import type { WaitingSockets } from '../transport/waiting-sockets.ts'
import { refusalOfMetrics } from './metrics-access.ts'
import { createHttpServer, serveFolder } from './server.ts'
import { openWebSocketRoute } from './websocket-route.ts'

/** The administrators' listener: the console, health for orchestrators, metrics, and a WebSocket on which ACL users log in by password. */
export async function createAdminApp(
  core: Core,
  keepAlive: KeepAlive,
  waiting: WaitingSockets,
  tls: ServerTls | undefined,
  metricsToken: () => string | undefined,
): Promise<FastifyInstance> {
  const app = createHttpServer(core, 'admin', waiting, tls)
  app.addHook('onRequest', (request, reply, done) => {
    const { config } = core
    const place = {
      localAddress: request.raw.socket.localAddress ?? '',
      binds: config.list('admin-bind'),
      hosts: config.list('admin-hosts'),
    }
    if (isHostAllowed(request.headers.host ?? '', place)) done()
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
  app.get('/metrics', async (request, reply) => {
    const { config } = core
    const refusal = refusalOfMetrics(
      {
        authorization: request.headers.authorization,
        localAddress: request.raw.socket.localAddress ?? '',
      },
      {
        token: metricsToken(),
        isTrusted:
          config.boolean('admin-insecure') ||
          (tls !== undefined && config.choice('admin-tls-auth-clients') === 'yes'),
      },
    )
    if (refusal) {
      if (refusal.status === 401)
        void reply.header('www-authenticate', 'Bearer, Basic realm="metrics"')
      return reply.code(refusal.status).send({ error: refusal.error })
    }
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
  else if (core.drain.isDraining) problems.push(draining(core.drain))
  problems.push(...core.backplane.problems)
  problems.push(...core.tokens.revocation.problems)
  problems.push(...core.authenticator.issuers.problems)
  if (core.aclFile.problem !== undefined) problems.push(core.aclFile.problem)
  return problems
}

function draining({ restMs }: Core['drain']): string {
  return `draining, and ends within ${Math.ceil(restMs / 1000)} s`
}

/** The listener that a request came in by. */
interface Place {
  /** The address of this machine that was connected to. */
  readonly localAddress: string
  /** `admin-bind`. */
  readonly binds: readonly string[]
  /** `admin-hosts`. */
  readonly hosts: readonly string[]
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']

/**
 * Reports whether the administrators' listener answers a request for a host. A page whose name was resolved to this machine
 * (DNS rebinding) must not get through, and who reached another address than loopback must not be taken for somebody on this
 * machine: names of loopback count there only.
 *
 * @param host The Host header.
 */
export function isHostAllowed(host: string, { localAddress, binds, hosts }: Place): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  const local = localAddress.replace(/^::ffff:/i, '')
  const isOwn = isLoopback(local)
  const bound = binds
    .map((address) => bindAddress(address).host)
    .filter((address) => isLoopback(address) === isOwn && !/^(::|0\.0\.0\.0)$/.test(address))
  const names = [...bound, local].flatMap((address) => [address, `[${address}]`])
  const allowed = [...(isOwn ? LOOPBACK_NAMES : []), ...names, ...hosts]
  return name !== '' && allowed.some((each) => each.toLowerCase() === name)
}
