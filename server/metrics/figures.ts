import { CLOSE_NAMES } from '../client/close.ts'
import type { Services } from '../command/context.ts'
import { Counters, REJECTIONS } from '../command/counters.ts'
import type { Rejection as RejectedEntry } from '../control/codec.ts'
import type { ControlFigures } from '../control/control.ts'
import { RESPCAST_VERSION } from '../version.ts'
import type { LinkFigures } from '../upstream/backplane.ts'
import type { DownCause } from '../upstream/link/link.ts'
import { CONNECTION_KINDS, connectionKind, SPACES, type Census, type Largest } from './census.ts'

/** One line of the exposition: the values of its labels, and a number. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** Of a summary: which of its two numbers it is. */
  readonly part?: 'sum' | 'count'
}

/** One metric: its name, and where its number comes from. */
export interface Figure {
  /** `respcast_...`, with its unit, and `_total` where it only grows. */
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'summary'
  readonly help: string
  /** Small sets that no peer can add to; never a channel, a user or the address of a client. */
  readonly labels: readonly string[]
  /** Reads it at a scrape. */
  readonly read: (server: Services, census: Census) => number | readonly Sample[]
}

/** Names of the fields of a type that are numbers. */
type NumbersOf<T> = { [K in keyof T]: T[K] extends number ? K : never }[keyof T]

/** A metric that only grows, but for CONFIG RESETSTAT. */
function counter(name: string, help: string, read: Figure['read']): Figure {
  return { name, type: 'counter', help, labels: [], read }
}

/** A metric that goes up and down. */
function gauge(name: string, help: string, read: Figure['read']): Figure {
  return { name, type: 'gauge', help, labels: [], read }
}

/** The sum and the number of measured values. */
function summary(name: string, help: string, read: Figure['read']): Figure {
  return { name, type: 'summary', help, labels: [], read }
}

/** The same metric under labels: `read` returns a sample for each. */
function by(labels: readonly string[], figure: Figure): Figure {
  return { ...figure, labels }
}

/** A counter that is kept in {@link Counters}. */
function counted(name: string, help: string, field: NumbersOf<Counters>): Figure {
  return counter(name, help, ({ counters }) => counters[field])
}

/** A gauge that is a sum over all clients. */
function ofClients(name: string, help: string, field: NumbersOf<Census>): Figure {
  return gauge(name, help, (_server, census) => census[field])
}

/** A gauge of the client of each transport that holds most. */
function largest(name: string, help: string, field: keyof Largest): Figure {
  return by(
    ['transport'],
    gauge(name, help, (_server, census) =>
      Object.entries(census.largest).map(([transport, held]) => ({
        labels: { transport },
        value: held[field],
      })),
    ),
  )
}

/** Metrics of the server's work: messages, commands, permissions and tokens. */
const SERVER_FIGURES: readonly Figure[] = [
  by(
    ['version', 'node_version'],
    gauge('respcast_build_info', 'Always 1; the labels say what runs.', () => [
      { labels: { version: RESPCAST_VERSION, node_version: process.version }, value: 1 },
    ]),
  ),
  gauge(
    'respcast_pubsub_clients',
    'Clients with at least one subscription.',
    ({ registry }) => registry.subscriberCount,
  ),
  gauge('respcast_channels', 'Channels with at least one exact subscriber.', ({ registry }) =>
    registry.channelCount('channel'),
  ),
  gauge(
    'respcast_patterns',
    'Distinct patterns that are subscribed to.',
    ({ registry }) => registry.patternCount,
  ),
  gauge('respcast_shard_channels', 'Shard channels with at least one subscriber.', ({ registry }) =>
    registry.channelCount('shard'),
  ),
  counted(
    'respcast_messages_published_total',
    'Messages published here, PUBLISH and SPUBLISH.',
    'messagesPublished',
  ),
  counted(
    'respcast_messages_delivered_total',
    'Deliveries: one for each message and subscription.',
    'messagesDelivered',
  ),
  counted(
    'respcast_messages_too_large_total',
    'Deliveries to WebSockets that were not made, since the message is larger than ws-max-message-out.',
    'messagesTooLargeForWebSocket',
  ),
  counted(
    'respcast_patterns_dropped_total',
    'Patterns of WebSockets that were dropped for ws-pattern-steps.',
    'patternsDropped',
  ),
  counted('respcast_received_bytes_total', 'Bytes of commands from clients.', 'bytesIn'),
  counter(
    'respcast_sent_bytes_total',
    'Bytes of replies and pushes written to clients, WebSocket headers left out.',
    ({ load }) => load.sent.bytes,
  ),
  counted(
    'respcast_commands_processed_total',
    'Commands that were executed, those of transactions too.',
    'commandsProcessed',
  ),
  counted(
    'respcast_internal_errors_total',
    'Commands that failed by a fault of the server, answered with ERR internal error.',
    'internalErrors',
  ),
  by(
    ['code'],
    counter('respcast_error_replies_total', 'Error replies, by their first word.', errorReplies),
  ),
  by(
    ['reason'],
    counter(
      'respcast_acl_denials_total',
      'What the ACL refused: a login, a command, a key or a channel.',
      ({ aclLog }) =>
        Object.entries(aclLog.denied).map(([reason, value]) => ({ labels: { reason }, value })),
    ),
  ),
  by(
    ['result'],
    counter('respcast_token_logins_total', 'Logins and refreshes by token.', ({ counters }) => [
      { labels: { result: 'accepted' }, value: counters.tokensAccepted },
      { labels: { result: 'refused' }, value: counters.tokensRefused },
    ]),
  ),
  by(
    ['reason'],
    counter(
      'respcast_login_failures_total',
      'Refused logins, by password or token, by reason; the peer is not told it.',
      ({ counters }) =>
        [...counters.loginFailures].map(([reason, value]) => ({ labels: { reason }, value })),
    ),
  ),
  gauge(
    'respcast_token_sessions',
    'Clients that are logged in by token.',
    ({ tokens }) => tokens.size,
  ),
  gauge('respcast_revocations', 'Revocations in force.', ({ tokens }) => tokens.revocations.size),
  by(
    ['log'],
    gauge(
      'respcast_durable_log_problem',
      '1 while token-log-file (log="revocations") or token-audit-file (log="audit") cannot be written.',
      durableLogProblems,
    ),
  ),
  gauge(
    'respcast_backplane_ready',
    '1 while messages can be handed to the upstream and come back; always 1 without one.',
    ({ backplane }) => Number(backplane.problems.length === 0),
  ),
  gauge(
    'respcast_draining',
    '1 once the server drains: it closes its clients one after another, and ends.',
    ({ drain }) => Number(drain.isDraining),
  ),
]

