import type { Client, ClientOrigin, TransportName } from '../client/client.ts'
import { clientMemory } from '../client/describe.ts'
import type { Space } from '../pubsub/subscriber.ts'

/** The transports and listeners that go together. */
export const CONNECTION_KINDS: readonly {
  readonly transport: TransportName
  readonly listener: ClientOrigin['listener']
}[] = [
  { transport: 'tcp', listener: 'resp' },
  { transport: 'tls', listener: 'resp' },
  { transport: 'unix', listener: 'resp' },
  { transport: 'websocket', listener: 'public' },
  { transport: 'websocket', listener: 'admin' },
  { transport: 'sse', listener: 'public' },
  { transport: 'http', listener: 'public' },
]

/** The name spaces of Pub/Sub, in the order in which they are shown. */
export const SPACES: readonly Space[] = ['channel', 'pattern', 'shard']

/** The most that one client of a transport holds. */
export interface Largest {
  /** Channels and shard channels. */
  subscriptions: number
  patterns: number
}

/** Sums over all clients of values that only they keep. Sizes are bytes. */
export interface Census {
  /** Clients by `transport listener`. */
  readonly clients: Map<string, number>
  notLoggedIn: number
  /** Clients whose socket is full. */
  blocked: number
  readonly subscriptions: Record<Space, number>
  readonly largest: Record<TransportName, Largest>
  heldBytes: number
  largestHeldBytes: number
  queryBytes: number
  memoryBytes: number
}

/** Visits each client once a scrape, so that nothing has to be counted per message. */
export function takeCensus(clients: Iterable<Client>): Census {
  const census: Census = {
    clients: new Map(),
    notLoggedIn: 0,
    blocked: 0,
    subscriptions: { channel: 0, pattern: 0, shard: 0 },
    largest: {
      tcp: none(),
      tls: none(),
      unix: none(),
      websocket: none(),
      sse: none(),
      http: none(),
    },
    heldBytes: 0,
    largestHeldBytes: 0,
    queryBytes: 0,
    memoryBytes: 0,
  }
  for (const client of clients) count(client, census)
  return census
}

/** The key of {@link Census.clients}. */
export function connectionKind({
  transport,
  listener,
}: Pick<ClientOrigin, 'transport' | 'listener'>): string {
  return `${transport} ${listener}`
}

function none(): Largest {
  return { subscriptions: 0, patterns: 0 }
}

function count(client: Client, census: Census): void {
  const { origin } = client
  const { heldBytes, isBlocked } = client.output
  const kind = connectionKind(origin)
  census.clients.set(kind, (census.clients.get(kind) ?? 0) + 1)
  if (!client.authenticated) census.notLoggedIn++
  if (isBlocked) census.blocked++
  census.heldBytes += heldBytes
  census.largestHeldBytes = Math.max(census.largestHeldBytes, heldBytes)
  census.queryBytes += client.queryBytes
  census.memoryBytes += clientMemory(client)
  if (client.subscriptions.any) countSubscriptions(client, census)
}

function countSubscriptions({ origin, subscriptions }: Client, census: Census): void {
  const held = { channel: 0, pattern: 0, shard: 0 }
  for (const space of SPACES) {
    held[space] = subscriptions.names(space).size
    census.subscriptions[space] += held[space]
  }
  const largest = census.largest[origin.transport]
  largest.subscriptions = Math.max(largest.subscriptions, held.channel + held.shard)
  largest.patterns = Math.max(largest.patterns, held.pattern)
}
