import { describe, expect, test, vi } from 'vitest'
import type { TokenReason } from '../../../../web/client/token-source.ts'
import { FakeServer, record, settle } from './support/fake-server.ts'
import { online } from './support/scenes.ts'

describe('a client that has stopped', () => {
  test.each([
    [4401, 'unauthorized||invalid token', 'unauthorized: invalid token'],
    [4403, 'forbidden||', 'forbidden'],
  ])('says why (%d %s)', async (code, reason, why) => {
    const { server, client } = await online()
    const errors = record(client, 'error')
    await server.socket.end(code, reason)
    const denial = { code: 'ERR_DENIED', message: `The server does not accept this client: ${why}` }
    expect(errors).toMatchObject([denial])
    await expect(client.subscribe('late').ready).rejects.toMatchObject(denial)
  })

  test('says that an address is none as its own mistake', async () => {
    const server = new FakeServer()
    const client = server.client({ token: 'a.b.c' }, '')
    const errors = record(client, 'error')
    await settle()
    expect(errors).toMatchObject([
      { code: 'ERR_SETUP', message: expect.stringContaining('not a URL') as string },
    ])
  })

  test('says it to the console where nobody listens', async () => {
    const spy = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const { server } = await online()
    await server.socket.end(4403, 'forbidden||')
    expect(spy).toHaveBeenCalledWith(expect.objectContaining({ code: 'ERR_DENIED' }))
    spy.mockRestore()
  })

  test('was never connected: the cause names what may be wrong', async () => {
    const server = new FakeServer()
    const client = server.client()
    await settle()
    await server.socket.end()
    expect(client.state).toMatchObject({
      status: 'waiting',
      cause: { name: 'lost', text: expect.stringContaining('origin') as string },
    })
  })
})

test('permissions that changed bring it back as fast as the first time', async () => {
  const { server, client } = await online()
  server.randomValue = 0.999
  for (let times = 0; times < 5; times++) {
    await server.socket.end()
    if (client.state.status !== 'waiting') throw new Error(client.state.status)
    await server.pass(client.state.retryInMs)
    await server.online()
  }
  await server.socket.end(4403, 'permissions-changed||')
  expect(client.state).toMatchObject({ status: 'waiting', retryInMs: 499 })
})

describe('logging in', () => {
  test('a token travels as a subprotocol, and the server says who it belongs to', async () => {
    const server = new FakeServer()
    const client = server.client()
    const states = record(client, 'state')
    const accepted = record(client, 'accepted')
    expect(client.state).toEqual({ status: 'connecting' })
    await server.online('jwt:42', 60_000)

    expect(server.socket.url).toBe('ws://fake/ws')
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.a.b.c'])
    expect(states).toEqual([{ status: 'authenticating' }, { status: 'online' }])
    const identity = { user: 'jwt:42', expiresAtMs: server.clock.wallMs() + 60_000 }
    expect(accepted).toEqual([identity])
    expect(client.identity).toEqual(identity)
    expect(server.socket.commands()).toEqual([])
  })

  test('a token over 4 KB is sent by AUTH', async () => {
    const server = new FakeServer()
    const token = `a.${'b'.repeat(4096)}.c`
    const client = server.client({ token })
    await settle()
    server.socket.open()
    expect(server.socket.protocols).toEqual(['resp3'])
    expect(server.socket.commands()).toEqual([['AUTH', 'jwt', token]])
    server.socket.receive('+OK\r\n')
    await settle()
    expect(client.state.status).toBe('online')
  })

  test('any token is sent by AUTH on demand', async () => {
    const server = new FakeServer()
    server.client({ token: 'a.b.c', tokenInBand: true })
    await settle()
    server.socket.open()
    expect(server.socket.protocols).toEqual(['resp3'])
    expect(server.socket.commands()).toEqual([['AUTH', 'jwt', 'a.b.c']])
  })

  test('without a token a cookie has to do', async () => {
    const { server, client } = await online({})
    expect(server.socket.protocols).toEqual(['resp3'])
    expect(client.state.status).toBe('online')
  })

  test('a server that does not answer within the deadline is left, and tried again', async () => {
    const server = new FakeServer()
    server.randomValue = 0.5
    const client = server.client({ token: 'a.b.c', handshakeTimeoutMs: 5000 })
    await settle()
    await server.pass(4999)
    expect(client.state.status).toBe('connecting')
    await server.pass(1)
    expect(client.state).toMatchObject({ status: 'waiting', cause: { name: 'timeout' } })
    expect(server.socket.closed).toBeDefined()
    await server.pass(250)
    expect(server.sockets).toHaveLength(2)
  })

  test('an address that is none stops the client', async () => {
    const server = new FakeServer()
    const client = server.client({ token: 'a.b.c' }, '')
    await settle()
    expect(client.state).toMatchObject({ status: 'denied', cause: { name: 'bad-address' } })
  })
})