/** A figure of the upstream; without one it has no sample. */
function ofUpstream(
  make: typeof gauge,
  name: string,
  help: string,
  read: (figures: LinkFigures) => number | readonly Sample[],
): Figure {
  return make(name, help, ({ backplane: { figures } }) => (figures ? read(figures) : []))
}

/** Causes that end a connection to the upstream. Their counters begin at 0, since `increase()` does not see one begin at 1. */
const DOWN_CAUSES: Readonly<Record<DownCause, 0>> = {
  closed: 0,
  silent: 0,
  authority: 0,
  refused: 0,
  protocol: 0,
  fenced: 0,
}

/** Causes of a gap, from 0 as well. */
const GAP_CAUSES = { ...DOWN_CAUSES, moved: 0 }

/** Reasons for which an entry of the shared log is not taken, from 0 as well. */
const REJECTED_ENTRIES: Readonly<Record<RejectedEntry | 'replayed' | 'unknown', 0>> = {
  unsigned: 0,
  forged: 0,
  broken: 0,
  replayed: 0,
  unknown: 0,
}

/** A sample for each label value that is known before it is counted, and for each that was counted. */
function countsBy(
  label: 'cause' | 'reason',
  known: Readonly<Record<string, number>>,
  counts: ReadonlyMap<string, number>,
): Sample[] {
  return [...new Map([...Object.entries(known), ...counts])].map(([name, value]) => ({
    labels: { [label]: name },
    value,
  }))
}

/** Metrics of the links to the upstream, with samples only where there is one. */
const UPSTREAM_FIGURES: readonly Figure[] = [
  by(
    ['role', 'address'],
    gauge(
      'respcast_upstream_link_up',
      '1 while a connection to a node of the upstream is in use; the roles are subscriber, command, control and sentinel.',
      ({ backplane }) =>
        backplane.links.map(({ role, address, isUp }) => ({
          labels: { role, address },
          value: Number(isUp),
        })),
    ),
  ),
  by(
    ['cause'],
    ofUpstream(
      counter,
      'respcast_upstream_reconnects_total',
      'Connections to the upstream that were lost and made again, by cause.',
      ({ reconnects }) => countsBy('cause', DOWN_CAUSES, reconnects),
    ),
  ),
  ofUpstream(
    gauge,
    'respcast_upstream_wanted',
    'Names that subscriptions here need upstream.',
    ({ wanted }) => wanted,
  ),
  ofUpstream(
    gauge,
    'respcast_upstream_confirmed',
    'Those of them that the upstream has confirmed.',
    ({ confirmed }) => confirmed,
  ),
  ofUpstream(
    gauge,
    'respcast_upstream_beacon_seconds',
    'Time that the last beacon took through the upstream and back.',
    ({ beaconSeconds }) => (Number.isNaN(beaconSeconds) ? [] : beaconSeconds),
  ),
  ofUpstream(
    summary,
    'respcast_upstream_publish_seconds',
    'Time until the upstream answered publishes.',
    ({ publishes, publishSeconds }) => sumAndCount(publishSeconds, publishes),
  ),
  ofUpstream(
    gauge,
    'respcast_upstream_in_flight_bytes',
    'Messages that the upstream has not answered yet.',
    ({ inFlightBytes }) => inFlightBytes,
  ),
  ofUpstream(
    counter,
    'respcast_upstream_unwanted_bytes_total',
    'Messages that came for names without a subscriber here.',
    ({ unwantedBytes }) => unwantedBytes,
  ),
  by(
    ['cause'],
    ofUpstream(
      counter,
      'respcast_upstream_gaps_total',
      'Times in which messages may have been lost on the way here, by cause.',
      ({ gaps }) => countsBy('cause', GAP_CAUSES, gaps),
    ),
  ),
  ofUpstream(
    summary,
    'respcast_upstream_gap_seconds',
    'Length of those times.',
    ({ gaps, gapSeconds }) => {
      const count = [...gaps.values()].reduce((sum, each) => sum + each, 0)
      return sumAndCount(gapSeconds, count)
    },
  ),
]

