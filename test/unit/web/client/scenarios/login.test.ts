import { describe, expect, test } from 'vitest'
import type { ConnectOptions } from '../../../../../web/client/options.ts'
import { FakeServer, record, settle } from '../support/fake-server.ts'

const LOGIN = { user: 'ops', password: 'a secret' }
const WRONG = '-WRONGPASS invalid username-password pair or user is disabled.\r\n'

/** A client whose newest socket is open. */
async function opened(server: FakeServer, options: Partial<ConnectOptions> = {}) {
  const client = server.client({ ...options, login: LOGIN } as ConnectOptions)
  await settle()
  server.socket.open()
  return client
}

describe('logging in by password', () => {
  test('user and password are sent by AUTH, and the reply says that they are accepted', async () => {
    const server = new FakeServer()
    const client = await opened(server)
    const states = record(client, 'state')
    const accepted = record(client, 'accepted')
    expect(client.state.status).toBe('authenticating')
    expect(server.socket.protocols).toEqual(['resp3'])
    expect(server.socket.commands()).toEqual([['AUTH', 'ops', 'a secret']])

    server.socket.receive('+OK\r\n')
    await settle()
    expect(states).toEqual([{ status: 'online' }])
    expect(accepted).toEqual([{ user: 'ops', expiresAtMs: Infinity }])
    expect(client.identity).toEqual({ user: 'ops', expiresAtMs: Infinity })
  })

  test('a wrong password is told as that, and not sent again', async () => {
    const server = new FakeServer()
    const client = await opened(server)
    const { ready } = client.subscribe('news', () => undefined)
    server.socket.receive(WRONG)
    await settle()

    expect(client.state).toEqual({
      status: 'denied',
      cause: {
        code: undefined,
        name: 'wrong-password',
        text: 'WRONGPASS invalid username-password pair or user is disabled.',
        prefix: 'WRONGPASS',
      },
    })
    await expect(ready).rejects.toMatchObject({ code: 'ERR_DENIED', prefix: 'WRONGPASS' })
    expect(server.socket.closed).toEqual([1000, ''])
    await server.pass(3_600_000)
    expect(server.sockets).toHaveLength(1)
    client.close()
    expect(server.clock.pendingTimers).toBe(0)
  })

  test('any other refusal stops the client as well, and retry() tries again', async () => {
    const server = new FakeServer()
    const client = await opened(server)
    server.socket.receive('-ERR not now\r\n')
    await settle()
    expect(client.state).toMatchObject({
      status: 'denied',
      cause: { name: 'login-refused', prefix: 'ERR' },
    })
    client.retry()
    await settle()
    server.socket.open()
    expect(server.socket.commands()).toEqual([['AUTH', 'ops', 'a secret']])
    server.socket.receive('+OK\r\n')
    await settle()
    expect(client.state.status).toBe('online')
  })

  test('every new connection logs in again, and then subscribes', async () => {
    const server = new FakeServer()
    const client = await opened(server)
    server.socket.receive('+OK\r\n')
    await settle()
    const subscription = client.subscribe('news', () => undefined)
    server.socket.confirm('subscribe', 'news')
    await settle()
    expect(subscription.status).toBe('live')

    await server.socket.end()
    await server.pass(0)
    server.socket.open()
    expect(server.socket.commands()).toEqual([['AUTH', 'ops', 'a secret']])
    server.socket.receive('+OK\r\n')
    await settle()
    expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'news']])
  })

  test('a connection that breaks before the reply is replaced', async () => {
    const server = new FakeServer()
    const client = await opened(server)
    await server.socket.end()
    expect(client.state).toMatchObject({ status: 'waiting', cause: { code: 1006 } })
    await server.pass(0)
    expect(server.sockets).toHaveLength(2)
  })

  test('a cookie that logs in first does not count', async () => {
    const server = new FakeServer()
    const client = await opened(server)
    server.socket.push('token', 'accepted', 'jwt:42', 60_000)
    expect(client.state.status).toBe('authenticating')
    expect(client.identity).toBeUndefined()
  })

  test('there is no token to replace', async () => {
    const server = new FakeServer()
    const client = await opened(server)
    server.socket.receive('+OK\r\n')
    await settle()
    server.socket.commands()
    await expect(client.authenticate('a.b.c')).rejects.toMatchObject({ code: 'ERR_COMMAND' })
    expect(server.socket.commands()).toEqual([])
  })
})
