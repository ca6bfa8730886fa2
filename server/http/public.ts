import type { FastifyInstance } from 'fastify'
import type { Core } from '../core.ts'
import type { KeepAlive } from '../transport/keep-alive.ts'
import { respcastPlugin } from './plugin.ts'
import { createHttpServer, serveFolder, type HttpTls } from './server.ts'

/** The public listener: the WebSocket, the page at `/`, and the client bundle in `/client/`. */
export async function createPublicApp(
  core: Core,
  keepAlive: KeepAlive,
  tls: HttpTls | undefined,
): Promise<FastifyInstance> {
  const app = createHttpServer(core, tls)
  await app.register(respcastPlugin, { core, keepAlive })
  await serveFolder(app, 'page', '/')
  await serveFolder(app, 'client', '/client/')
  return app
}
