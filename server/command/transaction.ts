import type { CommandSpec } from './spec.ts'

const FAST_FLAGS = ['noscript', 'loading', 'stale', 'fast', 'allow_busy'] as const

/** Commands of the group `transactions`. */
export const TRANSACTION_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'multi',
    arity: 1,
    flags: FAST_FLAGS,
    categories: ['fast', 'transaction'],
    group: 'transactions',
    since: '1.2.0',
    summary: 'Queues the commands that follow until EXEC.',
    complexity: 'O(1)',
    notQueued: true,
    handler: ({ client, reply }) => {
      if (client.transaction) {
        reply.error('ERR MULTI calls can not be nested')
        return
      }
      client.transaction = { queue: [], bytes: 0, dirty: false }
      reply.ok()
    },
  },
  {
    name: 'exec',
    arity: 1,
    flags: ['noscript', 'loading', 'stale', 'skip_slowlog'],
    categories: ['slow', 'transaction'],
    group: 'transactions',
    since: '1.2.0',
    summary: 'Executes the queued commands, one behind the other and nothing between them.',
    complexity: 'That of the commands.',
    notQueued: true,
    handler: (context) => {
      const { client, reply } = context
      const { transaction } = client
      if (!transaction) {
        reply.error('ERR EXEC without MULTI')
        return
      }
      client.transaction = undefined
      if (transaction.dirty) {
        reply.error('EXECABORT Transaction discarded because of previous errors.')
        return
      }
      // With replies switched off the pushes of subscribing commands still go out, so the header must not.
      const silent = client.replyMode !== 'on'
      if (!silent) reply.array(transaction.queue.length)
      for (const { spec, request } of transaction.queue) context.runQueued(spec, request)
      // Each command has seen to its own silence; CLIENT REPLY among them takes nothing back.
      context.repliedByPush = true
    },
  },
  {
    name: 'discard',
    arity: 1,
    flags: FAST_FLAGS,
    categories: ['fast', 'transaction'],
    group: 'transactions',
    since: '2.0.0',
    summary: 'Forgets the queued commands.',
    complexity: 'O(N) with N queued commands.',
    notQueued: true,
    handler: ({ client, reply }) => {
      if (!client.transaction) {
        reply.error('ERR DISCARD without MULTI')
        return
      }
      client.transaction = undefined
      reply.ok()
    },
  },
  {
    name: 'watch',
    arity: -2,
    flags: FAST_FLAGS,
    categories: ['fast', 'transaction'],
    group: 'transactions',
    since: '2.2.0',
    summary: 'Has no effect: there are no keys that could change.',
    complexity: 'O(1)',
    keys: { first: 1, last: -1, step: 1, read: true, write: false },
    notQueued: true,
    handler: ({ client, reply }) => {
      if (client.transaction) reply.error('ERR WATCH inside MULTI is not allowed')
      else reply.ok()
    },
  },
  {
    name: 'unwatch',
    arity: 1,
    flags: FAST_FLAGS,
    categories: ['fast', 'transaction'],
    group: 'transactions',
    since: '2.2.0',
    summary: 'Has no effect: there are no keys that could change.',
    complexity: 'O(1)',
    handler: ({ reply }) => reply.ok(),
  },
]
