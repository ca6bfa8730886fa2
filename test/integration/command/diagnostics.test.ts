import { describe, expect, test } from 'vitest'
import { opener } from '../../support/opened.ts'

const open = opener()

describe('MONITOR', () => {
  test('shows the commands of browsers and of TCP clients, secrets hidden', async () => {
    const [server, monitor] = await open.withTcp({
      directives: { user: [['u on >secret +@all &*'.split(' ')].flat()] },
    })
    await monitor.assertReply(['MONITOR'], '+OK\r\n')
    const session = await open.session(server, '1', { publish: ['room'] })
    await session.assertReply(['PUBLISH', 'room', 'hi'], ':0\r\n')
    expect(await monitor.takeLine()).toMatch(
      /^\+\d+\.\d{6} \[0 127\.0\.0\.1:\d+\] "PUBLISH" "room" "hi"$/,
    )
    const client = await open.tcp(server)
    await client.assertReply(['AUTH', 'u', 'secret'], '+OK\r\n')
    expect(await monitor.takeLine()).toMatch(/ "AUTH" "\(redacted\)" "\(redacted\)"$/)
  })

  test('ends when its client goes', async () => {
    const [server, monitor] = await open.withTcp()
    await monitor.assertReply(['MONITOR'], '+OK\r\n')
    expect(server.core.monitors.size).toBe(1)
    monitor.destroy()
    const other = await open.tcp(server)
    while (server.core.monitors.size > 0) await other.assertReply(['PING'], '+PONG\r\n')
  })

  test('is spared by the idle timeout', async () => {
    const [server, monitor] = await open.withTcp({ directives: { timeout: '1' } })
    const idle = await open.tcp(server)
    await monitor.assertReply(['MONITOR'], '+OK\r\n')
    await idle.closed
    expect(monitor.isClosed).toBe(false)
  })
})

describe('Directives of diagnostics', () => {
  test('slowlog-log-slower-than and slowlog-max-len hold from the CONFIG SET on', async () => {
    const [, client] = await open.withTcp()
    await client.assertReply(['CONFIG', 'SET', 'slowlog-log-slower-than', '0'], '+OK\r\n')
    await client.assertReply(['CONFIG', 'SET', 'slowlog-max-len', '2'], '+OK\r\n')
    for (let i = 0; i < 4; i++) await client.assertReply(['PING'], '+PONG\r\n')
    await client.assertReply(['SLOWLOG', 'LEN'], ':2\r\n')
    await client.assertReply(['CONFIG', 'SET', 'slowlog-log-slower-than', '-1'], '+OK\r\n')
    await client.assertReply(['SLOWLOG', 'RESET'], '+OK\r\n')
    await client.assertReply(['SLOWLOG', 'LEN'], ':0\r\n')
  })

  test('latency-tracking and its percentiles hold from the CONFIG SET on', async () => {
    const [, client] = await open.withTcp()
    await client.assertReply(
      ['CONFIG', 'SET', 'latency-tracking-info-percentiles', '50 100'],
      '+OK\r\n',
    )
    await client.assertReply(['PING'], '+PONG\r\n')
    expect(await client.askBulk('INFO', 'latencystats')).toMatch(
      /\r\nlatency_percentiles_usec_ping:p50=\d+\.\d{3},p100=\d+\.\d{3}\r\n/,
    )
    await client.assertReply(['CONFIG', 'SET', 'latency-tracking', 'no'], '+OK\r\n')
    await client.assertReply(['CONFIG', 'RESETSTAT'], '+OK\r\n')
    await client.assertReply(['PING'], '+PONG\r\n')
    await client.assertReply(['LATENCY', 'HISTOGRAM'], '*0\r\n')
  })

  test('latency-monitor-threshold makes slow commands be sampled', async () => {
    const [server, client] = await open.withTcp()
    await client.assertReply(['CONFIG', 'SET', 'latency-monitor-threshold', '1'], '+OK\r\n')
    const names = Array.from({ length: 20_000 }, (_, i) => `c${i}`)
    await client.assertReply(['MULTI'], '+OK\r\n')
    await client.assertReply(['PUBSUB', 'NUMSUB', ...names], '+QUEUED\r\n')
    await client.assertReply(['EXEC'], '*1\r\n*40000\r\n')
    await client.takeUntil(`$6\r\nc19999\r\n:0\r\n`)
    expect(server.core.latency.event('command')?.maxMs).toBeGreaterThanOrEqual(1)
  })
})

describe('INFO', () => {
  test('names the listeners and says what the process uses', async () => {
    const [, client] = await open.withTcp({
      directives: { unixsocket: 'info.sock', port: '0' },
    })
    const text = await client.askBulk('INFO')
    expect(text).toContain('\r\nlistener0:name=unix,bind=info.sock\r\n')
    expect(text).toMatch(/\r\nused_memory_peak:[1-9]\d+\r\n/)
    expect(text).toMatch(/\r\nused_cpu_user:\d+\.\d{6}\r\n/)
    expect(text).toMatch(/\r\nlru_clock:[1-9]\d*\r\n/)
    expect(text).toMatch(/\r\ntotal_reads_processed:1\r\n/)
    expect(text).toMatch(/\r\nmaxclients:10000\r\n/)
    expect(text).toMatch(/\r\nmaxmemory_policy:noeviction\r\n/)
  })
})

describe('CLIENT PAUSE', () => {
  test('holds clients of every transport until its end', async () => {
    const server = await open.server()
    const [client, other] = [await open.tcp(server), await open.tcp(server)]
    const session = await open.session(server, '1', { channels: ['*'] })
    await client.assertReply(['CLIENT', 'PAUSE', '300'], '+OK\r\n')
    const startMs = performance.now()
    session.command('SUBSCRIBE', 'c')
    other.command('PUBLISH', 'd', 'x')
    client.command('PING')
    await session.takeExactly('>3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n')
    await other.takeExactly(':0\r\n')
    await client.takeExactly('+PONG\r\n')
    expect(performance.now() - startMs).toBeGreaterThan(200)
  })
})
