import * as arg from '../argument.ts'
import type { Request } from '../../resp/request.ts'
import { textsFrom } from '../arguments.ts'
import type { CommandContext, Services } from '../context.ts'
import type { CommandData } from '../spec.ts'
import type { Command } from '../table.ts'
import { memoryUse } from './memory.ts'
import type { InfoFields } from './process-facts.ts'

/** INFO server. */
function serverSection({ drain, facts }: Services): InfoFields {
  return [...facts.server(), ['respcast_draining', Number(drain.isDraining)]]
}

/** INFO clients. */
function clientsSection(server: Services): InfoFields {
  const { clients, counters, load, pause, registry } = server
  let tracking = 0
  let notLoggedIn = 0
  let watching = 0
  const watchedKeys = new Set<string>()
  for (const client of clients.all()) {
    if (client.watched) watching++
    for (const key of client.watched?.keys ?? []) watchedKeys.add(key)
    if (client.tracking) tracking++
    if (!client.authenticated) notLoggedIn++
  }
  return [
    ['connected_clients', clients.size],
    ['cluster_connections', 0],
    ['maxclients', server.config.integer('maxclients')],
    ['http_connections', counters.http.public.open + counters.http.admin.open],
    ['unauthenticated_clients', notLoggedIn],
    ['client_recent_max_input_buffer', load.recentMaxInput],
    ['client_recent_max_output_buffer', load.recentMaxOutput],
    ['blocked_clients', pause.waiting],
    ['tracking_clients', tracking],
    ['pubsub_clients', registry.subscriberCount],
    ['watching_clients', watching],
    ['clients_in_timeout_table', 0],
    ['total_watched_keys', watchedKeys.size],
    ['total_blocking_keys', 0],
    ['total_blocking_keys_on_nokey', 0],
  ]
}

/** INFO memory. The runtime manages the memory; values that only an allocator would know are 0. */
function memorySection(server: Services): InfoFields {
  const { used, peak, rss, startup, system, clientBytes, overhead, dataset } = memoryUse(server)
  const maxMemory = server.config.memory('maxmemory')
  return [
    ['used_memory', used],
    ['used_memory_human', human(used)],
    ['used_memory_rss', rss],
    ['used_memory_rss_human', human(rss)],
    ['used_memory_peak', peak],
    ['used_memory_peak_human', human(peak)],
    ['used_memory_peak_perc', percent(used, peak)],
    ['used_memory_overhead', overhead],
    ['used_memory_startup', startup],
    ['used_memory_dataset', dataset],
    ['used_memory_dataset_perc', percent(dataset, used - startup)],
    ['allocator_allocated', used],
    ['allocator_active', used],
    ['allocator_resident', rss],
    ['allocator_muzzy', 0],
    ['total_system_memory', system],
    ['total_system_memory_human', human(system)],
    ...SCRIPTS,
    ['maxmemory', maxMemory],
    ['maxmemory_human', human(maxMemory)],
    ['maxmemory_policy', server.config.choice('maxmemory-policy')],
    ['allocator_frag_ratio', '1.00'],
    ['allocator_frag_bytes', 0],
    ['allocator_rss_ratio', ratio(rss, used)],
    ['allocator_rss_bytes', Math.max(0, rss - used)],
    ['rss_overhead_ratio', '1.00'],
    ['rss_overhead_bytes', 0],
    ['mem_fragmentation_ratio', ratio(rss, used)],
    ['mem_fragmentation_bytes', rss - used],
    ['mem_not_counted_for_evict', 0],
    ['mem_replication_backlog', 0],
    ['mem_total_replication_buffers', 0],
    ['mem_replica_full_sync_buffer', 0],
    ['mem_clients_slaves', 0],
    ['mem_clients_normal', clientBytes],
    ['mem_cluster_links', 0],
    ['mem_aof_buffer', 0],
    ['mem_allocator', 'v8'],
    ['mem_overhead_db_hashtable_rehashing', 0],
    ['active_defrag_running', 0],
    ['lazyfree_pending_objects', 0],
    ['lazyfreed_objects', 0],
  ]
}

