import { describe, expect, test } from 'vitest'
import { TestCore } from '../../../support/test-core.ts'

describe('PUBSUB', () => {
  test('lists channels with subscribers, all or those that match a pattern', () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    client.send('SUBSCRIBE', 'a', 'ab', '')
    client.send('PSUBSCRIBE', 'x*')
    client.send('SSUBSCRIBE', 's')
    expect(client.send('PUBSUB', 'CHANNELS')).toBe('*3\r\n$1\r\na\r\n$2\r\nab\r\n$0\r\n\r\n')
    expect(client.send('PUBSUB', 'CHANNELS', 'a?')).toBe('*1\r\n$2\r\nab\r\n')
    expect(client.send('PUBSUB', 'CHANNELS', '*')).toBe('*2\r\n$1\r\na\r\n$2\r\nab\r\n')
    expect(client.send('pubsub', 'shardchannels', 's*')).toBe('*1\r\n$1\r\ns\r\n')
    expect(client.send('PUBSUB', 'SHARDCHANNELS', 'a')).toBe('*0\r\n')
  })

  test('counts subscribers, in the order asked for', () => {
    const server = new TestCore()
    const [one, two] = [server.connect({ protocol: 3 }), server.connect({ protocol: 3 })]
    for (const client of [one, two]) client.send('SUBSCRIBE', 'a')
    one.send('PSUBSCRIBE', 'p*', 'q*')
    two.send('PSUBSCRIBE', 'p*')
    expect(one.send('PUBSUB', 'NUMSUB', 'zz', 'a', 'a')).toBe(
      '*6\r\n$2\r\nzz\r\n:0\r\n$1\r\na\r\n:2\r\n$1\r\na\r\n:2\r\n',
    )
    expect(one.send('PUBSUB', 'NUMPAT')).toBe(':2\r\n')
    expect(one.send('PUBSUB', 'SHARDNUMSUB', 'a')).toBe('*2\r\n$1\r\na\r\n:0\r\n')
  })

  test('HELP is laid out as in Redis, in simple strings', () => {
    const lines = new TestCore().connect().send('pubsub', 'help').split('\r\n')
    expect(lines[0]).toBe(`*${lines.length - 2}`)
    expect(lines[1]).toBe('+PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:')
    expect(lines.slice(1, -1).every((line) => line.startsWith('+'))).toBe(true)
    expect(lines.slice(2, -3).filter((line) => !line.startsWith('+    '))).toEqual([
      '+CHANNELS [<pattern>]',
      '+NUMPAT',
      '+NUMSUB [<channel> ...]',
      '+SHARDCHANNELS [<pattern>]',
      '+SHARDNUMSUB [<shardchannel> ...]',
    ])
    expect(lines.slice(-3)).toEqual(['+HELP', '+    Print this help.', ''])
  })
})

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

describe('PUBLISH', () => {
  test('answers deliveries: one for the channel and one for each pattern', () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    client.send('SUBSCRIBE', 'foo')
    client.send('PSUBSCRIBE', 'f*', 'fo?', 'x*')
    const publisher = server.connect()
    expect(publisher.send('PUBLISH', 'foo', 'x')).toBe(':3\r\n')
    expect(publisher.send('SPUBLISH', 'foo', 'x')).toBe(':0\r\n')
    expect([server.counters.messagesPublished, server.counters.messagesDelivered]).toEqual([2, 3])
  })

  test('carries any bytes, also those that look like a number', () => {
    const server = new TestCore()
    const client = server.connect()
    client.send('SUBSCRIBE', '123')
    server.connect().send('PUBLISH', '123', '\0\r\n\xff')
    expect(client.read()).toBe('*3\r\n$7\r\nmessage\r\n$3\r\n123\r\n$4\r\n\0\r\n\xff\r\n')
  })
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
