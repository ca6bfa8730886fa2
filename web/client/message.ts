import { utf8Text } from '../../shared/bytes.ts'
import type { RespValue } from '../../shared/resp/types.ts'
import type { Message, SubscriptionKind } from './types.ts'

/**
 * Reads the push of a message.
 *
 * @param items `message channel payload`, `pmessage pattern channel payload`, or `smessage channel payload`.
 * @returns Undefined for anything else.
 * @see Redis `SUBSCRIBE`, `PSUBSCRIBE`, `SSUBSCRIBE`
 */
export function messageOf(
  kind: SubscriptionKind,
  items: readonly RespValue[],
): Message | undefined {
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
