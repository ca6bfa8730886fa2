import { ACL_COMMANDS } from './acl.ts'
import { CLIENT_COMMANDS } from './client.ts'
import { CLUSTER_COMMANDS } from './cluster.ts'
import { CONNECTION_COMMANDS } from './connection.ts'
import { INTROSPECTION_COMMANDS } from './introspection.ts'
import { LATENCY_COMMANDS } from './latency.ts'
import { MEMORY_COMMANDS } from './memory.ts'
import { MISC_COMMANDS } from './misc.ts'
import { MONITOR_COMMANDS } from './monitor-command.ts'
import { PUBSUB_COMMANDS } from './pubsub.ts'
import { RESPCAST_COMMANDS } from './respcast.ts'
import { SERVER_COMMANDS } from './server.ts'
import { SLOWLOG_COMMANDS } from './slowlog-commands.ts'
import type { CommandSpec } from './spec.ts'
import { TOKEN_EXPLAIN_COMMANDS } from './token-explain.ts'
import { TOKEN_COMMANDS } from './token.ts'
import { TRANSACTION_COMMANDS } from './transaction.ts'

/** Every command this server has. */
export const ALL_COMMANDS: readonly CommandSpec[] = [
  ...PUBSUB_COMMANDS,
  ...CONNECTION_COMMANDS,
  ...CLIENT_COMMANDS,
  ...TRANSACTION_COMMANDS,
  ...ACL_COMMANDS,
  ...SERVER_COMMANDS,
  ...INTROSPECTION_COMMANDS,
  ...MONITOR_COMMANDS,
  ...SLOWLOG_COMMANDS,
  ...LATENCY_COMMANDS,
  ...MEMORY_COMMANDS,
  ...CLUSTER_COMMANDS,
  ...MISC_COMMANDS,
  ...TOKEN_COMMANDS,
  ...TOKEN_EXPLAIN_COMMANDS,
  ...RESPCAST_COMMANDS,
]
