import type { CommandCatalog } from '../../acl/catalog.ts'
import type { Client } from '../../client/client.ts'
import { CLOSES, closeWith } from '../../client/close.ts'
import {
  lostSubscriptions,
  ruleOfSession,
  type Subscription,
} from '../../client/lost-subscriptions.ts'
import type { Registry } from '../../pubsub/registry.ts'
import type { Space } from '../../pubsub/subscriptions.ts'
import { encodePush, type MessageKind } from '../../resp/push.ts'
import { tokenPushes } from '../session/pushes.ts'
import { messageOf, retryAfterMs, type Revocation } from './revocation.ts'

/** A subscription that was taken away. */
export interface LostSubscription extends Subscription {
  /** What the client has left then: the count of the confirmation. */
  readonly left: number
}

/** What enforcement needs of the rest of the server. */
export interface EnforcementParts {
  readonly registry: Registry
  readonly catalog: CommandCatalog
  /** `ws-revocation`. */
  readonly revocation: () => 'close' | 'unsubscribe'
}

const UNSUBSCRIBE_WORDS = {
  channel: 'unsubscribe',
  pattern: 'punsubscribe',
  shard: 'sunsubscribe',
} as const

const SPACES: Readonly<Record<MessageKind, Space>> = {
  message: 'channel',
  pmessage: 'pattern',
  smessage: 'shard',
}

/**
 * Takes from live sessions what they may not have any more, in one turn: subscriptions, messages that are queued, or the
 * connection.
 */
export class Enforcement {
  readonly #parts: EnforcementParts

  constructor(parts: EnforcementParts) {
    this.#parts = parts
  }

  /** Ends a session whose token is revoked. Nothing that is queued is sent. */
  cut(client: Client, record: Revocation, nowMs: number): void {
    const text = messageOf(record)
    const cause = closeWith(CLOSES.sessionRevoked, { text, retryMs: retryAfterMs(record, nowMs) })
    client.close(cause, tokenPushes.revoked('', text))
  }

  /**
   * Ends what a session may not hold by the rules of now: TCP is closed without a line, as Redis does; a WebSocket is told, and
   * closed or unsubscribed.
   *
   * @returns Whether there was anything.
   */
  dropLost(client: Client, message: string): boolean {
    const lost = lostSubscriptions(client, ruleOfSession(client, this.#parts.catalog))
    if (lost.length === 0) return false
    const [only] = lost
    const push = tokenPushes.revoked(lost.length === 1 && only ? only.name : '', message)
    if (!client.isWebSocket || this.#parts.revocation() === 'close') {
      client.close(closeWith(CLOSES.permissionsChanged, { text: message }), push)
      return true
    }
    const names = new Set(lost.map(({ space, name }) => `${space}\n${name}`))
    client.output.dropQueued((kind, name) => names.has(`${SPACES[kind]}\n${name}`))
    for (const one of lost)
      client.output.push(unsubscribePush(client, this.unsubscribe(client, one)))
    tell(client, push)
    return true
  }

  /**
   * Takes a channel from a session: what it lost ends, patterns that reach the channel are filtered from now on, and messages
   * of it that are queued are dropped.
   */
  restrict(client: Client, record: Revocation): void {
    const { overlay } = client
    const text = messageOf(record)
    if (!overlay) return
    // Also closes an open share, which would let a pattern's messages through in this turn.
    client.output.dropQueued((_kind, _name, channel) => !overlay.mayReceive(channel))
    this.#parts.registry.regroup(client, () => {})
    if (!this.dropLost(client, text)) tell(client, tokenPushes.revoked(record.target, text))
  }

  /** Gives a session back what a revocation of a channel took from its patterns. */
  relax(client: Client): void {
    this.#parts.registry.regroup(client, () => {})
  }

  /** Ends one subscription. Nobody is told. */
  unsubscribe(client: Client, { space, name }: Subscription): LostSubscription {
    this.#parts.registry.unsubscribe(space, client, name)
    const { count, shardCount } = client.subscriptions
    return { space, name, left: space === 'shard' ? shardCount : count }
  }
}

/** Sends a token push: they exist in RESP3 only. */
export function tell(client: Client, frame: Buffer): void {
  if (client.protocol === 3) client.output.push(frame)
}

/** The push that tells a client of a subscription it has lost. */
export function unsubscribePush(client: Client, { space, name, left }: LostSubscription): Buffer {
  return encodePush(client.protocol, [UNSUBSCRIBE_WORDS[space], name, left])
}
