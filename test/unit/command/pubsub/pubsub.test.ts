import { describe, expect, test } from 'vitest'
import { coreWithControl } from '../../../support/fake-control.ts'
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

describe('PUBSUB of a gateway that shares an upstream', () => {
  function shared() {
    const { server, control } = coreWithControl()
    const asked: unknown[] = []
    control.questions = {
      counts: (space, names) => {
        asked.push(['counts', space, ...names])
        return Promise.resolve(names.map((_, at) => at + 5))
      },
      names: (space, pattern) => {
        asked.push(['names', space, pattern])
        return Promise.resolve(new Set(['a', '\xff']))
      },
      patterns: () => Promise.resolve(7),
    }
    const client = server.connect({ protocol: 3 })
    return { client, asked }
  }

  test('tells of all gateways', async () => {
    const { client, asked } = shared()
    expect(await client.sendAndWait('PUBSUB', 'NUMSUB', 'x', '\xff')).toBe(
      '*4\r\n$1\r\nx\r\n:5\r\n$1\r\n\xff\r\n:6\r\n',
    )
    expect(await client.sendAndWait('PUBSUB', 'SHARDNUMSUB', 's')).toBe('*2\r\n$1\r\ns\r\n:5\r\n')
    const channels = '*2\r\n$1\r\na\r\n$1\r\n\xff\r\n'
    expect(await client.sendAndWait('PUBSUB', 'CHANNELS')).toBe(channels)
    expect(await client.sendAndWait('PUBSUB', 'SHARDCHANNELS', 'a*')).toBe(channels)
    expect(await client.sendAndWait('PUBSUB', 'NUMPAT')).toBe(':7\r\n')
    expect(asked).toEqual([
      ['counts', 'channel', 'x', '\xff'],
      ['counts', 'shard', 's'],
      ['names', 'channel', undefined],
      ['names', 'shard', 'a*'],
    ])
  })

  test('asks nobody about no name, and nothing that is refused', async () => {
    const { client, asked } = shared()
    expect(await client.sendAndWait('PUBSUB', 'NUMSUB')).toBe('*0\r\n')
    expect(await client.sendAndWait('PUBSUB', 'CHANNELS', 'a', 'b')).toMatch(/^-ERR/)
    expect(asked).toEqual([])
  })

  test('tells of this gateway alone within EXEC', async () => {
    const { client, asked } = shared()
    client.send('SUBSCRIBE', 'x')
    client.send('PSUBSCRIBE', 'x*')
    client.send('MULTI')
    client.send('PUBSUB', 'NUMSUB', 'x')
    client.send('PUBSUB', 'CHANNELS')
    client.send('PUBSUB', 'NUMPAT')
    expect(await client.sendAndWait('EXEC')).toBe(
      '*3\r\n*2\r\n$1\r\nx\r\n:1\r\n*1\r\n$1\r\nx\r\n:1\r\n',
    )
    expect(asked).toEqual([])
  })

  test('answers in the order of the commands', async () => {
    const { client } = shared()
    client.write('PUBSUB NUMPAT\r\nPING\r\n')
    await client.settled()
    expect(client.read()).toBe(':7\r\n+PONG\r\n')
  })
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
