import { Counters } from '../command/counters.ts'
import { by, counter, gauge, type Figure, type Sample } from './figure.ts'
import type { MetricSources } from './sources.ts'

/** Metrics of what the server does: messages, commands, permissions and tokens. */
export const SERVER_FIGURES: readonly Figure[] = [
  by(
    ['version', 'node_version'],
    gauge('respcast_build_info', 'Always 1; the labels say what runs.', ({ version }) => [
      { labels: { version, node_version: process.version }, value: 1 },
    ]),
  ),
  gauge(
    'respcast_pubsub_clients',
    'Clients with at least one subscription.',
    ({ services }) => services.registry.subscriberCount,
  ),
  gauge('respcast_channels', 'Channels with at least one exact subscriber.', ({ services }) =>
    services.registry.channelCount('channel'),
  ),
  gauge(
    'respcast_patterns',
    'Distinct patterns that are subscribed to.',
    ({ services }) => services.registry.patternCount,
  ),
  gauge('respcast_shard_channels', 'Shard channels with at least one subscriber.', ({ services }) =>
    services.registry.channelCount('shard'),
  ),
  counter(
    'respcast_messages_published_total',
    'Messages published here, PUBLISH and SPUBLISH.',
    ({ services }) => services.counters.messagesPublished,
  ),
  counter(
    'respcast_messages_delivered_total',
    'Deliveries: one for each message and subscription.',
    ({ services }) => services.counters.messagesDelivered,
  ),
  counter(
    'respcast_messages_too_large_total',
    'Deliveries to WebSockets that were not made, since the message is larger than ws-max-message-out.',
    ({ services }) => services.counters.messagesTooLargeForWebSocket,
  ),
  counter(
    'respcast_received_bytes_total',
    'Bytes of commands from clients.',
    ({ services }) => services.counters.bytesIn,
  ),
  counter(
    'respcast_sent_bytes_total',
    'Bytes of replies and pushes written to clients, WebSocket headers left out.',
    ({ services }) => services.load.sent.bytes,
  ),
  counter(
    'respcast_commands_processed_total',
    'Commands, refused ones too.',
    ({ services }) => services.counters.commandsProcessed,
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
      ({ services }) =>
        Object.entries(services.aclLog.denied).map(([reason, value]) => ({
          labels: { reason },
          value,
        })),
    ),
  ),
  by(
    ['result'],
    counter('respcast_token_logins_total', 'Logins and refreshes by token.', ({ services }) => [
      { labels: { result: 'accepted' }, value: services.counters.tokensAccepted },
      { labels: { result: 'refused' }, value: services.counters.tokensRefused },
    ]),
  ),
  gauge(
    'respcast_token_sessions',
    'Clients that are logged in by token.',
    ({ services }) => services.tokens.size,
  ),
  gauge(
    'respcast_revocations',
    'Revocations in force.',
    ({ services }) => services.tokens.revocations.size,
  ),
  by(
    ['log'],
    gauge(
      'respcast_durable_log_problem',
      '1 while token-log-file (log="revocations") or token-audit-file (log="audit") cannot be written.',
      durableLogProblems,
    ),
  ),
  gauge('respcast_backplane_ready', '1 while messages can be handed on to other servers.', (all) =>
    Number(all.services.backplane.isReady),
  ),
]

/** Bounded as INFO's errorstats are: beyond so many codes all replies are one sample. */
function errorReplies({ services }: MetricSources): Sample[] {
  const { errors, errorReplies: total } = services.counters
  if (errors.has(Counters.CODES_DISABLED)) return [{ labels: { code: 'other' }, value: total }]
  return [...errors].map(([code, value]) => ({ labels: { code }, value }))
}

function durableLogProblems({ services }: MetricSources): Sample[] {
  const { revocation, revocations } = services.tokens
  const isBroken = revocations.problem !== undefined
  const others = revocation.problems.length - Number(isBroken)
  return [
    { labels: { log: 'revocations' }, value: Number(isBroken) },
    { labels: { log: 'audit' }, value: Number(others > 0) },
  ]
}
