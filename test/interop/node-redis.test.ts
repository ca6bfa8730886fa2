import { createClient } from '@redis/client'
import { describe, expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { startServer } from '../support/server.ts'
import { eventually, Received } from './collect.ts'
import { sharedServer } from '../support/opened.ts'

async function connect(port: number, RESP: 2 | 3, more: object = {}) {
  const client = createClient({ socket: { host: '127.0.0.1', port }, RESP, ...more })
  client.on('error', () => {})
  await client.connect()
  return client
}

for (const protocol of [2, 3] as const) {
  describe(`node-redis in RESP${protocol}`, () => {
    const server = sharedServer({
      directives: { user: [['alice', 'on', '>pw', '&room:*', '+@all']] },
    })

    test('subscribes to channels, patterns and shard channels, and publishes', async () => {
      const subscriber = await connect(server.port, protocol)
      const publisher = await connect(server.port, protocol)
      const received = new Received()
      const listener = (message: string, channel: string): void => received.add(channel, message)
      await subscriber.subscribe(['a', 'b'], listener)
      await subscriber.pSubscribe('a*', listener)
      await subscriber.sSubscribe('a', listener)
      expect(await publisher.publish('a', 'one')).toBe(2)
      expect(await publisher.sPublish('a', 'two')).toBe(1)
      expect(await received.take(3)).toEqual(['a one', 'a one', 'a two'])
      expect(await publisher.pubSubChannels()).toHaveLength(2)
      expect({ ...(await publisher.pubSubNumSub(['a', 'zz'])) }).toEqual({ a: 1, zz: 0 })
      expect(await publisher.pubSubNumPat()).toBe(1)
      await subscriber.unsubscribe('a')
      await subscriber.pUnsubscribe()
      await subscriber.sUnsubscribe('a')
      expect(await publisher.publish('a', 'three')).toBe(0)
      expect(await publisher.publish('b', 'four')).toBe(1)
      expect(await received.take(1)).toEqual(['b four'])
      await subscriber.unsubscribe()
      expect(await publisher.publish('b', 'five')).toBe(0)
      await subscriber.close()
      await publisher.close()
    })

    test('carries any bytes', async () => {
      const subscriber = await connect(server.port, protocol)
      const publisher = await connect(server.port, protocol)
      const received = new Received()
      const name = Buffer.from([0, 255, 13, 10])
      await subscriber.subscribe(name.toString('utf8'), (message) => received.add(message), true)
      const payload = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
      expect(await publisher.publish(name.toString('utf8'), payload)).toBe(1)
      expect(await received.take(1)).toEqual([payload.toString('latin1')])
      await subscriber.close()
      await publisher.close()
    })

    test('logs in as an ACL user and is held to its channels', async () => {
      const client = await connect(server.port, protocol, { username: 'alice', password: 'pw' })
      const received = new Received()
      await client.subscribe('room:1', (message) => received.add(message))
      await expect(client.subscribe('other', () => {})).rejects.toThrow(
        'NOPERM No permissions to access a channel',
      )
      const publisher = await connect(server.port, protocol)
      expect(await publisher.publish('room:1', 'still here')).toBe(1)
      expect(await received.take(1)).toEqual(['still here'])
      await client.close()
      await publisher.close()
    })

    test('subscribes again when the server is back on the same port', async () => {
      const port = await freePort()
      const directives = { port: String(port) }
      const first = await startServer({ directives })
      const strategy = { socket: { host: '127.0.0.1', port, reconnectStrategy: 20 } }
      const subscriber = await connect(port, protocol, strategy)
      const received = new Received()
      await subscriber.subscribe('a', (message) => received.add(message))
      await subscriber.pSubscribe('p*', (message) => received.add(message))
      await first.stop()
      const second = await startServer({ directives })
      const publisher = await connect(port, protocol)
      await eventually(
        () => publisher.publish('a', 'again'),
        (receivers) => receivers === 1,
      )
      await eventually(
        () => publisher.publish('pp', 'pattern'),
        (receivers) => receivers === 1,
      )
      expect(await received.take(2)).toEqual(['again', 'pattern'])
      await subscriber.close()
      await publisher.close()
      await second.stop()
    })
  })
}

describe('node-redis on one connection in RESP3', () => {
  test('subscribes and publishes to itself, at every size', async () => {
    const server = await startServer()
    const client = await connect(server.port, 3)
    const received = new Received()
    await client.subscribe('own', (message) => received.add(String(message.length)))
    for (const size of [0, 1, 16_383, 16_384, 16_385, 65_536, 1_048_576]) {
      expect(await client.publish('own', 'x'.repeat(size))).toBe(1)
      expect(await received.take(1)).toEqual([String(size)])
    }
    const replies = await client.multi().publish('own', 'a').publish('own', 'bb').ping().exec()
    expect(replies).toEqual([1, 1, 'PONG'])
    expect(await received.take(2)).toEqual(['1', '2'])
    await client.close()
    await server.stop()
  })
})