describe('connecting again', () => {
  test('waits a random while under a ceiling that doubles', async () => {
    const server = new FakeServer()
    server.randomValue = 0.5
    const client = server.client({ token: 'a.b.c', reconnect: { baseMs: 400, maxMs: 1000 } })
    const waits: number[] = []
    client.on('state', (state) => {
      if (state.status === 'waiting') waits.push(state.retryInMs)
    })
    await settle()
    for (let attempt = 0; attempt < 4; attempt++) {
      await server.socket.end()
      await server.pass(1000)
    }
    expect(waits).toEqual([200, 400, 500, 500])
    expect(server.sockets).toHaveLength(5)
  })

  test('starts the waits anew only after a stable time online', async () => {
    const server = new FakeServer()
    server.randomValue = 0.5
    const client = server.client({
      token: 'a.b.c',
      reconnect: { baseMs: 400, maxMs: 9000, resetAfterMs: 10_000 },
    })
    const waitAfter = async (onlineMs: number): Promise<unknown> => {
      await server.online()
      await server.pass(onlineMs)
      await server.socket.end()
      const { state } = client
      await server.pass(9000)
      return state.status === 'waiting' && state.retryInMs
    }
    expect(await waitAfter(9999)).toBe(200)
    expect(await waitAfter(9999)).toBe(400)
    expect(await waitAfter(10_000)).toBe(200)
  })

  test('waits at least as long as the server asks for, and up to as long again', async () => {
    const { server, client } = await online()
    await server.socket.end(4503, 'draining|5000|restart')
    const cause = { code: 4503, name: 'draining', text: 'restart' }
    expect(client.state).toEqual({ status: 'waiting', retryInMs: 5000, cause })

    server.randomValue = 0.9
    await server.pass(5000)
    await server.socket.end(4503, 'draining|5000|restart')
    expect(client.state).toEqual({ status: 'waiting', retryInMs: 14_000, cause })
  })

  test('believes a hint up to an hour', async () => {
    const { server, client } = await online()
    await server.socket.end(4429, 'rate-limited|999999999999|')
    expect(client.state).toMatchObject({ retryInMs: 3_600_000 })
  })

  test('happens at once when the page wakes up, or asks for it', async () => {
    const { server, client } = await online()
    server.randomValue = 0.5
    await server.socket.end()
    server.wake()
    await settle()
    expect(server.sockets).toHaveLength(2)

    server.randomValue = 0
    await server.socket.end(4503, 'draining|60000|')
    client.retry()
    await settle()
    expect(server.sockets).toHaveLength(3)
    // The timer of the wait has no effect any more.
    await server.pass(60_000)
    expect(server.sockets).toHaveLength(4)
    expect(server.socket.url).toBe('ws://fake/ws')
  })

  test('does not happen before the time that the server named, however often the page wakes up', async () => {
    const server = new FakeServer()
    server.client()
    await server.online()
    await server.socket.end(4503, 'draining|60000|')
    await server.pass(59_999)
    server.wake()
    await settle()
    expect(server.sockets).toHaveLength(1)
    await server.pass(1)
    expect(server.sockets).toHaveLength(2)
  })

  test('happens after something that is not RESP', async () => {
    const server = new FakeServer()
    const client = server.client()
    const errors = record(client, 'error')
    await server.online()
    server.socket.receive('HTTP/1.1 400\r\n')
    expect(server.socket.closed).toEqual([4400, 'protocol-error'])
    expect(client.state).toMatchObject({ status: 'waiting', cause: { name: 'protocol-error' } })
    expect(errors).toEqual([expect.objectContaining({ code: 'ERR_RESP_TYPE' })])
  })

  test('an old socket that speaks up late is not heard', async () => {
    const server = new FakeServer()
    const client = server.client({ token: 'a.b.c', handshakeTimeoutMs: 5000 })
    await settle()
    const old = server.socket
    await server.pass(5000)
    await server.pass(0)
    await server.online()
    const seen = record(client, 'state')

    old.open()
    old.push('token', 'accepted', 'jwt:other', 1)
    await old.end(4403, 'forbidden||')
    expect(seen).toEqual([])
    expect(client.identity).toMatchObject({ user: 'jwt:42' })
  })
})

