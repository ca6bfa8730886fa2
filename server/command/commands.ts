import { ACL_COMMANDS } from './acl/acl.ts'
import { CLIENT_COMMANDS } from './client/client.ts'
import { CLUSTER_COMMANDS } from './cluster/cluster.ts'
import { CONNECTION_COMMANDS } from './connection/connection.ts'
import { INTROSPECTION_COMMANDS } from './server/introspection.ts'
import { LATENCY_COMMANDS } from './diagnostics/latency.ts'
import { MEMORY_COMMANDS } from './server/memory.ts'
import { MISC_COMMANDS } from './server/misc.ts'
import { MONITOR_COMMANDS } from './diagnostics/monitor-command.ts'
import { PUBSUB_COMMANDS } from './pubsub/pubsub.ts'
import { RESPCAST_COMMANDS } from './server/respcast.ts'
import { SERVER_COMMANDS } from './server/server.ts'
import { SLOWLOG_COMMANDS } from './diagnostics/slowlog-commands.ts'
import type { CommandSpec } from './spec.ts'
import { TOKEN_EXPLAIN_COMMANDS } from './token/explain.ts'
import { TOKEN_COMMANDS } from './token/token.ts'
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
