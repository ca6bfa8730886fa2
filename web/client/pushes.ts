import { byteString, utf8Text } from '../../shared/bytes.ts'
import type { RespValue } from '../../shared/resp/types.ts'
import type { Subscriptions } from './subscriptions.ts'
import type { Message, SubscriptionKind } from './types.ts'

/** Commands and pushes of a kind of subscription. */
interface SubscriptionCommands {
  readonly subscribe: string
  readonly unsubscribe: string
  /** Kind of the push that carries a message. */
  readonly message: string
}

/** The three families of Redis Pub/Sub. */
export const COMMANDS: Record<SubscriptionKind, SubscriptionCommands> = {
  channel: family(''),
  pattern: family('P'),
  shard: family('S'),
}

function family(letter: string): SubscriptionCommands {
  return {
    subscribe: `${letter}SUBSCRIBE`,
    unsubscribe: `${letter}UNSUBSCRIBE`,
    message: `${letter.toLowerCase()}message`,
  }
}

/** Every kind of subscription. */
export const KINDS = ['channel', 'pattern', 'shard'] as const

/**
 * Takes a notice of the server about the token of this connection.
 *
 * @param name `accepted` (user, ms left), `granted`, `expiring` (ms left), `expired` (ms of grace), `revoked` (channel, message);
 *   servers may have others.
 */
type TokenNotice = (name: string, first: RespValue, second: RespValue) => void

/**
 * Routes a push that confirms no command: a message, the end of a subscription, a gap (name, or empty for all; its begin and end in
 * Unix ms), or a notice about the token. Unknown kinds are ignored.
 *
 * @param items The kind first.
 */
export function routePush(
  kind: string,
  items: readonly RespValue[],
  subscriptions: Subscriptions,
  notice: TokenNotice,
): void {
  const [, name, first = null, second = null] = items
  if (!(name instanceof Uint8Array)) return
  const key = byteString(name)
  if (kind === 'token') notice(key, first, second)
  if (kind === 'gap') subscriptions.missed(key, Number(second) - Number(first))
  for (const subscriptionKind of KINDS) {
    const { message, unsubscribe } = COMMANDS[subscriptionKind]
    if (kind === message) {
      const read = messageOf(subscriptionKind, items)
      if (read) subscriptions.dispatch(subscriptionKind, key, read)
    } else if (kind === unsubscribe.toLowerCase()) {
      subscriptions.taken(subscriptionKind, key)
    }
  }
}

/**
 * Reads the push of a message.
 *
 * @param items `message channel payload`, `pmessage pattern channel payload`, or `smessage channel payload`.
 * @returns Undefined for anything else.
 * @see Redis `SUBSCRIBE`, `PSUBSCRIBE`, `SSUBSCRIBE`
 */
function messageOf(kind: SubscriptionKind, items: readonly RespValue[]): Message | undefined {
  const [channel, payload] = items.slice(-2)
  const pattern = kind === 'pattern' ? items[1] : undefined
  if (items.length !== (kind === 'pattern' ? 4 : 3)) return undefined
  if (!(channel instanceof Uint8Array) || !(payload instanceof Uint8Array)) return undefined
  return {
    kind,
    channel: utf8Text(channel),
    channelBytes: channel,
    pattern: pattern instanceof Uint8Array ? utf8Text(pattern) : undefined,
    payload,
    data: payload,
    text: () => utf8Text(payload),
  }
}

/** The text of a bulk string; empty for anything else. */
export function textOf(value: RespValue): string {
  return value instanceof Uint8Array ? utf8Text(value) : ''
}
