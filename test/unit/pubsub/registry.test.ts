import { describe, expect, test } from 'vitest'
import { ReplyWriter } from '../../../server/resp/reply-writer.ts'
import { payloadOf } from '../../../server/delivery/segment.ts'
import { countSteps, TestCore, type TestClient } from '../../support/test-core.ts'

/** The reply of a command that has none. */
const EMPTY = new ReplyWriter()

const message = (channel: string, payload: string): string =>
  `>3\r\n$7\r\nmessage\r\n$${channel.length}\r\n${channel}\r\n$${payload.length}\r\n${payload}\r\n`
const pmessage = (pattern: string, channel: string, payload: string): string =>
  `>4\r\n$8\r\npmessage\r\n$${pattern.length}\r\n${pattern}\r\n$${channel.length}\r\n${channel}\r\n` +
  `$${payload.length}\r\n${payload}\r\n`
const smessage = (channel: string, payload: string): string =>
  `>3\r\n$8\r\nsmessage\r\n$${channel.length}\r\n${channel}\r\n$${payload.length}\r\n${payload}\r\n`

/** A server, clients of it in RESP3, and how to publish without a client. */
function core() {
  const server = new TestCore()
  const { registry } = server
  const connect = (): TestClient => server.connect({ protocol: 3 })
  const publish = (
    channel: string,
    payload: string,
    space: 'channel' | 'shard' = 'channel',
  ): number => registry.publish(space, channel, payloadOf(Buffer.from(payload, 'latin1')))
  return { server, registry, connect, publish }
}

describe('A subscriber that is gone', () => {
  test('is forgotten in parts where it had very many subscriptions', () => {
    const { registry, connect, publish } = core()
    const [gone, other] = [connect(), connect()]
    for (let i = 0; i < 25_000; i++) {
      registry.subscribe('channel', gone.client, `c:${i}`, 'default')
      registry.subscribe('pattern', gone.client, `p:${i}:*`, 'default')
    }
    registry.subscribe('channel', other.client, 'c:24999', 'default')
    const rest = registry.forget(gone.client)
    expect([registry.subscriberCount, gone.client.subscriptions.any]).toEqual([1, false])
    expect(registry.channelCount('channel')).toBe(15_000)
    expect(countSteps(rest)).toBe(5)
    expect([registry.channelCount('channel'), registry.patternCount]).toEqual([1, 0])
    expect(publish('c:24999', 'm')).toBe(1)
    expect(other.read()).toBe(message('c:24999', 'm'))
  })

  test('is forgotten at once where it had few', () => {
    const { registry, connect } = core()
    const gone = connect()
    registry.subscribe('shard', gone.client, 'a', 'default')
    expect(registry.forget(gone.client)).toBeUndefined()
    expect(registry.channelCount('shard')).toBe(0)
    expect(registry.forget(gone.client)).toBeUndefined()
    expect(registry.subscriberCount).toBe(0)
  })
})

