import type { CommandSpec } from '../spec.ts'

/** MONITOR. */
export const MONITOR_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'monitor',
    arity: 1,
    flags: ['admin', 'noscript', 'loading', 'stale'],
    categories: ['admin', 'slow', 'dangerous'],
    group: 'server',
    since: '1.0.0',
    summary: 'Shows every command from now on, until RESET.',
    complexity: 'O(1)',
    handler: ({ client, reply, server, inTransaction }) => {
      if (inTransaction) {
        reply.error("ERR MONITOR isn't allowed for DENY BLOCKING client")
        return
      }
      // Redis gives a client that watches already no answer at all.
      if (client.isMonitor) return
      server.monitors.add(client)
      reply.ok()
    },
  },
]
