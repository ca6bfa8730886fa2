import { byteString, utf8Text } from '../../shared/bytes.ts'
import type { RespValue } from '../../shared/resp/types.ts'
import { messageOf } from './message.ts'
import { COMMANDS, KINDS } from './subscription-commands.ts'
import type { Subscriptions } from './subscriptions.ts'

/**
 * Takes what the server says about the token of this connection.
 *
 * @param name `accepted` (user, ms left), `expiring` (ms left), `expired` (ms of grace), `revoked` (channel, message); servers may
 *   have others.
 */
export type TokenNotice = (name: string, first: RespValue, second: RespValue) => void

/**
 * Hands a push that nobody asked for to where it belongs: a message, the end of a subscription, a notice about the token. Kinds
 * that are not known are ignored.
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

/** The text of a bulk string; empty for anything else. */
export function textOf(value: RespValue): string {
  return value instanceof Uint8Array ? utf8Text(value) : ''
}