describe('Three clients and a mix of channels and patterns', () => {
  function example() {
    const parts = core()
    const [a, b, c] = [parts.connect(), parts.connect(), parts.connect()] as const
    parts.registry.subscribe('channel', a.client, 'news', 'default')
    parts.registry.subscribe('channel', b.client, 'news', 'default')
    parts.registry.subscribe('channel', b.client, 'sports', 'default')
    parts.registry.subscribe('pattern', c.client, 'news*', 'default')
    return { ...parts, a, b, c }
  }

  test('stand in both indexes', () => {
    const { registry, a, b, c } = example()
    expect([...registry.channelNames('channel')]).toEqual(['news', 'sports'])
    expect([registry.countOf('channel', 'news'), registry.countOf('channel', 'sports')]).toEqual([
      2, 1,
    ])
    expect(Array.from(registry.patterns(), ({ name, size }) => [name, size])).toEqual([
      ['news*', 1],
    ])
    expect([registry.subscriberCount, registry.patternCount]).toEqual([3, 1])
    const own = ({ client }: TestClient): string[] => [
      ...client.subscriptions.names('channel').keys(),
    ]
    expect([own(a), own(b), own(c)]).toEqual([['news'], ['news', 'sports'], []])
    expect([...c.client.subscriptions.names('pattern').keys()]).toEqual(['news*'])
  })

  test('get `news` three times', () => {
    const { publish, a, b, c } = example()
    expect(publish('news', 'hello')).toBe(3)
    expect([a.read(), b.read()]).toEqual([message('news', 'hello'), message('news', 'hello')])
    expect(c.read()).toBe(pmessage('news*', 'news', 'hello'))
  })

  test('get `sports` once and `weather` not at all', () => {
    const { publish, a, b, c } = example()
    expect(publish('sports', 'goal')).toBe(1)
    expect(publish('weather', 'rain')).toBe(0)
    expect([a.read(), b.read(), c.read()]).toEqual(['', message('sports', 'goal'), ''])
    expect(b.client.output.heldBytes).toBe(0)
  })

  test('leave nothing behind when they unsubscribe', () => {
    const { registry, publish, a, b } = example()
    expect(registry.unsubscribe('channel', b.client, 'news')).toBe(true)
    expect(registry.countOf('channel', 'news')).toBe(1)
    expect([...b.client.subscriptions.names('channel').keys()]).toEqual(['sports'])
    registry.unsubscribe('channel', a.client, 'news')
    expect([...registry.channelNames('channel')]).toEqual(['sports'])
    expect(registry.channelCount('channel')).toBe(1)
    expect(publish('news', 'x')).toBe(1)
  })

  test('leave nothing behind when they are gone', () => {
    const { registry, a, b, c } = example()
    for (const { client } of [a, b, c]) registry.unsubscribeSome(client, 10)
    expect([registry.channelCount('channel'), registry.patternCount]).toEqual([0, 0])
    expect([registry.subscriberCount, b.client.subscriptions.any]).toEqual([0, false])
    expect(registry.countOf('pattern', 'news*')).toBe(0)
  })
})

describe('A subscriber with several subscriptions', () => {
  test('can be rid of some of them, the oldest of each space first', () => {
    const { registry, connect } = core()
    const { client } = connect()
    for (const name of ['a', 'b', 'c']) registry.subscribe('channel', client, name, 'x')
    for (const name of ['d*', 'e*']) registry.subscribe('pattern', client, name, 'x')
    registry.unsubscribeSome(client, 2)
    expect([...client.subscriptions.names('channel').keys()]).toEqual(['c'])
    registry.unsubscribeSome(client, 2)
    expect([...client.subscriptions.names('pattern').keys()]).toEqual(['e*'])
    expect([registry.channelCount('channel'), registry.subscriberCount]).toEqual([0, 1])
    registry.unsubscribeSome(client, 2)
    expect([registry.patternCount, registry.subscriberCount]).toEqual([0, 0])
  })
})

