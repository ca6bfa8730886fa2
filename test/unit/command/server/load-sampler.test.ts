import { describe, expect, test } from 'vitest'
import { Counters } from '../../../../server/command/counters.ts'
import { infoText } from '../../../../server/command/server/info.ts'
import { command, TestCore } from '../../../support/test-core.ts'

function fields(server: TestCore, section: string): Map<string, string> {
  const lines = infoText(server, [section]).split('\r\n')
  return new Map(lines.map((line) => line.split(':', 2) as [string, string]))
}

describe('INFO samples', () => {
  test('commands and bytes in a second over the last seconds', () => {
    const server = new TestCore()
    const { load } = server
    load.start()
    const client = server.connect()
    for (let second = 0; second < 4; second++) {
      for (let i = 0; i < 25; i++) client.send('ECHO', 'x'.repeat(1_015))
      server.clock.advance(1_000)
    }
    let stats = fields(server, 'stats')
    expect(stats.get('instantaneous_ops_per_sec')).toBe('25')
    expect(stats.get('instantaneous_input_kbps')).toBe('25.34')
    expect(stats.get('instantaneous_output_kbps')).toBe('25.00')
    server.clock.advance(8_000)
    stats = fields(server, 'stats')
    expect(stats.get('instantaneous_ops_per_sec')).toBe('0')
    load.stop()
    expect(server.clock.pendingTimers).toBe(0)
  })

  test('the longest input and output of the last seconds', () => {
    const server = new TestCore()
    const { load } = server
    load.start()
    const client = server.connect()
    client.sink.blocks = true
    client.send('ECHO', 'x'.repeat(90))
    const unfinished = command('ECHO', 'x'.repeat(600))
    client.write(unfinished.subarray(0, 516))
    server.clock.advance(1_000)
    client.sink.blocks = false
    client.sink.drain()
    client.client.output.onWritable()
    client.write(unfinished.subarray(516))
    server.clock.advance(2_000)
    expect(fields(server, 'clients').get('client_recent_max_input_buffer')).toBe('500')
    expect(fields(server, 'clients').get('client_recent_max_output_buffer')).toBe('97')
    server.clock.advance(8_000)
    expect(fields(server, 'clients').get('client_recent_max_input_buffer')).toBe('0')
    load.stop()
  })

  test('nothing before it is started', () => {
    const stats = fields(new TestCore(), 'stats')
    expect(stats.get('instantaneous_ops_per_sec')).toBe('0')
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

  test('128 kinds of errors; with one more the kinds are not counted any more, until CONFIG RESETSTAT', () => {
    const counters = new Counters()
    for (let i = 0; i < 128; i++) counters.countError(`E${i}`)
    counters.countError('E0')
    expect(counters.errors.size).toBe(128)
    expect(counters.errors.get('E0')).toBe(2)
    counters.countError('E128')
    counters.countError('E0')
    expect([...counters.errors]).toEqual([['ERRORSTATS_DISABLED', 1]])
    expect(counters.errorReplies).toBe(131)
    counters.reset()
    counters.countError('E0')
    expect([...counters.errors]).toEqual([['E0', 1]])
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
  expect(sections('default', 'commandstats')).toHaveLength(14)
  for (const word of ['all', 'everything']) {
    expect(sections(word)).toEqual([
      ...[...before, 'CPU', 'Modules', 'Commandstats', 'Errorstats', 'Latencystats'],
      ...['Cluster', 'Keyspace', 'Keysizes'],
    ])
  }
  expect(sections('keyspace', 'server', 'nonsense')).toEqual(['Server', 'Keyspace'])
})
