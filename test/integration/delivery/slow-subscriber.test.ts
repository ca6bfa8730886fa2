import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { push, type RawClient } from '../../support/resp-client.ts'
import type { TestGateway } from '../../support/server.ts'
import { eventually, nextTurn, opener } from '../../support/opened.ts'

const open = opener()

const MESSAGE = Buffer.alloc(65_536, 'x')

/** More than the kernel keeps for one connection over loopback, and the limit. */
const MOST_MESSAGES = 1_000

/** Bytes that the server keeps for all clients. */
function heldBytes(server: TestGateway): number {
  let sum = 0
  for (const client of server.core.clients.all()) sum += client.output.heldBytes
  return sum
}

/** A number of INFO. */
async function infoOf(client: RawClient, section: string, field: string): Promise<number> {
  const info = await client.askBulk('INFO', section)
  return Number(new RegExp(`^${field}:(\\d+)\r$`, 'm').exec(info)?.[1])
}

/** Subscribers, and those that were cut at an output limit, as INFO counts them. */
async function countsOf(client: RawClient): Promise<{ subscribers: number; cut: number }> {
  return {
    subscribers: await infoOf(client, 'clients', 'pubsub_clients'),
    cut: await infoOf(client, 'stats', 'client_output_buffer_limit_disconnections'),
  }
}

/** Publishes until somebody is gone. @returns How many messages that took, and the most bytes held on the way. */
async function publishUntilCut(server: TestGateway, publisher: RawClient, left: number) {
  let most = 0
  for (let count = 1; count <= MOST_MESSAGES; count++) {
    publisher.command('PUBLISH', 'a', MESSAGE)
    const receivers = Number((await publisher.takeLine()).slice(1))
    most = Math.max(most, heldBytes(server))
    if (receivers === left) return { count, most }
  }
  throw new Error(`nobody was cut within ${MOST_MESSAGES} messages`)
}

describe.each(['RESP3 over TCP', 'RESP3 over WebSocket'] as const)(
  'a subscriber that does not read, %s',
  (transport) => {
    test('is closed at its limit; others get every message, and the memory comes back', async () => {
      const [server, publisher] = await open.withTcp(
        {
          directives: { 'client-output-buffer-limit': 'pubsub 1mb 0 0 websocket 1mb 0 0' },
        },
        3,
      )
      const others = [
        await open.client(server, 'RESP3 over TCP'),
        await open.client(server, 'RESP3 over WebSocket'),
      ]
      const slow = await open.client(server, transport)
      for (const client of [slow, ...others]) await client.subscribe()
      expect(await countsOf(publisher)).toEqual({ subscribers: 3, cut: 0 })
      slow.pause()
      const { count, most } = await publishUntilCut(server, publisher, 2)
      // One turn's messages may come on top of the limit, and one write that the kernel has in part.
      expect(most).toBeGreaterThan(900_000)
      expect(most).toBeLessThan(2 * 1_048_576)
      const message = push(3, 'message', 'a', MESSAGE)
      for (const client of others) {
        for (let i = 0; i < count; i++) await client.takeExactly(message)
        await client.assertPong()
      }
      expect(heldBytes(server)).toBe(0)
      expect(server.core.registry.countOf('channel', 'a')).toBe(2)
      expect(await countsOf(publisher)).toEqual({ subscribers: 2, cut: 1 })
      slow.resume()
      const { code } = await slow.closed
      expect(transport === 'RESP3 over TCP' ? [0] : [4450, 1006]).toContain(code)
    })

    test('is closed when it stays over its soft limit for too long, and not before', async () => {
      const clock = new FakeClock()
      const [server, publisher] = await open.withTcp(
        {
          clock,
          directives: { 'client-output-buffer-limit': 'pubsub 0 256kb 10 websocket 0 256kb 10' },
        },
        3,
      )
      const slow = await open.client(server, transport)
      const reading = await open.client(server, transport)
      for (const client of [slow, reading]) await client.subscribe()
      const message = push(3, 'message', 'a', MESSAGE)
      slow.pause()
      while (heldBytes(server) < 1_048_576) {
        await publisher.assertReply(['PUBLISH', 'a', MESSAGE.toString('latin1')], ':2\r\n')
        await reading.takeExactly(message)
      }
      clock.advance(10_000)
      await nextTurn()
      expect(server.core.registry.countOf('channel', 'a')).toBe(2)
      clock.advance(2_000)
      expect(server.core.registry.countOf('channel', 'a')).toBe(1)
      expect(await countsOf(publisher)).toEqual({ subscribers: 1, cut: 1 })
      await publisher.assertReply(['PUBLISH', 'a', MESSAGE.toString('latin1')], ':1\r\n')
      await reading.takeExactly(message)
      await reading.assertPong()
      slow.resume()
      await slow.closed
      expect(heldBytes(server)).toBe(0)
    })
  },
)

describe('one large message', () => {
  test.each([1_048_576, 4 * 1_048_576, 15 * 1_048_576])(
    'of %i bytes never closes a WebSocket that had nothing waiting, though it be over the limit',
    async (size) => {
      const [server, publisher] = await open.withTcp({}, 3)
      const reading = await open.client(server, 'RESP3 over WebSocket')
      const paused = await open.client(server, 'RESP3 over WebSocket')
      for (const client of [reading, paused]) await client.subscribe()
      paused.pause()
      const payload = Buffer.alloc(size, 'y')
      publisher.command('PUBLISH', 'a', payload)
      await publisher.takeExactly(':2\r\n')
      await reading.takeExactly(push(3, 'message', 'a', payload))
      await reading.assertPong()
      expect(server.core.registry.countOf('channel', 'a')).toBe(2)
      paused.resume()
      await paused.takeExactly(push(3, 'message', 'a', payload))
      await paused.assertPong()
      await eventually('nothing is held', () => heldBytes(server) === 0)
    },
  )

  test('over the hard limit closes a TCP subscriber, as in Redis', async () => {
    const [server, publisher] = await open.withTcp(
      {
        directives: { 'client-output-buffer-limit': 'pubsub 1mb 0 0' },
      },
      3,
    )
    const subscriber = await open.tcp(server, 3)
    await subscriber.subscribe()
    publisher.command('PUBLISH', 'a', Buffer.alloc(2_000_000))
    await publisher.takeExactly(':1\r\n')
    await subscriber.closed
    expect(subscriber.takeAll()).toBe('')
  })
})
