import type { InfoSection, Services } from './context.ts'

/** Sections that INFO shows only when asked for them, or for `all` or `everything`. */
const ON_DEMAND: ReadonlySet<string> = new Set(['commandstats', 'latencystats'])

/**
 * INFO's text: `# Section`, its fields, an empty line between sections (Redis command INFO).
 *
 * @param wanted Section names in lower case; empty means the default ones.
 */
export function infoText(server: Services, wanted: readonly string[]): string {
  const everything = wanted.includes('all') || wanted.includes('everything')
  const usual = wanted.length === 0 || wanted.includes('default')
  const isWanted = (name: string): boolean =>
    everything || wanted.includes(name) || (usual && !ON_DEMAND.has(name))
  const sections = [...server.facts.sections(isWanted), ...ownSections(server)].filter(({ name }) =>
    isWanted(name.toLowerCase()),
  )
  sections.sort((a, b) => order(a.name) - order(b.name))
  return sections.map(sectionText).join('\r\n')
}

const ORDER = [
  'Server',
  'Clients',
  'Memory',
  'Persistence',
  'Stats',
  'Replication',
  'CPU',
  'Modules',
  'Commandstats',
  'Errorstats',
  'Latencystats',
  'Cluster',
  'Keyspace',
]

function order(name: string): number {
  return ORDER.indexOf(name)
}

function sectionText({ name, fields }: InfoSection): string {
  return `# ${name}\r\n${fields.map(([field, value]) => `${field}:${value}\r\n`).join('')}`
}

/** What the core knows of itself. */
function ownSections(server: Services): InfoSection[] {
  return [
    stats(server),
    replication(server),
    { name: 'Modules', fields: [] },
    commandStats(server),
    errorStats(server),
    { name: 'Cluster', fields: [['cluster_enabled', 0]] },
    { name: 'Keyspace', fields: [] },
  ]
}

function stats({ counters, registry, clients, aclLog }: Services): InfoSection {
  let bytesOut = counters.bytesOutClosed
  for (const client of clients.all()) bytesOut += client.bytesOut
  const { denied } = aclLog
  return {
    name: 'Stats',
    fields: [
      ['total_connections_received', counters.connectionsReceived],
      ['total_commands_processed', counters.commandsProcessed],
      ['total_net_input_bytes', counters.bytesIn],
      ['total_net_output_bytes', bytesOut],
      ['rejected_connections', counters.connectionsRejected],
      ['evicted_clients', 0],
      ['keyspace_hits', 0],
      ['keyspace_misses', 0],
      ['pubsub_channels', registry.channelCount('channel')],
      ['pubsub_patterns', registry.patternCount],
      ['pubsubshard_channels', registry.channelCount('shard')],
      ['total_error_replies', counters.errorReplies],
      ['acl_access_denied_auth', denied.auth],
      ['acl_access_denied_cmd', denied.command],
      ['acl_access_denied_key', denied.key],
      ['acl_access_denied_channel', denied.channel],
      ['client_query_buffer_limit_disconnections', counters.queryBufferDisconnections],
      ['client_output_buffer_limit_disconnections', counters.outputLimitDisconnections],
      ['pubsub_messages_published', counters.messagesPublished],
      ['pubsub_messages_delivered', counters.messagesDelivered],
      ['jwt_logins_accepted', counters.tokensAccepted],
      ['jwt_logins_refused', counters.tokensRefused],
    ],
  }
}

function replication({ facts }: Services): InfoSection {
  return {
    name: 'Replication',
    fields: [
      ['role', 'master'],
      ['connected_slaves', 0],
      ['master_failover_state', 'no-failover'],
      ['master_replid', facts.runId],
      ['master_replid2', '0'.repeat(40)],
      ['master_repl_offset', 0],
      ['second_repl_offset', -1],
      ['repl_backlog_active', 0],
      ['repl_backlog_size', 1_048_576],
      ['repl_backlog_first_byte_offset', 0],
      ['repl_backlog_histlen', 0],
    ],
  }
}

function commandStats({ table }: Services): InfoSection {
  const fields: [string, string][] = []
  for (const { spec, calls, microseconds, rejectedCalls, failedCalls } of table.all()) {
    if (calls + rejectedCalls === 0) continue
    const perCall = calls === 0 ? 0 : microseconds / calls
    fields.push([
      `cmdstat_${spec.name}`,
      `calls=${calls},usec=${Math.round(microseconds)},usec_per_call=${perCall.toFixed(2)},` +
        `rejected_calls=${rejectedCalls},failed_calls=${failedCalls}`,
    ])
  }
  return { name: 'Commandstats', fields }
}

function errorStats({ counters }: Services): InfoSection {
  const fields = [...counters.errors].map(([code, count]): [string, string] => [
    `errorstat_${code}`,
    `count=${count}`,
  ])
  return { name: 'Errorstats', fields }
}
