import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { startServer } from '../../support/server.ts'
import { slowIssuer } from '../../support/key-server.ts'
import { eventually, opener } from '../../support/opened.ts'

const open = opener()

describe('a server that stops', () => {
  test('is not ready any more, and takes nobody', async () => {
    const server = await open.server()
    const blocked = await open.client(server, 'RESP3 over WebSocket')
    await blocked.subscribe('a')
    const ready = () => fetch(`http://127.0.0.1:${server.adminPort}/readyz`)
    expect((await ready()).status).toBe(200)
    server.core.admission.close()
    const response = await ready()
    expect(response.status).toBe(503)
    expect(await response.json()).toEqual({ status: 'not ready', problems: ['shutting down'] })
    expect((await open.upgrade(server.httpPort)).status).toBe(503)
  })

  test('is not ready while it drains, and says until when', async () => {
    const server = await open.server()
    await open.tcp(server)
    server.core.drain.begin()
    const response = await fetch(`http://127.0.0.1:${server.adminPort}/readyz`)
    expect(response.status).toBe(503)
    expect(await response.json()).toEqual({
      status: 'not ready',
      problems: ['draining, and ends within 35 s'],
    })
  })

  test('in the midst of a drain closes everybody at once', async () => {
    const clock = new FakeClock(Date.now())
    const server = await startServer({ clock })
    const clients = [await open.client(server, 'RESP3 over WebSocket'), await open.tcp(server)]
    server.core.drain.begin()
    clock.advance(2_000)
    await server.stop()
    expect((await clients[0]?.closed)?.code).toBe(4503)
    await clients[1]?.closed
  })

  test('waits at most three seconds for those that do not read', async () => {
    const clock = new FakeClock(Date.now())
    const server = await startServer({
      clock,
      directives: { 'client-output-buffer-limit': 'pubsub 0 0 0 websocket 0 0 0' },
    })
    const clients = [
      await open.client(server, 'RESP3 over TCP'),
      await open.client(server, 'RESP3 over WebSocket'),
    ]
    const publisher = await open.tcp(server)
    for (const client of clients) {
      await client.subscribe('a')
      client.pause()
    }
    publisher.command('PUBLISH', 'a', Buffer.alloc(16_000_000))
    await publisher.takeExactly(':2\r\n')
    let isStopped = false
    const stopped = server.stop().then(() => (isStopped = true))
    await publisher.closed
    expect(isStopped).toBe(false)
    clock.advance(3_000)
    await stopped
    for (const client of clients) client.resume()
    for (const client of clients) await client.closed
  })

  test('does not wait for a token that is being verified', async () => {
    const issuer = await slowIssuer(open)
    const client = await open.webSocket(issuer.server)
    client.command('AUTH', 'jwt', issuer.unknown('42', {}))
    await issuer.asked()
    const stopped = issuer.server.gateway.stop()
    expect((await client.closed).code).toBe(4503)
    await stopped
    issuer.answer()
    await eventually('nobody is left', () => issuer.server.core.clients.size === 0)
  })

  test('may be stopped twice', async () => {
    const server = await open.server()
    await Promise.all([server.gateway.stop(), server.gateway.stop()])
    await server.gateway.stop()
    await expect(fetch(`${server.url}/`)).rejects.toThrow('fetch failed')
  })
})
