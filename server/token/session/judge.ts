import { check, checkCeiling, type ChannelUse } from '../../acl/check.ts'
import type { CatalogEntry, CommandCatalog } from '../../acl/catalog.ts'
import type { Client } from '../../client/client.ts'
import type { Identity } from '../../client/identity.ts'
import type { Space } from '../../pubsub/subscriptions.ts'
import { ArgumentList } from '../../resp/request.ts'

const SPACES: readonly Space[] = ['channel', 'pattern', 'shard']

const COMMANDS = { channel: 'subscribe', pattern: 'psubscribe', shard: 'ssubscribe' } as const

const USES: Readonly<Record<Space, ChannelUse>> = {
  channel: { kind: 'subscribe', first: 1, last: 1 },
  pattern: { kind: 'pattern', first: 1, last: 1 },
  shard: { kind: 'subscribe', first: 1, last: 1 },
}

/** A subscription by its space and name (byte string). */
export interface Subscription {
  readonly space: Space
  readonly name: string
}

/**
 * Judges subscriptions as if they were made anew: by the command that made each, so that an alternative which only lets
 * publish never shields a subscription.
 */
export class SubscriptionJudge {
  readonly #entries: Readonly<Record<Space, CatalogEntry>>

  constructor(catalog: CommandCatalog) {
    const entry = (space: Space): CatalogEntry => catalog.lookup(COMMANDS[space]) as CatalogEntry
    this.#entries = { channel: entry('channel'), pattern: entry('pattern'), shard: entry('shard') }
  }

  /** Whether `identity` may subscribe to a name. */
  allows(identity: Identity, space: Space, name: string): boolean {
    const request = ArgumentList.of(COMMANDS[space], name)
    const entry = this.#entries[space]
    const use = USES[space]
    if (check(identity.user, entry, request, use)) return false
    return identity.ceilings.every((ceiling) => !checkCeiling(ceiling, entry, request, use))
  }

  /** The subscriptions of a client that it may not make any more. A pattern is not lost to a deny overlay, but filtered. */
  lost(client: Client): Subscription[] {
    const lost: Subscription[] = []
    for (const space of SPACES) {
      for (const name of client.subscriptions.names(space).keys()) {
        const denied = space !== 'pattern' && client.overlay?.mayReceive(name) === false
        if (denied || !this.allows(client.identity, space, name)) lost.push({ space, name })
      }
    }
    return lost
  }
}
