import { REJECTIONS } from '../command/counters.ts'
import { CONNECTION_KINDS, connectionKind, SPACES } from './census.ts'
import { CLOSE_NAMES } from '../client/close.ts'
import { by, counter, gauge, type Figure, type Sample } from './figure.ts'
import type { MetricSources } from './sources.ts'

const TRANSPORTS = ['tcp', 'tls', 'unix', 'websocket'] as const

/** Metrics of connections: who is there, who came and left, what they hold. */
export const CLIENT_FIGURES: readonly Figure[] = [
  by(
    ['transport', 'listener'],
    gauge('respcast_connected_clients', 'Clients that are connected.', (_sources, census) =>
      CONNECTION_KINDS.map((kind) => ({
        labels: { ...kind },
        value: census.clients.get(connectionKind(kind)) ?? 0,
      })),
    ),
  ),
  gauge('respcast_max_clients', 'The directive maxclients.', ({ services }) =>
    services.config.integer('maxclients'),
  ),
  gauge(
    'respcast_clients_not_logged_in',
    'Connected clients that have not logged in.',
    (_sources, census) => census.notLoggedIn,
  ),
  gauge(
    'respcast_blocked_clients',
    'Connected clients whose socket takes no more for now.',
    (_sources, census) => census.blocked,
  ),
  counter(
    'respcast_connections_received_total',
    'Connections that asked to be taken.',
    ({ services }) => services.counters.connectionsReceived,
  ),
  by(
    ['reason'],
    counter(
      'respcast_connections_rejected_total',
      'Connections that were not taken: maxclients, the limit of an address, a shutdown, or protected mode.',
      ({ services }) =>
        REJECTIONS.map((reason) => ({
          labels: { reason },
          value: services.counters.rejections.get(reason) ?? 0,
        })),
    ),
  ),
  counter(
    'respcast_origins_refused_total',
    'WebSockets that were refused for their Origin.',
    ({ services }) => services.counters.originsRefused,
  ),
  by(
    ['cause'],
    counter('respcast_clients_closed_total', 'Clients that were closed, by cause.', closes),
  ),
  counter(
    'respcast_output_limit_disconnections_total',
    'Clients that were closed for client-output-buffer-limit.',
    ({ services }) => services.counters.outputLimitDisconnections,
  ),
  counter(
    'respcast_query_buffer_disconnections_total',
    'Clients that were closed for input that waited to be executed.',
    ({ services }) => services.counters.queryBufferDisconnections,
  ),
  counter(
    'respcast_evicted_clients_total',
    'Clients that were closed for maxmemory-clients.',
    ({ services }) => services.counters.evictedClients,
  ),
  gauge(
    'respcast_held_output_bytes',
    'Output that waits for clients to read it, all clients together.',
    (_sources, census) => census.heldBytes,
  ),
  gauge(
    'respcast_held_output_largest_bytes',
    'Output that waits for the client that most waits for.',
    (_sources, census) => census.largestHeldBytes,
  ),
  gauge(
    'respcast_query_buffer_bytes',
    'Input that is no finished command yet, all clients together.',
    (_sources, census) => census.queryBytes,
  ),
  gauge(
    'respcast_client_memory_bytes',
    'Estimate of what all clients hold: what maxmemory-clients bounds.',
    (_sources, census) => census.memoryBytes,
  ),
  by(
    ['space'],
    gauge('respcast_subscriptions', 'Subscriptions of all clients.', (_sources, census) =>
      SPACES.map((space) => ({ labels: { space }, value: census.subscriptions[space] })),
    ),
  ),
  by(
    ['transport'],
    gauge(
      'respcast_client_subscriptions_largest',
      'Channels and shard channels of the client that has most of them.',
      (_sources, census) =>
        TRANSPORTS.map((transport) => ({
          labels: { transport },
          value: census.largest[transport].subscriptions,
        })),
    ),
  ),
  by(
    ['transport'],
    gauge(
      'respcast_client_patterns_largest',
      'Patterns of the client that has most of them.',
      (_sources, census) =>
        TRANSPORTS.map((transport) => ({
          labels: { transport },
          value: census.largest[transport].patterns,
        })),
    ),
  ),
]

function closes({ services }: MetricSources): Sample[] {
  const { closes: counted } = services.counters
  const samples = CLOSE_NAMES.map((cause) => ({
    labels: { cause },
    value: counted.get(cause) ?? 0,
  }))
  let other = 0
  for (const [cause, count] of counted) if (!CLOSE_NAMES.includes(cause)) other += count
  return [...samples, { labels: { cause: 'other' }, value: other }]
}
