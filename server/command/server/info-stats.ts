import type { InfoSection, Services } from '../context.ts'
import type { Command } from '../spec.ts'

type Fields = InfoSection['fields']

/** INFO threads: one thread does all. */
export function threadsSection({ clients, counters, load }: Services): Fields {
  const { writes } = load.sent
  return [['io_thread_0', `clients=${clients.size},reads=${counters.reads},writes=${writes}`]]
}

/** INFO stats. Behind Redis' fields stand those of this server alone. */
export function statsSection({ aclLog, counters, load, registry, table }: Services): Fields {
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
    ['unexpected_error_replies', 0],
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
    ['jwt_logins_accepted', counters.tokensAccepted],
    ['jwt_logins_refused', counters.tokensRefused],
  ]
}

/** INFO replication: a master without replicas. */
export function replicationSection({ facts }: Services): Fields {
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
export function commandStats({ table }: Services): Fields {
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
export function errorStats({ counters }: Services): Fields {
  return [...counters.errors].map(([code, count]) => [`errorstat_${code}`, `count=${count}`])
}

/** INFO latencystats: percentiles of the histograms, while `latency-tracking` is on. */
export function latencyStats({ latency, table }: Services): Fields {
  const { tracking, percentiles } = latency.settings
  const fields: [string, string][] = []
  if (!tracking) return fields
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

/** Microseconds that so many percent of the calls did not exceed, as well as powers of two tell. */
function percentile({ histogram }: Command, calls: number, percent: number): number {
  const rank = Math.max(1, Math.ceil((calls * percent) / 100))
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
