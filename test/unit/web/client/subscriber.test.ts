import { describe, expect, test } from 'vitest'
import type { RespcastClient } from '../../../../web/client/client.ts'
import type { SubscribeOptions } from '../../../../web/client/subscriber.ts'
import type { Message, Subscription } from '../../../../web/client/types.ts'
import { FakeServer, record, settle } from './support/fake-server.ts'
import { online } from './support/scenes.ts'

/** A live subscription to `news`, without a handler. */
async function live(
  options: Omit<SubscribeOptions, 'codec'> = {},
): Promise<{ server: FakeServer; client: RespcastClient; news: Subscription }> {
  const { server, client } = await online()
  const news = client.subscribe('news', options)
  server.socket.confirm('subscribe', 'news')
  server.socket.commands()
  return { server, client, news }
}

function say(server: FakeServer, ...payloads: readonly string[]): void {
  for (const payload of payloads) server.socket.push('message', 'news', payload)
}

/** Takes messages until `count` have come. */
async function take(subscription: AsyncIterable<Message>, count: number): Promise<string[]> {
  const seen: string[] = []
  for await (const message of subscription) {
    seen.push(message.text())
    if (seen.length === count) break
  }
  return seen
}

describe('a subscription as an async iterable', () => {
  test('gives what came since it became live, then what comes, in order', async () => {
    const { server, news } = await live()
    say(server, 'one', 'two')
    const seen = take(news, 3)
    await settle()
    say(server, 'three')
    expect(await seen).toEqual(['one', 'two', 'three'])
  })

  test('ends the subscription when the loop is left', async () => {
    const { server, news } = await live()
    say(server, 'one', 'two')
    const seen = take(news, 1)
    await settle()
    expect(server.socket.commands()).toEqual([['UNSUBSCRIBE', 'news']])
    server.socket.confirm('unsubscribe', 'news')
    expect(await seen).toEqual(['one'])
    expect(news.status).toBe('ended')
  })

  test('ends the loop when the subscription or the client is closed, without an error', async () => {
    const first = await live()
    const ended = take(first.news, 9)
    await settle()
    void first.news.unsubscribe()
    expect(await ended).toEqual([])

    const second = await live()
    const closed = take(second.news, 9)
    await settle()
    second.client.close()
    expect(await closed).toEqual([])
  })

  test('throws when the subscription is refused', async () => {
    const { server, client } = await online()
    const seen = take(client.subscribe('secret'), 1)
    server.socket.receive('-NOPERM No permissions to access a channel\r\n')
    await expect(seen).rejects.toMatchObject({ name: 'DeniedError', prefix: 'NOPERM' })
  })

  test('goes on over a loss of connection', async () => {
    const { server, news } = await live()
    const seen = take(news, 2)
    await settle()
    say(server, 'before')
    await server.socket.end()
    await server.pass(0)
    await server.online()
    server.socket.confirm('subscribe', 'news')
    say(server, 'after')
    expect(await seen).toEqual(['before', 'after'])
  })

  test('is disposable', async () => {
    const { server, news } = await live()
    const disposed = news[Symbol.asyncDispose]()
    expect(server.socket.commands()).toEqual([['UNSUBSCRIBE', 'news']])
    server.socket.confirm('unsubscribe', 'news')
    await disposed
    expect(news.status).toBe('ended')
  })

  test('two iterators share what there is', async () => {
    const { server, news } = await live()
    const [one, two] = [news[Symbol.asyncIterator](), news[Symbol.asyncIterator]()]
    const results = Promise.all([one.next(), two.next()])
    say(server, 'a', 'b')
    const texts = (await results).map(({ value }) => (value as Message).text())
    expect(texts).toEqual(['a', 'b'])
  })
})

