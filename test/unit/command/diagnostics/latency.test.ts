import { describe, expect, test } from 'vitest'
import { TestCore, type TestClient } from '../../../support/test-core.ts'

function sampled(thresholdMs = 5): { server: TestCore; client: TestClient } {
  const server = new TestCore()
  server.set('latency-monitor-threshold', String(thresholdMs))
  return { server, client: server.connect() }
}

describe('LATENCY', () => {
  test('LATEST answers the last sample of each event and its worst', () => {
    const { server, client } = sampled()
    client.sendTaking(4, 'PING')
    client.sendTaking(9, 'PING')
    server.clock.advance(2_000)
    client.sendTaking(6.5, 'PING')
    client.sendTaking(50, 'SUBSCRIBE', 'a')
    client.send('RESET')
    expect(client.send('LATENCY', 'LATEST')).toBe(
      '*2\r\n*4\r\n$12\r\nfast-command\r\n:1700000002\r\n:6\r\n:9\r\n' +
        '*4\r\n$7\r\ncommand\r\n:1700000002\r\n:50\r\n:50\r\n',
    )
  })

  test('HISTORY answers the samples of an event, the worst of each second', () => {
    const { server, client } = sampled()
    client.sendTaking(9, 'PING')
    client.sendTaking(7, 'PING')
    server.clock.advance(1_000)
    client.sendTaking(6, 'PING')
    expect(client.send('LATENCY', 'HISTORY', 'fast-command')).toBe(
      '*2\r\n*2\r\n:1700000000\r\n:9\r\n*2\r\n:1700000001\r\n:6\r\n',
    )
    expect(client.send('LATENCY', 'HISTORY', 'nothing')).toBe('*0\r\n')
  })

  test('keeps the last 160 samples of an event', () => {
    const { client } = sampled()
    for (let i = 0; i < 170; i++) {
      client.sendTaking(1_000, 'PING')
    }
    expect(client.send('LATENCY', 'HISTORY', 'fast-command').slice(0, 6)).toBe('*160\r\n')
  })

  test('RESET forgets the events named, or all, and counts them', () => {
    const { client } = sampled()
    client.sendTaking(9, 'PING')
    client.sendTaking(9, 'CLIENT', 'ID')
    expect(client.send('LATENCY', 'RESET', 'nothing', 'command')).toBe(':1\r\n')
    expect(client.send('LATENCY', 'RESET')).toBe(':1\r\n')
    expect(client.send('LATENCY', 'RESET')).toBe(':0\r\n')
    expect(client.send('LATENCY', 'LATEST')).toBe('*0\r\n')
  })

  test('samples nothing while the threshold is 0', () => {
    const { client } = sampled(0)
    client.sendTaking(9_000, 'PING')
    expect(client.send('LATENCY', 'LATEST')).toBe('*0\r\n')
    expect(client.send('LATENCY', 'DOCTOR')).toContain('latency-monitor-threshold')
  })

  test('DOCTOR says what was slow', () => {
    const { client } = sampled()
    expect(client.send('LATENCY', 'DOCTOR')).toContain('No command has taken 5 ms')
    client.sendTaking(9, 'PING')
    expect(client.send('LATENCY', 'DOCTOR')).toContain(
      'fast-command: 1 samples, mean 9.0 ms, worst 9 ms.\n',
    )
  })

  test('GRAPH draws the samples of an event', () => {
    const { server, client } = sampled()
    client.sendTaking(40, 'PING')
    server.clock.advance(2_000)
    client.sendTaking(10, 'PING')
    server.clock.advance(65_000)
    const text = client.send('LATENCY', 'GRAPH', 'fast-command')
    expect(text).toContain(
      'fast-command - high 40 ms, low 10 ms (all time high 40 ms)\n' +
        `${'-'.repeat(80)}\n# \n# \n# \n##\n11\nmm\n`,
    )
    expect(client.send('LATENCY', 'GRAPH', 'x')).toBe("-ERR No samples available for event 'x'\r\n")
  })
})

describe('LATENCY HISTOGRAM', () => {
  test('answers how many calls took at most so many microseconds', () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    client.sendTaking(0.001, 'PING')
    client.sendTaking(0.1, 'PING')
    client.sendTaking(0.12, 'PING')
    client.sendTaking(3, 'PING')
    expect(client.send('LATENCY', 'HISTOGRAM', 'ping', 'nothing')).toBe(
      '%1\r\n$4\r\nping\r\n%2\r\n$5\r\ncalls\r\n:4\r\n$14\r\nhistogram_usec\r\n' +
        '%3\r\n:2\r\n:1\r\n:128\r\n:3\r\n:4096\r\n:4\r\n',
    )
  })

  test('answers all commands that were called, and the subcommands of a container', () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    client.sendTaking(1, 'PING')
    client.sendTaking(1, 'CLIENT', 'ID')
    expect(client.send('LATENCY', 'HISTOGRAM', 'CLIENT')).toMatch(/^%1\r\n\$9\r\nclient\|id\r\n/)
    const all = client.send('LATENCY', 'HISTOGRAM')
    expect(all).toContain('$4\r\nping\r\n')
    expect(all).toContain('$9\r\nclient|id\r\n')
    expect(client.send('LATENCY', 'HISTOGRAM', 'echo')).toBe('%0\r\n')
  })

  test('counts nothing while latency-tracking is off', () => {
    const server = new TestCore()
    const client = server.connect()
    server.set('latency-tracking', 'no')
    client.sendTaking(1, 'PING')
    expect(client.send('LATENCY', 'HISTOGRAM', 'ping')).toBe('*0\r\n')
    expect(client.send('INFO', 'latencystats')).toBe('$16\r\n# Latencystats\r\n\r\n')
    expect(client.send('INFO', 'commandstats')).toContain('cmdstat_ping:calls=1,usec=1000,')
  })

  test('CONFIG RESETSTAT empties it', () => {
    const server = new TestCore()
    const client = server.connect()
    client.sendTaking(1, 'PING')
    client.send('CONFIG', 'RESETSTAT')
    expect(client.send('LATENCY', 'HISTOGRAM', 'ping')).toBe('*0\r\n')
  })
})

test('INFO latencystats answers the percentiles of latency-tracking-info-percentiles', () => {
  const server = new TestCore()
  const client = server.connect()
  server.set('latency-tracking-info-percentiles', '50.0 99.90')
  for (let i = 0; i < 99; i++) client.sendTaking(0.1, 'PING')
  client.sendTaking(3, 'PING')
  expect(client.send('INFO', 'latencystats')).toContain(
    '\r\nlatency_percentiles_usec_ping:p50=96.323,p99.9=4096.000\r\n',
  )
})