describe('what a close means', () => {
  test.each([
    [4400, 'protocol-error||', 'denied'],
    [4401, 'unauthorized||token expired', 'denied'],
    [4403, 'permissions-changed||', 'waiting'],
    [4403, 'revoked||', 'denied'],
    [4403, 'forbidden||', 'denied'],
    [4408, 'auth-timeout||', 'waiting'],
    [4413, 'too-large||', 'waiting'],
    [4429, 'rate-limited||', 'waiting'],
    [4450, 'slow-consumer||', 'waiting'],
    [4500, 'server-error||', 'waiting'],
    [4503, 'draining||', 'waiting'],
    [1001, '', 'waiting'],
    [1006, '', 'waiting'],
    [4999, 'unheard of', 'waiting'],
  ] as const)('%i %s leaves a client with one fixed token %s', async (code, reason, status) => {
    const { server, client } = await online({ token: 'a.b.c' })
    await server.socket.end(code, reason)
    expect(client.state).toMatchObject({ status, cause: { code } })
    await server.pass(3_600_000)
    expect(server.sockets).toHaveLength(status === 'waiting' ? 2 : 1)
  })

  test('changed permissions: the same token again', async () => {
    const server = new FakeServer()
    let calls = 0
    server.client({ token: () => `token-${++calls}` })
    await server.online()
    await server.socket.end(4403, 'permissions-changed||')
    await server.pass(0)
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.token-1'])
    expect(calls).toBe(1)
  })

  test('an expired token: a fresh one', async () => {
    const server = new FakeServer()
    const reasons: TokenReason[] = []
    server.client({
      token: ({ reason }) => {
        reasons.push(reason)
        return `token-${reasons.length}`
      },
    })
    await server.online()
    await server.socket.end(4401, 'unauthorized||token expired')
    await server.pass(0)
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.token-2'])
    await server.socket.end(4401, 'unauthorized||invalid token')
    await server.pass(0)
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.token-3'])
    expect(reasons).toEqual(['initial', 'expired', 'refused'])
  })

  test('a revoked token: a fresh one after the hint, and an end after three refusals', async () => {
    const server = new FakeServer()
    const reasons: TokenReason[] = []
    const client = server.client({
      token: ({ reason }) => {
        reasons.push(reason)
        return `token-${reasons.length}`
      },
    })
    await server.online()
    for (let refusal = 0; refusal < 3; refusal++) {
      await server.socket.end(4403, 'revoked|5000|account closed')
      expect(client.state).toMatchObject({ status: 'waiting', retryInMs: 5000 })
      await server.pass(5000)
    }
    await server.socket.end(4403, 'revoked|5000|account closed')
    expect(client.state).toEqual({
      status: 'denied',
      cause: { code: 4403, name: 'revoked', text: 'account closed' },
    })
    expect(reasons).toEqual(['initial', 'revoked', 'revoked', 'revoked'])
  })

  test('what was denied can be tried again on demand', async () => {
    const { server, client } = await online()
    await server.socket.end(4403, 'forbidden||')
    client.retry()
    await server.online()
    expect(client.state.status).toBe('online')
  })
})

describe('closing', () => {
  test('is for good, with an ordinary close', async () => {
    const { server, client } = await online()
    const reply = client.call('PING')
    client.close()
    client.close()
    await expect(reply).rejects.toMatchObject({ code: 'ERR_LOST' })
    expect(server.socket.closed).toEqual([1000, ''])
    client.retry()
    server.wake()
    await server.pass(3_600_000)
    expect(server.sockets).toHaveLength(1)
    expect(server.clock.pendingTimers).toBe(0)
    await expect(client.subscribe('news', () => undefined).ready).rejects.toMatchObject({
      code: 'ERR_CLOSED',
    })
    await expect(client.publish('news', 'x')).rejects.toMatchObject({ code: 'ERR_NOT_ONLINE' })
  })
})

describe('a connection that may be dead', () => {
  test('is probed when the page wakes up, and stays if it answers', async () => {
    const { server, client } = await online()
    server.wake()
    server.wake()
    expect(server.socket.commands()).toEqual([['PING']])
    server.socket.receive('+PONG\r\n')
    await settle()
    await server.pass(3000)
    expect(client.state.status).toBe('online')
    expect(server.sockets).toHaveLength(1)
  })

  test('is replaced if it does not', async () => {
    const server = new FakeServer()
    server.randomValue = 0.5
    const client = server.client()
    await server.online()
    server.wake()
    await server.pass(2999)
    expect(client.state.status).toBe('online')
    await server.pass(1)
    expect(client.state).toMatchObject({ status: 'waiting', cause: { name: 'lost' } })
    await server.pass(250)
    await server.online()
    server.wake()
    expect(server.socket.commands()).toEqual([['PING']])
  })
})
