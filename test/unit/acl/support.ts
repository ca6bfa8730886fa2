import { settingsOf } from '../../support/settings.ts'
import { CommandCatalog, withKnownCommands } from '../../../server/acl/catalog.ts'
import type { ChannelUse, KeyUse } from '../../../server/acl/catalog.ts'
import { describeUser } from '../../../server/acl/describe.ts'
import { UserTable } from '../../../server/acl/users.ts'
import type { PubsubDefault } from '../../../server/acl/rules.ts'
import type { User } from '../../../server/acl/user.ts'

/** The channel arguments of the Pub/Sub commands. */
const CHANNELS: ReadonlyMap<string, ChannelUse> = new Map<string, ChannelUse>([
  ['publish', { kind: 'publish', first: 1, last: 1 }],
  ['spublish', { kind: 'publish', first: 1, last: 1 }],
  ['subscribe', { kind: 'subscribe', first: 1, last: -1 }],
  ['ssubscribe', { kind: 'subscribe', first: 1, last: -1 }],
  ['psubscribe', { kind: 'pattern', first: 1, last: -1 }],
  ['unsubscribe', { kind: 'none', first: 1, last: -1 }],
  ['sunsubscribe', { kind: 'none', first: 1, last: -1 }],
  ['punsubscribe', { kind: 'none', first: 1, last: -1 }],
])

/** The key arguments of some commands. */
const KEYS: ReadonlyMap<string, KeyUse> = new Map<string, KeyUse>([
  ['get', { first: 1, last: 1, step: 1, read: true, write: false }],
  ['set', { first: 1, last: 1, step: 1, read: false, write: true }],
  ['exists', { first: 1, last: -1, step: 1, read: false, write: false }],
  ['mset', { first: 1, last: -1, step: 2, read: false, write: true }],
])

/** Every known command and one container of the server's own. */
export const catalog = new CommandCatalog(
  withKnownCommands([
    { name: 'token', categories: ['slow'] },
    { name: 'token|why', categories: ['slow', 'connection'] },
    { name: 'token|revoke', categories: ['admin', 'slow', 'dangerous'] },
  ]).map((source) => ({
    ...source,
    channels: CHANNELS.get(source.name),
    keys: KEYS.get(source.name),
  })),
)

/** A table that has nothing but the user `default`. */
export function newTable(pubsubDefault: PubsubDefault = 'resetchannels'): UserTable {
  return new UserTable(catalog, settingsOf({ 'acl-pubsub-default': pubsubDefault }))
}

/** The user that these rules, space-separated, make of a new one. */
export function userOf(rules: string, name = 'u'): User {
  const result = newTable().setUser(name, rules.split(' '))
  if ('error' in result) throw new Error(result.error)
  return result.after
}

/** The answer of ACL SETUSER on the wire, without CRLF. */
export function setUserReply(table: UserTable, name: string, ...rules: string[]): string {
  const result = table.setUser(name, rules)
  return 'error' in result ? `-ERR ${result.error}` : '+OK'
}

/** The answer of ACL LIST. */
export function aclList(table: UserTable): string[] {
  return table.list().map(describeUser)
}
