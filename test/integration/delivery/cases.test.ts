import { describe, expect, test } from 'vitest'
import { encodeCommand, push } from '../../support/resp-client.ts'
import type { TestGateway } from '../../support/server.ts'
import {
  eventually,
  nextTurn,
  NO_CHANNEL,
  opener,
  type Transport,
  TRANSPORTS,
} from '../../support/opened.ts'

// Kinds of faults that no other file tries; docs/testing.md has the table of all.
const open = opener()

const protocolOf = (transport: Transport): 2 | 3 => (transport === 'RESP2 over TCP' ? 2 : 3)

describe.each(TRANSPORTS)(
  'messages that come between a command and its answer, %s',
  (transport) => {
    const protocol = protocolOf(transport)

    test('are whole and in order; every subscription is confirmed once, before its first message', async () => {
      const server = await open.server({ directives: { 'ws-max-subscriptions': '200' } })
      const client = await open.client(server, transport)
      const publisher = await open.tcp(server)
      await client.subscribe('a', 1, protocol)
      const expected = new Map<string, number>()
      let sent = 0
      for (let i = 1; i <= 100; i++) {
        for (let j = 0; j < 10; j++) publisher.command('PUBLISH', 'a', `m${sent++}`)
        client.command('SUBSCRIBE', `a${i}`)
        publisher.command('PUBLISH', `a${i}`, 'own')
        if (i % 7 === 0) await nextTurn()
        expected.set(`a${i}`, i + 1)
      }
      publisher.command('ECHO', 'all')
      await publisher.takeUntil('$3\r\nall\r\n')
      client.command('UNSUBSCRIBE', 'a')
      const end = push(protocol, 'unsubscribe', 'a', 100).toString('latin1')
      const stream = await client.takeUntil(end)
      const confirmed = new Map<string, number>()
      const messages: string[] = []
      const frames =
        /[*>]3\r\n\$\d+\r\n(subscribe|message|unsubscribe)\r\n\$\d+\r\n(\w+)\r\n(?::(\d+)|\$\d+\r\n(\w+))\r\n/g
      let at = 0
      for (const frame of stream.matchAll(frames)) {
        expect(frame.index).toBe(at)
        at += frame[0].length
        const [, word, channel = '', count, payload = ''] = frame
        if (word === 'subscribe') {
          expect(confirmed.has(channel)).toBe(false)
          confirmed.set(channel, Number(count))
        } else if (word === 'message' && channel === 'a') {
          messages.push(payload)
        } else if (word === 'message') {
          expect(confirmed.has(channel), channel).toBe(true)
        }
      }
      expect(at).toBe(stream.length)
      expect(confirmed).toEqual(expected)
      expect(messages).toEqual(Array.from({ length: sent }, (_, i) => `m${i}`))
    })

    test('are not lost where a health check pings all the time, and each ping is answered', async () => {
      const server = await open.server()
      const client = await open.client(server, transport)
      const publisher = await open.tcp(server)
      await client.subscribe('a', 1, protocol)
      const messages = 2_000
      const pings = 400
      const pong = protocol === 2 ? '*2\r\n$4\r\npong\r\n$0\r\n\r\n' : '+PONG\r\n'
      for (let i = 0; i < messages; i++) {
        publisher.command('PUBLISH', 'a', String(i).padStart(4, '0'))
        if (i % (messages / pings) === 0) client.command('PING')
        if (i % 23 === 0) await nextTurn()
      }
      await publisher.takeExactly(':1\r\n'.repeat(messages))
      const length = push(protocol, 'message', 'a', '0000').length * messages + pong.length * pings
      const stream = (await client.take(length)).toString('latin1')
      expect(stream.split(pong)).toHaveLength(pings + 1)
      const numbers = stream.replaceAll(pong, '').match(/\d{4}(?=\r\n)/g)
      expect(numbers).toEqual(
        Array.from({ length: messages }, (_, i) => String(i).padStart(4, '0')),
      )
    })

    test('come once, however often a client has left and come back', async () => {
      const [server, publisher] = await open.withTcp()
      for (let i = 0; i < 20; i++) {
        const client = await open.client(server, transport)
        await client.subscribe('a', 1, protocol)
        await publisher.assertReply(['PUBLISH', 'a', `m${i}`], ':1\r\n')
        await client.takeExactly(push(protocol, 'message', 'a', `m${i}`))
        if (protocol === 3) await client.assertPong()
        expect(client.takeAll()).toBe('')
        client.destroy()
        await eventually('the client is forgotten', () => subscribersOf(server) === 0)
      }
    })
  },
)

function subscribersOf(server: TestGateway): number {
  return server.core.registry.countOf('channel', 'a')
}

