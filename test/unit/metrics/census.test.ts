import { describe, expect, test } from 'vitest'
import { clientMemory } from '../../../server/client/describe.ts'
import { takeCensus } from '../../../server/metrics/census.ts'
import { Metrics } from '../../../server/metrics/metrics.ts'
import { TestCore } from '../../support/test-core.ts'

function openServer(): TestCore {
  const server = new TestCore()
  server.setUser('default', 'on nopass allchannels +@all')
  return server
}

async function scraped(server: TestCore): Promise<string[]> {
  const metrics = new Metrics(server)
  return (await metrics.scrape()).split('\n')
}

test('of nobody is all zeros', () => {
  const census = takeCensus([])
  expect(census.clients.size).toBe(0)
  expect(census).toMatchObject({
    notLoggedIn: 0,
    blocked: 0,
    subscriptions: { channel: 0, pattern: 0, shard: 0 },
    heldBytes: 0,
    largestHeldBytes: 0,
    queryBytes: 0,
    memoryBytes: 0,
  })
})

describe('a census', () => {
  test('counts clients by transport and listener, and forgets those that are closed', async () => {
    const server = openServer()
    server.connect()
    server.connect({ transport: 'unix' })
    server.connect({ transport: 'websocket' })
    server.connect({ transport: 'websocket' }).client.peerClosed()
    const lines = await scraped(server)
    expect(lines).toContain('respcast_connected_clients{transport="tcp",listener="resp"} 1')
    expect(lines).toContain('respcast_connected_clients{transport="tls",listener="resp"} 0')
    expect(lines).toContain('respcast_connected_clients{transport="unix",listener="resp"} 1')
    expect(lines).toContain('respcast_connected_clients{transport="websocket",listener="public"} 1')
    expect(lines).toContain('respcast_connected_clients{transport="websocket",listener="admin"} 0')
  })

  test('counts those who have not logged in: a WebSocket without a token', async () => {
    const server = openServer()
    server.connect()
    server.connect({ transport: 'websocket' })
    expect(await scraped(server)).toContain('respcast_clients_not_logged_in 1')
  })

  test('adds up subscriptions of each space, and finds the client that has most', async () => {
    const server = openServer()
    const one = server.connect({ protocol: 3 })
    one.send('SUBSCRIBE', 'a', 'b')
    one.send('SSUBSCRIBE', 's')
    one.send('PSUBSCRIBE', 'a*')
    const other = server.connect({ protocol: 3 })
    other.send('SUBSCRIBE', 'a')
    other.send('PSUBSCRIBE', 'a*', 'b*')
    const lines = await scraped(server)
    expect(lines).toContain('respcast_pubsub_clients 2')
    expect(lines).toContain('respcast_channels 2')
    expect(lines).toContain('respcast_patterns 2')
    expect(lines).toContain('respcast_shard_channels 1')
    expect(lines).toContain('respcast_subscriptions{space="channel"} 3')
    expect(lines).toContain('respcast_subscriptions{space="pattern"} 3')
    expect(lines).toContain('respcast_subscriptions{space="shard"} 1')
    expect(lines).toContain('respcast_client_subscriptions_largest{transport="tcp"} 3')
    expect(lines).toContain('respcast_client_patterns_largest{transport="tcp"} 2')
    expect(lines).toContain('respcast_client_patterns_largest{transport="websocket"} 0')
  })

  test('adds up the output that waits, here and in sockets: 17 bytes for one client, 33 for another', async () => {
    const server = openServer()
    const slow = [server.connect(), server.connect()]
    for (const { sink, client } of slow) {
      sink.blocks = true
      client.output.push(Buffer.from('+'))
    }
    server.turn.end()
    slow[0]?.client.output.push(Buffer.alloc(16))
    slow[1]?.client.output.push(Buffer.alloc(32))
    const lines = await scraped(server)
    expect(lines).toContain('respcast_blocked_clients 2')
    expect(lines).toContain('respcast_held_output_bytes 50')
    expect(lines).toContain('respcast_held_output_largest_bytes 33')
  })

  test('adds up unfinished input, and the memory that maxmemory-clients bounds', async () => {
    const server = openServer()
    const clients = [server.connect().client, server.connect().client]
    for (const client of clients) client.queryBytes = 500
    const memory = clients.reduce((sum, client) => sum + clientMemory(client), 0)
    const lines = await scraped(server)
    expect(lines).toContain('respcast_query_buffer_bytes 1000')
    expect(lines).toContain(`respcast_client_memory_bytes ${memory}`)
    expect(lines).toContain('respcast_max_clients 10000')
  })
})
