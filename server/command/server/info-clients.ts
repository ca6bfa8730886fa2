import { clientMemory } from '../../client/memory.ts'
import type { InfoSection, Services } from '../context.ts'

type Fields = InfoSection['fields']

/** INFO clients. */
export function clientsSection(server: Services): Fields {
  const { clients, load, pause, registry } = server
  let tracking = 0
  for (const client of clients.all()) if (client.tracking) tracking++
  return [
    ['connected_clients', clients.size],
    ['cluster_connections', 0],
    ['maxclients', directive(server, 'maxclients')],
    ['client_recent_max_input_buffer', load.recentMaxInput],
    ['client_recent_max_output_buffer', load.recentMaxOutput],
    ['blocked_clients', pause.waiting],
    ['tracking_clients', tracking],
    ['pubsub_clients', registry.subscriberCount],
    ['watching_clients', 0],
    ['clients_in_timeout_table', 0],
    ['total_watched_keys', 0],
    ['total_blocking_keys', 0],
    ['total_blocking_keys_on_nokey', 0],
  ]
}

/** INFO memory. What the allocator of Redis would know is 0: here the runtime has the memory. */
export function memorySection(server: Services): Fields {
  const { used, peak, rss, startup, system } = server.facts.memory()
  let clientBytes = 0
  for (const client of server.clients.all()) clientBytes += clientMemory(client)
  const overhead = Math.min(used, startup + clientBytes)
  const dataset = used - overhead
  const maxMemory = Number(directive(server, 'maxmemory'))
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
    ['maxmemory_policy', directive(server, 'maxmemory-policy')],
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

const SCRIPTS: Fields = [
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
export function persistenceSection({ facts }: Services): Fields {
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

/** The value of a directive as CONFIG GET shows it; `0` where there is no configuration. */
function directive(server: Services, name: string): string {
  return server.config.get([name])[0]?.[1] ?? '0'
}

/** Redis' short form of a number of bytes: `1.50M`. */
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
