import { describe, expect, test } from 'vitest'
import { TestCore } from '../../../support/test-core.ts'

describe('The counts in confirmations', () => {
  test.each([2, 3] as const)(
    'are channels with patterns, and shard channels apart: RESP%d',
    (protocol) => {
      const client = new TestCore().connect({ protocol })
      const counts = (...args: string[]): string[] =>
        [...client.send(...args).matchAll(/:(\d+)\r\n/g)].map((match) => match[1] as string)
      expect(counts('SUBSCRIBE', 'a', 'a', 'b')).toEqual(['1', '1', '2'])
      expect(counts('PSUBSCRIBE', 'p*', 'p*')).toEqual(['3', '3'])
      expect(counts('SSUBSCRIBE', 's', 's')).toEqual(['1', '1'])
      expect(counts('UNSUBSCRIBE', 'a', 'a')).toEqual(['2', '2'])
      expect(counts('UNSUBSCRIBE')).toEqual(['1'])
      expect(client.send('UNSUBSCRIBE')).toMatch(
        protocol === 2 ? /\$-1\r\n:1\r\n$/ : /_\r\n:1\r\n$/,
      )
      expect(counts('SUNSUBSCRIBE')).toEqual(['0'])
      expect(counts('PUNSUBSCRIBE')).toEqual(['0'])
    },
  )
})

describe('A transport with limits', () => {
  function limited() {
    const server = new TestCore({
      'tcp-max-subscriptions': '3',
      'tcp-max-patterns': '2',
      'tcp-max-channel-length': '5',
      'tcp-max-pattern-length': '4',
    })
    const client = server.connect({ protocol: 3 })
    return { server, client }
  }

  test('counts channels and shard channels together, patterns apart', () => {
    const { client } = limited()
    client.send('SUBSCRIBE', 'a', 'b')
    client.send('SSUBSCRIBE', 'a')
    const full = '-ERR at most 3 subscriptions are allowed on this connection\r\n'
    expect(client.send('SSUBSCRIBE', 'b')).toBe(full)
    expect(client.send('SUBSCRIBE', 'c')).toBe(full)
    expect(client.send('SUBSCRIBE', 'a', 'b')).toMatch(/^>3/)
    client.send('PSUBSCRIBE', 'a*', 'b*')
    expect(client.send('PSUBSCRIBE', 'c*')).toBe(
      '-ERR at most 2 patterns are allowed on this connection\r\n',
    )
  })

  test('refuses the whole command, and subscribes to nothing of it', () => {
    const { server, client } = limited()
    expect(client.send('SUBSCRIBE', 'a', 'b', 'c', 'd')).toMatch(/^-ERR at most 3 subscriptions/)
    expect(client.send('SUBSCRIBE', 'a', '123456')).toBe(
      '-ERR a channel name of more than 5 bytes is not allowed on this connection\r\n',
    )
    expect(client.send('PSUBSCRIBE', 'a', '12345')).toBe(
      '-ERR a pattern of more than 4 bytes is not allowed on this connection\r\n',
    )
    const webSocket = server.connect({ transport: 'websocket' })
    webSocket.becomeDefault()
    expect(webSocket.send('SUBSCRIBE', ...Array<string>(65).fill('a'))).toBe(
      '-ERR at most 64 names in one command are allowed on this connection\r\n',
    )
    expect([server.registry.channelCount('channel'), server.registry.patternCount]).toEqual([0, 0])
  })

  test('counts a name that is given twice once', () => {
    const { client } = limited()
    expect(client.send('SUBSCRIBE', 'a', 'b', 'a', 'c')).toMatch(/:3\r\n$/)
  })

  test('gives room again to who unsubscribes', () => {
    const { client } = limited()
    client.send('SUBSCRIBE', 'a', 'b', 'c')
    client.send('UNSUBSCRIBE', 'a')
    expect(client.send('SUBSCRIBE', 'd')).toMatch(/:3\r\n$/)
  })
})
