import { describe, expect, test } from 'vitest'
import { RespReader } from '../../../shared/resp/reader.ts'
import { encodeCommand, push, type RawClient } from '../../support/resp-client.ts'
import type { TestGateway } from '../../support/server.ts'
import { nextTurn, opener, type Transport, sharedServer } from '../../support/opened.ts'
import { cutAtRandom, seededRandom } from '../../support/random.ts'

const open = opener()

const MIB = 1_048_576
/** Every boundary of sharing is in unit/command/dispatch. */
const SIZES = [1, 16_384, 70_000, MIB]
const RESP3_TRANSPORTS = ['RESP3 over TCP', 'RESP3 over WebSocket'] as const

/** Bytes of every value, so that a shift or a swap shows. */
function payloadOf(size: number): Buffer {
  const payload = Buffer.allocUnsafe(size)
  for (let i = 0; i < size; i++) payload[i] = (i * 31 + (i >>> 8)) & 0xff
  return payload
}

/** The client's own subscription, and two strangers'. */
async function publisherAndOthers(server: TestGateway, transport: Transport) {
  const publisher = await open.client(server, transport)
  const others = [
    await open.client(server, 'RESP3 over TCP'),
    await open.client(server, 'RESP3 over WebSocket'),
  ]
  for (const other of others) await other.subscribe('wt')
  if (transport !== 'RESP2 over TCP') await publisher.subscribe('wt')
  return { publisher, others }
}

async function assertOthersGot(others: RawClient[], ...payloads: Buffer[]): Promise<void> {
  for (const other of others) {
    for (const payload of payloads) await other.takeExactly(push(3, 'message', 'wt', payload))
    await other.assertPong()
  }
}

/** A WebSocket message may be decoded by itself: it ends where a value ends. */
function assertWholeValues(messages: Buffer[]): void {
  expect(messages.length).toBeGreaterThan(0)
  for (const message of messages) {
    const reader = new RespReader()
    reader.push(message)
    expect(reader.next()).toBeDefined()
    while (reader.next() !== undefined);
    reader.push(Buffer.from('+behind\r\n'))
    expect(reader.next()).toBe('behind')
  }
}

function assertMessagesAreWhole(client: RawClient): void {
  if ('takeMessages' in client) {
    assertWholeValues((client.takeMessages as () => Buffer[])())
  }
}

/** Limits above all sizes below. */
const WIDE = {
  'client-output-buffer-limit': 'pubsub 0 0 0 websocket 0 0 0',
  'ws-max-payload': '128mb',
  'ws-max-message-out': '128mb',
}