/** A figure of what gateways agree on; one that is alone has no sample. */
function ofControl(
  make: typeof gauge,
  name: string,
  help: string,
  read: (figures: ControlFigures, server: Services) => number | readonly Sample[],
): Figure {
  return make(name, help, (server) =>
    server.control.figures ? read(server.control.figures, server) : [],
  )
}

/** Metrics of what gateways agree on, with samples only where they do. */
const CONTROL_FIGURES: readonly Figure[] = [
  ofControl(
    gauge,
    'respcast_control_lag_entries',
    'Users, revocations and kills that were ordered at other gateways and are not in force here: 1 is one or more.',
    ({ lag }) => lag,
  ),
  ofControl(
    summary,
    'respcast_control_ack_seconds',
    'Time until what was ordered here was confirmed by all other gateways.',
    ({ ackSecondsTotal, acks }) => sumAndCount(ackSecondsTotal, acks),
  ),
  by(
    ['reason'],
    ofControl(
      counter,
      'respcast_control_rejected_total',
      'Entries of the shared log that were not taken, by reason.',
      ({ rejected }) => countsBy('reason', REJECTED_ENTRIES, rejected),
    ),
  ),
  by(
    ['outcome'],
    ofControl(
      counter,
      'respcast_control_questions_total',
      'PUBSUB about all gateways: answered in whole or in part here, or dropped as too much work for others.',
      ({ questions }) => [...questions].map(([outcome, value]) => ({ labels: { outcome }, value })),
    ),
  ),
  ofControl(
    gauge,
    'respcast_control_lease_seconds',
    'Time that is left of the lease of this gateway.',
    ({ leaseSeconds }) => leaseSeconds,
  ),
  ofControl(
    gauge,
    'respcast_cluster_nodes',
    'Gateways whose lease lasts, as this one knows them, itself included.',
    ({ leaseSeconds }, { clock, control }) => {
      const nowMs = clock.monotonicMs()
      const others = control.nodes.filter(({ leaseEndsMs }) => leaseEndsMs > nowMs)
      return others.length + Number(leaseSeconds > 0)
    },
  ),
  ofControl(
    gauge,
    'respcast_fenced',
    '1 while this gateway delivers nothing, since it does not know what the others have revoked.',
    ({ isFenced }) => Number(isFenced),
  ),
]

function sumAndCount(sum: number, count: number): Sample[] {
  return [
    { labels: {}, value: sum, part: 'sum' },
    { labels: {}, value: count, part: 'count' },
  ]
}