const SCRIPTS: InfoFields = [
  ['used_memory_lua', 0],
  ['used_memory_vm_eval', 0],
  ['used_memory_lua_human', '0B'],
  ['used_memory_scripts_eval', 0],
  ['number_of_cached_scripts', 0],
  ['number_of_functions', 0],
  ['number_of_libraries', 0],
  ['used_memory_vm_functions', 0],
  ['used_memory_vm_total', 0],
  ['used_memory_vm_total_human', '0B'],
  ['used_memory_functions', 0],
  ['used_memory_scripts', 0],
  ['used_memory_scripts_human', '0B'],
]

/** INFO persistence: nothing is ever loaded or saved. */
function persistenceSection({ facts }: Services): InfoFields {
  return [
    ['loading', 0],
    ['async_loading', 0],
    ['current_cow_peak', 0],
    ['current_cow_size', 0],
    ['current_cow_size_age', 0],
    ['current_fork_perc', '0.00'],
    ['current_save_keys_processed', 0],
    ['current_save_keys_total', 0],
    ['rdb_changes_since_last_save', 0],
    ['rdb_bgsave_in_progress', 0],
    ['rdb_last_save_time', Math.floor(facts.startedMs / 1000)],
    ['rdb_last_bgsave_status', 'ok'],
    ['rdb_last_bgsave_time_sec', -1],
    ['rdb_current_bgsave_time_sec', -1],
    ['rdb_saves', 0],
    ['rdb_last_cow_size', 0],
    ['rdb_last_load_keys_expired', 0],
    ['rdb_last_load_keys_loaded', 0],
    ['aof_enabled', 0],
    ['aof_rewrite_in_progress', 0],
    ['aof_rewrite_scheduled', 0],
    ['aof_last_rewrite_time_sec', -1],
    ['aof_current_rewrite_time_sec', -1],
    ['aof_last_bgrewrite_status', 'ok'],
    ['aof_rewrites', 0],
    ['aof_rewrites_consecutive_failures', 0],
    ['aof_last_write_status', 'ok'],
    ['aof_last_cow_size', 0],
    ['module_fork_in_progress', 0],
    ['module_fork_last_cow_size', 0],
  ]
}

/** A number of bytes in Redis' short form: `1.50M`. */
function human(bytes: number): string {
  let value = bytes
  for (const unit of ['B', 'K', 'M', 'G']) {
    if (value < 1024) return unit === 'B' ? `${value}B` : `${value.toFixed(2)}${unit}`
    value /= 1024
  }
  return `${value.toFixed(2)}T`
}

function percent(part: number, whole: number): string {
  return `${(whole <= 0 ? 0 : (part * 100) / whole).toFixed(2)}%`
}

function ratio(a: number, b: number): string {
  return (b === 0 ? 0 : a / b).toFixed(2)
}

/** INFO threads: one thread does all. */
function threadsSection({ clients, counters, load }: Services): InfoFields {
  const { writes } = load.sent
  return [['io_thread_0', `clients=${clients.size},reads=${counters.reads},writes=${writes}`]]
}

