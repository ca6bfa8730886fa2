import { clientMemory } from '../../client/memory.ts'
import type { Category } from '../../acl/categories.ts'
import type { Request } from '../../resp/request.ts'
import type { CommandContext } from '../context.ts'
import { NOT_AN_INTEGER, SYNTAX_ERROR } from '../error-texts.ts'
import { helpSpec } from '../help.ts'
import { parseInteger } from '../integers.ts'
import type { CommandSpec } from '../spec.ts'
import { subcommandsOf } from '../subcommand.ts'

const CATEGORIES: readonly Category[] = ['slow']

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

/** MEMORY STATS: Redis' fields, with what the runtime knows of itself. */
function stats({ reply, server }: CommandContext): void {
  const { used, peak, rss, startup } = server.facts.memory()
  let clientBytes = 0
  for (const client of server.clients.all()) clientBytes += clientMemory(client)
  const overhead = Math.min(used, startup + clientBytes)
  const dataset = used - overhead
  const integers: readonly (readonly [string, number])[] = [
    ['peak.allocated', peak],
    ['total.allocated', used],
    ['startup.allocated', startup],
    ['replication.backlog', 0],
    ['clients.slaves', 0],
    ['clients.normal', clientBytes],
    ['cluster.links', 0],
    ['aof.buffer', 0],
    ['lua.caches', 0],
    ['functions.caches', 0],
    ['overhead.db.hashtable.lut', 0],
    ['overhead.db.hashtable.rehashing', 0],
    ['overhead.total', overhead],
    ['db.dict.rehashing.count', 0],
    ['keys.count', 0],
    ['keys.bytes-per-key', 0],
    ['dataset.bytes', dataset],
  ]
  const doubles: readonly (readonly [string, number])[] = [
    ['dataset.percentage', used > startup ? (dataset * 100) / (used - startup) : 0],
    ['peak.percentage', peak === 0 ? 0 : (used * 100) / peak],
    ['fragmentation', used === 0 ? 0 : rss / used],
  ]
  reply.map(integers.length + doubles.length + 1)
  for (const [name, value] of integers) {
    reply.bulk(name)
    reply.integer(value)
  }
  for (const [name, value] of doubles) {
    reply.bulk(name)
    reply.double(value)
  }
  reply.bulk('fragmentation.bytes')
  reply.integer(rss - used)
}

function mallocStats({ reply, server }: CommandContext): void {
  const { used, rss } = server.facts.memory()
  reply.verbatim(
    `Memory is managed by the JavaScript runtime: ${used} bytes used, ${rss} resident.\n`,
  )
}

const sub = subcommandsOf('memory', {
  flags: [],
  categories: CATEGORIES,
  group: 'server',
  complexity: 'O(1)',
})

/** MEMORY and its subcommands. */
export const MEMORY_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'memory',
    arity: -2,
    flags: [],
    categories: CATEGORIES,
    group: 'server',
    since: '4.0.0',
    summary: 'Container of the commands about memory.',
  },
  sub('doctor', 2, '4.0.0', 'Says in words how the memory is.', ({ reply, server }) => {
    const { used, peak } = server.facts.memory()
    const percent = peak === 0 ? 0 : Math.round((used * 100) / peak)
    reply.verbatim(
      `${used} bytes are in use, ${percent} % of the most there ever were. INFO memory says what clients hold; ` +
        'CLIENT LIST says which.\n',
    )
  }),
  sub('malloc-stats', 2, '4.0.0', 'Says who manages the memory.', mallocStats),
  sub(
    'purge',
    2,
    '4.0.0',
    'Has no effect: the runtime gives memory back by itself.',
    ({ reply }) => {
      reply.ok()
    },
  ),
  sub('stats', 2, '4.0.0', 'Answers how much memory is used for what.', stats),
  {
    ...sub('usage', -3, '4.0.0', 'Answers null: there are no keys.', usage),
    flags: ['readonly'],
    categories: ['read', 'slow'],
    keys: { first: 2, last: 2, step: 1, read: true, write: false },
  },
  helpSpec('memory', 'server', '4.0.0', CATEGORIES, [
    ['DOCTOR', 'Says in words how the memory is.'],
    ['MALLOC-STATS', 'Says who manages the memory.'],
    ['PURGE', 'Has no effect: the runtime gives memory back by itself.'],
    ['STATS', 'Answers how much memory is used for what.'],
    ['USAGE <key> [SAMPLES <count>]', 'Answers null: there are no keys.'],
  ]),
]
