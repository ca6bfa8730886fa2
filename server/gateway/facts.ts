import { randomBytes } from 'node:crypto'
import { totalmem, type as osType, release } from 'node:os'
import { readFileSync } from 'node:fs'
import type { ClientTable } from '../client/clients.ts'
import type { Clock } from '../clock.ts'
import type { InfoSection, ProcessFacts } from '../command/context.ts'
import type { Config } from '../config/store.ts'
import type { Registry } from '../pubsub/registry.ts'

/** What HELLO and INFO say to clients that gate features on it. */
const REDIS_VERSION = '8.0.6'

/** This server's own version. */
export const RESPCAST_VERSION = readVersion()

/** What INFO says of the process. */
export function processFacts(
  config: Config,
  clock: Clock,
  clients: ClientTable,
  registry: Registry,
): ProcessFacts {
  const runId = randomBytes(20).toString('hex')
  const startedMs = clock.wallMs()
  return {
    runId,
    startedMs,
    version: REDIS_VERSION,
    sections: (wanted) => {
      const sections: InfoSection[] = []
      if (wanted('server')) sections.push(server(config, clock, startedMs, runId))
      if (wanted('clients')) sections.push(clientSection(config, clients, registry))
      if (wanted('memory')) sections.push(memory(config))
      if (wanted('persistence')) sections.push(PERSISTENCE)
      if (wanted('cpu')) sections.push(cpu())
      return sections
    },
  }
}

function server(config: Config, clock: Clock, startedMs: number, runId: string): InfoSection {
  const uptime = Math.max(0, Math.floor((clock.wallMs() - startedMs) / 1000))
  return {
    name: 'Server',
    fields: [
      ['redis_version', REDIS_VERSION],
      ['respcast_version', RESPCAST_VERSION],
      ['redis_git_sha1', '00000000'],
      ['redis_git_dirty', 0],
      ['redis_build_id', '0'],
      ['redis_mode', 'standalone'],
      ['os', `${osType()} ${release()} ${process.arch}`],
      ['arch_bits', 64],
      ['process_id', process.pid],
      ['run_id', runId],
      ['tcp_port', config.integer('port')],
      ['server_time_usec', Math.floor(clock.wallMs() * 1000)],
      ['uptime_in_seconds', uptime],
      ['uptime_in_days', Math.floor(uptime / 86_400)],
      ['hz', 10],
      ['configured_hz', 10],
      ['executable', process.execPath],
      ['config_file', config.file ?? ''],
      ['io_threads_active', 0],
    ],
  }
}

function clientSection(config: Config, clients: ClientTable, registry: Registry): InfoSection {
  return {
    name: 'Clients',
    fields: [
      ['connected_clients', clients.size],
      ['cluster_connections', 0],
      ['maxclients', config.integer('maxclients')],
      ['blocked_clients', 0],
      ['tracking_clients', 0],
      ['pubsub_clients', registry.subscriberCount],
      ['watching_clients', 0],
      ['clients_in_timeout_table', 0],
      ['total_watched_keys', 0],
      ['total_blocking_keys', 0],
      ['total_blocking_keys_on_nokey', 0],
    ],
  }
}

function memory(config: Config): InfoSection {
  const { heapUsed, external, rss } = process.memoryUsage()
  const used = heapUsed + external
  return {
    name: 'Memory',
    fields: [
      ['used_memory', used],
      ['used_memory_human', human(used)],
      ['used_memory_rss', rss],
      ['used_memory_rss_human', human(rss)],
      ['total_system_memory', totalmem()],
      ['total_system_memory_human', human(totalmem())],
      ['maxmemory', config.memory('maxmemory')],
      ['maxmemory_human', human(config.memory('maxmemory'))],
      ['maxmemory_policy', 'noeviction'],
    ],
  }
}

const PERSISTENCE: InfoSection = {
  name: 'Persistence',
  fields: [
    ['loading', 0],
    ['async_loading', 0],
    ['rdb_changes_since_last_save', 0],
    ['rdb_bgsave_in_progress', 0],
    ['rdb_last_bgsave_status', 'ok'],
    ['aof_enabled', 0],
  ],
}

function cpu(): InfoSection {
  const { user, system } = process.cpuUsage()
  return {
    name: 'CPU',
    fields: [
      ['used_cpu_sys', (system / 1e6).toFixed(6)],
      ['used_cpu_user', (user / 1e6).toFixed(6)],
    ],
  }
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

function readVersion(): string {
  // From the sources and from dist/ the manifest lies at different heights.
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      const manifest = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as {
        name?: string
        version?: string
      }
      if (manifest.name === 'respcast' && manifest.version !== undefined) return manifest.version
    } catch {
      // Not here: the next place is tried.
    }
  }
  return '0.0.0'
}
