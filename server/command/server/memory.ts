import * as arg from '../argument.ts'
import { clientMemory } from '../../client/describe.ts'
import type { Request } from '../../resp/request.ts'
import { parseInteger } from '../arguments.ts'
import { CONTAINER, helpOf } from '../container.ts'
import type { CommandContext, Services } from '../context.ts'
import { NOT_AN_INTEGER, SYNTAX_ERROR } from '../error-texts.ts'
import { writeField } from '../replies.ts'
import type { CommandData } from '../spec.ts'
import type { MemoryFacts } from './process-facts.ts'

/** Memory of the process by use, in bytes. */
interface MemoryUse extends MemoryFacts {
  readonly clientBytes: number
  /** The server itself and its clients. */
  readonly overhead: number
  /** The rest. */
  readonly dataset: number
}

/** Measures the memory for INFO and MEMORY. */
export function memoryUse({ clients, facts }: Services): MemoryUse {
  const measured = facts.memory()
  let clientBytes = 0
  for (const client of clients.all()) clientBytes += clientMemory(client)
  const overhead = Math.min(measured.used, measured.startup + clientBytes)
  return { ...measured, clientBytes, overhead, dataset: measured.used - overhead }
}

/** MEMORY USAGE key [SAMPLES count]: there is no such key. */
function usage({ reply }: CommandContext, request: Request): void {
  for (let i = 3; i < request.count; i += 2) {
    if (request.text(i).toLowerCase() !== 'samples' || i + 1 >= request.count) {
      reply.error(SYNTAX_ERROR)
      return
    }
    const samples = parseInteger(request.text(i + 1))
    if (samples === undefined || samples < 0) {
      reply.error(samples === undefined ? NOT_AN_INTEGER : SYNTAX_ERROR)
      return
    }
  }
  reply.null()
}

/** MEMORY STATS: the fields of Redis, filled from the runtime; what only an allocator would know is as if it wasted nothing. */
function stats({ reply, server }: CommandContext): void {
  const { used, peak, rss, startup, clientBytes, overhead, dataset } = memoryUse(server)
  const fields: readonly (readonly [string, number, 'double'?])[] = [
    ['peak.allocated', peak],
    ['total.allocated', used],
    ['startup.allocated', startup],
    ['replication.backlog', 0],
    ['replica.fullsync.buffer', 0],
    ['clients.slaves', 0],
    ['clients.normal', clientBytes],
    ['cluster.links', 0],
    ['aof.buffer', 0],
    ['lua.caches', 0],
    ['functions.caches', 0],
    ['script.VMs', 0],
    ['overhead.db.hashtable.lut', 0],
    ['overhead.db.hashtable.rehashing', 0],
    ['overhead.total', overhead],
    ['db.dict.rehashing.count', 0],
    ['keys.count', 0],
    ['keys.bytes-per-key', 0],
    ['dataset.bytes', dataset],
    ['dataset.percentage', used > startup ? (dataset * 100) / (used - startup) : 0, 'double'],
    ['peak.percentage', peak === 0 ? 0 : (used * 100) / peak, 'double'],
    ['allocator.allocated', used],
    ['allocator.active', used],
    ['allocator.resident', rss],
    ['allocator.muzzy', 0],
    ['allocator-fragmentation.ratio', 1, 'double'],
    ['allocator-fragmentation.bytes', 0],
    ['allocator-rss.ratio', used === 0 ? 0 : rss / used, 'double'],
    ['allocator-rss.bytes', rss - used],
    ['rss-overhead.ratio', 1, 'double'],
    ['rss-overhead.bytes', 0],
    ['fragmentation', used === 0 ? 0 : rss / used, 'double'],
    ['fragmentation.bytes', rss - used],
  ]
  reply.map(fields.length)
  for (const [name, value, form] of fields) {
    if (form !== 'double') {
      writeField(reply, name, value)
      continue
    }
    reply.bulk(name)
    reply.double(value)
  }
}

function mallocStats({ reply, server }: CommandContext): void {
  const { used, rss } = server.facts.memory()
  reply.verbatim(
    `Memory is managed by the JavaScript runtime: ${used} bytes used, ${rss} resident.\n`,
  )
}

function doctor({ reply, server }: CommandContext): void {
  const { used, peak } = server.facts.memory()
  const percent = peak === 0 ? 0 : Math.round((used * 100) / peak)
  reply.verbatim(
    `${used} bytes are in use, ${percent} % of the most there ever were. INFO memory says what clients hold; ` +
      'CLIENT LIST says which.\n',
  )
}

const PLAIN = {
  flags: [],
  categories: ['slow'],
  group: 'server',
  since: '4.0.0',
  complexity: 'O(1)',
} as const satisfies Partial<CommandData>

const REPORT = {
  ...PLAIN,
  tips: ['nondeterministic_output', 'request_policy:all_shards', 'response_policy:special'],
} as const satisfies Partial<CommandData>

/** MEMORY and its subcommands. */
export const memory: CommandData = {
  ...CONTAINER,
  group: 'server',
  since: '4.0.0',
  summary: 'Container of the commands about memory.',
  subcommands: {
    doctor: {
      ...REPORT,
      arity: 2,
      summary: 'Says in words how the memory is.',
      handler: doctor,
    },
    'malloc-stats': {
      ...REPORT,
      arity: 2,
      summary: 'Says who manages the memory.',
      handler: mallocStats,
    },
    purge: {
      ...PLAIN,
      arity: 2,
      summary: 'Has no effect: the runtime gives memory back by itself.',
      tips: ['request_policy:all_shards', 'response_policy:all_succeeded'],
      handler: ({ reply }) => reply.ok(),
    },
    stats: {
      ...REPORT,
      arity: 2,
      summary: 'Answers how much memory is used for what.',
      handler: stats,
    },
    usage: {
      ...PLAIN,
      arity: -3,
      flags: ['readonly'],
      categories: ['read', 'slow'],
      syntax: '<key> [SAMPLES <count>]',
      arguments: [arg.key('key'), arg.integer('count', { token: 'SAMPLES', optional: true })],
      summary: 'Answers null: there are no keys.',
      keys: { first: 2, last: 2, step: 1, read: true, write: false },
      handler: usage,
    },
    help: helpOf('memory', '4.0.0'),
  },
}
