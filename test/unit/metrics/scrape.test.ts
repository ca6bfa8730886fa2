import { describe, expect, test } from 'vitest'
import { CLOSES } from '../../../server/client/close.ts'
import { FIGURES } from '../../../server/metrics/figures.ts'
import { Metrics } from '../../../server/metrics/metrics.ts'
import { RESPCAST_VERSION } from '../../../server/version.ts'
import { silentLog } from '../../../server/log.ts'
import { TestCore } from '../../support/test-core.ts'
import { coreWithControl, nodeRecord } from '../../support/fake-control.ts'
import { SOME_FIGURES, SOME_LINKS, withUpstream } from '../../support/upstream-state.ts'

function metricsOf(server: TestCore): Metrics {
  return new Metrics(server)
}

/** The lines of samples, without those about the process. */
async function scraped(server: TestCore): Promise<string[]> {
  const text = await metricsOf(server).scrape()
  return text.split('\n').filter((line) => line.startsWith('respcast_'))
}

describe('a scrape', () => {
  test('names each metric once, with its help and its type', async () => {
    const text = await metricsOf(new TestCore()).scrape()
    for (const { name, type, help } of FIGURES) {
      expect(text.split(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`)).toHaveLength(2)
    }
    const named = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name)
    expect(named).toHaveLength(new Set(named).size)
  })

  test('is in the text format of Prometheus', () => {
    expect(metricsOf(new TestCore()).contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
  })

  test('has the memory and CPU of the process and the delay of the event loop, under their usual names', async () => {
    const text = await metricsOf(new TestCore()).scrape()
    for (const name of [
      'process_resident_memory_bytes',
      'process_cpu_seconds_total',
      'nodejs_eventloop_lag_p99_seconds',
      'nodejs_heap_size_used_bytes',
    ]) {
      expect(text).toMatch(new RegExp(`^${name} \\d`, 'm'))
    }
  })

  test('lists no open sockets, which cost time for each of them', async () => {
    expect(await metricsOf(new TestCore()).scrape()).not.toContain('nodejs_active_')
  })

  test('may be made of several servers in one process, each with its own figures', async () => {
    const [one, other] = [new TestCore(), new TestCore()]
    one.counters.messagesPublished = 5
    expect(await scraped(one)).toContain('respcast_messages_published_total 5')
    expect(await scraped(other)).toContain('respcast_messages_published_total 0')
  })

  test('repeats a figure that did not change, and does not add it up', async () => {
    const server = new TestCore()
    server.counters.evictedClients = 3
    const metrics = metricsOf(server)
    await metrics.scrape()
    expect(await metrics.scrape()).toContain('\nrespcast_evicted_clients_total 3\n')
  })

  test('that overlaps another answers the same', async () => {
    const server = new TestCore()
    server.connect()
    const metrics = metricsOf(server)
    const [first, second] = await Promise.all([metrics.scrape(), metrics.scrape()])
    const line = 'respcast_connected_clients{transport="tcp",listener="resp"} 1'
    expect(first).toContain(line)
    expect(second).toContain(line)
  })
})

test.each([
  ['connectionsReceived', 'respcast_connections_received_total'],
  ['commandsProcessed', 'respcast_commands_processed_total'],
  ['bytesIn', 'respcast_received_bytes_total'],
  ['bytesOutClosed', 'respcast_sent_bytes_total'],
  ['messagesPublished', 'respcast_messages_published_total'],
  ['messagesDelivered', 'respcast_messages_delivered_total'],
  ['patternsDropped', 'respcast_patterns_dropped_total'],
  ['internalErrors', 'respcast_internal_errors_total'],
  ['messagesTooLargeForWebSocket', 'respcast_messages_too_large_total'],
  ['outputLimitDisconnections', 'respcast_output_limit_disconnections_total'],
  ['queryBufferDisconnections', 'respcast_query_buffer_disconnections_total'],
  ['evictedClients', 'respcast_evicted_clients_total'],
  ['originsRefused', 'respcast_origins_refused_total'],
  ['tokensAccepted', 'respcast_token_logins_total{result="accepted"}'],
  ['tokensRefused', 'respcast_token_logins_total{result="refused"}'],
] as const)('%s is read as %s', async (counter, metric) => {
  const server = new TestCore()
  server.counters[counter] = 42
  expect(await scraped(server)).toContain(`${metric} 42`)
})

test('a gauge says that the server drains', async () => {
  const server = new TestCore()
  expect(await scraped(server)).toContain('respcast_draining 0')
  server.drain.begin()
  expect(await scraped(server)).toContain('respcast_draining 1')
})

describe('counters by name', () => {
  test('show each close cause from the start, at 0', async () => {
    const lines = await scraped(new TestCore())
    for (const cause of ['slow-consumer', 'revoked', 'quit', 'peer-closed', 'killed', 'idle']) {
      expect(lines).toContain(`respcast_clients_closed_total{cause="${cause}"} 0`)
    }
  })

  test('count closes by cause, and causes without a name of their own as other', async () => {
    const server = new TestCore()
    server.counters.countClose(CLOSES.noPong.name)
    server.counters.countClose('slow-consumer')
    server.counters.countClose('from-elsewhere')
    const lines = await scraped(server)
    expect(lines).toContain('respcast_clients_closed_total{cause="slow-consumer"} 2')
    expect(lines).toContain('respcast_clients_closed_total{cause="other"} 1')
  })

  test('show connections that were not taken by reason, each from the start', async () => {
    const server = new TestCore()
    server.counters.countRejection('address')
    server.counters.countRejection('address')
    server.counters.countRejection('protected-mode')
    const lines = await scraped(server)
    const metric = 'respcast_connections_rejected_total'
    expect(lines.filter((line) => line.startsWith(metric))).toEqual([
      `${metric}{reason="maxclients"} 0`,
      `${metric}{reason="address"} 2`,
      `${metric}{reason="rate"} 0`,
      `${metric}{reason="shutdown"} 0`,
      `${metric}{reason="protected-mode"} 1`,
      `${metric}{reason="proxy-protocol"} 0`,
    ])
    expect(server.counters.connectionsRejected).toBe(3)
  })

  test('show error replies by their first word', async () => {
    const server = new TestCore()
    server.connect().send('NOSUCH')
    expect(await scraped(server)).toContain('respcast_error_replies_total{code="ERR"} 1')
  })

  test('show one figure for all error replies when there were more than 128 codes', async () => {
    const server = new TestCore()
    for (let i = 0; i < 200; i++) server.counters.countError(`E${i}`)
    const lines = await scraped(server)
    expect(lines.filter((line) => line.startsWith('respcast_error_replies_total'))).toEqual([
      'respcast_error_replies_total{code="other"} 200',
    ])
  })

  test('show what the ACL refused by reason', async () => {
    const server = new TestCore()
    server.setUser('default', 'on nopass resetchannels +@all')
    server.connect().send('SUBSCRIBE', 'secret')
    const lines = await scraped(server)
    expect(lines).toContain('respcast_acl_denials_total{reason="channel"} 1')
    expect(lines).toContain('respcast_acl_denials_total{reason="auth"} 0')
  })

  test('fall to 0 with CONFIG RESETSTAT, as a counter does when its process restarts', async () => {
    const server = new TestCore()
    server.setUser('default', 'on nopass +@all')
    const client = server.connect()
    server.counters.countClose('quit')
    expect(client.send('CONFIG', 'RESETSTAT')).toBe('+OK\r\n')
    const lines = await scraped(server)
    expect(lines).toContain('respcast_clients_closed_total{cause="quit"} 0')
  })
})

describe('peers', () => {
  test('cannot add a label: channels, users, names and addresses appear nowhere', async () => {
    const server = new TestCore()
    server.setUser('mallory', 'on nopass allchannels +@all')
    const client = server.connect({ address: '203.0.113.9:40000' })
    client.send('AUTH', 'mallory', 'x')
    client.send('CLIENT', 'SETNAME', 'canary')
    client.send('SUBSCRIBE', 'canary')
    client.send('PSUBSCRIBE', 'canary*')
    server.connect().send('CANARY', 'canary')
    const text = (await scraped(server)).join('\n')
    expect(text).toContain('respcast_channels 1')
    expect(text).not.toMatch(/canary|mallory|203\.0\.113\.9/i)
  })
})

test('the version is a label of a figure that is always 1', async () => {
  expect(await scraped(new TestCore())).toContain(
    `respcast_build_info{version="${RESPCAST_VERSION}",node_version="${process.version}"} 1`,
  )
})

describe('what gateways agree on', () => {
  test('has no samples where a server is alone', async () => {
    const lines = await scraped(new TestCore())
    const own = lines.filter((line) => /^respcast_(control|cluster_nodes|fenced)/.test(line))
    expect(own).toEqual([])
  })

  test('is shown with the lease, the other gateways and what was not taken', async () => {
    const { server, control } = coreWithControl()
    const leaseEndsMs = server.clock.monotonicMs() + 1
    control.nodes = [{ ...nodeRecord({ id: 'b' }), leaseEndsMs }]
    control.figures = {
      ...control.figures,
      lag: 1,
      acks: 4,
      ackSecondsTotal: 0.5,
      isFenced: true,
      rejected: new Map([['unsigned', 2]]),
      questions: new Map([['partial', 3]]),
    }
    const lines = await scraped(server)
    expect(lines.filter((line) => /^respcast_(control|cluster_nodes|fenced)/.test(line))).toEqual([
      'respcast_control_lag_entries 1',
      'respcast_control_ack_seconds_sum 0.5',
      'respcast_control_ack_seconds_count 4',
      'respcast_control_rejected_total{reason="unsigned"} 2',
      'respcast_control_rejected_total{reason="forged"} 0',
      'respcast_control_rejected_total{reason="broken"} 0',
      'respcast_control_rejected_total{reason="replayed"} 0',
      'respcast_control_rejected_total{reason="unknown"} 0',
      'respcast_control_questions_total{outcome="partial"} 3',
      'respcast_control_lease_seconds 9.5',
      'respcast_cluster_nodes 2',
      'respcast_fenced 1',
    ])
  })
})

describe('the upstream', () => {
  const scrapedWith = async (shown: Parameters<typeof withUpstream>[0]): Promise<string[]> => {
    const core = new TestCore({}, silentLog(), undefined, withUpstream(shown))
    const lines = await scraped(core)
    return lines.filter((line) => /^respcast_(upstream|backplane)/.test(line))
  }

  test('has no samples where the server is alone, and is ready', async () => {
    const lines = await scraped(new TestCore())
    expect(lines.filter((line) => line.startsWith('respcast_upstream'))).toEqual([])
    expect(lines).toContain('respcast_backplane_ready 1')
  })

  test('shows links by role and address, reconnects and gaps by cause, and times as summaries', async () => {
    const shown = { links: SOME_LINKS, figures: SOME_FIGURES, problems: ['one'] }
    expect(await scrapedWith(shown)).toEqual([
      'respcast_backplane_ready 0',
      'respcast_upstream_link_up{role="subscriber",address="127.0.0.1:6379"} 1',
      'respcast_upstream_link_up{role="command",address="[::1]:6379"} 0',
      'respcast_upstream_reconnects_total{cause="closed"} 3',
      'respcast_upstream_reconnects_total{cause="silent"} 1',
      'respcast_upstream_reconnects_total{cause="authority"} 0',
      'respcast_upstream_reconnects_total{cause="refused"} 0',
      'respcast_upstream_reconnects_total{cause="protocol"} 0',
      'respcast_upstream_reconnects_total{cause="fenced"} 0',
      'respcast_upstream_wanted 12000',
      'respcast_upstream_confirmed 11488',
      'respcast_upstream_beacon_seconds 0.00042',
      'respcast_upstream_publish_seconds_sum 0.9',
      'respcast_upstream_publish_seconds_count 2000',
      'respcast_upstream_in_flight_bytes 4096',
      'respcast_upstream_unwanted_bytes_total 1234',
      'respcast_upstream_gaps_total{cause="closed"} 3',
      'respcast_upstream_gaps_total{cause="silent"} 0',
      'respcast_upstream_gaps_total{cause="authority"} 0',
      'respcast_upstream_gaps_total{cause="refused"} 0',
      'respcast_upstream_gaps_total{cause="protocol"} 0',
      'respcast_upstream_gaps_total{cause="fenced"} 0',
      'respcast_upstream_gaps_total{cause="moved"} 2',
      'respcast_upstream_gap_seconds_sum 7.5',
      'respcast_upstream_gap_seconds_count 5',
    ])
  })

  test('shows no beacon before the first has come', async () => {
    const lines = await scrapedWith({})
    expect(lines.filter((line) => line.includes('beacon'))).toEqual([])
    expect(lines).toContain('respcast_upstream_wanted 0')
    expect(lines).toContain('respcast_upstream_publish_seconds_count 0')
  })
})