/** Metrics of connections: their number, their coming and going, and their memory. */
const CLIENT_FIGURES: readonly Figure[] = [
  by(
    ['transport', 'listener'],
    gauge('respcast_connected_clients', 'Clients that are connected.', (_server, census) =>
      CONNECTION_KINDS.map((kind) => ({
        labels: { ...kind },
        value: census.clients.get(connectionKind(kind)) ?? 0,
      })),
    ),
  ),
  gauge(
    'respcast_max_clients',
    'The directive maxclients, as far as the limit of open files allows.',
    ({ config }) => config.integer('maxclients'),
  ),
  ofClients(
    'respcast_clients_not_logged_in',
    'Connected clients that have not logged in.',
    'notLoggedIn',
  ),
  counted(
    'respcast_unauthenticated_evictions_total',
    'Clients that had not logged in and gave way to newcomers.',
    'unauthenticatedEvicted',
  ),
  by(
    ['listener'],
    gauge(
      'respcast_http_connections',
      'Connections of the HTTP listeners that are no WebSockets.',
      ({ counters }) => ofHttp(counters, 'open'),
    ),
  ),
  by(
    ['listener'],
    counter(
      'respcast_http_connections_evicted_total',
      'Connections that were closed to make room for others: http-max-connections, admin-max-connections.',
      ({ counters }) => ofHttp(counters, 'evicted'),
    ),
  ),
  counted(
    'respcast_turns_yielded_total',
    'Times that a connection let others go first: ws-turn-budget, tcp-turn-budget.',
    'turnsYielded',
  ),
  ofClients(
    'respcast_blocked_clients',
    'Connected clients whose socket takes no more for now.',
    'blocked',
  ),
  counted(
    'respcast_connections_received_total',
    'Connections that asked to be taken.',
    'connectionsReceived',
  ),
  by(
    ['reason'],
    counter(
      'respcast_connections_rejected_total',
      'Connections that were not taken: maxclients, the limit of an address, a shutdown, or protected mode.',
      ({ counters }) =>
        REJECTIONS.map((reason) => ({
          labels: { reason },
          value: counters.rejections.get(reason) ?? 0,
        })),
    ),
  ),
  counted(
    'respcast_origins_refused_total',
    'WebSockets, streams of events and requests to publish that were refused for their Origin.',
    'originsRefused',
  ),
  by(
    ['code'],
    counter(
      'respcast_http_failures_total',
      'Requests to publish or for events that failed, by the code of the answer.',
      ({ counters }) =>
        [...counters.httpFailures].map(([code, value]) => ({ labels: { code }, value })),
    ),
  ),
  by(
    ['cause'],
    counter('respcast_clients_closed_total', 'Clients that were closed, by cause.', closes),
  ),
  counted(
    'respcast_output_limit_disconnections_total',
    'Clients that were closed for client-output-buffer-limit.',
    'outputLimitDisconnections',
  ),
  counted(
    'respcast_query_buffer_disconnections_total',
    'Clients that were closed for input that waited to be executed.',
    'queryBufferDisconnections',
  ),
  counted(
    'respcast_evicted_clients_total',
    'Clients that were closed for maxmemory-clients.',
    'evictedClients',
  ),
  ofClients(
    'respcast_held_output_bytes',
    'Output that waits for clients to read it, all clients together.',
    'heldBytes',
  ),
  ofClients(
    'respcast_held_output_largest_bytes',
    'Output that waits for the client that most waits for.',
    'largestHeldBytes',
  ),
  ofClients(
    'respcast_query_buffer_bytes',
    'Input that is no finished command yet, all clients together.',
    'queryBytes',
  ),
  ofClients(
    'respcast_client_memory_bytes',
    'Estimate of what all clients hold: what maxmemory-clients bounds.',
    'memoryBytes',
  ),
  by(
    ['space'],
    gauge('respcast_subscriptions', 'Subscriptions of all clients.', (_server, census) =>
      SPACES.map((space) => ({ labels: { space }, value: census.subscriptions[space] })),
    ),
  ),
  largest(
    'respcast_client_subscriptions_largest',
    'Channels and shard channels of the client that has most of them.',
    'subscriptions',
  ),
  largest(
    'respcast_client_patterns_largest',
    'Patterns of the client that has most of them.',
    'patterns',
  ),
]

/** All metrics of this server's own. */
export const FIGURES: readonly Figure[] = [
  ...SERVER_FIGURES,
  ...UPSTREAM_FIGURES,
  ...CONTROL_FIGURES,
  ...CLIENT_FIGURES,
]

/** Bounded as INFO's errorstats are: beyond so many codes all replies are one sample. */
function errorReplies({ counters }: Services): Sample[] {
  const { errors, errorReplies: total } = counters
  if (errors.has(Counters.CODES_DISABLED)) return [{ labels: { code: 'other' }, value: total }]
  return [...errors].map(([code, value]) => ({ labels: { code }, value }))
}

function ofHttp({ http }: Counters, field: 'open' | 'evicted'): Sample[] {
  return Object.entries(http).map(([listener, tally]) => ({
    labels: { listener },
    value: tally[field],
  }))
}

function durableLogProblems({ tokens }: Services): Sample[] {
  const { revocations, audit } = tokens.revocation.broken
  return [
    { labels: { log: 'revocations' }, value: Number(revocations) },
    { labels: { log: 'audit' }, value: Number(audit) },
  ]
}

function closes({ counters }: Services): Sample[] {
  const samples = CLOSE_NAMES.map((cause) => ({
    labels: { cause },
    value: counters.closes.get(cause) ?? 0,
  }))
  let other = 0
  for (const [cause, count] of counters.closes) if (!CLOSE_NAMES.includes(cause)) other += count
  return [...samples, { labels: { cause: 'other' }, value: other }]
}
