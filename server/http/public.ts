import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import type { Core } from '../core.ts'
import type { KeepAlive } from '../transport/keep-alive.ts'
import { builtFolder } from './built-folder.ts'
import { respcastPlugin } from './plugin.ts'
import { createHttpServer, type HttpTls } from './server.ts'

/** The public listener: the WebSocket, the page at `/`, and the client bundle at `/client.js`. */
export async function createPublicApp(
  core: Core,
  keepAlive: KeepAlive,
  tls: HttpTls | undefined,
): Promise<FastifyInstance> {
  const app = createHttpServer(core, tls)
  await app.register(respcastPlugin, { core, keepAlive })
  const page = builtFolder('page')
  if (page !== undefined) await app.register(fastifyStatic, { root: page, prefix: '/' })
  const client = builtFolder('client')
  if (client !== undefined) {
    await app.register(fastifyStatic, {
      root: client,
      prefix: '/client/',
      decorateReply: false,
    })
  }
  return app
}