describe('A subscription', () => {
  test('is made once and ended once', () => {
    const { registry, connect } = core()
    const { client } = connect()
    expect(registry.subscribe('channel', client, 'a', 'x')).toBe(true)
    expect(registry.subscribe('channel', client, 'a', 'y')).toBe(false)
    expect([registry.countOf('channel', 'a'), registry.subscriberCount]).toEqual([1, 1])
    expect(registry.unsubscribe('channel', client, 'a')).toBe(true)
    expect(registry.unsubscribe('channel', client, 'a')).toBe(false)
    expect(registry.subscriberCount).toBe(0)
  })

  test('may have any name, the empty one and those of object members included', () => {
    const { registry, connect, publish } = core()
    const subscriber = connect()
    for (const name of ['', '\0\r\n\xff', '__proto__', 'constructor', 'toString']) {
      expect(registry.countOf('channel', name)).toBe(0)
      expect(publish(name, 'x')).toBe(0)
      registry.subscribe('channel', subscriber.client, name, 'default')
      expect(publish(name, 'x')).toBe(1)
      expect(subscriber.read()).toBe(message(name, 'x'))
    }
  })

  test('to a channel does not see its shard channel, nor the other way round', () => {
    const { registry, connect, publish } = core()
    const subscriber = connect()
    registry.subscribe('channel', subscriber.client, 'q', 'default')
    registry.subscribe('pattern', subscriber.client, 'q*', 'default')
    registry.subscribe('shard', subscriber.client, 'q', 'default')
    expect(publish('q', 'm')).toBe(2)
    expect(subscriber.read()).toBe(message('q', 'm') + pmessage('q*', 'q', 'm'))
    expect(publish('q', 's', 'shard')).toBe(1)
    expect(subscriber.read()).toBe(smessage('q', 's'))
    expect([registry.channelCount('channel'), registry.channelCount('shard')]).toEqual([1, 1])
  })

  test('to a pattern is never consulted for a shard channel', () => {
    const { registry, connect, publish } = core()
    const subscriber = connect()
    registry.subscribe('pattern', subscriber.client, '*', 'default')
    expect(publish('q', 's', 'shard')).toBe(0)
    expect(subscriber.read()).toBe('')
  })

  test('gets its messages in the order of publishing, each kind where it belongs', () => {
    const { registry, connect, publish } = core()
    const subscriber = connect()
    registry.subscribe('pattern', subscriber.client, 'a*', 'default')
    registry.subscribe('pattern', subscriber.client, '?', 'default')
    registry.subscribe('channel', subscriber.client, 'a', 'default')
    let expected = ''
    for (const payload of ['1', '2', '3']) {
      expect(publish('a', payload)).toBe(3)
      expected += message('a', payload) + pmessage('a*', 'a', payload) + pmessage('?', 'a', payload)
    }
    expect(subscriber.read()).toBe(expected)
  })
})

describe('A message', () => {
  test('is encoded once for all who speak a protocol', () => {
    const { server, registry, publish } = core()
    const resp3 = [server.connect({ protocol: 3 }), server.connect({ protocol: 3 })]
    const resp2 = server.connect()
    for (const { client } of [...resp3, resp2])
      registry.subscribe('channel', client, 'a', 'default')
    publish('a', 'x')
    publish('a', 'y')
    const texts = [...resp3, resp2].map((client) => client.read())
    expect(texts[0]).toBe(message('a', 'x') + message('a', 'y'))
    expect(texts[1]).toBe(texts[0])
    expect(texts[2]).toBe(texts[0]?.replaceAll('>3', '*3'))
  })

  test('that is larger than a subscriber takes passes it by, and it alone', () => {
    const { server, registry, publish, connect } = core()
    server.set('ws-max-message-out', '10')
    const small = server.connect({ transport: 'websocket' })
    const large = connect()
    for (const { client } of [small, large]) registry.subscribe('channel', client, 'a', 'default')
    expect(publish('a', '1'.repeat(10))).toBe(2)
    expect(publish('a', '2'.repeat(11))).toBe(1)
    expect(publish('a', '3')).toBe(2)
    const [ten, eleven] = ['1'.repeat(10), '2'.repeat(11)]
    expect(small.read()).toBe(message('a', ten) + message('a', '3'))
    expect(large.read()).toBe(message('a', ten) + message('a', eleven) + message('a', '3'))
  })

  test('is kept by reference from shareBytes on, and copied below', () => {
    const { server, registry, publish, connect } = core()
    const subscriber = connect()
    registry.subscribe('channel', subscriber.client, 'a', 'default')
    const payload = Buffer.alloc(16_384, 'x')
    registry.publish('channel', 'a', payloadOf(payload))
    const copied = Buffer.alloc(16_383, 'y')
    registry.publish('channel', 'a', payloadOf(copied))
    copied.fill('z')
    expect(subscriber.read()).toBe(
      message('a', 'x'.repeat(16_384)) + message('a', 'y'.repeat(16_383)),
    )
    server.set('min-string-size-avoid-copy-reply', '1')
    publish('a', 'm')
    server.turn.end()
    expect(subscriber.sink.take()).toBe(message('a', 'm'))
  })
})

