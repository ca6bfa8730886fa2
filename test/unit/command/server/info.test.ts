import { describe, expect, test } from 'vitest'
import { infoText } from '../../../../server/command/server/info.ts'
import { silentLog } from '../../../../server/log.ts'
import { SOME_FIGURES, SOME_LINKS, withUpstream } from '../../../support/upstream-state.ts'
import { coreWithControl, nodeRecord } from '../../../support/fake-control.ts'
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

test('INFO server says that the server drains', () => {
  const server = new TestCore()
  expect(fields(server, 'server').get('respcast_draining')).toBe('0')
  server.drain.begin()
  expect(fields(server, 'server').get('respcast_draining')).toBe('1')
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

describe('INFO control', () => {
  test('shows the lease of a gateway, and how far it has followed the others', () => {
    const { server, control } = coreWithControl()
    const nowMs = server.clock.monotonicMs()
    control.nodes = [
      { ...nodeRecord({ id: 'b' }), leaseEndsMs: nowMs + 1 },
      { ...nodeRecord({ id: 'c' }), leaseEndsMs: nowMs },
    ]
    control.figures = {
      ...control.figures,
      lag: 1,
      pending: 2,
      ackSeconds: 0.0025,
      rejected: new Map([['forged', 3]]),
      questions: new Map([['whole', 2]]),
    }
    expect(infoText(server, ['control'])).toBe(
      [
        '# Control',
        'control_role:shared',
        'control_number:1',
        'control_name:one',
        'control_nodes:2',
        'control_lease_seconds:9.500',
        'control_fenced:0',
        'control_fences:0',
        'control_fenced_seconds:0.000',
        'control_lag:1',
        'control_pending:2',
        'control_applied:7-1',
        'control_ack_usec:2500',
        'control_rejected:total=3,forged=3',
        'control_questions:total=2,whole=2',
        '',
      ].join('\r\n'),
    )
    expect(infoText(server, [])).toContain('# Control')
  })

  test('is shown by a server that is alone only when it is asked for', () => {
    const server = new TestCore()
    expect(fields(server, 'control').get('control_role')).toBe('alone')
    expect(infoText(server, ['everything'])).not.toContain('control_role')
  })
})

describe('INFO upstream', () => {
  const coreWith = (
    shown: Parameters<typeof withUpstream>[0],
    upstream = 'redis://127.0.0.1',
  ): TestCore => new TestCore({ upstream }, silentLog(), undefined, withUpstream(shown))

  test('is no section of a server that is alone', () => {
    expect(infoText(new TestCore(), ['upstream'])).toBe('')
    expect(infoText(new TestCore(), ['everything'])).not.toContain('upstream')
  })

  test('shows each link with its state, and what came over them', () => {
    const core = coreWith({ links: SOME_LINKS, figures: SOME_FIGURES })
    const startMs = core.clock.monotonicMs()
    const since = core.backplane.links.map((link) => ({ ...link, sinceMs: startMs }))
    Object.assign(core.backplane, { links: since })
    core.clock.advance(61_999)
    expect(infoText(core, ['upstream'])).toBe(
      [
        '# Upstream',
        'upstream:redis://127.0.0.1',
        'upstream_ready:1',
        'upstream_link0:role=subscriber,address=127.0.0.1:6379,state=up,seconds=61',
        'upstream_link1:role=command,address=[::1]:6379,state=down,seconds=61',
        'upstream_names_wanted:12000',
        'upstream_names_confirmed:11488',
        'upstream_beacon_usec:420',
        'upstream_publishes:2000',
        'upstream_usec_per_publish:450',
        'upstream_in_flight_bytes:4096',
        'upstream_unwanted_bytes:1234',
        'upstream_reconnects:total=4,closed=3,silent=1',
        'upstream_gaps:total=5,closed=3,moved=2',
        'upstream_gap_seconds:7.500',
        '',
      ].join('\r\n'),
    )
    expect(infoText(core, [])).toContain('# Upstream\r\n')
  })

  test('has -1 for what was not measured yet', () => {
    const text = infoText(coreWith({}), ['upstream'])
    expect(text).toContain('upstream_beacon_usec:-1\r\nupstream_publishes:0\r\n')
    expect(text).toContain('upstream_usec_per_publish:-1\r\n')
    expect(text).toContain('upstream_reconnects:total=0\r\n')
  })

  test('gives the reasons why it is not ready, each on one line whatever the upstream says', () => {
    const problems = ['no link', 'refused: WRONG\r\nredis_version:1']
    const text = infoText(coreWith({ problems }), ['upstream'])
    expect(text).toContain(
      'upstream_ready:0\r\nupstream_problem0:no link\r\nupstream_problem1:refused: WRONG  redis_version:1\r\n',
    )
  })
})
