import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { startServer } from '../support/server.ts'
import { eventually, Received } from './collect.ts'
import { sharedServer } from '../support/opened.ts'

async function connect(port: number, protocol: 2 | 3, more: object = {}): Promise<Redis> {
  const client = new Redis({ host: '127.0.0.1', port, protocol, lazyConnect: true, ...more })
  client.on('error', () => {})
  await client.connect()
  return client
}

for (const protocol of [2, 3] as const) {
  describe(`ioredis in RESP${protocol}`, () => {
    const server = sharedServer({
      directives: { user: [['alice', 'on', '>pw', '&room:*', '+@all']] },
    })

    test('becomes ready, subscribes and publishes', async () => {
      const subscriber = await connect(server.port, protocol)
      const publisher = await connect(server.port, protocol)
      const received = new Received()
      subscriber.on('message', (channel, message) => received.add(channel, message))
      subscriber.on('pmessage', (pattern, channel, message) =>
        received.add(pattern, channel, message),
      )
      subscriber.on('smessage', (channel, message) => received.add('shard', channel, message))
      expect(await subscriber.subscribe('a', 'b')).toBe(2)
      expect(await subscriber.psubscribe('a*')).toBe(3)
      expect(await subscriber.ssubscribe('a')).toBe(1)
      expect(await publisher.publish('a', 'one')).toBe(2)
      expect(await publisher.spublish('a', 'two')).toBe(1)
      expect(await received.take(3)).toEqual(['a one', 'a* a one', 'shard a two'])
      expect(await publisher.pubsub('NUMSUB', 'a', 'zz')).toEqual(['a', 1, 'zz', 0])
      expect(await subscriber.unsubscribe('a')).toBe(2)
      expect(await subscriber.punsubscribe('a*')).toBe(1)
      expect(await publisher.publish('a', 'three')).toBe(0)
      expect(await subscriber.ping()).toEqual(protocol === 2 ? ['pong', ''] : 'PONG')
      await subscriber.quit()
      await publisher.quit()
    })

    test('carries any bytes', async () => {
      const subscriber = await connect(server.port, protocol)
      const publisher = await connect(server.port, protocol)
      const received = new Received()
      subscriber.on('messageBuffer', (channel: Buffer, message: Buffer) =>
        received.add(channel, message),
      )
      const name = Buffer.from([0, 255, 13, 10, 200])
      await subscriber.subscribe(name)
      expect(await publisher.publish(name, Buffer.from([0, 128, 255, 10]))).toBe(1)
      expect(await received.take(1)).toEqual(['\x00\xff\r\n\xc8 \x00\x80\xff\n'])
      await subscriber.quit()
      await publisher.quit()
    })

    test('logs in as an ACL user and is held to its channels', async () => {
      const login = { username: 'alice', password: 'pw' }
      const client = await connect(server.port, protocol, login)
      expect(await client.subscribe('room:1')).toBe(1)
      await expect(client.subscribe('other')).rejects.toThrow('NOPERM')
      client.disconnect()
    })

    test('subscribes again when the server is back on the same port', async () => {
      const port = await freePort()
      const directives = { port: String(port) }
      const first = await startServer({ directives })
      const subscriber = await connect(port, protocol, { retryStrategy: () => 20 })
      const received = new Received()
      subscriber.on('message', (channel, message) => received.add(channel, message))
      await subscriber.subscribe('a')
      await first.stop()
      const second = await startServer({ directives })
      const publisher = await connect(port, protocol)
      await eventually(
        () => publisher.publish('a', 'again'),
        (receivers) => receivers === 1,
      )
      expect(await received.take(1)).toEqual(['a again'])
      subscriber.disconnect()
      await publisher.quit()
      await second.stop()
    })
  })
}
