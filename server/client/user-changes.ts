import { coversSubscriptions, mayLoseSubscriptions, type SubscriptionNames } from '../acl/impact.ts'
import type { UserChange } from '../acl/users.ts'
import type { User } from '../acl/user.ts'
import type { Client } from './client.ts'
import type { ClientTable } from './clients.ts'
import { CLOSES } from './close.ts'

/**
 * Brings a change of stored users to the clients that are logged in as them (ACL SETUSER, DELUSER, LOAD): they are judged by
 * the new rules from now on, and those are closed that hold a subscription which the new rules do not cover.
 *
 * A subscription is judged by the user who made it, also when its client has become another since.
 */
export function applyUserChanges(clients: ClientTable, changes: readonly UserChange[]): void {
  for (const { name, before, after } of changes) {
    if (!before || before === after) continue
    for (const client of [...clients.ofUser(name)]) {
      if (client.identity.token) continue
      if (after) clients.setIdentity(client, { ...client.identity, user: after })
      else client.close(CLOSES.userDeleted)
    }
    if (!after || mayLoseSubscriptions(before, after)) closeUncovered(clients, name, after)
  }
}

function closeUncovered(clients: ClientTable, name: string, after: User | undefined): void {
  for (const client of [...clients.all()]) {
    if (client.identity.token || !client.subscriptions.any) continue
    const owned = ownedBy(client, name)
    if (owned && !(after && coversSubscriptions(after, owned)))
      client.close(CLOSES.permissionsChanged)
  }
}

/** The subscriptions that a user made on a client; undefined if there are none. */
function ownedBy(client: Client, user: string): SubscriptionNames | undefined {
  const names = (space: 'channel' | 'pattern' | 'shard'): string[] => {
    const owned: string[] = []
    for (const [name, owner] of client.subscriptions.names(space)) {
      if (owner === user) owned.push(name)
    }
    return owned
  }
  const channels = names('channel')
  const patterns = names('pattern')
  const shardChannels = names('shard')
  if (channels.length + patterns.length + shardChannels.length === 0) return undefined
  return { channels, patterns, shardChannels }
}
