import { describe, expect, test } from 'vitest'
import { SignedOutError } from '../../../../web/client/errors.ts'
import type { TokenReason } from '../../../../web/client/token-source.ts'
import { FakeServer, record, settle } from './support/fake-server.ts'

/** A provider whose answers are given by the test. */
class Desk {
  readonly reasons: TokenReason[] = []
  readonly #waiting: { resolve(token: string): void; reject(error: unknown): void }[] = []

  readonly provider = ({ reason }: { reason: TokenReason }): Promise<string> => {
    this.reasons.push(reason)
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  async give(token: string): Promise<void> {
    this.#waiting.shift()?.resolve(token)
    await settle()
  }

  async fail(error: unknown): Promise<void> {
    this.#waiting.shift()?.reject(error)
    await settle()
  }
}

/** A client that is online with the token `one`. */
async function online(): Promise<{
  server: FakeServer
  desk: Desk
  client: ReturnType<FakeServer['client']>
}> {
  const server = new FakeServer()
  const desk = new Desk()
  const client = server.client({ token: desk.provider })
  await settle()
  await desk.give('one')
  await server.online()
  return { server, desk, client }
}

describe('a token that ends soon', () => {
  test('is kept where the server cannot judge the new one, which is sent again', async () => {
    const { server, desk, client } = await online()
    record(client, 'error')
    server.socket.push('token', 'expiring', 60_000)
    await desk.give('two')
    server.socket.commands()
    server.socket.receive('-TRYAGAIN the keys of the issuer cannot be loaded now\r\n')
    await settle()
    await server.pass(30_000)
    expect(desk.reasons).toEqual(['initial', 'expiring', 'expiring'])
    await server.socket.end(4503, 'unavailable|5000|')
    await server.pass(5000)
    expect(client.state.status).toBe('connecting')
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.two'])
  })

  test('is replaced on the live connection', async () => {
    const { server, desk, client } = await online()
    const expiring = record(client, 'expiring')
    server.socket.push('token', 'expiring', 60_000)
    expect(expiring).toEqual([{ leftMs: 60_000 }])
    expect(server.socket.commands()).toEqual([])
    await desk.give('two')
    expect(server.socket.commands()).toEqual([['AUTH', 'jwt', 'two']])
    server.socket.receive('+OK\r\n')
    server.socket.push('token', 'accepted', 'jwt:42', 7_200_000)
    await settle()

    expect(client.identity?.expiresAtMs).toBe(server.clock.wallMs() + 7_200_000)
    expect(server.sockets).toHaveLength(1)
    expect(desk.reasons).toEqual(['initial', 'expiring'])
    // The new token is the one to connect with from now on.
    await server.socket.end()
    await server.pass(0)
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.two'])
  })

  test('is asked for once, however often the server reminds', async () => {
    const { server, desk, client } = await online()
    const expired = record(client, 'expired')
    server.socket.push('token', 'expiring', 60_000)
    server.socket.push('token', 'expiring', 30_000)
    server.socket.push('token', 'expired', 25_000)
    expect(expired).toEqual([{ graceMs: 25_000 }])
    expect(desk.reasons).toEqual(['initial', 'expiring'])
    await desk.give('two')
    expect(server.socket.commands()).toEqual([['AUTH', 'jwt', 'two']])
  })

  test('that comes after the connection ended is used for the next one, and never sent on it', async () => {
    const { server, desk } = await online()
    server.socket.push('token', 'expiring', 60_000)
    await server.socket.end()
    await server.pass(0)
    await server.online()
    await desk.give('two')
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.one'])
    expect(server.socket.commands()).toEqual([])

    await server.socket.end()
    await server.pass(0)
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.two'])
    expect(desk.reasons).toEqual(['initial', 'expiring'])
  })

  test('is asked for by connection and refresh together only once', async () => {
    const { server, desk } = await online()
    server.socket.push('token', 'expiring', 60_000)
    await server.socket.end(4401, 'unauthorized||token expired')
    await server.pass(0)
    expect(desk.reasons).toEqual(['initial', 'expiring'])
    await desk.give('two')
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.two'])
  })

  test('is asked for again after a failure', async () => {
    const { server, desk, client } = await online()
    const errors = record(client, 'error')
    server.randomValue = 0.5
    server.socket.push('token', 'expiring', 60_000)
    await desk.fail(new Error('offline'))
    expect(errors).toEqual([expect.objectContaining({ message: 'offline' })])
    await server.pass(999)
    expect(desk.reasons).toHaveLength(2)
    await server.pass(1)
    expect(desk.reasons).toEqual(['initial', 'expiring', 'expiring'])
  })

  test('is asked for again when the server refuses the new one, and the old one stays in use', async () => {
    const { server, desk, client } = await online()
    const errors = record(client, 'error')
    server.socket.push('token', 'expiring', 60_000)
    await desk.give('two')
    server.socket.receive('-WRONGPASS invalid token\r\n')
    await settle()
    expect(client.state.status).toBe('online')
    expect(errors).toEqual([expect.objectContaining({ code: 'ERR_REPLY', prefix: 'WRONGPASS' })])
    await server.pass(0)
    expect(desk.reasons).toEqual(['initial', 'expiring', 'refused'])
  })

  test('is not asked for again when nobody is signed in', async () => {
    const { server, desk, client } = await online()
    record(client, 'error')
    server.socket.push('token', 'expiring', 60_000)
    await desk.fail(new SignedOutError('signed out'))
    await server.pass(60_000)
    expect(desk.reasons).toHaveLength(2)
    expect(client.state.status).toBe('online')
  })

  test('cannot be replaced if it is all there is', async () => {
    const server = new FakeServer()
    const client = server.client({ token: 'a.b.c' })
    const expiring = record(client, 'expiring')
    await server.online()
    server.socket.push('token', 'expiring', 60_000)
    await server.pass(60_000)
    expect(expiring).toHaveLength(1)
    expect(server.socket.commands()).toEqual([])
  })

  test('a retry does not outlive its connection', async () => {
    const { server, desk, client } = await online()
    record(client, 'error')
    server.randomValue = 0.5
    server.socket.push('token', 'expiring', 60_000)
    await desk.fail(new Error('offline'))
    client.close()
    await server.pass(3_600_000)
    expect(desk.reasons).toHaveLength(2)
    expect(server.clock.pendingTimers).toBe(0)
  })
})

test('a revocation is told: of one channel by its name, of more without one', async () => {
  const server = new FakeServer()
  const client = server.client()
  const revoked = record(client, 'revoked')
  await server.online()
  server.socket.push('token', 'revoked', 'room:7', 'moved')
  server.socket.push('token', 'revoked', '', 'account closed')
  server.socket.push('token', 'something-new', 'x')
  expect(revoked).toEqual([
    { channel: 'room:7', message: 'moved' },
    { channel: undefined, message: 'account closed' },
  ])
  expect(client.state.status).toBe('online')
})
