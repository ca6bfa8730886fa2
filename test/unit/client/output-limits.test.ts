import { describe, expect, test } from 'vitest'
import type { BufferLimit } from '../../../server/config/values.ts'
import { OutputLimiter } from '../../../server/client/output-limits.ts'
import { command, TestCore, type TestClient } from '../../support/test-core.ts'

const LIMIT = { hardBytes: 1_000, softBytes: 100, softSeconds: 10 }

describe('An output limit', () => {
  test('is exceeded at once at its hard bound', () => {
    const limiter = new OutputLimiter()
    expect(limiter.exceeded(LIMIT, 999, 0)).toBeUndefined()
    expect(limiter.exceeded(LIMIT, 1_000, 0)).toBe('hard')
  })

  test('is exceeded when its soft bound was held for longer than its seconds', () => {
    const limiter = new OutputLimiter()
    expect(limiter.exceeded(LIMIT, 100, 5_000)).toBeUndefined()
    expect(limiter.exceeded(LIMIT, 100, 15_000)).toBeUndefined()
    expect(limiter.exceeded(LIMIT, 100, 15_001)).toBe('soft')
  })

  test('starts its clock anew each time the client was below the soft bound', () => {
    const limiter = new OutputLimiter()
    limiter.exceeded(LIMIT, 500, 0)
    expect(limiter.exceeded(LIMIT, 99, 9_000)).toBeUndefined()
    expect(limiter.exceeded(LIMIT, 500, 11_000)).toBeUndefined()
    expect(limiter.exceeded(LIMIT, 500, 21_000)).toBeUndefined()
    expect(limiter.exceeded(LIMIT, 500, 21_001)).toBe('soft')
  })

  test('has bounds that 0 switches off', () => {
    const limiter = new OutputLimiter()
    const none = { hardBytes: 0, softBytes: 0, softSeconds: 0 }
    expect(limiter.exceeded(none, 1_000_000_000, 0)).toBeUndefined()
    expect(limiter.exceeded(none, 1_000_000_000, 1_000_000)).toBeUndefined()
  })

  test('with 0 soft seconds lets the first look pass', () => {
    const limiter = new OutputLimiter()
    const limit = { hardBytes: 0, softBytes: 100, softSeconds: 0 }
    expect(limiter.exceeded(limit, 100, 0)).toBeUndefined()
    expect(limiter.exceeded(limit, 100, 1)).toBe('soft')
  })
})

describe('The class of a client', () => {
  test('is normal, pubsub while it has subscriptions, and websocket', () => {
    const server = new TestCore()
    const tcp = server.connect()
    expect(tcp.client.limitClass).toBe('normal')
    tcp.send('SSUBSCRIBE', 's')
    expect(tcp.client.limitClass).toBe('pubsub')
    tcp.send('SUNSUBSCRIBE')
    expect(tcp.client.limitClass).toBe('normal')
    expect(server.connect({ transport: 'websocket' }).client.limitClass).toBe('websocket')
  })
})

/** A subscriber under an output limit, whose socket can be filled, and how to publish to it. */
function limited(transport: 'tcp' | 'websocket', limit: BufferLimit) {
  const bounds = `${limit.hardBytes} ${limit.softBytes} ${limit.softSeconds}`
  const server = new TestCore({
    'client-output-buffer-limit': `pubsub ${bounds} websocket ${bounds}`,
  })
  const { client, sink } = server.connect({ transport })
  client.authenticated = true
  server.registry.subscribe('channel', client, 'c', 'default')
  const publisher = server.connect()
  /** Publishes, ends the turn, and tells how the client stands. */
  const publish = (bytes: number): string => {
    publisher.write(command('PUBLISH', 'c', 'x'.repeat(bytes)))
    server.turn.end()
    return client.closeCause?.close?.reason ?? 'open'
  }
  const read = (): void => {
    sink.blocks = false
    sink.drain()
    client.output.onWritable()
    server.turn.end()
  }
  return { server, client, sink, publish, read }
}

const HARD = 'slow-consumer||output buffer over its hard limit'
const SOFT = 'slow-consumer||output buffer over its soft limit'

