import { describe, expect, test } from 'vitest'
import type { RespcastClient } from '../../../../../web/client/client.ts'
import type { ConnectOptions } from '../../../../../web/client/options.ts'
import { FakeServer, record, settle } from '../support/fake-server.ts'
import { online } from '../support/scenes.ts'
import { shareTabsOf } from '../support/fake-tabs.ts'
import type { FakePort } from '../support/fake-tabs.ts'

const NOPERM = '-NOPERM No permissions to access a channel\r\n'
const OPTIONS: ConnectOptions = { token: 'a.b.c', share: 'tabs' }

/** Tabs that are online over one connection. */
async function tabs(
  count: number,
  options: ConnectOptions = OPTIONS,
): Promise<{ server: FakeServer; ports: FakePort[]; clients: RespcastClient[] }> {
  const server = new FakeServer()
  const ports = shareTabsOf(server)
  const clients = Array.from({ length: count }, () => server.client(options))
  await server.online()
  return { server, ports, clients }
}

/** Everything that one tab hears. */
function inbox(client: RespcastClient | undefined, name: string): string[] {
  const seen: string[] = []
  client?.subscribe(name, (message) => void seen.push(message.text()))
  return seen
}

describe('tabs that share a connection', () => {
  test('have one socket, and all know who they are', async () => {
    const { server, clients } = await tabs(3)
    expect(server.sockets).toHaveLength(1)
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.a.b.c'])
    expect(clients.map((client) => client.state.status)).toEqual(['online', 'online', 'online'])
    expect(clients[2]?.identity).toEqual(clients[0]?.identity)
  })

  test('a tab that comes later joins at once, with what is left of the token', async () => {
    const { server, clients } = await tabs(1)
    await server.pass(60_000)
    const late = server.client(OPTIONS)
    await settle()
    expect(server.sockets).toHaveLength(1)
    expect(late.identity).toEqual(clients[0]?.identity)
  })

  test('each hears the names that it asked for, and the server is asked to leave a name by the last', async () => {
    const { server, clients } = await tabs(2)
    const [one, two] = clients
    const first = one?.subscribe('news')
    const seen = inbox(two, 'news')
    inbox(two, 'sport')
    expect(server.socket.commands()).toEqual([
      ['SUBSCRIBE', 'news'],
      ['SUBSCRIBE', 'news'],
      ['SUBSCRIBE', 'sport'],
    ])
    server.socket.confirm('subscribe', 'news', 'news', 'sport')
    const left = first?.unsubscribe()
    // Asking for something else keeps the answers in order.
    expect(server.socket.commands()).toEqual([['PING']])
    server.socket.receive('+PONG\r\n')
    await left
    server.socket.push('message', 'news', 'hello')
    expect(seen).toEqual(['hello'])
    expect(first?.status).toBe('ended')

    two?.close()
    expect(server.socket.commands()).toEqual([['UNSUBSCRIBE', 'news', 'sport']])
  })

  test('answers go to the tab that asked, in order, whatever the others do', async () => {
    const { server, clients } = await tabs(2)
    const [one, two] = clients
    const first = one?.call('ECHO', '1')
    const second = two?.call('ECHO', '2')
    const third = one?.publish('a', 'x')
    server.socket.receive('$1\r\n1\r\n$1\r\n2\r\n:7\r\n')
    expect(await first).toEqual(Uint8Array.of(0x31))
    expect(await second).toEqual(Uint8Array.of(0x32))
    expect(await third).toBe(7)
  })

  test('a name that one tab may not have is refused to it alone', async () => {
    const { server, clients } = await tabs(2)
    const [one, two] = clients
    const seen = inbox(two, 'open')
    const secret = one?.subscribe('secret')
    server.socket.confirm('subscribe', 'open')
    server.socket.receive(NOPERM)
    await expect(secret?.ready).rejects.toMatchObject({ name: 'DeniedError' })
    server.socket.push('message', 'open', 'x')
    expect(seen).toEqual(['x'])
  })

  test('a gap of the server reaches those that hold its name, or all', async () => {
    const { server, clients } = await tabs(2)
    const [one, two] = clients
    inbox(one, 'news')
    inbox(two, 'sport')
    server.socket.confirm('subscribe', 'news', 'sport')
    const gaps = clients.map((client) => record(client, 'gap'))
    server.socket.push('gap', 'news', 1_764_000_000_000, 1_764_000_000_400)
    await settle()
    expect(gaps).toEqual([[{ spanMs: 400 }], []])
    server.socket.push('gap', '', 1_764_000_000_000, 1_764_000_000_500)
    await settle()
    expect(gaps).toEqual([[{ spanMs: 400 }, { spanMs: 500 }], [{ spanMs: 500 }]])
  })

  test('patterns and lost subscriptions reach those that hold them', async () => {
    const { server, clients } = await tabs(2)
    const [one, two] = clients
    const seen: string[] = []
    one?.psubscribe('n*', ({ channel }) => void seen.push(channel))
    const denied = two ? record(two, 'denied') : []
    const deniedFirst = one ? record(one, 'denied') : []
    server.socket.confirm('psubscribe', 'n*')
    server.socket.push('pmessage', 'n*', 'news', 'x')
    server.socket.push('punsubscribe', 'n*', 0)
    expect(seen).toEqual(['news'])
    expect(deniedFirst).toMatchObject([{ name: 'n*', code: 'LOST' }])
    expect(denied).toEqual([])
  })

  test('one tab fetches the token that replaces the old one', async () => {
    let calls = 0
    const provider = (): string => `token-${++calls}`
    const { server, clients } = await tabs(3, { token: provider, share: 'tabs' })
    expect(calls).toBe(3)
    server.socket.push('token', 'expiring', 60_000)
    await settle()
    expect(calls).toBe(4)
    expect(server.socket.commands()).toEqual([['AUTH', 'jwt', 'token-4']])
    server.socket.receive('+OK\r\n')
    server.socket.push('token', 'accepted', 'jwt:42', 7_200_000)
    await settle()
    const ends = clients.map((client) => client.identity?.expiresAtMs)
    expect(new Set(ends)).toEqual(new Set([server.clock.wallMs() + 7_200_000]))
  })

  test('a token that goes in-band logs in the first tab, and is checked for each later one', async () => {
    const server = new FakeServer()
    shareTabsOf(server)
    const options: ConnectOptions = { token: 'a.b.c', tokenInBand: true, share: 'tabs' }
    const one = server.client(options)
    await settle()
    server.socket.open()
    expect(server.socket.commands()).toEqual([['AUTH', 'jwt', 'a.b.c']])
    server.socket.receive('+OK\r\n')
    server.socket.push('token', 'accepted', 'jwt:42', 60_000)
    await settle()
    const two = server.client(options)
    await settle()
    expect(server.socket.commands()).toEqual([['AUTH', 'jwt', 'a.b.c']])
    expect([one.state.status, two.state.status]).toEqual(['online', 'online'])
  })

  test('hear how the connection ended, and share the next one', async () => {
    const { server, clients } = await tabs(2)
    const seen = inbox(clients[1], 'news')
    server.socket.confirm('subscribe', 'news')
    const gaps = clients[1] ? record(clients[1], 'gap') : []
    server.randomValue = 0.5
    await server.socket.end(4503, 'draining|1000|restart')
    for (const client of clients) {
      expect(client.state).toMatchObject({ status: 'waiting', cause: { name: 'draining' } })
    }
    await server.pass(1500)
    await server.online()
    expect(server.sockets).toHaveLength(2)
    server.socket.confirm('subscribe', 'news')
    server.socket.push('message', 'news', 'back')
    await settle()
    expect(seen).toEqual(['back'])
    expect(gaps).toEqual([{ spanMs: 1500 }])
  })

  test('a token that is not good any more is told to the tab that it came from; the next tab tries its own', async () => {
    const server = new FakeServer()
    shareTabsOf(server)
    const old = server.client({ token: 'old', share: 'tabs' })
    await settle()
    const fresh = server.client({ token: 'fresh', share: 'tabs' })
    await settle()
    server.socket.open()
    await server.socket.end(4401, 'unauthorized||token expired')
    expect(old.state).toMatchObject({ status: 'denied', cause: { name: 'unauthorized' } })
    await server.pass(0)
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.fresh'])
    await server.online()
    expect(fresh.state.status).toBe('online')
  })

  test('a tab that brings another token answers for it from then on', async () => {
    const { server, clients } = await tabs(2)
    const [one, two] = clients
    const done = two?.authenticate('d.e.f')
    server.socket.receive('+OK\r\n')
    await done
    server.randomValue = 0.5
    await server.socket.end(4403, 'revoked||')
    expect(one?.state).toMatchObject({ status: 'waiting', cause: { name: 'lost' } })
    expect(two?.state).toMatchObject({ status: 'denied', cause: { name: 'revoked' } })
  })

  test('a tab that dies leaves its names, and the rest goes on', async () => {
    const { server, ports, clients } = await tabs(2)
    inbox(clients[0], 'a')
    inbox(clients[0], 'both')
    const seen = inbox(clients[1], 'both')
    const pending = clients[0]?.call('PING')
    pending?.catch(() => undefined)
    server.socket.confirm('subscribe', 'a', 'both', 'both')
    server.socket.commands()
    ports[0]?.die()
    expect(server.socket.commands()).toEqual([['UNSUBSCRIBE', 'a']])
    server.socket.receive('+PONG\r\n')
    server.socket.confirm('unsubscribe', 'a')
    const reply = clients[1]?.call('ECHO', 'x')
    server.socket.receive('$1\r\nx\r\n')
    expect(await reply).toEqual(Uint8Array.of(0x78))
    server.socket.push('message', 'both', 'on')
    expect(seen).toEqual(['on'])
  })

  test('the last tab closes the connection', async () => {
    const { server, clients } = await tabs(2)
    clients[0]?.close()
    expect(server.socket.closed).toBeUndefined()
    clients[1]?.close()
    expect(server.socket.closed).toEqual([1000, undefined])
    const next = server.client(OPTIONS)
    await server.online()
    expect(server.sockets).toHaveLength(2)
    expect(next.state.status).toBe('online')
  })

  test('a connection that does not answer one tab is replaced for all', async () => {
    const { server, clients } = await tabs(2)
    server.randomValue = 0.5
    server.wake()
    await server.pass(3000)
    expect(server.sockets[0]?.closed).toBeDefined()
    for (const client of clients) expect(client.state).toMatchObject({ status: 'waiting' })
    await server.pass(250)
    await server.online()
    expect(server.sockets).toHaveLength(2)
    expect(clients.map((client) => client.state.status)).toEqual(['online', 'online'])
  })

  test('a tab that takes nothing in is cut off, and the others are not', async () => {
    const { server, ports, clients } = await tabs(2)
    inbox(clients[0], 'news')
    const seen = inbox(clients[1], 'news')
    server.socket.confirm('subscribe', 'news', 'news')
    const port = ports[0]
    if (port) port.isStuck = true
    const payload = 'x'.repeat(1024 * 1024)
    server.randomValue = 0.5
    for (let at = 0; at < 6; at++) server.socket.push('message', 'news', payload)
    expect(clients[0]?.state).toMatchObject({
      status: 'waiting',
      cause: { code: 4450, name: 'slow-consumer' },
    })
    expect(clients[1]?.state.status).toBe('online')
    expect(seen).toHaveLength(6)
  })

  test('a tab that cannot share has a connection of its own', async () => {
    const { server, client } = await online(OPTIONS)
    expect(client.state.status).toBe('online')
    expect(server.sockets).toHaveLength(1)
  })

  test('an address that is none is told as a lost connection', async () => {
    const server = new FakeServer()
    shareTabsOf(server)
    server.randomValue = 0.5
    const client = server.client(OPTIONS, '')
    await settle()
    expect(client.state).toMatchObject({ status: 'waiting', cause: { code: 1006 } })
  })

  test('something that is not RESP ends the connection of all', async () => {
    const { server, clients } = await tabs(2)
    server.randomValue = 0.5
    server.socket.receive('HTTP/1.1 400\r\n')
    expect(server.socket.closed).toEqual([4400, undefined])
    expect(clients.map((client) => client.state.status)).toEqual(['waiting', 'waiting'])
  })
})