describe('a buffer that is full', () => {
  test('drops the oldest messages, and says how many', async () => {
    const { server, news } = await live({ buffer: { messages: 2 } })
    const drops: number[] = []
    news.addEventListener('drop', ({ detail }) => void drops.push(detail))
    say(server, 'one', 'two', 'three', 'four')
    expect(news.dropped).toBe(2)
    expect(drops).toEqual([1, 2])
    expect(await take(news, 2)).toEqual(['three', 'four'])
  })

  test('drops the newest on demand', async () => {
    const { server, news } = await live({ buffer: { messages: 2, overflow: 'drop-newest' } })
    say(server, 'one', 'two', 'three')
    expect(news.dropped).toBe(1)
    expect(await take(news, 2)).toEqual(['one', 'two'])
  })

  test('ends the subscription on demand, after what it holds', async () => {
    const { server, news } = await live({ buffer: { messages: 1, overflow: 'end' } })
    say(server, 'one', 'two')
    expect(server.socket.commands()).toEqual([['UNSUBSCRIBE', 'news']])
    const iterator = news[Symbol.asyncIterator]()
    expect((await iterator.next()).value?.text()).toBe('one')
    await expect(iterator.next()).rejects.toMatchObject({
      name: 'OverflowError',
      code: 'ERR_OVERFLOW',
    })
  })

  test('counts bytes as well, and always holds one message', async () => {
    const { server, news } = await live({ buffer: { bytes: 10 } })
    say(server, '12345', '67890', '1')
    expect(news.dropped).toBe(1)
    say(server, 'longer than ten bytes')
    expect(news.dropped).toBe(3)
    expect(await take(news, 1)).toEqual(['longer than ten bytes'])
  })

  test('holds 1000 messages by default', async () => {
    const { server, news } = await live()
    for (let at = 0; at < 1001; at++) say(server, String(at))
    expect(news.dropped).toBe(1)
  })

  test('is not used where a handler takes the messages', async () => {
    const { server, client } = await online()
    let count = 0
    const news = client.subscribe('news', () => void count++, { buffer: { messages: 1 } })
    server.socket.confirm('subscribe', 'news')
    say(server, 'a', 'b', 'c')
    expect([count, news.dropped]).toEqual([3, 0])
  })
})

describe('a subscription as an event target', () => {
  test('tells messages, status, gaps, and denials', async () => {
    const { server, client } = await online()
    const news = client.subscribe('news')
    const seen: unknown[] = []
    news.addEventListener('message', ({ detail }) => void seen.push(detail.text()))
    news.addEventListener('status', ({ detail }) => void seen.push(detail))
    news.addEventListener('gap', ({ detail }) => void seen.push(detail))
    news.addEventListener('denied', ({ detail }) => void seen.push(detail.code))
    server.socket.confirm('subscribe', 'news')
    say(server, 'one')
    await server.socket.end()
    await server.pass(700)
    await server.online()
    server.socket.confirm('subscribe', 'news')
    server.socket.push('unsubscribe', 'news', 0)
    void news.unsubscribe()
    expect(seen).toEqual([
      'live',
      'one',
      'pending',
      'live',
      { spanMs: 700 },
      'denied',
      'LOST',
      'ended',
    ])
    expect(news.dropped).toBe(0)
  })

  test('a listener that is removed hears nothing more', async () => {
    const { server, news } = await live()
    const seen: string[] = []
    const listener = ({ detail }: CustomEvent<Message>): void => void seen.push(detail.text())
    news.addEventListener('message', listener)
    say(server, 'one')
    news.removeEventListener('message', listener)
    say(server, 'two')
    expect(seen).toEqual(['one'])
  })

  test('a gap is told to those that were there before, with the time since the last byte', async () => {
    const { server, client, news } = await live()
    const gaps: number[] = []
    news.addEventListener('gap', ({ detail }) => void gaps.push(detail.spanMs))
    await server.pass(100)
    await server.socket.end()
    await server.pass(200)
    const late = client.subscribe('news')
    late.addEventListener('gap', () => void gaps.push(-1))
    await server.online()
    server.socket.confirm('subscribe', 'news')
    expect(gaps).toEqual([300])
  })

  test('a subscription that was denied in between has a gap over all of that time', async () => {
    const { server, client, news } = await live()
    const gaps: number[] = []
    news.addEventListener('gap', ({ detail }) => void gaps.push(detail.spanMs))
    await server.socket.end(4403, 'permissions-changed||')
    await server.pass(1000)
    await server.online()
    server.socket.receive('-NOPERM No permissions to access a channel\r\n')
    await settle()
    expect(news.status).toBe('denied')
    await server.pass(1000)
    const done = client.authenticate('d.e.f')
    server.socket.receive('+OK\r\n')
    await settle()
    server.socket.confirm('subscribe', 'news')
    await done
    expect(gaps).toEqual([2000])
    expect(news.status).toBe('live')
  })
})