/** INFO stats: the fields of Redis, then those of this server alone. */
function statsSection({ aclLog, counters, load, registry, table }: Services): InfoFields {
  const { denied } = aclLog
  const { bytes, writes } = load.sent
  let commandMicroseconds = 0
  for (const command of table.all()) commandMicroseconds += command.microseconds
  return [
    ['total_connections_received', counters.connectionsReceived],
    ['total_commands_processed', counters.commandsProcessed],
    ['instantaneous_ops_per_sec', load.commandsPerSecond],
    ['total_net_input_bytes', counters.bytesIn],
    ['total_net_output_bytes', bytes],
    ['total_net_repl_input_bytes', 0],
    ['total_net_repl_output_bytes', 0],
    ['instantaneous_input_kbps', load.inputKbps.toFixed(2)],
    ['instantaneous_output_kbps', load.outputKbps.toFixed(2)],
    ['instantaneous_input_repl_kbps', '0.00'],
    ['instantaneous_output_repl_kbps', '0.00'],
    ['rejected_connections', counters.connectionsRejected],
    ['sync_full', 0],
    ['sync_partial_ok', 0],
    ['sync_partial_err', 0],
    ['expired_subkeys', 0],
    ['expired_keys', 0],
    ['expired_stale_perc', '0.00'],
    ['expired_time_cap_reached_count', 0],
    ['expire_cycle_cpu_milliseconds', 0],
    ['evicted_keys', 0],
    ['evicted_clients', counters.evictedClients],
    ['evicted_scripts', 0],
    ['total_eviction_exceeded_time', 0],
    ['current_eviction_exceeded_time', 0],
    ['keyspace_hits', 0],
    ['keyspace_misses', 0],
    ['pubsub_channels', registry.channelCount('channel')],
    ['pubsub_patterns', registry.patternCount],
    ['pubsubshard_channels', registry.channelCount('shard')],
    ['latest_fork_usec', 0],
    ['total_forks', 0],
    ['migrate_cached_sockets', 0],
    ['slave_expires_tracked_keys', 0],
    ['active_defrag_hits', 0],
    ['active_defrag_misses', 0],
    ['active_defrag_key_hits', 0],
    ['active_defrag_key_misses', 0],
    ['total_active_defrag_time', 0],
    ['current_active_defrag_time', 0],
    ['tracking_total_keys', 0],
    ['tracking_total_items', 0],
    ['tracking_total_prefixes', 0],
    ['unexpected_error_replies', counters.internalErrors],
    ['total_error_replies', counters.errorReplies],
    ['dump_payload_sanitizations', 0],
    ['total_reads_processed', counters.reads],
    ['total_writes_processed', writes],
    ['io_threaded_reads_processed', 0],
    ['io_threaded_writes_processed', 0],
    ['client_query_buffer_limit_disconnections', counters.queryBufferDisconnections],
    ['client_output_buffer_limit_disconnections', counters.outputLimitDisconnections],
    ['reply_buffer_shrinks', 0],
    ['reply_buffer_expands', 0],
    ['eventloop_cycles', 0],
    ['eventloop_duration_sum', 0],
    ['eventloop_duration_cmd_sum', Math.round(commandMicroseconds)],
    ['instantaneous_eventloop_cycles_per_sec', 0],
    ['instantaneous_eventloop_duration_usec', 0],
    ['acl_access_denied_auth', denied.auth],
    ['acl_access_denied_cmd', denied.command],
    ['acl_access_denied_key', denied.key],
    ['acl_access_denied_channel', denied.channel],
    ['pubsub_messages_published', counters.messagesPublished],
    ['pubsub_messages_delivered', counters.messagesDelivered],
    ['pubsub_patterns_dropped', counters.patternsDropped],
    ['jwt_logins_accepted', counters.tokensAccepted],
    ['jwt_logins_refused', counters.tokensRefused],
  ]
}

/** INFO replication: a master without replicas. */
function replicationSection({ facts }: Services): InfoFields {
  return [
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
  ]
}

/** INFO commandstats: commands that were called or refused. */
function commandStats({ table }: Services): InfoFields {
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
  return fields
}

/** INFO errorstats: error replies by code. */
function errorStats({ counters }: Services): InfoFields {
  return [...counters.errors].map(([code, count]) => [`errorstat_${code}`, `count=${count}`])
}