describe.each(['1', '16384'])('with min-string-size-avoid-copy-reply %s', (shareBytes) => {
  const server = sharedServer({
    directives: { 'min-string-size-avoid-copy-reply': shareBytes, ...WIDE },
  })

  describe.each(RESP3_TRANSPORTS)('a client that publishes to its own channel, %s', (transport) => {
    test.each(SIZES)('gets the reply, then the push in one piece: %i bytes', async (size) => {
      const payload = payloadOf(size)
      const { publisher, others } = await publisherAndOthers(server, transport)
      publisher.command('PUBLISH', 'wt', payload)
      await publisher.takeExactly(':3\r\n')
      await publisher.takeExactly(push(3, 'message', 'wt', payload))
      await publisher.assertPong()
      await assertOthersGot(others, payload)
      assertMessagesAreWhole(publisher)
    })

    test.each(SIZES)('gets them in turn for two commands in one write: %i bytes', async (size) => {
      const first = payloadOf(size)
      const second = Buffer.from(first).reverse()
      const { publisher, others } = await publisherAndOthers(server, transport)
      publisher.send(
        Buffer.concat([
          encodeCommand('PUBLISH', 'wt', first),
          encodeCommand('PUBLISH', 'wt', second),
        ]),
      )
      for (const payload of [first, second]) {
        await publisher.takeExactly(':3\r\n')
        await publisher.takeExactly(push(3, 'message', 'wt', payload))
      }
      await publisher.assertPong()
      await assertOthersGot(others, first, second)
      assertMessagesAreWhole(publisher)
    })

    test.each(SIZES)('gets the pushes after the reply of EXEC: %i bytes', async (size) => {
      const payload = payloadOf(size)
      const { publisher, others } = await publisherAndOthers(server, transport)
      await publisher.assertReply(['MULTI'], '+OK\r\n')
      publisher.command('PUBLISH', 'wt', payload)
      publisher.command('PING')
      publisher.command('PUBLISH', 'wt', payload)
      await publisher.assertReply(['EXEC'], '+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n')
      await publisher.takeExactly('*3\r\n:3\r\n+PONG\r\n:3\r\n')
      await publisher.takeExactly(push(3, 'message', 'wt', payload))
      await publisher.takeExactly(push(3, 'message', 'wt', payload))
      await publisher.assertPong()
      await assertOthersGot(others, payload, payload)
      assertMessagesAreWhole(publisher)
    })

    test.each([0, 1, 16_384, 70_000])(
      'gets the same bytes wherever its input is cut: %i bytes',
      async (size) => {
        const payload = payloadOf(size)
        const random = seededRandom(size + 1)
        const { publisher, others } = await publisherAndOthers(server, transport)
        const publish = encodeCommand('PUBLISH', 'wt', payload)
        const input = Buffer.concat([publish, encodeCommand('PING'), publish])
        for (const piece of cutAtRandom(input, 1 + Math.floor(size / 20), random)) {
          publisher.send(piece)
          await nextTurn()
        }
        await publisher.takeExactly(':3\r\n')
        await publisher.takeExactly(push(3, 'message', 'wt', payload))
        await publisher.takeExactly('+PONG\r\n:3\r\n')
        await publisher.takeExactly(push(3, 'message', 'wt', payload))
        await publisher.assertPong()
        await assertOthersGot(others, payload, payload)
        assertMessagesAreWhole(publisher)
      },
    )
  })

  test.each(SIZES)(
    'a RESP2 client that subscribes and publishes in MULTI gets the push after the reply of EXEC: %i bytes',
    async (size) => {
      const payload = payloadOf(size)
      const { publisher, others } = await publisherAndOthers(server, 'RESP2 over TCP')
      publisher.command('MULTI')
      publisher.command('SUBSCRIBE', 'wt')
      publisher.command('PUBLISH', 'wt', payload)
      publisher.command('PUBLISH', 'wt', payload)
      await publisher.assertReply(['EXEC'], '+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n')
      await publisher.takeExactly('*3\r\n$9\r\nsubscribe\r\n$2\r\nwt\r\n:1\r\n:3\r\n:3\r\n')
      await publisher.takeExactly(push(2, 'message', 'wt', payload))
      await publisher.takeExactly(push(2, 'message', 'wt', payload))
      await publisher.assertReply(['PING'], '*2\r\n$4\r\npong\r\n$0\r\n\r\n')
      await assertOthersGot(others, payload, payload)
    },
  )

  test('matching patterns and the shard channel follow the reply likewise', async () => {
    const client = await open.client(server, 'RESP3 over TCP')
    await client.assertReply(['PSUBSCRIBE', 'w*'], '>3\r\n$10\r\npsubscribe\r\n$2\r\nw*\r\n:1\r\n')
    await client.assertReply(['SSUBSCRIBE', 'wt'], '>3\r\n$10\r\nssubscribe\r\n$2\r\nwt\r\n:1\r\n')
    client.command('PUBLISH', 'wt', 'a')
    await client.assertReply(['SPUBLISH', 'wt', 'b'], ':1\r\n')
    await client.takeExactly(push(3, 'pmessage', 'w*', 'wt', 'a'))
    await client.takeExactly(':1\r\n')
    await client.takeExactly(push(3, 'smessage', 'wt', 'b'))
    await client.assertPong()
  })
})

describe('64 MiB with limits raised', () => {
  const payload = payloadOf(64 * MIB)
  const server = sharedServer({ directives: WIDE })

  test.each(RESP3_TRANSPORTS)('arrive in one piece after the reply, %s', async (transport) => {
    const publisher = await open.client(server, transport)
    await publisher.subscribe('wt')
    publisher.command('PUBLISH', 'wt', payload)
    await publisher.takeExactly(':1\r\n')
    await publisher.takeExactly(push(3, 'message', 'wt', payload))
    await publisher.assertPong()
  })

  test('arrive in one piece after the reply of EXEC, RESP2 over TCP', async () => {
    const publisher = await open.client(server, 'RESP2 over TCP')
    publisher.command('MULTI')
    publisher.command('SUBSCRIBE', 'wt')
    publisher.command('PUBLISH', 'wt', payload)
    await publisher.assertReply(['EXEC'], '+OK\r\n+QUEUED\r\n+QUEUED\r\n')
    await publisher.takeExactly('*2\r\n*3\r\n$9\r\nsubscribe\r\n$2\r\nwt\r\n:1\r\n:1\r\n')
    await publisher.takeExactly(push(2, 'message', 'wt', payload))
  })
})
