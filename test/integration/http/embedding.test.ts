import { fastify, type FastifyInstance } from 'fastify'
import { describe, expect, test } from 'vitest'
import { respcastPlugin } from '../../../server/http/public.ts'
import { connectWebSocket, type RawClient, push } from '../../support/resp-client.ts'
import type { TestGateway } from '../../support/server.ts'
import { opener } from '../../support/opened.ts'

const open = opener()

/** An application with a route of its own and the server as a plugin. */
async function application(): Promise<{ server: TestGateway; app: FastifyInstance; port: number }> {
  const server = await open.server()
  const { core, keepAlive } = server.gateway
  const app = fastify()
  app.get('/hello', (_request, reply) => reply.send({ hello: 'world' }))
  await app.register(respcastPlugin, { core, keepAlive })
  await app.listen({ port: 0, host: '127.0.0.1' })
  open.onEnd(async () => {
    await server.gateway.stop()
    await app.close()
  })
  return { server, app, port: (app.server.address() as { port: number }).port }
}

async function subscriber(server: TestGateway, port: number): Promise<RawClient> {
  const token = await server.mint('42', { channels: ['*'] })
  const client = await connectWebSocket(`ws://127.0.0.1:${port}/ws`, { token })
  open.onEnd(() => client.destroy())
  await client.takeAccepted('jwt:42')
  return client
}

describe('a Fastify application with the plugin', () => {
  test('publishes to WebSockets of its own and to backends, and is told how many got it', async () => {
    const { server, app, port } = await application()
    const browser = await subscriber(server, port)
    const backend = await open.tcp(server, 3)
    for (const client of [browser, backend]) {
      await client.subscribe('news')
    }
    expect(await app.respcast.publish('news', 'grüße')).toBe(2)
    expect(await app.respcast.publish('nobody', '')).toBe(0)
    for (const client of [browser, backend]) {
      await client.takeExactly(push(3, 'message', 'news', Buffer.from('grüße')))
      await client.assertPong()
    }
  })

  test('publishes bytes as they were when it did, whatever becomes of its buffer', async () => {
    const { server, app, port } = await application()
    const browser = await subscriber(server, port)
    await browser.subscribe('\xff')
    const payload = Buffer.alloc(20_000, 'a')
    expect(await app.respcast.publish(Uint8Array.of(0xff), payload)).toBe(1)
    payload.fill('b')
    await browser.takeExactly(push(3, 'message', '\xff', 'a'.repeat(20_000)))
  })

  test('publishes to shard channels apart from channels', async () => {
    const { server, app, port } = await application()
    const browser = await subscriber(server, port)
    await browser.assertReply(['SSUBSCRIBE', 's'], push(3, 'ssubscribe', 's', 1))
    expect(await app.respcast.publish('s', 'm')).toBe(0)
    expect(await app.respcast.spublish('s', 'm')).toBe(1)
    await browser.takeExactly(push(3, 'smessage', 's', 'm'))
    await browser.assertPong()
  })

  test('keeps its own routes, and none of them is a WebSocket', async () => {
    const { port } = await application()
    const response = await fetch(`http://127.0.0.1:${port}/hello`)
    expect(await response.json()).toEqual({ hello: 'world' })
    expect((await open.upgrade(port, { path: '/hello' })).status).toBe(404)
    expect((await open.upgrade(port, { path: '/ws' })).status).toBe(101)
  })

  test('closes its WebSockets with 4503 when the gateway stops', async () => {
    const { server, port } = await application()
    const browser = await subscriber(server, port)
    await server.gateway.stop()
    expect((await browser.closed).code).toBe(4503)
  })
})