/** INFO latencystats: percentiles of the histograms, while `latency-tracking` is on. */
function latencyStats({ config, latency, table }: Services): InfoFields {
  const percentiles = config.list('latency-tracking-info-percentiles')
  const fields: [string, string][] = []
  if (!latency.settings.tracking) return fields
  for (const command of table.all()) {
    const calls = command.histogram.reduce((sum, count) => sum + count, 0)
    if (calls === 0) continue
    const values = percentiles.map(
      (text) => `p${text}=${percentile(command, calls, Number(text)).toFixed(3)}`,
    )
    fields.push([`latency_percentiles_usec_${command.spec.name}`, values.join(',')])
  }
  return fields
}

/** Microseconds that a percentage of the calls did not exceed, interpolated between powers of two. */
function percentile({ histogram }: Command, calls: number, share: number): number {
  const rank = Math.max(1, Math.ceil((calls * share) / 100))
  let below = 0
  for (const [power, count] of histogram.entries()) {
    if (below + count >= rank) {
      const low = power === 0 ? 0 : 2 ** (power - 1)
      return low + ((2 ** power - low) * (rank - below)) / count
    }
    below += count
  }
  return 0
}

/** INFO upstream: the links to the Redis or Valkey that several gateways share. */
function upstreamSection({ backplane, clock, config }: Services): InfoFields {
  const { figures, links, problems } = backplane
  if (!figures) return []
  const nowMs = clock.monotonicMs()
  return [
    ['upstream', config.text('upstream')],
    ['upstream_ready', problems.length === 0 ? 1 : 0],
    ...problems.map((text, at) => [`upstream_problem${at}`, oneLine(text)] as const),
    ...links.map(
      ({ role, address, isUp, sinceMs }, at) =>
        [
          `upstream_link${at}`,
          `role=${role},address=${address},state=${isUp ? 'up' : 'down'},` +
            `seconds=${Math.max(0, Math.floor((nowMs - sinceMs) / 1000))}`,
        ] as const,
    ),
    ['upstream_names_wanted', figures.wanted],
    ['upstream_names_confirmed', figures.confirmed],
    ['upstream_beacon_usec', wholeMicroseconds(figures.beaconSeconds)],
    ['upstream_publishes', figures.publishes],
    ['upstream_usec_per_publish', wholeMicroseconds(figures.publishSeconds / figures.publishes)],
    ['upstream_in_flight_bytes', figures.inFlightBytes],
    ['upstream_unwanted_bytes', figures.unwantedBytes],
    ['upstream_reconnects', countsText(figures.reconnects)],
    ['upstream_gaps', countsText(figures.gaps)],
    ['upstream_gap_seconds', figures.gapSeconds.toFixed(3)],
  ]
}

/** INFO control: what gateways agree on. */
function controlSection({ clock, control }: Services): InfoFields {
  const { figures, self, nodes } = control
  const fields: [string, string | number][] = [
    ['control_role', control.isAlone ? 'alone' : 'shared'],
    ['control_number', self.number],
    ['control_name', oneLine(self.name)],
  ]
  if (!figures) return fields
  const nowMs = clock.monotonicMs()
  const live = nodes.filter(({ leaseEndsMs }) => leaseEndsMs > nowMs).length
  return [
    ...fields,
    ['control_nodes', live + Number(figures.leaseSeconds > 0)],
    ['control_lease_seconds', figures.leaseSeconds.toFixed(3)],
    ['control_fenced', Number(figures.isFenced)],
    ['control_fences', figures.fences],
    ['control_fenced_seconds', figures.fencedSeconds.toFixed(3)],
    ['control_lag', figures.lag],
    ['control_pending', figures.pending],
    ['control_applied', self.applied],
    ['control_ack_usec', wholeMicroseconds(figures.ackSeconds)],
    ['control_rejected', countsText(figures.rejected)],
    ['control_questions', countsText(figures.questions)],
  ]
}

