import { ACL_COMMANDS } from './acl.ts'
import { CLIENT_COMMANDS } from './client.ts'
import { CONNECTION_COMMANDS } from './connection.ts'
import { INTROSPECTION_COMMANDS } from './introspection.ts'
import { PUBSUB_COMMANDS } from './pubsub.ts'
import { SERVER_COMMANDS } from './server.ts'
import type { CommandSpec } from './spec.ts'
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
]