describe('A subscriber under a deny overlay', () => {
  function overlaid() {
    const parts = core()
    const denied = parts.connect()
    const other = parts.connect()
    denied.client.overlay = {
      mayReceive: (channel) => channel !== 'a:secret',
      mayPublish: () => true,
      mayDeny: () => true,
    }
    for (const { client } of [denied, other]) {
      parts.registry.subscribe('pattern', client, 'a:*', 'default')
    }
    return { ...parts, denied, other }
  }

  test('is asked at each message, and not counted where it says no', () => {
    const { publish, denied, other } = overlaid()
    expect(publish('a:1', 'x')).toBe(2)
    expect(publish('a:secret', 'y')).toBe(1)
    expect(publish('a:2', 'z')).toBe(2)
    const [one, two] = [pmessage('a:*', 'a:1', 'x'), pmessage('a:*', 'a:2', 'z')]
    expect(denied.read()).toBe(one + two)
    expect(other.read()).toBe(one + pmessage('a:*', 'a:secret', 'y') + two)
  })

  test('may be alone with a pattern', () => {
    const { publish, registry, denied, other } = overlaid()
    registry.unsubscribeSome(other.client, 10)
    expect([publish('a:secret', 'x'), publish('a:1', 'y')]).toEqual([0, 1])
    expect(denied.read()).toBe(pmessage('a:*', 'a:1', 'y'))
  })

  test('gets everything again when the overlay is lifted', () => {
    const { publish, registry, denied } = overlaid()
    registry.regroup(denied.client, () => (denied.client.overlay = undefined))
    expect(publish('a:secret', 'x')).toBe(2)
    expect(denied.read()).toBe(pmessage('a:*', 'a:secret', 'x'))
    registry.unsubscribeSome(denied.client, 10)
    expect(publish('a:secret', 'x')).toBe(1)
  })

  test('that comes in the middle of a turn holds for the next message', () => {
    const { publish, registry, denied, other } = overlaid()
    const { overlay } = denied.client
    registry.regroup(denied.client, () => (denied.client.overlay = undefined))
    publish('a:1', 'x')
    registry.regroup(denied.client, () => (denied.client.overlay = overlay))
    expect(publish('a:secret', 'y')).toBe(1)
    expect(publish('a:2', 'z')).toBe(2)
    const [one, two] = [pmessage('a:*', 'a:1', 'x'), pmessage('a:*', 'a:2', 'z')]
    expect(denied.read()).toBe(one + two)
    expect(other.read()).toBe(one + pmessage('a:*', 'a:secret', 'y') + two)
  })

  test('is spared large messages it may not have as well', () => {
    const { server, registry, publish, denied } = overlaid()
    server.set('ws-max-message-out', '10')
    const small = server.connect({ transport: 'websocket' })
    registry.subscribe('channel', small.client, 'b', 'default')
    expect(publish('a:secret', 'x'.repeat(11))).toBe(1)
    expect(publish('a:1', 'x'.repeat(11))).toBe(2)
    expect(denied.read()).toBe(pmessage('a:*', 'a:1', 'x'.repeat(11)))
  })
})

describe('A change of protocol', () => {
  test('holds for what is published from then on', () => {
    const { registry, connect, publish } = core()
    const subscriber = connect()
    const other = connect()
    for (const { client } of [subscriber, other])
      registry.subscribe('channel', client, 'a', 'default')
    publish('a', '1')
    subscriber.client.output.startCommand()
    registry.regroup(subscriber.client, () => (subscriber.client.protocol = 2))
    subscriber.client.output.finishCommand(EMPTY)
    expect(publish('a', '2')).toBe(2)
    expect(subscriber.read()).toBe(message('a', '1') + message('a', '2').replace('>', '*'))
    expect(other.read()).toBe(message('a', '1') + message('a', '2'))
    expect(registry.countOf('channel', 'a')).toBe(2)
    expect(registry.subscriberCount).toBe(2)
  })

  test('of a client without subscriptions is just that', () => {
    const { registry, connect } = core()
    const { client } = connect()
    registry.regroup(client, () => (client.protocol = 2))
    expect(client.protocol).toBe(2)
    expect(registry.subscriberCount).toBe(0)
  })
})
