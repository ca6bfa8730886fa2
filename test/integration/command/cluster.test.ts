import { createClient, createCluster } from '@redis/client'
import { Cluster } from 'ioredis'
import { describe, expect, test } from 'vitest'
import type { TestGateway } from '../../support/server.ts'
import { push } from '../../support/resp-client.ts'
import { eventually, opener } from '../../support/opened.ts'

const open = opener()

function cluster(directives: Record<string, string> = {}): Promise<TestGateway> {
  return open.server({ directives: { 'cluster-enabled': 'yes', ...directives } })
}

describe('A cluster of one node', () => {
  test('tells a client the address by which it was reached', async () => {
    const server = await cluster()
    const client = await open.tcp(server)
    expect(await client.askBulk('CLUSTER', 'NODES')).toMatch(
      new RegExp(
        `^[0-9a-f]{40} 127\\.0\\.0\\.1:${server.port}@${server.port + 10_000} myself,master - 0 0 1 connected 0-16383\n$`,
      ),
    )
    const id = await client.askBulk('CLUSTER', 'MYID')
    await client.assertReply(
      ['CLUSTER', 'SLOTS'],
      `*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n$9\r\n127.0.0.1\r\n:${server.port}\r\n$40\r\n${id}\r\n*0\r\n`,
    )
    expect(await client.askBulk('INFO', 'server')).toContain('\r\nredis_mode:cluster\r\n')
  })

  test('announces what it is told to, and as it is told to', async () => {
    const server = await cluster({
      'cluster-announce-ip': '192.0.2.7',
      'cluster-announce-port': '7000',
      'cluster-announce-bus-port': '7001',
      'cluster-announce-hostname': 'redis.example',
    })
    const client = await open.tcp(server)
    expect(await client.askBulk('CLUSTER', 'NODES')).toContain(
      ' 192.0.2.7:7000@7001,redis.example myself,master ',
    )
    const id = await client.askBulk('CLUSTER', 'MYID')
    const node = `:7000\r\n$40\r\n${id}\r\n`
    const slots = async (type: string, endpoint: string, metadata: string): Promise<void> => {
      await client.assertReply(
        ['CONFIG', 'SET', 'cluster-preferred-endpoint-type', type],
        '+OK\r\n',
      )
      const range = '*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n'
      await client.assertReply(['CLUSTER', 'SLOTS'], `${range}${endpoint}${node}${metadata}`)
    }
    const name = '$8\r\nhostname\r\n$13\r\nredis.example\r\n'
    const ip = '$2\r\nip\r\n$9\r\n192.0.2.7\r\n'
    await slots('ip', '$9\r\n192.0.2.7\r\n', `*2\r\n${name}`)
    await slots('hostname', '$13\r\nredis.example\r\n', `*2\r\n${ip}`)
    await slots('unknown-endpoint', '$-1\r\n', `*4\r\n${ip}${name}`)
    await client.assertReply(['CONFIG', 'SET', 'cluster-announce-hostname', ''], '+OK\r\n')
    await slots('hostname', '$1\r\n?\r\n', `*2\r\n${ip}`)
  })

  test('binds one command to one slot over WebSocket too', async () => {
    const server = await cluster()
    const session = await open.session(server, '1', { channels: ['*'] })
    await session.assertReply(
      ['SSUBSCRIBE', 'a', 'b'],
      "-CROSSSLOT Keys in request don't hash to the same slot\r\n",
    )
    await session.assertReply(['SSUBSCRIBE', '{x}a', '{x}b'], push(3, 'ssubscribe', '{x}a', 1))
    await session.takeExactly(push(3, 'ssubscribe', '{x}b', 2))
  })
})

describe('ioredis.Cluster', () => {
  test('subscribes to shard channels of many slots and publishes to them', async () => {
    const server = await cluster()
    const client = new Cluster([{ host: '127.0.0.1', port: server.port }], {
      shardedSubscribers: true,
    })
    open.onEnd(() => client.disconnect())
    const received: string[] = []
    client.on('smessage', (channel: string, message: string) => {
      received.push(`${channel} ${message}`)
    })
    for (const channel of ['a', 'b', 'c']) await client.ssubscribe(channel)
    for (const channel of ['a', 'b', 'c']) {
      expect(await client.spublish(channel, `to ${channel}`)).toBe(1)
    }
    await eventually('three messages', () => received.length === 3)
    expect(received).toEqual(['a to a', 'b to b', 'c to c'])
    await client.sunsubscribe('a')
    expect(await client.spublish('a', 'nobody')).toBe(0)
  })

  test('publishes and subscribes to channels without slots', async () => {
    const server = await cluster()
    const client = new Cluster([{ host: '127.0.0.1', port: server.port }])
    open.onEnd(() => client.disconnect())
    const received: string[] = []
    client.on('message', (channel: string, message: string) => {
      received.push(`${channel} ${message}`)
    })
    await client.subscribe('a', 'b')
    await client.publish('b', 'x')
    await eventually('a message', () => received.length === 1)
    expect(received).toEqual(['b x'])
  })
})

describe('createCluster of @redis/client', () => {
  test('subscribes to shard channels of many slots and publishes to them', async () => {
    const server = await cluster()
    const client = createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${server.port}` }] })
    client.on('error', () => {})
    await client.connect()
    open.onEnd(() => client.destroy())
    const received: string[] = []
    const listener = (message: string, channel: string): void => {
      received.push(`${channel} ${message}`)
    }
    for (const channel of ['a', 'b', 'c']) await client.sSubscribe(channel, listener)
    for (const channel of ['a', 'b', 'c']) {
      expect(await client.sPublish(channel, `to ${channel}`)).toBe(1)
    }
    await eventually('three messages', () => received.length === 3)
    expect(received).toEqual(['a to a', 'b to b', 'c to c'])
    await client.sUnsubscribe('a', listener)
    expect(await client.sPublish('a', 'nobody')).toBe(0)
  })
})

test('without cluster-enabled a client of @redis/client uses shard channels of many slots in one command', async () => {
  const server = await open.server()
  const client = createClient({ url: `redis://127.0.0.1:${server.port}` })
  client.on('error', () => {})
  await client.connect()
  open.onEnd(() => client.destroy())
  const received: string[] = []
  await client.sSubscribe(['a', 'b'], (message) => received.push(message))
  await client.sPublish('b', 'x')
  await eventually('a message', () => received.length === 1)
  expect(received).toEqual(['x'])
})
