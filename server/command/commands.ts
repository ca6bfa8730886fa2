import { acl } from './acl/acl.ts'
import { client } from './client/client.ts'
import { cluster, CLUSTER_MODES } from './cluster/cluster.ts'
import { CONNECTION_COMMANDS } from './connection/connection.ts'
import { latency } from './diagnostics/latency.ts'
import { monitor } from './diagnostics/monitor.ts'
import { slowlog } from './diagnostics/slowlog.ts'
import { PUBSUB_COMMANDS } from './pubsub/pubsub.ts'
import { command } from './server/command.ts'
import { config } from './server/config.ts'
import { info } from './server/info.ts'
import { memory } from './server/memory.ts'
import { REPLICATION_COMMANDS } from './server/replication.ts'
import { respcast } from './server/respcast.ts'
import { SERVER_COMMANDS } from './server/server.ts'
import { specsOf, type CommandSpec } from './spec.ts'
import { token } from './token/token.ts'
import { TRANSACTION_COMMANDS } from './transaction.ts'

const { time, dbsize, flushall, flushdb, lastsave, shutdown, lolwut, module, debug } =
  SERVER_COMMANDS
const { role, wait, waitaof, replicaof, slaveof, failover } = REPLICATION_COMMANDS

/** Every command of this server, in the order in which COMMAND lists them. */
export const ALL_COMMANDS: readonly CommandSpec[] = specsOf({
  ...PUBSUB_COMMANDS,
  ...CONNECTION_COMMANDS,
  client,
  ...TRANSACTION_COMMANDS,
  acl,
  info,
  config,
  time,
  role,
  dbsize,
  flushall,
  flushdb,
  lastsave,
  shutdown,
  wait,
  command,
  monitor,
  slowlog,
  latency,
  memory,
  cluster,
  ...CLUSTER_MODES,
  lolwut,
  waitaof,
  module,
  debug,
  replicaof,
  slaveof,
  failover,
  token,
  respcast,
})
