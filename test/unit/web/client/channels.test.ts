import { describe, expect, expectTypeOf, test } from 'vitest'
import type { DataIn, Globbed, NameIn } from '../../../../web/client/channels.ts'
import type { RespcastClient } from '../../../../web/client/client.ts'
import { FakeServer } from './support/fake-server.ts'

interface Channels {
  'room:*': { text: string }
  'user:*:inbox': number
  ticker: Uint8Array
}

describe('a map of channels', () => {
  test('gives each channel its data, by its name or by the pattern that matches it', async () => {
    expectTypeOf<Globbed<'user:*:inbox'>>().toEqualTypeOf<`user:${string}:inbox`>()
    expectTypeOf<NameIn<Channels>>().toEqualTypeOf<
      `room:${string}` | `user:${string}:inbox` | 'ticker'
    >()
    expectTypeOf<DataIn<Channels, 'room:7'>>().toEqualTypeOf<{ text: string }>()
    expectTypeOf<DataIn<Channels, 'user:1:inbox'>>().toEqualTypeOf<number>()

    const server = new FakeServer()
    const client = server.client({
      token: 'a.b.c',
      codec: 'json',
    }) as unknown as RespcastClient<Channels>
    await server.online()
    const seen: string[] = []
    client.subscribe('room:7', ({ data }) => void seen.push(data.text))
    client.psubscribe('room:*', ({ data }) => void seen.push(data.text))
    // @ts-expect-error No such channel.
    client.subscribe('rooms', () => undefined)
    // @ts-expect-error Not what a room brings.
    void client.publish('room:7', { txt: 'a' })
    server.socket.confirm('subscribe', 'room:7')
    server.socket.confirm('psubscribe', 'room:*')
    server.socket.push('message', 'room:7', '{"text":"hello"}')
    server.socket.push('pmessage', 'room:*', 'room:8', '{"text":"there"}')
    expect(seen).toEqual(['hello', 'there'])
  })
})