describe('A subscriber over TCP', () => {
  const hard = { hardBytes: 1_000, softBytes: 0, softSeconds: 0 }
  const soft = { hardBytes: 0, softBytes: 1_000, softSeconds: 10 }

  test('is closed for one message over the hard limit, not counting the first 16 KiB', () => {
    const { publish, sink } = limited('tcp', hard)
    expect(publish(17_000)).toBe('open')
    expect(publish(17_400)).toBe(HARD)
    expect(sink.terminated).toBe(true)
    expect(sink.writes).toHaveLength(1)
  })

  test('is closed for what its socket has not taken', () => {
    const { publish, sink, server } = limited('tcp', hard)
    sink.blocks = true
    expect(publish(10_000)).toBe('open')
    expect(publish(10_000)).toBe(HARD)
    expect(server.counters.outputLimitDisconnections).toBe(1)
    expect(server.registry.countOf('channel', 'c')).toBe(0)
  })

  test('is closed when it was over the soft limit for longer than its seconds', () => {
    const { publish, sink, server } = limited('tcp', soft)
    sink.blocks = true
    publish(20_000)
    expect(publish(1)).toBe('open')
    server.clock.advance(10_000)
    expect(publish(1)).toBe('open')
    server.clock.advance(1)
    expect(publish(1)).toBe(SOFT)
  })

  test('is looked at each second though nothing is sent to it', () => {
    const { client, publish, sink, server } = limited('tcp', soft)
    server.guard.start()
    sink.blocks = true
    publish(20_000)
    server.clock.advance(10_900)
    expect(client.closed).toBe(false)
    server.clock.advance(100)
    expect(client.closeCause?.name).toBe('slow-consumer')
    server.guard.stop()
  })

  test('that reads everything starts anew, however long it was left alone', () => {
    const { publish, server } = limited('tcp', soft)
    expect(publish(20_000)).toBe('open')
    server.clock.advance(60_000)
    expect(publish(20_000)).toBe('open')
  })
})

describe('A subscriber over WebSocket', () => {
  const hard = { hardBytes: 1_000, softBytes: 0, softSeconds: 0 }
  const soft = { hardBytes: 0, softBytes: 100, softSeconds: 10 }

  test('is never closed for a single message, however large', () => {
    const { publish, sink } = limited('websocket', hard)
    expect(publish(1_000_000)).toBe('open')
    sink.blocks = true
    expect(publish(1_000_000)).toBe('open')
  })

  test('is closed for what comes after a message that its socket has not taken', () => {
    const { publish, sink, server } = limited('websocket', hard)
    sink.blocks = true
    publish(1_000_000)
    expect(publish(1)).toBe(HARD)
    expect(server.counters.outputLimitDisconnections).toBe(1)
  })

  test('gets the close after the message that is in flight', () => {
    const { publish, read, sink } = limited('websocket', hard)
    sink.blocks = true
    publish(1_000)
    publish(2_000)
    read()
    expect(sink.takeMessages().map(({ length }) => length)).toEqual([1_000 + 33])
    expect(sink.ends).toEqual([{ code: 4450, reason: HARD }])
  })

  test('is closed by the soft limit only if it did not read meanwhile', () => {
    const { publish, read, sink, server } = limited('websocket', soft)
    const fill = (): string => {
      sink.blocks = true
      publish(200)
      return publish(200)
    }
    expect(fill()).toBe('open')
    server.clock.advance(9_000)
    read()
    server.clock.advance(9_000)
    expect(fill()).toBe('open')
    server.clock.advance(10_000)
    expect(publish(1)).toBe('open')
    server.clock.advance(1)
    expect(publish(1)).toBe(SOFT)
  })
})

describe('A client that has not logged in', () => {
  test('is closed when it leaves more than 4 KiB unread', () => {
    const server = new TestCore()
    server.setUser('default', 'resetpass >secret')
    const { client, sink, send } = bound(server.connect())
    sink.blocks = true
    for (let i = 0; i < 100; i++) send('PING')
    expect(client.closed).toBe(false)
    for (let i = 0; i < 50; i++) send('PING')
    expect(client.closeCause?.close?.reason).toBe(
      'slow-consumer||output buffer over its unauthenticated limit',
    )
  })
})

function bound(connection: TestClient) {
  const { client, sink } = connection
  return { client, sink, send: (...args: string[]) => connection.send(...args) }
}