describe('one name for a channel, a pattern and a shard channel', () => {
  test.each([
    ['SUBSCRIBE', ':1\r\n', ':0\r\n'],
    ['PSUBSCRIBE', ':1\r\n', ':0\r\n'],
    ['SSUBSCRIBE', ':0\r\n', ':1\r\n'],
  ])(
    'is three things: %s hears its own, and whoever loses it is closed',
    async (word, ...heard) => {
      const [published, sharded] = heard
      const [server, publisher] = await open.withTcp({
        directives: { user: [['u', 'on', 'nopass', '&q', '+@all']] },
      })
      const client = await open.tcp(server)
      await client.assertReply(['AUTH', 'u', 'x'], '+OK\r\n')
      client.command(word, 'q')
      await client.takeExactly(push(2, word.toLowerCase(), 'q', 1))
      await publisher.assertReply(['PUBLISH', 'q', 'm'], published)
      await publisher.assertReply(['SPUBLISH', 'q', 'm'], sharded)
      await publisher.assertReply(['ACL', 'SETUSER', 'u', 'resetchannels'], '+OK\r\n')
      await client.closed
      await publisher.assertReply(['PUBLISH', 'q', 'm'], ':0\r\n')
      await publisher.assertReply(['SPUBLISH', 'q', 'm'], ':0\r\n')
    },
  )
})

describe('the message of PUBLISH', () => {
  test('is no channel: only its first argument is judged by the channel rules', async () => {
    const [, client] = await open.withTcp(
      {
        directives: { user: [['u', 'on', 'nopass', '&room:*', '+@all']] },
      },
      3,
    )
    const denied = NO_CHANNEL
    await client.assertReply(['AUTH', 'u', 'x'], '+OK\r\n')
    await client.assertReply(['PUBLISH', 'room:1', 'zzz'], ':0\r\n')
    await client.assertReply(['SPUBLISH', 'room:1', 'zzz'], ':0\r\n')
    await client.assertReply(['PUBLISH', 'zzz', 'room:1'], denied)
    await client.assertReply(['SPUBLISH', 'zzz', 'room:1'], denied)
    await client.assertReply(['SUBSCRIBE', 'room:1', 'zzz'], denied)
    await client.assertReply(['PSUBSCRIBE', 'room:1*'], denied)
    await client.assertReply(['UNSUBSCRIBE', 'zzz'], push(3, 'unsubscribe', 'zzz', 0))
  })
})

describe('a message of 32 MiB that comes in pieces', () => {
  test('keeps nobody waiting while it comes, and is whole', async () => {
    const server = await open.server({
      directives: { 'client-output-buffer-limit': 'pubsub 0 0 0' },
    })
    const [publisher, subscriber, other] = [
      await open.tcp(server),
      await open.tcp(server),
      await open.tcp(server),
    ]
    await subscriber.subscribe('a', 1, 2)
    const payload = Buffer.alloc(33_554_432, 'large.')
    const command = encodeCommand('PUBLISH', 'a', payload)
    for (let at = 0; at < command.length; at += 2_097_152) {
      publisher.send(command.subarray(at, at + 2_097_152))
      await other.assertPong()
    }
    await publisher.takeExactly(':1\r\n')
    await subscriber.takeExactly(push(2, 'message', 'a', payload))
  })
})

describe('a user who logs in as another one while subscribed', () => {
  async function start() {
    const [server, admin] = await open.withTcp({
      directives: {
        user: [
          ['u1', 'on', '>1', '&a', '+@all'],
          ['u2', 'on', '>2', '&b', '+@all'],
        ],
      },
    })
    const client = await open.tcp(server, 3)
    await client.assertReply(['AUTH', 'u1', '1'], '+OK\r\n')
    await client.subscribe()
    await client.assertReply(['AUTH', 'u2', '2'], '+OK\r\n')
    return { admin, client }
  }

  test('keeps what the first one subscribed to until that one loses it', async () => {
    const { admin, client } = await start()
    await admin.assertReply(['PUBLISH', 'a', 'm'], ':1\r\n')
    await client.takeExactly(push(3, 'message', 'a', 'm'))
    await admin.assertReply(['ACL', 'SETUSER', 'u1', 'resetchannels'], '+OK\r\n')
    await client.closed
    await admin.assertReply(['PUBLISH', 'a', 'secret'], ':0\r\n')
    expect(client.takeAll()).toBe('')
  })

  test('is not closed where the second one is given more', async () => {
    const { admin, client } = await start()
    await admin.assertReply(['ACL', 'SETUSER', 'u2', '&c'], '+OK\r\n')
    await client.assertPong()
  })
})
