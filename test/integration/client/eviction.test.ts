import { describe, expect, test } from 'vitest'
import { encodeCommand } from '../../support/resp-client.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { eventually, opener } from '../../support/opened.ts'

const open = opener()

const MEGABYTE = 1_048_576

describe('maxmemory-clients', () => {
  test('closes the client that lets the most output wait, and spares the others', async () => {
    const server = await open.server({
      directives: {
        'maxmemory-clients': '3mb',
        'client-output-buffer-limit': 'pubsub 0 0 0',
      },
    })
    const [slow, reader, publisher] = [
      await open.tcp(server),
      await open.tcp(server),
      await open.tcp(server),
    ]
    for (const client of [slow, reader]) {
      await client.assertReply(['SUBSCRIBE', 'c'], '*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n')
    }
    slow.pause()
    const payload = 'x'.repeat(256 * 1024)
    let published = 0
    while (server.core.clients.size === 3 && published < 200) {
      publisher.send(encodeCommand('PUBLISH', 'c', payload))
      await publisher.take(4)
      published++
    }
    expect(published).toBeLessThan(200)
    expect(server.core.clients.size).toBe(2)
    await reader.take(published * (payload.length + 35))
    expect(await publisher.askBulk('INFO', 'stats')).toContain('\r\nevicted_clients:1\r\n')
    slow.resume()
    await slow.closed
  })

  test('closes the client that has the longest unfinished command, within a second', async () => {
    const clock = new FakeClock()
    const server = await open.server({ clock, directives: { 'maxmemory-clients': '1mb' } })
    const [hoarder, other] = [await open.tcp(server), await open.tcp(server)]
    hoarder.send(`*2\r\n$4\r\nECHO\r\n$${4 * MEGABYTE}\r\n`)
    hoarder.send(Buffer.alloc(2 * MEGABYTE))
    await eventually('the input is there', () =>
      [...server.core.clients.all()].some(({ queryBytes }) => queryBytes > 2_000_000),
    )
    clock.advance(1_000)
    await hoarder.closed
    await other.assertPong()
    expect(server.core.counters.evictedClients).toBe(1)
  })

  test('counts queued commands, spares CLIENT NO-EVICT, and holds from the CONFIG SET on', async () => {
    const server = await open.server()
    const [spared, queuing] = [await open.tcp(server), await open.tcp(server)]
    await spared.assertReply(['CLIENT', 'NO-EVICT', 'on'], '+OK\r\n')
    for (const client of [spared, queuing]) {
      await client.assertReply(['MULTI'], '+OK\r\n')
      client.send(encodeCommand('ECHO', Buffer.alloc(MEGABYTE)))
      await client.takeExactly('+QUEUED\r\n')
    }
    const admin = await open.tcp(server)
    await admin.assertReply(['CLIENT', 'NO-EVICT', 'on'], '+OK\r\n')
    await admin.assertReply(['CONFIG', 'SET', 'maxmemory', '100mb'], '+OK\r\n')
    await admin.assertReply(['CONFIG', 'SET', 'maxmemory-clients', '1%'], '+OK\r\n')
    await queuing.closed
    await spared.assertReply(['DISCARD'], '+OK\r\n')
    expect(await admin.askBulk('INFO', 'stats')).toContain('\r\nevicted_clients:1\r\n')
  })

  test('0 closes nobody', async () => {
    const clock = new FakeClock()
    const [server, client] = await open.withTcp({ clock })
    client.send(`*2\r\n$4\r\nECHO\r\n$${4 * MEGABYTE}\r\n`)
    client.send(Buffer.alloc(2 * MEGABYTE))
    await eventually('the input is there', () =>
      [...server.core.clients.all()].some(({ queryBytes }) => queryBytes > 2_000_000),
    )
    clock.advance(5_000)
    expect(server.core.clients.size).toBe(1)
  })
})
