import { describe, expect, test } from 'vitest'
import type { Message, Subscription } from '../../../../web/client/types.ts'
import { FakeServer, record, settle } from './support/fake-server.ts'
import { inbox, online } from './support/scenes.ts'

const NOPERM = '-NOPERM No permissions to access a channel\r\n'
const ignore = (): void => undefined

/** A handler that keeps what it gets, as `channel payload`. */
/** Breaks the connection and brings the client back online. */
async function reconnect(server: FakeServer, code?: number, reason?: string): Promise<void> {
  await server.socket.end(code, reason)
  await server.pass(0)
  await server.online()
}

describe('subscribing', () => {
  test('is ready when the server has confirmed, and hears messages from then on', async () => {
    const { server, client } = await online()
    const { seen, handler } = inbox()
    const subscription = client.subscribe('news', handler)
    expect(subscription).toMatchObject({ kind: 'channel', name: 'news' })
    expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'news']])
    server.socket.push('message', 'news', 'too early')
    server.socket.receive(
      '>3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n>3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n',
    )
    await expect(subscription.ready).resolves.toBeUndefined()
    expect(seen).toEqual(['news hello'])
  })

  test('works for patterns and shard channels', async () => {
    const { server, client } = await online()
    const seen: Message[] = []
    client.psubscribe('n*', (message) => void seen.push(message))
    client.ssubscribe('{a}b', (message) => void seen.push(message))
    expect(server.socket.commands()).toEqual([
      ['PSUBSCRIBE', 'n*'],
      ['SSUBSCRIBE', '{a}b'],
    ])
    server.socket.confirm('psubscribe', 'n*')
    server.socket.confirm('ssubscribe', '{a}b')
    server.socket.push('pmessage', 'n*', 'news', 'one')
    server.socket.push('smessage', '{a}b', 'two')
    expect(seen).toMatchObject([
      { kind: 'pattern', channel: 'news', pattern: 'n*' },
      { kind: 'shard', channel: '{a}b', pattern: undefined },
    ])
    expect(seen.map((message) => message.text())).toEqual(['one', 'two'])
  })

  test('names are bytes: text is sent as UTF-8, other bytes as they are, and neither collides', async () => {
    const { server, client } = await online()
    const seen: number[][] = []
    const keep = (message: Message): void =>
      void seen.push([...message.channelBytes], [...message.payload])
    client.subscribe('grün', keep)
    client.subscribe(Uint8Array.of(0x61, 0xff), keep)
    client.subscribe(Uint8Array.of(0x61, 0xfe), ignore)
    expect(server.socket.commands()).toEqual([
      ['SUBSCRIBE', 'gr\xc3\xbcn'],
      ['SUBSCRIBE', 'a\xff'],
      ['SUBSCRIBE', 'a\xfe'],
    ])
    server.socket.confirm('subscribe', 'gr\xc3\xbcn', 'a\xff', 'a\xfe')
    server.socket.push('message', 'a\xff', '\x00\xff')
    expect(seen).toEqual([
      [0x61, 0xff],
      [0, 255],
    ])
  })

  test('handlers of one name share one subscription', async () => {
    const { server, client } = await online()
    const first = inbox()
    const second = inbox()
    const one = client.subscribe('news', first.handler)
    server.socket.confirm('subscribe', 'news')
    const two = client.subscribe('news', second.handler)
    await Promise.all([one.ready, two.ready])
    server.socket.push('message', 'news', 'both')
    await one.unsubscribe()
    await one.unsubscribe()
    server.socket.push('message', 'news', 'second only')
    expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'news']])
    expect(first.seen).toEqual(['news both'])
    expect(second.seen).toEqual(['news both', 'news second only'])

    const gone = two.unsubscribe()
    expect(server.socket.commands()).toEqual([['UNSUBSCRIBE', 'news']])
    server.socket.confirm('unsubscribe', 'news')
    await gone
  })

  test('a name that is left and taken again is heard only after the second confirmation', async () => {
    const { server, client } = await online()
    const { seen, handler } = inbox()
    const first = client.subscribe('news', handler)
    void first.unsubscribe()
    await expect(first.ready).rejects.toMatchObject({ code: 'ERR_CLOSED' })
    const second = client.subscribe('news', handler)
    expect(server.socket.commands()).toEqual([
      ['SUBSCRIBE', 'news'],
      ['UNSUBSCRIBE', 'news'],
      ['SUBSCRIBE', 'news'],
    ])
    server.socket.confirm('subscribe', 'news')
    server.socket.push('message', 'news', 'of the first')
    server.socket.confirm('unsubscribe', 'news')
    server.socket.confirm('subscribe', 'news')
    server.socket.push('message', 'news', 'of the second')
    await second.ready
    expect(seen).toEqual(['news of the second'])
  })

  test('a handler that throws disturbs no other', async () => {
    const { server, client } = await online()
    const errors = record(client, 'error')
    const { seen, handler } = inbox()
    client.subscribe('news', () => {
      throw new Error('broken handler')
    })
    client.subscribe('news', handler)
    server.socket.confirm('subscribe', 'news')
    server.socket.push('message', 'news', 'hello')
    expect(seen).toEqual(['news hello'])
    expect(errors).toEqual([expect.objectContaining({ message: 'broken handler' })])
  })

  test('may begin before the connection is there', async () => {
    const server = new FakeServer()
    const client = server.client()
    const { ready } = client.subscribe('news', ignore)
    client.subscribe('sport', ignore)
    await server.online()
    expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'news', 'sport']])
    server.socket.confirm('subscribe', 'news', 'sport')
    await ready
  })
})

