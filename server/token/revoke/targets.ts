import { Client } from '../../client/client.ts'
import type { Registry } from '../../pubsub/registry.ts'
import type { Subscriber } from '../../pubsub/subscriber.ts'
import { compileGlob } from '../../../shared/glob.ts'
import type { CompiledGrant } from '../grant/grants.ts'
import { targetTest } from './channels.ts'
import { eachName, isFrom, isInScope } from './revocation.ts'
import type { IdentityKind, RevocationOrder } from './revocation.ts'

/** `ALL` needs no index. */
type IndexedKind = Exclude<IdentityKind, 'all'>

/** One client, or several: most subjects and token ids have one session, which then needs no set. */
type OneOrMore = Client | Set<Client>

const NOBODY: readonly Client[] = []

/**
 * Index of the live token sessions by every name that a revocation can use, so that a revocation costs only the sessions that
 * it hits. All of these names are fixed for the life of a grant: roles are those that the token asks for.
 */
export class SessionIndex {
  readonly #byKind: Readonly<Record<IndexedKind, Map<string, OneOrMore>>> = {
    jti: new Map(),
    sub: new Map(),
    group: new Map(),
    role: new Map(),
    kid: new Map(),
    key: new Map(),
    issuer: new Map(),
  }

  add(client: Client, grant: CompiledGrant): void {
    eachName(grant, (kind, name) => {
      if (kind === 'all') return
      const clients = this.#byKind[kind]
      const known = clients.get(name)
      if (known === undefined) clients.set(name, client)
      else if (known instanceof Set) known.add(client)
      else if (known !== client) clients.set(name, new Set([known, client]))
    })
  }

  /** @param grant The one that the session was added with. */
  delete(client: Client, grant: CompiledGrant): void {
    eachName(grant, (kind, name) => {
      if (kind === 'all') return
      const clients = this.#byKind[kind]
      const known = clients.get(name)
      if (known === client) clients.delete(name)
      else if (known instanceof Set && known.delete(client) && known.size === 0)
        clients.delete(name)
    })
  }

  /** The sessions of a name. */
  find(kind: IndexedKind, name: string): Iterable<Client> {
    const known = this.#byKind[kind].get(name)
    if (known === undefined) return NOBODY
    return known instanceof Set ? known : [known]
  }
}

/** The live token sessions. */
export interface LiveSessions {
  readonly index: SessionIndex
  clients(): Iterable<Client>
  grantOf(client: Client): CompiledGrant | undefined
}

/**
 * The live sessions that an order hits: those that it names, regardless of their `iat`; for a channel those that hold a
 * subscription through which a matching channel may be received.
 */
export function findTargets(
  order: RevocationOrder,
  sessions: LiveSessions,
  registry: Registry,
): Client[] {
  const { kind, target, scope } = order
  if (kind !== 'channel') {
    const found = kind === 'all' ? sessions.clients() : sessions.index.find(kind, target)
    // Most of very many revocations hit nobody.
    if (found === NOBODY && order.keys === undefined) return []
    const named = new Set(found)
    for (const key of order.keys ?? []) {
      for (const client of sessions.index.find('key', key)) named.add(client)
    }
    return [...named].filter((client) => {
      const grant = sessions.grantOf(client)
      return grant && isFrom(order, grant)
    })
  }
  if (order.only === 'publish') return []
  const reached = scope
    ? reachedAmong(sessions.index.find(scope.kind, scope.name), target)
    : reachedOf(registry, target)
  const found = new Set<Client>()
  for (const client of reached) {
    const grant = sessions.grantOf(client)
    if (grant && isInScope(order, grant)) found.add(client)
  }
  return [...found]
}

/** The live sessions to which the revocation of a channel applies, whatever they are subscribed to. */
export function sessionsOfScope(order: RevocationOrder, sessions: LiveSessions): Client[] {
  const { scope } = order
  const clients = scope ? sessions.index.find(scope.kind, scope.name) : sessions.clients()
  return [...clients].filter((client) => {
    const grant = sessions.grantOf(client)
    return grant && isInScope(order, grant)
  })
}

/** The clients among `clients` that hold a subscription through which a channel that `target` matches may be received. */
function* reachedAmong(clients: Iterable<Client>, target: string): IterableIterator<Client> {
  const glob = compileGlob(target)
  const matches = targetTest(target)
  // Clients of one scope tend to hold the same patterns.
  const overlaps = new Map<string, boolean>()
  const meter = { steps: 0 }
  const mayOverlap = (pattern: string): boolean => {
    let overlap = overlaps.get(pattern)
    if (overlap === undefined) {
      overlap = compileGlob(pattern).mayOverlap(glob, meter)
      overlaps.set(pattern, overlap)
    }
    return overlap
  }
  for (const client of clients) {
    const { subscriptions } = client
    const isReached =
      some(subscriptions.names('channel').keys(), matches) ||
      some(subscriptions.names('shard').keys(), matches) ||
      some(subscriptions.names('pattern').keys(), mayOverlap)
    if (isReached) yield client
  }
}

function some(names: Iterable<string>, test: (name: string) => boolean): boolean {
  for (const name of names) if (test(name)) return true
  return false
}

/** All clients that hold such a subscription; one may come several times. */
function* reachedOf(registry: Registry, target: string): IterableIterator<Client> {
  const glob = compileGlob(target)
  const matches = targetTest(target)
  for (const space of ['channel', 'shard'] as const) {
    const names = glob.isLiteral ? [glob.literalHead] : registry.channelNames(space)
    for (const name of names) {
      if (matches(name)) yield* clientsAmong(registry.subscribersOf(space, name))
    }
  }
  const meter = { steps: 0 }
  for (const entry of registry.patterns()) {
    if (entry.glob.mayOverlap(glob, meter)) yield* clientsAmong(entry.subscribers())
  }
}

function* clientsAmong(subscribers: Iterable<Subscriber>): IterableIterator<Client> {
  for (const subscriber of subscribers) if (subscriber instanceof Client) yield subscriber
}
