import { randomBytes } from 'node:crypto'
import { totalmem, type as osType, release } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { Clock } from '../../clock.ts'
import type { Config } from '../../config/store.ts'
import { REDIS_VERSION, RESPCAST_VERSION } from '../../version.ts'

/** Lines `name:value` of one section of INFO. */
export type InfoFields = readonly (readonly [name: string, value: string | number])[]

/** Facts about the process for INFO, HELLO and MEMORY. */
export interface ProcessFacts {
  readonly runId: string
  readonly startedMs: number
  readonly version: string
  /** INFO server. */
  server(): InfoFields
  /** INFO cpu. */
  cpu(): InfoFields
  memory(): MemoryFacts
}

/** Memory of the process, in bytes. */
export interface MemoryFacts {
  /** Allocated by the runtime. */
  readonly used: number
  /** The highest `used` so far. */
  readonly peak: number
  /** Resident set. */
  readonly rss: number
  /** In use when the server started. */
  readonly startup: number
  /** Of the machine. */
  readonly system: number
}

/** Mask of Redis' clock for the age of keys: seconds that wrap around. */
const LRU_CLOCK_MASK = 0xff_ff_ff

/** Gathers the facts. @param memory Measures the memory. */
export function processFacts(
  config: Config,
  clock: Clock,
  memory: () => MemoryFacts = memoryMeter(),
): ProcessFacts {
  const runId = randomBytes(20).toString('hex')
  const startedMs = clock.wallMs()
  return {
    runId,
    startedMs,
    version: REDIS_VERSION,
    server: () => server(config, clock, startedMs, runId),
    cpu,
    memory,
  }
}

function server(config: Config, clock: Clock, startedMs: number, runId: string): InfoFields {
  const nowMs = clock.wallMs()
  const uptime = Math.max(0, Math.floor((nowMs - startedMs) / 1000))
  return [
    ['redis_version', REDIS_VERSION],
    ['respcast_version', RESPCAST_VERSION],
    ['redis_git_sha1', '00000000'],
    ['redis_git_dirty', 0],
    ['redis_build_id', '0'],
    ['redis_mode', config.boolean('cluster-enabled') ? 'cluster' : 'standalone'],
    ['os', `${osType()} ${release()} ${process.arch}`],
    ['arch_bits', 64],
    ['monotonic_clock', 'POSIX clock_gettime'],
    ['multiplexing_api', 'libuv'],
    ['atomicvar_api', 'none'],
    ['gcc_version', '0.0.0'],
    ['process_id', process.pid],
    ['process_supervised', 'no'],
    ['run_id', runId],
    ['tcp_port', config.integer('port')],
    ['server_time_usec', Math.floor(nowMs * 1000)],
    ['uptime_in_seconds', uptime],
    ['uptime_in_days', Math.floor(uptime / 86_400)],
    ['hz', config.integer('hz')],
    ['configured_hz', config.integer('hz')],
    ['lru_clock', Math.floor(nowMs / 1000) & LRU_CLOCK_MASK],
    ['executable', process.execPath],
    ['config_file', config.file ?? ''],
    ['io_threads_active', 0],
    ...listeners(config).map((text, index): [string, string] => [`listener${index}`, text]),
  ]
}

/** A text for each kind of RESP listener that is open. */
function listeners(config: Config): string[] {
  const binds = config.list('bind').map((address) => `bind=${address}`)
  const found: string[] = []
  for (const [name, port] of [
    ['tcp', config.integer('port')],
    ['tls', config.integer('tls-port')],
  ] as const) {
    if (port > 0) found.push([`name=${name}`, ...binds, `port=${port}`].join(','))
  }
  const path = config.text('unixsocket')
  if (path !== '') found.push(`name=unix,bind=${path}`)
  return found
}

/**
 * Makes a function that measures the memory and keeps the peak of all calls: INFO and the sampler call it.
 *
 * @param readRss Resident set in bytes. It throws while the process has no descriptor left (it reads /proc on Linux); the last figure
 *   holds then.
 */
export function memoryMeter(
  readRss: () => number = () => process.memoryUsage.rss(),
): () => MemoryFacts {
  let peak = 0
  let rss = 0
  const usedNow = (): number => {
    const { used_heap_size: heap, external_memory: external } = getHeapStatistics()
    const used = heap + external
    peak = Math.max(peak, used)
    return used
  }
  const startup = usedNow()
  return () => {
    try {
      rss = readRss()
    } catch {
      // Out of descriptors.
    }
    return { used: usedNow(), rss, peak, startup, system: totalmem() }
  }
}

/** CPU time, nearly all of which is spent in the one thread that runs commands. */
function cpu(): InfoFields {
  const { user, system } = process.cpuUsage()
  const inSystem = (system / 1e6).toFixed(6)
  const inUser = (user / 1e6).toFixed(6)
  return [
    ['used_cpu_sys', inSystem],
    ['used_cpu_user', inUser],
    ['used_cpu_sys_children', '0.000000'],
    ['used_cpu_user_children', '0.000000'],
    ['used_cpu_sys_main_thread', inSystem],
    ['used_cpu_user_main_thread', inUser],
  ]
}
