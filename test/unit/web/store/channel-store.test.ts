import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RespcastClient } from '../../../../web/client/client.ts'
import { ChannelStore, LINGER_MS } from '../../../../web/store/channel-store.ts'
import type { ChannelSource } from '../../../../web/store/channel-store.ts'
import { FakeServer, settle } from '../client/support/fake-server.ts'

const NOPERM = '-NOPERM No permissions to access a channel\r\n'
const NEWS: ChannelSource = { kind: 'channel', name: 'news', codec: 'text' }

let server: FakeServer
let client: RespcastClient

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  server = new FakeServer()
  client = server.client()
  await server.online()
})

afterEach(() => {
  client.close()
  vi.useRealTimers()
})

/** A store that collects lines, and how often its listener was told. */
function lines(source = NEWS): { store: ChannelStore<string, string[]>; told: () => number } {
  const store = new ChannelStore<string, string[]>(client, source, [])
  store.reaction = { reduce: (value, message) => [...value, message.data] }
  let count = 0
  store.subscribe(() => void count++)
  return { store, told: () => count }
}

describe('a channel as a store', () => {
  test('is subscribed while somebody looks, and a second longer', () => {
    const store = new ChannelStore(client, NEWS, undefined)
    expect(server.socket.commands()).toEqual([])
    const end = store.subscribe(() => undefined)
    expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'news']])
    end()
    vi.advanceTimersByTime(LINGER_MS - 1)
    expect(server.socket.commands()).toEqual([])
    vi.advanceTimersByTime(1)
    expect(server.socket.commands()).toEqual([['UNSUBSCRIBE', 'news']])
  })

  test('does not flap where a component is mounted, unmounted, and mounted again', () => {
    const store = new ChannelStore(client, NEWS, undefined)
    store.subscribe(() => undefined)()
    store.subscribe(() => undefined)
    vi.advanceTimersByTime(10 * LINGER_MS)
    expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'news']])
  })

  test('does not flap where one component takes the place of another', () => {
    const end = new ChannelStore(client, NEWS, undefined).subscribe(() => undefined)
    server.socket.confirm('subscribe', 'news')
    end()
    new ChannelStore(client, NEWS, undefined).subscribe(() => undefined)
    vi.advanceTimersByTime(10 * LINGER_MS)
    expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'news']])
  })

  test('reduces messages to a value, and tells of all that came together once', async () => {
    const { store, told } = lines()
    server.socket.confirm('subscribe', 'news')
    await settle()
    expect(told()).toBe(1)
    const before = store.snapshot()
    for (const text of ['a', 'b', 'c']) server.socket.push('message', 'news', text)
    await settle()
    expect(told()).toBe(2)
    expect(store.snapshot()).toEqual({
      status: 'live',
      value: ['a', 'b', 'c'],
      denial: undefined,
      gap: undefined,
    })
    expect(store.snapshot()).not.toBe(before)
    expect(store.snapshot()).toBe(store.snapshot())
  })

  test('has the last message as its value otherwise', () => {
    const store = new ChannelStore(client, NEWS, undefined)
    store.subscribe(() => undefined)
    server.socket.confirm('subscribe', 'news')
    server.socket.push('message', 'news', 'a')
    expect(store.snapshot().value).toMatchObject({ channel: 'news', data: 'a' })
  })

  test('works for patterns and shard channels', () => {
    lines({ kind: 'pattern', name: 'n*', codec: undefined })
    lines({ kind: 'shard', name: 's', codec: undefined })
    expect(server.socket.commands()).toEqual([
      ['PSUBSCRIBE', 'n*'],
      ['SSUBSCRIBE', 's'],
    ])
  })

  test('tells of gaps', async () => {
    const { store } = lines()
    const gaps: number[] = []
    store.reaction = { onGap: ({ spanMs }) => void gaps.push(spanMs) }
    server.socket.confirm('subscribe', 'news')
    await server.socket.end()
    expect(store.snapshot().status).toBe('pending')
    await server.pass(500)
    await server.online()
    server.socket.confirm('subscribe', 'news')
    expect(gaps).toEqual([500])
    expect(store.snapshot()).toMatchObject({ status: 'live', gap: { spanMs: 500 } })
    // The server has missed messages, and the connection has not broken.
    server.socket.push('gap', 'news', 1_764_000_000_000, 1_764_000_000_700)
    expect(gaps).toEqual([500, 700])
    expect(store.snapshot()).toMatchObject({ status: 'live', gap: { spanMs: 700 } })
  })

  test('has a gap where a component was hidden and is shown again', () => {
    const store = new ChannelStore<string, string>(client, NEWS, '')
    store.reaction = { reduce: (_value, { data }) => data }
    const end = store.subscribe(() => undefined)
    server.socket.confirm('subscribe', 'news')
    server.socket.push('message', 'news', 'before')
    end()
    vi.advanceTimersByTime(LINGER_MS)
    server.socket.confirm('unsubscribe', 'news')
    vi.advanceTimersByTime(4000)
    store.subscribe(() => undefined)
    server.socket.confirm('subscribe', 'news')
    expect(store.snapshot()).toMatchObject({ value: 'before', gap: { spanMs: 4000 } })
  })

  test('that is refused says so, and is tried again when a token is accepted', async () => {
    const { store } = lines()
    server.socket.receive(NOPERM)
    await settle()
    expect(store.snapshot()).toMatchObject({ status: 'denied', denial: { code: 'NOPERM' } })
    server.socket.commands()
    server.socket.push('token', 'accepted', 'jwt:42', 1000)
    expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'news']])
    server.socket.confirm('subscribe', 'news')
    expect(store.snapshot()).toMatchObject({ status: 'live', denial: undefined })
  })

  test('that was refused is tried again when permissions are granted', async () => {
    const { store } = lines()
    server.socket.receive(NOPERM)
    await settle()
    server.socket.commands()
    server.socket.push('token', 'granted')
    expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'news']])
    server.socket.confirm('subscribe', 'news')
    expect(store.snapshot()).toMatchObject({ status: 'live', denial: undefined })
  })

  test.each([undefined, null])('without a name (%s) subscribes to nothing', (name) => {
    const store = new ChannelStore(client, { kind: 'channel', name, codec: 'text' }, 'initial')
    const end = store.subscribe(() => undefined)
    expect(store.snapshot()).toMatchObject({ status: 'pending', value: 'initial' })
    server.socket.push('token', 'accepted', 'jwt:42', 1000)
    end()
    vi.advanceTimersByTime(LINGER_MS)
    expect(server.socket.commands()).toEqual([])
  })

  test('reads each message with the codec of the last rendering, in one subscription', () => {
    const codec = (sign: string) => ({
      decode: (payload: Uint8Array) => sign + Buffer.from(payload).toString(),
      encode: (data: string) => data,
    })
    const { store } = lines({ kind: 'channel', name: 'news', codec: codec('a') })
    server.socket.confirm('subscribe', 'news')
    server.socket.push('message', 'news', '1')
    store.codec = codec('b')
    server.socket.push('message', 'news', '2')
    expect(store.snapshot().value).toEqual(['a1', 'b2'])
    expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'news']])
  })

  test('that was lost says so', () => {
    const { store } = lines()
    server.socket.confirm('subscribe', 'news')
    server.socket.push('unsubscribe', 'news', 0)
    expect(store.snapshot()).toMatchObject({ status: 'denied', denial: { code: 'LOST' } })
  })

  test('ends with its client', () => {
    const { store } = lines()
    client.close()
    expect(store.snapshot().status).toBe('ended')
  })
})
