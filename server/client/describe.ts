import { escapeInvisible, hexEscape } from '../../shared/words.ts'
import type { Settings } from '../config/settings.ts'
import type { PeerFields } from '../log.ts'
import type { Client } from './client.ts'

/** Cost of an idle connection: client, parser, queues and the socket's object. A round estimate. */
const CONNECTION_BYTES = 4_096

/** Cost of a subscription beyond its name: its places in the indexes of both sides. Of a watched key too. A round estimate. */
const SUBSCRIPTION_BYTES = 128

/** Bytes of a field that CLIENT LIST shows; three dots stand for the rest. */
const LONGEST_FIELD = 65_536
const LONGEST_TOKEN_FIELD = 512

/** Bytes of a name in the log. */
const LONGEST_LOGGED = 512

/**
 * Estimate of the memory of one client in bytes, for CLIENT LIST's `tot-mem` and `maxmemory-clients`: its output,
 * unfinished input, transaction and subscriptions. Takes constant time: names of channels are not measured.
 */
export function clientMemory(client: Client): number {
  const { subscriptions, transaction, watched } = client
  return (
    CONNECTION_BYTES +
    client.output.heldBytes +
    client.queryBytes +
    (client.inFlight?.bytes ?? 0) +
    (transaction?.bytes ?? 0) +
    (watched ? watched.bytes + watched.keys.size * SUBSCRIPTION_BYTES : 0) +
    (subscriptions.count + subscriptions.shardCount) * SUBSCRIPTION_BYTES
  )
}

/**
 * A client as fields of a log line; without the names that it chose under `hide-user-data-from-log`.
 *
 * @param nowMs Monotonic milliseconds.
 */
export function clientForLog(client: Client, settings: Settings, nowMs: number): PeerFields {
  const { origin, subscriptions } = client
  const isHidden = settings.boolean('hide-user-data-from-log')
  return {
    id: origin.id,
    address: origin.address,
    ...(isHidden
      ? {}
      : {
          name: shortened(client.name, LONGEST_LOGGED),
          user: shortened(client.identity.user.name, LONGEST_LOGGED),
        }),
    ageSeconds: seconds(nowMs - origin.connectedMs),
    idleSeconds: seconds(nowMs - client.lastInteractionMs),
    subscriptions: subscriptions.count + subscriptions.shardCount,
    heldBytes: client.output.heldBytes,
    memoryBytes: clientMemory(client),
    command: client.lastCommand,
  }
}

/**
 * One line of CLIENT LIST without its line end: Redis 8.0's fields in its order, and for a token session ours after
 * them.
 *
 * @param nowMs Monotonic milliseconds.
 */
export function describeClient(client: Client, nowMs: number): string {
  const { origin, subscriptions } = client
  const held = client.output.heldBytes
  const { transaction } = client
  const fields: (readonly [string, string | number])[] = [
    ['id', origin.id],
    ['addr', escapeField(origin.address)],
    ['laddr', escapeField(origin.localAddress)],
    ['fd', -1],
    ['name', shortened(client.name, LONGEST_FIELD)],
    ['age', seconds(nowMs - origin.connectedMs)],
    ['idle', seconds(nowMs - client.lastInteractionMs)],
    ['flags', clientFlags(client)],
    ['db', client.database],
    ['sub', subscriptions.names('channel').size],
    ['psub', subscriptions.names('pattern').size],
    ['ssub', subscriptions.names('shard').size],
    ['multi', transaction ? transaction.queue.length : -1],
    ['watch', client.watched?.keys.size ?? 0],
    ['qbuf', client.queryBytes],
    ['qbuf-free', 0],
    ['argv-mem', 0],
    ['multi-mem', transaction?.bytes ?? 0],
    ['rbs', 0],
    ['rbp', 0],
    ['obl', 0],
    ['oll', client.output.itemCount],
    ['omem', held],
    ['tot-mem', clientMemory(client)],
    ['events', client.output.isBlocked ? 'rw' : 'r'],
    ['cmd', client.lastCommand || 'NULL'],
    ['user', userField(client)],
    ['redir', client.tracking?.redirect ?? -1],
    ['resp', client.protocol],
    ['lib-name', shortened(client.libraryName, LONGEST_FIELD)],
    ['lib-ver', shortened(client.libraryVersion, LONGEST_FIELD)],
    ['io-thread', 0],
  ]
  const { token } = client.identity
  if (token) {
    fields.push(
      ['jwt-sub', tokenField(token.sub)],
      ['jwt-iss', tokenField(token.iss)],
      ['jwt-jti', tokenField(token.jti ?? '')],
      ['jwt-exp', Math.floor(token.expiresAtMs / 1000)],
      ['jwt-kid', tokenField(token.key.kid ?? token.kid ?? '')],
      ['jwt-key', token.key.thumbprint],
      ['origin', tokenField(origin.origin ?? '')],
      ['transport', origin.transport],
    )
  }
  return fields.map(([name, value]) => `${name}=${value}`).join(' ')
}

function seconds(ms: number): number {
  return Math.max(0, Math.floor(ms / 1000))
}

/** Redis' flag letters; `N` if there is none. */
function clientFlags(client: Client): string {
  let flags = ''
  const { tracking } = client
  if (client.isMonitor) flags += 'O'
  if (client.subscriptions.any) flags += 'P'
  if (client.transaction) flags += 'x'
  if (client.isHeld) flags += 'b'
  if (tracking) flags += 't'
  if (tracking?.isBroken) flags += 'R'
  if (tracking?.broadcast) flags += 'B'
  if (client.closeCause) flags += client.closeCause.output === 'flush' ? 'c' : 'A'
  if (client.origin.transport === 'unix') flags += 'U'
  if (client.readOnly) flags += 'r'
  if (client.noEvict) flags += 'e'
  if (client.noTouch) flags += 'T'
  return flags || 'N'
}

/** The user's name; that of a token session is made from its claims. */
function userField({ identity }: Client): string {
  const { name } = identity.user
  return identity.token ? tokenField(name) : escapeField(shortened(name, LONGEST_FIELD))
}

/** A value that comes with a token or a handshake. */
function tokenField(value: string): string {
  return escapeField(shortened(value, LONGEST_TOKEN_FIELD))
}

/** The beginning of a text, with a mark if there was more. */
function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}...`
}

/**
 * Escapes the bytes of spaces, controls, backslashes and characters that do not show as `\xNN`, so that a value neither ends its
 * field nor looks like another one.
 */
function escapeField(value: string): string {
  return value
    .replace(/[\u0000-\u0020\u007f\\]/g, hexEscape)
    .replace(/[\u0080-\u00ff]+/g, escapeInvisibleBytes)
}

/** @param bytes Byte string; one that is not UTF-8 is escaped as a whole. */
function escapeInvisibleBytes(bytes: string): string {
  const text = Buffer.from(bytes, 'latin1').toString('utf8')
  if (Buffer.from(text, 'utf8').toString('latin1') !== bytes) return hexOf(bytes)
  const escaped = escapeInvisible(text, (char) =>
    hexOf(Buffer.from(char, 'utf8').toString('latin1')),
  )
  return Buffer.from(escaped, 'utf8').toString('latin1')
}

function hexOf(bytes: string): string {
  return Array.from(bytes, hexEscape).join('')
}