describe('a refused name', () => {
  test('ends the subscription, and is reported', async () => {
    const { server, client } = await online()
    const denied = record(client, 'denied')
    const { ready } = client.subscribe('secret', ignore)
    server.socket.commands()
    server.socket.receive(NOPERM)
    await expect(ready).rejects.toMatchObject({ code: 'ERR_DENIED', prefix: 'NOPERM' })
    expect(denied).toMatchObject([
      {
        kind: 'channel',
        name: 'secret',
        code: 'NOPERM',
        message: 'NOPERM No permissions to access a channel',
      },
    ])
    await reconnect(server)
    expect(server.socket.commands()).toEqual([])
  })

  test('may be asked for again', async () => {
    const { server, client } = await online()
    client.subscribe('room', ignore)
    server.socket.receive(NOPERM)
    await settle()
    const { ready } = client.subscribe('room', ignore)
    server.socket.confirm('subscribe', 'room')
    await expect(ready).resolves.toBeUndefined()
  })

  test('in a batch is found name by name', async () => {
    const server = new FakeServer()
    const client = server.client()
    const denied = record(client, 'denied')
    for (const name of ['a', 'b', 'c']) client.subscribe(name, ignore)
    await server.online()
    expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'a', 'b', 'c']])
    server.socket.receive(NOPERM)
    await settle()
    expect(server.socket.commands()).toEqual([
      ['SUBSCRIBE', 'a'],
      ['SUBSCRIBE', 'b'],
      ['SUBSCRIBE', 'c'],
    ])
    server.socket.confirm('subscribe', 'a')
    server.socket.receive(NOPERM)
    server.socket.confirm('subscribe', 'c')
    await settle()
    expect(denied.map(({ name }) => name)).toEqual(['b'])
  })

  test('that was left meanwhile is not asked for again', async () => {
    const server = new FakeServer()
    const client = server.client()
    client.subscribe('a', ignore)
    const left = client.subscribe('b', ignore)
    await server.online()
    server.socket.commands()
    void left.unsubscribe()
    server.socket.receive(NOPERM)
    await settle()
    expect(server.socket.commands()).toEqual([
      ['UNSUBSCRIBE', 'b'],
      ['SUBSCRIBE', 'a'],
    ])
  })

  test('that was heard before stays wanted, and is tried with the next connection', async () => {
    const { server, client } = await online()
    const denied = record(client, 'denied')
    const { seen, handler } = inbox()
    client.subscribe('room', handler)
    server.socket.confirm('subscribe', 'room')
    await reconnect(server, 4403, 'permissions-changed||')
    server.socket.receive(NOPERM)
    await settle()
    expect(denied.map(({ name }) => name)).toEqual(['room'])

    await reconnect(server)
    expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'room']])
    server.socket.confirm('subscribe', 'room')
    server.socket.push('message', 'room', 'back')
    expect(seen).toEqual(['room back'])
  })

  test('is tried again with a fresh token', async () => {
    const server = new FakeServer()
    let calls = 0
    const client = server.client({ token: () => `token-${++calls}` })
    await server.online()
    client.subscribe('room', ignore)
    server.socket.confirm('subscribe', 'room')
    server.socket.push('unsubscribe', 'room', 0)
    server.socket.commands()
    server.socket.push('token', 'expiring', 60_000)
    await settle()
    expect(server.socket.commands()).toEqual([['AUTH', 'jwt', 'token-2']])
    server.socket.receive('+OK\r\n')
    await settle()
    expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'room']])
  })

  test('a subscription that the server takes away is reported as lost', async () => {
    const { server, client } = await online()
    const denied = record(client, 'denied')
    const { seen, handler } = inbox()
    client.psubscribe('room:*', handler)
    server.socket.confirm('psubscribe', 'room:*')
    server.socket.push('punsubscribe', 'room:*', 0)
    server.socket.push('pmessage', 'room:*', 'room:1', 'late')
    expect(denied).toMatchObject([{ kind: 'pattern', name: 'room:*', code: 'LOST' }])
    expect(seen).toEqual([])
  })

  test('a client that is denied ends what was never ready', async () => {
    const server = new FakeServer()
    const client = server.client()
    const early = client.subscribe('news', ignore)
    await settle()
    await server.socket.end(4403, 'forbidden||')
    await expect(early.ready).rejects.toMatchObject({ code: 'ERR_DENIED' })
    await expect(client.subscribe('news', ignore).ready).rejects.toMatchObject({
      code: 'ERR_DENIED',
    })
  })
})

