import type { Client } from '../../client/client.ts'
import type { Registry } from '../../pubsub/registry.ts'
import type { Space } from '../../pubsub/subscriptions.ts'
import { compileGlob } from '../../../shared/glob.ts'
import type { CompiledGrant } from '../grant/grants.ts'
import { mayOverlap } from './reach.ts'
import { targetTest } from './channels.ts'
import {
  isFrom,
  isInScope,
  namesOf,
  type IdentityKind,
  type RevocationOrder,
} from './revocation.ts'

/** Everybody is found without an index. */
type IndexedKind = Exclude<IdentityKind, 'all'>

/** One client, or several: most subjects and token ids have one session, which then needs no set. */
type OneOrMore = Client | Set<Client>

const NOBODY: readonly Client[] = []

/**
 * Live token sessions by everything that a revocation can name them by, so that it costs those that it hits.
 *
 * All that it looks at is fixed for the life of a grant: roles are those that the token asks for.
 */
export class SessionIndex {
  readonly #byKind: Readonly<Record<IndexedKind, Map<string, OneOrMore>>> = {
    jti: new Map(),
    sub: new Map(),
    group: new Map(),
    role: new Map(),
    kid: new Map(),
    issuer: new Map(),
  }

  add(client: Client, grant: CompiledGrant): void {
    for (const [kind, name] of namesOf(grant)) {
      if (kind === 'all') continue
      const clients = this.#byKind[kind]
      const known = clients.get(name)
      if (known === undefined) clients.set(name, client)
      else if (known instanceof Set) known.add(client)
      else if (known !== client) clients.set(name, new Set([known, client]))
    }
  }

  /** @param grant The one that the session was added with. */
  delete(client: Client, grant: CompiledGrant): void {
    for (const [kind, name] of namesOf(grant)) {
      if (kind === 'all') continue
      const clients = this.#byKind[kind]
      const known = clients.get(name)
      if (known === client) clients.delete(name)
      else if (known instanceof Set && known.delete(client) && known.size === 0)
        clients.delete(name)
    }
  }

  /** The sessions of a name. */
  find(kind: IndexedKind, name: string): Iterable<Client> {
    const known = this.#byKind[kind].get(name)
    if (known === undefined) return NOBODY
    return known instanceof Set ? known : [known]
  }
}

/** What {@link findTargets} looks in. */
export interface TargetSources {
  readonly index: SessionIndex
  readonly registry: Registry
  /** All of them. */
  sessions(): Iterable<Client>
  grantOf(client: Client): CompiledGrant | undefined
}

/**
 * The live sessions that an order hits: those that it names, whatever their `iat`; for a channel those that hold a
 * subscription by which a matching channel may be received.
 */
export function findTargets(order: RevocationOrder, sources: TargetSources): Client[] {
  const { index } = sources
  if (order.kind === 'channel') return findReached(order, sources)
  const found: Client[] = []
  const named = order.kind === 'all' ? sources.sessions() : index.find(order.kind, order.target)
  for (const client of named) {
    const grant = sources.grantOf(client)
    if (grant && isFrom(order, grant)) found.push(client)
  }
  return found
}

function findReached(order: RevocationOrder, sources: TargetSources): Client[] {
  if (order.only === 'publish') return []
  const { index, registry } = sources
  const { scope, target } = order
  const found = new Set<Client>()
  const take = (client: Client): void => {
    const grant = sources.grantOf(client)
    if (grant && isInScope(order, grant)) found.add(client)
  }
  if (scope) {
    for (const client of index.find(scope.kind, scope.name)) {
      if (isReached(client, target)) take(client)
    }
    return [...found]
  }
  for (const [space, name] of reachedNames(registry, target)) {
    // Whoever is subscribed is a client; sessions are told from others by their grant.
    for (const subscriber of registry.subscribersOf(space, name)) take(subscriber as Client)
  }
  return [...found]
}

function isReached({ subscriptions }: Client, target: string): boolean {
  const matches = targetTest(target)
  for (const name of subscriptions.names('channel').keys()) if (matches(name)) return true
  for (const name of subscriptions.names('shard').keys()) if (matches(name)) return true
  for (const name of subscriptions.names('pattern').keys())
    if (mayOverlap(name, target)) return true
  return false
}

/** The names that are subscribed to and by which a channel that `target` matches may be received. */
function* reachedNames(registry: Registry, target: string): IterableIterator<[Space, string]> {
  const { isLiteral, literalHead } = compileGlob(target)
  const matches = targetTest(target)
  for (const space of ['channel', 'shard'] as const) {
    const names = isLiteral ? [literalHead] : registry.channelNames(space)
    for (const name of names) if (matches(name)) yield [space, name]
  }
  for (const [pattern] of registry.patternCounts()) {
    if (mayOverlap(pattern, target)) yield ['pattern', pattern]
  }
}