/** Whole microseconds; -1 where nothing was measured yet. */
function wholeMicroseconds(seconds: number): number {
  return Number.isNaN(seconds) ? -1 : Math.round(seconds * 1_000_000)
}

/** `total=3,closed=2,silent=1`. */
function countsText(counts: ReadonlyMap<string, number>): string {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return [['total', total] as const, ...counts].map(([name, count]) => `${name}=${count}`).join(',')
}

/** A text of the upstream's may hold anything, and must not look like further fields. */
function oneLine(text: string): string {
  return text.replaceAll(/[\0-\x1f\x7f]/g, ' ')
}

interface SectionSpec {
  readonly name: string
  /** Shown only when asked for, or for `all` or `everything`. */
  readonly isOnDemand?: boolean
  /** Left out where it has no field. */
  readonly isOptional?: boolean
  /** Where it does not hold, it is shown only when it is asked for by its name. */
  readonly concerns?: (server: Services) => boolean
  readonly build: (server: Services) => InfoFields
}

/** The sections in the order of Redis 8.0, then those of this server alone. */
const SECTIONS: readonly SectionSpec[] = [
  { name: 'Server', build: serverSection },
  { name: 'Clients', build: clientsSection },
  { name: 'Memory', build: memorySection },
  { name: 'Persistence', build: persistenceSection },
  { name: 'Threads', build: threadsSection },
  { name: 'Stats', build: statsSection },
  { name: 'Replication', build: replicationSection },
  { name: 'CPU', build: ({ facts }) => facts.cpu() },
  { name: 'Modules', build: () => [] },
  { name: 'Commandstats', isOnDemand: true, build: commandStats },
  { name: 'Errorstats', build: errorStats },
  { name: 'Latencystats', isOnDemand: true, build: latencyStats },
  { name: 'Cluster', build: ({ cluster }) => [['cluster_enabled', cluster ? 1 : 0]] },
  { name: 'Keyspace', build: () => [] },
  { name: 'Keysizes', build: () => [] },
  { name: 'Upstream', isOptional: true, build: upstreamSection },
  { name: 'Control', concerns: ({ control }) => !control.isAlone, build: controlSection },
]

/**
 * The text of INFO: `# Section`, its fields, an empty line between sections.
 *
 * @param wanted Section names in lower case; empty means the default ones.
 */
export function infoText(server: Services, wanted: readonly string[]): string {
  const everything = wanted.includes('all') || wanted.includes('everything')
  const usual = wanted.length === 0 || wanted.includes('default')
  return SECTIONS.filter(
    ({ name, isOnDemand = false, concerns = () => true }) =>
      wanted.includes(name.toLowerCase()) ||
      ((everything || (usual && !isOnDemand)) && concerns(server)),
  )
    .map((section) => ({ ...section, fields: section.build(server) }))
    .filter(({ isOptional = false, fields }) => !isOptional || fields.length > 0)
    .map(({ name, fields }) => sectionText(name, fields))
    .join('\r\n')
}

function sectionText(name: string, fields: InfoFields): string {
  return `# ${name}\r\n${fields.map(([field, value]) => `${field}:${value}\r\n`).join('')}`
}

function handleInfo({ reply, server }: CommandContext, request: Request): void {
  const wanted = textsFrom(request, 1).map((name) => name.toLowerCase())
  reply.verbatim(Buffer.from(infoText(server, wanted), 'utf8'))
}

/** INFO. */
export const info: CommandData = {
  arity: -1,
  flags: ['loading', 'stale'],
  categories: ['slow', 'dangerous'],
  group: 'server',
  since: '1.0.0',
  syntax: '[<section> ...]',
  arguments: [arg.string('section', { optional: true, multiple: true })],
  history: [['7.0.0', 'Several sections in one call.']],
  summary: 'Describes the server in numbers.',
  complexity: 'O(1)',
  tips: ['nondeterministic_output', 'request_policy:all_shards', 'response_policy:special'],
  handler: handleInfo,
}
