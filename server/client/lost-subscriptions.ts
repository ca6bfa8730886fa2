import { authorize, type Denial } from '../acl/authorize.ts'
import type { CommandCatalog } from '../acl/catalog.ts'
import { coverageOf, mayLoseSubscriptions } from '../acl/impact.ts'
import type { User } from '../acl/user.ts'
import type { UserChange } from '../acl/users.ts'
import type { Space } from '../pubsub/subscriber.ts'
import { ArgumentList } from '../resp/request.ts'
import type { Client } from './client.ts'
import type { ClientTable } from './clients.ts'
import { CLOSES } from './close.ts'

/** A subscription by its space and name (byte string). */
export interface Subscription {
  readonly space: Space
  readonly name: string
}

/** A subscription that a client may not hold any more, and the reason. */
interface DeniedSubscription extends Subscription {
  readonly denial: Denial
}

/** A rule by which subscriptions are judged; the owner is the user who made the subscription. */
type SubscriptionRule = (space: Space, name: string, owner: string) => Denial | undefined

/** The command that makes a subscription, by space. */
const COMMANDS = { channel: 'subscribe', pattern: 'psubscribe', shard: 'ssubscribe' } as const

const SPACES = ['channel', 'pattern', 'shard'] as const

/** The subscriptions that a client loses by a rule, in the order of subscription. */
export function lostSubscriptions(client: Client, rule: SubscriptionRule): DeniedSubscription[] {
  const lost: DeniedSubscription[] = []
  for (const space of SPACES) {
    for (const [name, owner] of client.subscriptions.names(space)) {
      const denial = rule(space, name, owner)
      if (denial) lost.push({ space, name, denial })
    }
  }
  return lost
}

/**
 * The rule for token sessions: each subscription is judged as if the client made it anew, by the command that makes it,
 * so that an alternative which only lets publish does not shield a subscription.
 */
export function ruleOfSession(
  { identity, overlay }: Pick<Client, 'identity' | 'overlay'>,
  catalog: CommandCatalog,
): SubscriptionRule {
  return (space, name) => {
    const command = COMMANDS[space]
    return authorize(identity, overlay, catalog.get(command), ArgumentList.of(command, name))
  }
}

/**
 * Redis' rule for password users: the user who made a subscription must still cover it, even if the client has
 * logged in as another since. Subscriptions of other owners are kept.
 *
 * @param after The changed user; undefined if it was deleted.
 */
function ruleOfOwner(user: string, after: User | undefined): SubscriptionRule {
  const covers = after ? coverageOf(after) : () => false
  return (space, name, owner) => {
    if (owner !== user || covers(name, space === 'pattern')) return undefined
    return { by: 'user', reason: 'channel', object: name }
  }
}

/**
 * Applies changes of stored users to the clients that are logged in as them by password (ACL SETUSER, DELUSER, LOAD).
 * The new rules decide about their next command; clients with a subscription that the rules do not cover are closed.
 *
 * @returns The number of clients that were closed.
 */
export function applyUserChanges(clients: ClientTable, changes: readonly UserChange[]): number {
  const before = clients.size
  for (const { name, before: replaced, after } of changes) {
    if (!replaced || replaced === after) continue
    for (const client of [...clients.ofUser(name)]) {
      if (client.identity.token) continue
      if (after) clients.setIdentity(client, { ...client.identity, user: after })
      else client.close(CLOSES.userDeleted)
    }
    if (after && !mayLoseSubscriptions(replaced, after)) continue
    const rule = ruleOfOwner(name, after)
    for (const client of [...clients.all()]) {
      if (client.identity.token || !client.subscriptions.any) continue
      if (lostSubscriptions(client, rule).length > 0) client.close(CLOSES.permissionsChanged)
    }
  }
  return before - clients.size
}
