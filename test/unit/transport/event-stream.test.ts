import { describe, expect, test } from 'vitest'
import { CLOSES } from '../../../server/client/close.ts'
import { EventSink } from '../../../server/transport/event-sink.ts'
import type { EventStream } from '../../../server/transport/event-stream.ts'
import { KeepAlive } from '../../../server/transport/keep-alive.ts'
import { connectEvents } from '../../../server/transport/reception.ts'
import { coreWithUpstream } from '../../support/fake-backplane.ts'
import { socketPair } from '../../support/socket-pair.ts'
import { TestCore } from '../../support/test-core.ts'

/** A stream whose client is logged in as a user with these rules, and what its peer has received so far. */
async function streamOf(
  server: TestCore,
  rules = '+subscribe +psubscribe &*',
): Promise<{ stream: EventStream; received: () => Promise<string>; written: Buffer[] }> {
  const { accepted, heard } = await socketPair()
  const sink = new EventSink(accepted)
  const written: Buffer[] = []
  const write = sink.write.bind(sink)
  sink.write = (buffers) => {
    written.push(...buffers)
    return write(buffers)
  }
  const stream = connectEvents(
    server,
    {
      listener: 'public',
      address: '127.0.0.1:1',
      localAddress: '127.0.0.1:8080',
      origin: undefined,
    },
    sink,
  )
  server.setUser('app', `on >pw ${rules}`)
  const user = server.users.get('app')
  if (!user) throw new Error('no user')
  server.clients.setIdentity(stream.client, { user, ceilings: [], token: undefined })
  stream.client.authenticate()
  return {
    stream,
    written,
    received: async () => {
      server.turn.end()
      // What was written comes within some turns of the loop.
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve, 2))
      return heard()
    },
  }
}

function keepAliveOf(server: TestCore): KeepAlive {
  return new KeepAlive(server.clock, server.config, () => 0)
}

describe('A stream of events', () => {
  test('is in force once the upstream has confirmed its names, and is told of gaps', async () => {
    const { server, upstream } = coreWithUpstream()
    const { stream, received } = await streamOf(server)
    const subscribed = stream.subscribe('SUBSCRIBE', ['a', 'b'])
    expect(upstream.wants.map(({ names }) => names)).toEqual([['a', 'b']])
    upstream.confirm()
    expect(upstream.deliver('a', 'first')).toBe(1)
    expect(await subscribed).toBeUndefined()
    upstream.announce({ fromMs: 5, toMs: 7, holders: [stream.client], name: 'a' })
    stream.open(keepAliveOf(server))
    expect(await received()).toBe(
      'event: subscribed\ndata: {"channel":"a"}\n\nevent: subscribed\ndata: {"channel":"b"}\n\n' +
        'data: {"channel":"a","payload":"first"}\n\n' +
        'event: gap\ndata: {"channel":"a","fromMs":5,"toMs":7}\n\n',
    )
  })

  test('whose upstream does not confirm its names has the error, and nothing is written', async () => {
    const { server, upstream } = coreWithUpstream()
    const { stream, received } = await streamOf(server)
    const subscribed = stream.subscribe('PSUBSCRIBE', ['a*'])
    upstream.confirm('TRYAGAIN the upstream does not confirm the subscription')
    expect(await subscribed).toBe('TRYAGAIN the upstream does not confirm the subscription')
    expect(await received()).toBe('')
  })

  test('that is refused leaves no client behind', async () => {
    const server = new TestCore()
    const { stream } = await streamOf(server, '+subscribe &a')
    expect(await stream.subscribe('SUBSCRIBE', ['b'])).toBe(
      'NOPERM No permissions to access a channel',
    )
    stream.client.close(CLOSES.quit)
    server.turn.end()
    await server.clients.drained()
    expect(server.clients.sockets).toBe(0)
  })

  test('shares the bytes of its messages with the other streams of a channel', async () => {
    const server = new TestCore()
    const streams = [await streamOf(server), await streamOf(server)]
    for (const { stream, received } of streams) {
      await stream.subscribe('SUBSCRIBE', ['a'])
      stream.open(keepAliveOf(server))
      await received()
    }
    const publisher = server.connect()
    publisher.send('PUBLISH', 'a', 'x')
    for (const { received } of streams) {
      expect(await received()).toMatch(/data: \{"channel":"a","payload":"x"\}\n\n$/)
    }
    const [one, other] = streams.map(({ written }) => written.at(-1))
    expect(one?.buffer).toBe(other?.buffer)
    expect(one?.byteOffset).toBe(other?.byteOffset)
    expect(server.counters.messagesDelivered).toBe(2)
  })

  test('gets comments while it is silent, and is never taken for dead', async () => {
    const server = new TestCore({ 'ws-ping-interval': '10' })
    const { stream, received } = await streamOf(server)
    await stream.subscribe('SUBSCRIBE', ['a'])
    stream.open(keepAliveOf(server))
    await received()
    server.clock.advance(100_000)
    expect(await received()).toMatch(/\n\n:\n\n/)
    expect(stream.client.closed).toBe(false)
  })
})
