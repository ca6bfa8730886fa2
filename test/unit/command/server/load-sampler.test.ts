import { describe, expect, test } from 'vitest'
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
