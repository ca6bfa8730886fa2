/** One test for each way in which clients of such servers are known to fail over their life. */
import { describe, expect, test } from 'vitest'
import { FakeServer, settle } from '../support/fake-server.ts'
import { hearing, JITTER, online, WAIT_MS } from '../support/scenes.ts'

describe('dead connections', () => {
  test('network gone without a close: silence is probed, and the connection replaced', async () => {
    const { server, client } = await online({ token: 'a.b.c', heartbeatMs: 25_000 })
    await server.pass(29_999)
    expect(server.socket.commands()).toEqual([])
    await server.pass(1)
    expect(server.socket.commands()).toEqual([['PING']])
    server.randomValue = JITTER
    await server.pass(3000)
    expect(client.state).toMatchObject({ status: 'waiting', cause: { name: 'lost' } })
    expect(server.socket.closed).toBeDefined()
    await server.pass(WAIT_MS)
    await server.online()
    expect(client.state.status).toBe('online')
  })

  test('idle connection dropped by something between: it does not stay idle', async () => {
    const { server, client } = await online({ token: 'a.b.c', heartbeatMs: 25_000 })
    for (let minute = 0; minute < 10; minute++) {
      await server.pass(30_000)
      for (const command of server.socket.commands()) {
        expect(command).toEqual(['PING'])
        server.socket.receive('+PONG\r\n')
      }
      await settle()
    }
    expect(client.state.status).toBe('online')
    expect(server.sockets).toHaveLength(1)
  })

  test.each([1000, 4000])(
    'a heartbeat of %d ms is kept: silence is probed by one and a half of it',
    async (heartbeatMs) => {
      const { server } = await online({ token: 'a.b.c', heartbeatMs })
      await server.pass(heartbeatMs - 1)
      expect(server.socket.commands()).toEqual([])
      await server.pass(heartbeatMs / 2 + 1)
      expect(server.socket.commands()).toEqual([['PING']])
    },
  )

  test('busy connection: nothing is probed while messages come', async () => {
    const { server, client } = await online({ token: 'a.b.c', heartbeatMs: 25_000 })
    await hearing(server, client)
    for (let at = 0; at < 10; at++) {
      await server.pass(10_000)
      server.socket.push('message', 'news', 'x')
    }
    expect(server.socket.commands()).toEqual([])
  })

  test('network changed: an event of the device probes at once', async () => {
    const { server, client } = await online()
    server.isOffline = true
    server.wake()
    expect(server.socket.commands()).toEqual([['PING']])
    // A device may be wrong about its network: a connection that answers stays.
    server.socket.receive('+PONG\r\n')
    await settle()
    await server.pass(3000)
    expect(client.state.status).toBe('online')
  })

  test('sleep without any event: a timer that comes too late tells', async () => {
    const { server, client } = await online()
    server.randomValue = JITTER
    server.clock.stepWall(60_000)
    await server.pass(10_000)
    expect(server.socket.commands()).toEqual([['PING']])
    await server.pass(3000)
    expect(client.state).toMatchObject({ status: 'waiting', cause: { name: 'lost' } })
  })

  test('clock set back: nothing happens', async () => {
    const { server } = await online()
    server.clock.stepWall(-3_600_000)
    await server.pass(60_000)
    expect(server.socket.commands()).toEqual([])
  })

  test('stuck connecting after sleep: every attempt has a deadline', async () => {
    const server = new FakeServer()
    server.randomValue = JITTER
    const client = server.client()
    await settle()
    await server.pass(10_000)
    expect(client.state).toMatchObject({ status: 'waiting', cause: { name: 'timeout' } })
    await server.pass(WAIT_MS)
    server.socket.open()
    expect(client.state.status).toBe('authenticating')
    await server.pass(10_000)
    expect(client.state).toMatchObject({ status: 'waiting', cause: { name: 'timeout' } })
    await server.pass(2 * WAIT_MS)
    await server.online()
    expect(client.state.status).toBe('online')
  })

  test('no network: it says so, waits for it, and does not count the time against the server', async () => {
    const { server, client } = await online()
    server.isOffline = true
    await server.socket.end()
    expect(client.state).toMatchObject({
      status: 'offline',
      retryInMs: 20_000,
      cause: { name: 'lost' },
    })
    server.isOffline = false
    server.wake()
    await server.online()
    expect(client.state.status).toBe('online')
    server.randomValue = 0.5
    await server.socket.end()
    expect(client.state).toMatchObject({ status: 'waiting', retryInMs: 250 })
  })

  test('network gone while waiting: the wait becomes one for the network', async () => {
    const { server, client } = await online()
    server.randomValue = 0.5
    await server.socket.end()
    expect(client.state.status).toBe('waiting')
    server.isOffline = true
    server.wake()
    server.wake()
    expect(client.state).toMatchObject({ status: 'offline', cause: { name: 'lost' } })
  })

  test('device wrong about its network: it is tried all the same, now and then', async () => {
    const { server, client } = await online()
    server.isOffline = true
    await server.socket.end()
    await server.pass(20_000)
    await server.online()
    expect(client.state.status).toBe('online')
  })

  test('stale connection that never reconnects: it goes on after hours of refusals', async () => {
    const { server, client } = await online()
    for (let hour = 0; hour < 12; hour++) {
      await server.socket.end()
      await server.pass(3_600_000)
    }
    await server.online()
    expect(client.state.status).toBe('online')
  })
})
