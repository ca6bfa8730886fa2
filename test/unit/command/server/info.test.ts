import { describe, expect, test } from 'vitest'
import { infoText } from '../../../../server/command/server/info.ts'
import { command, TestCore } from '../../../support/test-core.ts'

function field(server: TestCore, name: string): string | undefined {
  const text = infoText(server, ['everything'])
  return new RegExp(`^${name}:(.*)\\r$`, 'm').exec(text)?.[1]
}

function fields(server: TestCore, section: string): Map<string, string> {
  const lines = infoText(server, [section]).split('\r\n')
  return new Map(lines.map((line) => line.split(':', 2) as [string, string]))
}

describe('INFO', () => {
  test('separates sections by an empty line', () => {
    const services = new TestCore()
    expect(infoText(services, ['modules', 'keyspace', 'cluster'])).toBe(
      '# Modules\r\n\r\n# Cluster\r\ncluster_enabled:0\r\n\r\n# Keyspace\r\n',
    )
  })

  test('counts what Pub/Sub holds and has done', () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    client.send('SUBSCRIBE', 'a', 'b')
    client.send('PSUBSCRIBE', 'a*')
    client.send('SSUBSCRIBE', 's')
    client.send('PUBLISH', 'a', 'x')
    expect(field(server, 'pubsub_channels')).toBe('2')
    expect(field(server, 'pubsub_patterns')).toBe('1')
    expect(field(server, 'pubsubshard_channels')).toBe('1')
    expect(field(server, 'pubsub_messages_published')).toBe('1')
    expect(field(server, 'pubsub_messages_delivered')).toBe('2')
    expect(field(server, 'total_commands_processed')).toBe('4')
  })

  test('counts errors by their code and refusals by their kind', () => {
    const server = new TestCore()
    server.setUser('u', 'on nopass +publish resetchannels')
    const client = server.connect()
    client.send('AUTH', 'u', 'x')
    client.send('PUBLISH', 'a', 'x')
    client.send('PING')
    client.send('NONSENSE')
    expect(field(server, 'errorstat_NOPERM')).toBe('count=2')
    expect(field(server, 'errorstat_ERR')).toBe('count=1')
    expect(field(server, 'total_error_replies')).toBe('3')
    expect(field(server, 'acl_access_denied_channel')).toBe('1')
    expect(field(server, 'acl_access_denied_cmd')).toBe('1')
  })

  test('counts the calls of each command', () => {
    const server = new TestCore()
    const client = server.connect()
    client.send('PING')
    client.send('PING', 'a', 'b')
    client.send('CLIENT', 'ID')
    client.send('CLIENT', 'ID', 'x')
    expect(field(server, 'cmdstat_ping')).toMatch(/^calls=2,.*rejected_calls=0,failed_calls=1$/)
    expect(field(server, 'cmdstat_client\\|id')).toMatch(
      /^calls=1,.*rejected_calls=1,failed_calls=0$/,
    )
    expect(field(server, 'cmdstat_publish')).toBeUndefined()
  })

  test('is verbatim text in RESP3', () => {
    const client = new TestCore().connect({ protocol: 3 })
    expect(client.send('INFO', 'Cluster')).toBe('=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n')
  })
})

describe('INFO counts', () => {
  test('writes and bytes sent, and from zero again after CONFIG RESETSTAT', () => {
    const server = new TestCore()
    const client = server.connect()
    client.send('PING')
    client.send('PING')
    let stats = fields(server, 'stats')
    expect(stats.get('total_writes_processed')).toBe('2')
    expect(stats.get('total_net_output_bytes')).toBe('14')
    client.write(command('CONFIG', 'RESETSTAT'))
    stats = fields(server, 'stats')
    // The reply to RESETSTAT is the first that counts.
    expect(stats.get('total_writes_processed')).toBe('1')
    expect(stats.get('total_net_output_bytes')).toBe('5')
    client.send('PING')
    stats = fields(server, 'stats')
    expect(stats.get('total_writes_processed')).toBe('2')
    expect(stats.get('total_net_output_bytes')).toBe('12')
    expect(fields(server, 'threads').get('io_thread_0')).toBe('clients=1,reads=1,writes=2')
  })

  test('the memory of clients', () => {
    const server = new TestCore()
    server.connect()
    server.connect()
    const memory = fields(server, 'memory')
    expect(memory.get('mem_clients_normal')).toBe('8192')
    expect(memory.get('used_memory')).toBe('3000')
    expect(memory.get('used_memory_human')).toBe('2.93K')
    expect(memory.get('used_memory_peak_perc')).toBe('75.00%')
  })
})

test('INFO shows the sections of Redis 8.0 in its order', () => {
  const services = new TestCore()
  const sections = (...wanted: string[]): string[] =>
    [...infoText(services, wanted).matchAll(/^# (.*)\r$/gm)].map(([, name = '']) => name)
  const before = ['Server', 'Clients', 'Memory', 'Persistence', 'Threads', 'Stats', 'Replication']
  expect(sections()).toEqual([
    ...[...before, 'CPU', 'Modules', 'Errorstats', 'Cluster', 'Keyspace', 'Keysizes'],
  ])
  expect(sections('default')).toEqual(sections())
  expect(sections('default', 'commandstats')).toHaveLength(14)
  expect(sections('commandstats', 'stats')).toEqual(['Stats', 'Commandstats'])
  expect(infoText(services, ['nonsense'])).toBe('')
  for (const word of ['all', 'everything']) {
    expect(sections(word)).toEqual([
      ...[...before, 'CPU', 'Modules', 'Commandstats', 'Errorstats', 'Latencystats'],
      ...['Cluster', 'Keyspace', 'Keysizes'],
    ])
  }
  expect(sections('keyspace', 'server', 'nonsense')).toEqual(['Server', 'Keyspace'])
})
