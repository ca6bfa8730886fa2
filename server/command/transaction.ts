import * as arg from './argument.ts'
import type { Tracking } from '../client/client.ts'
import type { Request } from '../resp/request.ts'
import { invalidateAll } from './client/tracking.ts'
import type { CommandContext } from './context.ts'
import type { CommandData, CommandRecord, Completion } from './spec.ts'
import type { Command } from './table.ts'

/** A command that waits for EXEC. */
export interface QueuedCommand {
  readonly command: Command
  readonly request: Request
}

/**
 * Memory of a queued command with its first argument, and of each further argument, in bytes, beyond the bytes of the
 * arguments: objects, and the allocation for the bytes. 260,000 queued PINGs took 711 bytes each (Node 20.20).
 */
const COMMAND_BYTES = 700
const ARGUMENT_BYTES = 110

/** The commands between MULTI and EXEC. */
export interface Transaction {
  readonly queue: QueuedCommand[]
  /** Memory of the queue. */
  bytes: number
  /** A command was refused: EXEC will fail. */
  dirty: boolean
  /** CLIENT TRACKING of its own client at each flush: it is told after all messages that EXEC brings it, as in Redis. */
  readonly flushes: Tracking[]
}

/** Queues a command; nothing is kept after EXEC is bound to fail. */
export function enqueue(transaction: Transaction, command: Command, request: Request): void {
  if (transaction.dirty) return
  const own = request.detach()
  transaction.queue.push({ command, request: own })
  transaction.bytes += COMMAND_BYTES + (own.count - 1) * ARGUMENT_BYTES
  for (let i = 0; i < own.count; i++) transaction.bytes += own.length(i)
}

function multi({ client, reply }: CommandContext): void {
  if (client.transaction) {
    reply.error('ERR MULTI calls can not be nested')
    return
  }
  client.transaction = { queue: [], bytes: 0, dirty: false, flushes: [] }
  reply.ok()
}

function exec(context: CommandContext): void | Promise<Completion> {
  const { client, reply } = context
  const { transaction } = client
  if (!transaction) {
    reply.error('ERR EXEC without MULTI')
    return
  }
  if (transaction.dirty) {
    client.endTransaction()
    reply.error('EXECABORT Transaction discarded because of previous errors.')
    return
  }
  // With replies switched off the pushes of subscribing commands still go out, so the header must not.
  if (client.replyMode === 'on') reply.array(transaction.queue.length)
  client.watched = undefined
  // Meanwhile the client is in its transaction, and CLIENT INFO and ACL LOG show it so.
  const waiting = context.runTransaction(transaction.queue)
  for (const tracking of transaction.flushes) invalidateAll(client, context.server, tracking)
  client.endTransaction()
  // CLIENT REPLY silences each command by itself, and has no effect on those before it.
  context.repliedByPush = true
  return waiting
}

function discard({ client, reply }: CommandContext): void {
  if (!client.transaction) {
    reply.error('ERR DISCARD without MULTI')
    return
  }
  client.endTransaction()
  reply.ok()
}

/** WATCH key ...: keeps the keys, of which none will ever change. */
function watch({ client, reply }: CommandContext, request: Request): void {
  if (client.transaction) {
    reply.error('ERR WATCH inside MULTI is not allowed')
    return
  }
  const watched = (client.watched ??= { keys: new Set(), bytes: 0 })
  const { maxNamesPerCommand: most } = client.limits
  for (let i = 1; i < request.count; i++) {
    const key = `${client.database}:${request.text(i)}`
    if (watched.keys.has(key)) continue
    if (watched.keys.size >= most) {
      reply.error(`ERR at most ${most} watched keys are allowed on this connection`)
      return
    }
    watched.keys.add(key)
    watched.bytes += key.length
  }
  reply.ok()
}

const FAST = {
  flags: ['noscript', 'loading', 'stale', 'fast', 'allow_busy'],
  categories: ['fast', 'transaction'],
  group: 'transactions',
  complexity: 'O(1)',
} as const satisfies Partial<CommandData>

/** Commands of the group `transactions`. */
export const TRANSACTION_COMMANDS: CommandRecord = {
  multi: {
    ...FAST,
    arity: 1,
    since: '1.2.0',
    summary: 'Queues the commands that follow until EXEC.',
    notQueued: true,
    handler: multi,
  },
  exec: {
    arity: 1,
    flags: ['noscript', 'loading', 'stale', 'skip_slowlog'],
    categories: ['slow', 'transaction'],
    group: 'transactions',
    since: '1.2.0',
    summary: 'Executes the queued commands, one behind the other and nothing between them.',
    complexity: 'That of the commands.',
    notQueued: true,
    handler: exec,
  },
  discard: {
    ...FAST,
    arity: 1,
    since: '2.0.0',
    summary: 'Forgets the queued commands.',
    complexity: 'O(N) with N queued commands.',
    notQueued: true,
    handler: discard,
  },
  watch: {
    ...FAST,
    arity: -2,
    since: '2.2.0',
    syntax: '<key> [<key> ...]',
    arguments: [arg.key('key', { multiple: true })],
    summary: 'Has no effect: there are no keys that could change.',
    keys: { first: 1, last: -1, step: 1, read: true, write: false },
    notQueued: true,
    handler: watch,
  },
  unwatch: {
    ...FAST,
    arity: 1,
    since: '2.2.0',
    summary: 'Has no effect: there are no keys that could change.',
    handler: ({ client, reply }) => {
      client.watched = undefined
      reply.ok()
    },
  },
}