describe('after a loss of connection', () => {
  test('everything is subscribed again, in batches of 64 names', async () => {
    const { server, client } = await online()
    const names = Array.from({ length: 130 }, (_, at) => `room:${at}`)
    for (const name of names) client.subscribe(name, ignore)
    client.psubscribe('user:*', ignore)
    server.socket.confirm('subscribe', ...names)
    await reconnect(server)
    const commands = server.socket.commands()
    expect(commands.map((command) => [command[0], command.length - 1])).toEqual([
      ['SUBSCRIBE', 64],
      ['SUBSCRIBE', 64],
      ['SUBSCRIBE', 2],
      ['PSUBSCRIBE', 1],
    ])
    expect(commands.slice(0, 3).flatMap((command) => command.slice(1))).toEqual(names)
  })

  test('long names make smaller batches', async () => {
    const { server, client } = await online()
    for (let at = 0; at < 5; at++) client.subscribe(`${at}${'x'.repeat(12_000)}`, ignore)
    await reconnect(server)
    expect(server.socket.commands().map((command) => command.length - 1)).toEqual([2, 2, 1])
  })

  test('the gap is told once all is subscribed again: from the last byte heard', async () => {
    const { server, client } = await online()
    const gaps = record(client, 'gap')
    client.subscribe('a', ignore)
    client.subscribe('b', ignore)
    server.socket.confirm('subscribe', 'a', 'b')
    await server.pass(700)
    server.socket.push('message', 'a', 'last')
    await server.pass(2000)
    await server.socket.end()
    await server.pass(0)
    await server.pass(300)
    await server.online()
    server.socket.confirm('subscribe', 'a')
    await server.pass(10)
    expect(gaps).toEqual([])
    server.socket.confirm('subscribe', 'b')
    await settle()
    expect(gaps).toEqual([{ spanMs: 2310 }])
  })

  test('the gap begins with the close where the server had sent everything', async () => {
    const { server, client } = await online()
    const gaps = record(client, 'gap')
    client.subscribe('a', ignore)
    server.socket.confirm('subscribe', 'a')
    await server.pass(60_000)
    await server.socket.end(4503, 'draining|1000|')
    await server.pass(1000)
    await server.online()
    server.socket.confirm('subscribe', 'a')
    await settle()
    expect(gaps).toEqual([{ spanMs: 1000 }])
  })

  test('a gap spans all the attempts that it took', async () => {
    const { server, client } = await online()
    const gaps = record(client, 'gap')
    client.subscribe('a', ignore)
    server.socket.confirm('subscribe', 'a')
    await server.socket.end()
    await server.pass(0)
    await server.pass(100)
    await server.online()
    // Online, but the name was not confirmed before the connection broke again.
    await server.pass(100)
    await server.socket.end()
    await server.pass(0)
    await server.pass(100)
    await server.online()
    server.socket.confirm('subscribe', 'a')
    await settle()
    expect(gaps).toEqual([{ spanMs: 300 }])
  })

  describe('where the server itself missed messages', () => {
    /** A client with a channel, a pattern and a shard channel that are live, and one that is not; and what they tell. */
    async function hearing() {
      const { server, client } = await online()
      const told: string[] = []
      const tell = (subscription: Subscription): void => {
        subscription.addEventListener('gap', ({ detail }) => {
          told.push(`${subscription.kind} ${subscription.name} ${detail.spanMs}`)
        })
      }
      tell(client.subscribe('a', ignore))
      tell(client.subscribe('b', ignore))
      tell(client.psubscribe('a*', ignore))
      tell(client.ssubscribe('a', ignore))
      server.socket.confirm('subscribe', 'a', 'b')
      server.socket.confirm('psubscribe', 'a*')
      server.socket.confirm('ssubscribe', 'a')
      tell(client.subscribe('asked', ignore))
      return { server, client, told, gaps: record(client, 'gap') }
    }

    test('of a name, those who hear it are told the time between its two ends', async () => {
      const { server, client, told, gaps } = await hearing()
      server.socket.push('gap', 'a', 1_764_000_000_000, 1_764_000_001_250)
      expect(told).toEqual(['channel a 1250', 'shard a 1250'])
      server.socket.push('gap', 'a*', 1_764_000_000_000, 1_764_000_000_001)
      expect(told.slice(2)).toEqual(['pattern a* 1'])
      await settle()
      // The client tells the longest of what came together.
      expect(gaps).toEqual([{ spanMs: 1250 }])
      expect(client.state.status).toBe('online')
    })

    test('of all names, all that are live are told, before the message that comes next', async () => {
      const { server, client, told, gaps } = await hearing()
      client.subscribe('b', (message) => void told.push(message.text()))
      server.socket.receive(
        '>4\r\n$3\r\ngap\r\n$0\r\n\r\n:1764000000000\r\n:1764000002000\r\n' +
          '>3\r\n$7\r\nmessage\r\n$1\r\nb\r\n$4\r\nnext\r\n',
      )
      expect(told).toEqual([
        'channel a 2000',
        'channel b 2000',
        'pattern a* 2000',
        'shard a 2000',
        'next',
      ])
      await settle()
      expect(gaps).toEqual([{ spanMs: 2000 }])
    })

    test('of a name that nobody hears, nobody is told', async () => {
      const { server, told, gaps } = await hearing()
      server.socket.push('gap', 'asked', 1, 2)
      server.socket.push('gap', 'other', 1, 2)
      await settle()
      expect([told, gaps]).toEqual([[], []])
    })
  })

  test('there is no gap where nothing was subscribed', async () => {
    const { server, client } = await online()
    const gaps = record(client, 'gap')
    await reconnect(server)
    client.subscribe('a', ignore)
    server.socket.confirm('subscribe', 'a')
    await settle()
    expect(gaps).toEqual([])
  })
})