describe('a signal', () => {
  test('ends a subscription', async () => {
    const controller = new AbortController()
    const { server, news } = await live({ signal: controller.signal })
    controller.abort()
    expect(server.socket.commands()).toEqual([['UNSUBSCRIBE', 'news']])
    expect(news.status).toBe('ended')
  })

  test('that was aborted before subscribes to nothing', async () => {
    const { server, client } = await online()
    const news = client.subscribe('news', { signal: AbortSignal.abort() })
    await expect(news.ready).rejects.toMatchObject({ name: 'ClosedError', code: 'ERR_CLOSED' })
    expect(server.socket.commands()).toEqual([])
  })

  test('closes a client', async () => {
    const controller = new AbortController()
    const { server, client } = await online({ token: 'a.b.c', signal: controller.signal })
    controller.abort()
    expect(client.state.status).toBe('closed')
    expect(server.socket.closed).toEqual([1000, ''])
  })

  test('that was aborted before connects to nothing', async () => {
    const server = new FakeServer()
    const client = server.client({ token: 'a.b.c', signal: AbortSignal.abort() })
    await settle()
    expect(client.state.status).toBe('closed')
    expect(server.sockets).toHaveLength(0)
    expect(server.clock.pendingTimers).toBe(0)
  })
})

describe('codecs', () => {
  test('give text, JSON, bytes, or what a codec of one’s own makes', async () => {
    const { server, client } = await online()
    const seen: unknown[] = []
    client.subscribe('text', ({ data }) => void seen.push(data), { codec: 'text' })
    client.subscribe('json', ({ data }) => void seen.push(data), { codec: 'json' })
    client.subscribe('bytes', ({ data }) => void seen.push([...data]))
    const length = { decode: (payload: Uint8Array) => payload.length, encode: String }
    client.subscribe('own', ({ data }) => void seen.push(data), { codec: length })
    server.socket.confirm('subscribe', 'text', 'json', 'bytes', 'own')
    for (const name of ['text', 'json', 'bytes', 'own']) {
      server.socket.push('message', name, '{"a":[1]}'.slice(0, name === 'bytes' ? 2 : 9))
    }
    expect(seen).toEqual(['{"a":[1]}', { a: [1] }, [0x7b, 0x22], 9])
  })

  test('of a client encode what it publishes; bytes go as they are', async () => {
    const { server, client } = await online({ token: 'a.b.c', codec: 'json' })
    void client.publish('a', { x: 'ü' } as never)
    void client.publish('a', 'text')
    void client.publish('a', Uint8Array.of(0xff))
    expect(server.socket.commands()).toEqual([
      ['PUBLISH', 'a', '{"x":"\xc3\xbc"}'],
      ['PUBLISH', 'a', '"text"'],
      ['PUBLISH', 'a', '\xff'],
    ])
  })

  test('that cannot read a payload report it; other subscriptions get the message', async () => {
    const { server, client } = await online()
    const errors = record(client, 'error')
    const seen: unknown[] = []
    client.subscribe('news', ({ data }) => void seen.push(data), { codec: 'json' })
    client.subscribe('news', ({ data }) => void seen.push(data), { codec: 'text' })
    server.socket.confirm('subscribe', 'news')
    say(server, 'not json')
    expect(seen).toEqual(['not json'])
    expect(errors).toEqual([
      expect.objectContaining({
        name: 'DecodeError',
        code: 'ERR_DECODE',
        cause: expect.any(SyntaxError),
      }),
    ])
  })
})
