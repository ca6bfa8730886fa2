/** One test for each way in which clients of such servers are known to fail over their life. */
import { describe, expect, test } from 'vitest'
import { FakeServer, record, settle } from '../support/fake-server.ts'
import { hearing, JITTER, numbering, online, WAIT_MS } from '../support/scenes.ts'

const ignore = (): void => undefined

describe('tokens', () => {
  test('static token expired: the client lives on with one that the application brings', async () => {
    const { server, client } = await online()
    await server.socket.end(4401, 'unauthorized||token expired')
    expect(client.state).toMatchObject({ status: 'denied', cause: { name: 'unauthorized' } })
    void client.authenticate('d.e.f')
    await server.online()
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.d.e.f'])
    expect(client.state.status).toBe('online')
  })

  test('token brought on a live connection: it logs in there, and nothing is lost', async () => {
    const { server, client } = await online()
    const { seen } = await hearing(server, client)
    const done = client.authenticate('d.e.f')
    expect(server.socket.commands()).toEqual([['AUTH', 'jwt', 'd.e.f']])
    server.socket.push('message', 'news', 'meanwhile')
    server.socket.receive('+OK\r\n')
    await done
    expect(seen).toEqual(['meanwhile'])
    await server.socket.end()
    await server.pass(0)
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.d.e.f'])
  })

  test('token brought that is refused: the caller hears it, and the old one stays', async () => {
    const { server, client } = await online()
    const done = client.authenticate('bad')
    server.socket.receive('-WRONGPASS invalid token\r\n')
    await expect(done).rejects.toMatchObject({ name: 'ReplyError', prefix: 'WRONGPASS' })
    await server.socket.end()
    await server.pass(0)
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.a.b.c'])
  })

  test('stale fetch on a new connection: a token fetched for an old one is never sent there', async () => {
    const server = new FakeServer()
    const answers: ((token: string) => void)[] = []
    server.client({ token: () => new Promise((resolve) => answers.push(resolve)) })
    await settle()
    answers[0]?.('one')
    await server.online()
    server.socket.push('token', 'expiring', 60_000)
    await server.socket.end()
    await server.pass(0)
    await server.online()
    answers[1]?.('two')
    await settle()
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.one'])
    expect(server.socket.commands()).toEqual([])
  })

  test('stale token after sleep: one that ended meanwhile is replaced before the connection, not after its refusal', async () => {
    const { reasons, provider } = numbering()
    const server = new FakeServer()
    const client = server.client({ token: provider })
    await server.online('jwt:42', 60_000)
    server.randomValue = JITTER
    server.clock.stepWall(3_600_000)
    server.wake()
    await server.pass(3000)
    expect(client.state).toMatchObject({ status: 'waiting', cause: { name: 'lost' } })
    await server.pass(WAIT_MS)
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.token-2'])
    expect(reasons).toEqual(['initial', 'expired'])
  })

  test('two reconnect paths: a wake-up asks for the token as any other attempt does', async () => {
    const { reasons, provider } = numbering()
    const server = new FakeServer()
    server.randomValue = 0.5
    server.client({ token: provider })
    await server.online('jwt:42', 60_000)
    await server.socket.end()
    server.clock.stepWall(3_600_000)
    server.wake()
    await settle()
    expect(reasons).toEqual(['initial', 'expired'])
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.token-2'])
  })

  test('refresh timers frozen in sleep: there are none; the server says when', async () => {
    const { server } = await online({ token: () => 'a.b.c' })
    const before = server.clock.pendingTimers
    server.socket.push('token', 'expiring', 60_000)
    await settle()
    expect(server.socket.commands()).toEqual([['AUTH', 'jwt', 'a.b.c']])
    expect(server.clock.pendingTimers).toBe(before)
  })

  test('refresh by closing: the token is replaced on the live connection', async () => {
    const { reasons, provider } = numbering()
    const { server, client } = await online({ token: provider })
    const { seen } = await hearing(server, client)
    server.socket.push('token', 'expiring', 60_000)
    await settle()
    server.socket.push('message', 'news', 'during')
    server.socket.receive('+OK\r\n')
    await settle()
    expect(server.sockets).toHaveLength(1)
    expect(seen).toEqual(['during'])
    expect(reasons).toEqual(['initial', 'expiring'])
  })

  test('provider that never answers: it is given up and asked again, and its late answer is ignored', async () => {
    const server = new FakeServer()
    const answers: ((token: string) => void)[] = []
    const signals: AbortSignal[] = []
    const client = server.client({
      token: ({ signal }) => {
        signals.push(signal)
        return new Promise((resolve) => answers.push(resolve))
      },
    })
    record(client, 'error')
    server.randomValue = JITTER
    await server.pass(30_000)
    expect(client.state).toMatchObject({ status: 'waiting', cause: { name: 'token-failed' } })
    expect(signals[0]?.aborted).toBe(true)
    await server.pass(WAIT_MS)
    answers[0]?.('late')
    answers[1]?.('second')
    await settle()
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.second'])
  })

  test('client closed while a token is fetched: the provider is told', async () => {
    const server = new FakeServer()
    let signal: AbortSignal | undefined
    const client = server.client({
      token: (request) => {
        signal = request.signal
        return new Promise(ignore)
      },
    })
    record(client, 'error')
    await settle()
    client.close()
    await settle()
    expect(signal?.aborted).toBe(true)
    expect(server.clock.pendingTimers).toBe(0)
  })

  test('authentication per channel: one token serves any number of channels', async () => {
    const { reasons, provider } = numbering()
    const { server, client } = await online({ token: provider })
    for (let at = 0; at < 50; at++) client.subscribe(`room:${at}`, ignore)
    await server.socket.end()
    await server.pass(0)
    await server.online()
    expect(server.socket.commands()).toHaveLength(1)
    expect(reasons).toEqual(['initial'])
  })

  test('token silently ignored: the server says whom it accepted, and for how long', async () => {
    const { client, server } = await online()
    expect(client.identity).toEqual({
      user: 'jwt:42',
      expiresAtMs: server.clock.wallMs() + 3_600_000,
    })
  })

  test('tight loop of expired tokens: the waits grow, and the third in a row ends it, with the reason', async () => {
    const { reasons, provider } = numbering()
    const server = new FakeServer()
    server.randomValue = 0.99
    const client = server.client({ token: provider })
    const waits: number[] = []
    const errors = record(client, 'error')
    const { ready } = client.subscribe('news')
    client.on('state', (state) => {
      if (state.status === 'waiting') waits.push(state.retryInMs)
    })
    await settle()
    for (let attempt = 0; attempt < 3; attempt++) {
      server.socket.open()
      await server.socket.end(4401, 'unauthorized||token expired')
      await server.pass(20_000)
    }
    expect(waits).toEqual([495, 990])
    expect(reasons).toEqual(['initial', 'refused', 'refused'])
    const denial = {
      code: 'ERR_DENIED',
      message: expect.stringContaining('token expired') as string,
    }
    await expect(ready).rejects.toMatchObject(denial)
    expect(errors).toMatchObject([denial])
    expect(client.state.status).toBe('denied')
  })
})
