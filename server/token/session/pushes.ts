import type { Client } from '../../client/client.ts'
import type { Subscription } from '../../client/lost-subscriptions.ts'
import { encodePush } from '../../resp/push.ts'
import { toByteString } from '../text.ts'

/** A subscription that was taken away. */
export interface LostSubscription extends Subscription {
  /** Number of remaining subscriptions of the client: the count of the confirmation. */
  readonly left: number
}

const UNSUBSCRIBE_WORDS = {
  channel: 'unsubscribe',
  pattern: 'punsubscribe',
  shard: 'sunsubscribe',
} as const

/** Kind of the token pushes: their first element. */
const TOKEN = 'token'

/**
 * RESP3 pushes that tell a session about its token. Times are whole milliseconds.
 *
 * `accepted <user> <ms left>`, `expiring <ms left>`, `expired <grace ms>`, `revoked <channel or empty> <message>`,
 * `granted`, `limits <bytes> <arguments>`.
 */
export const tokenPushes = {
  /** @param user Byte string. */
  accepted: (user: string, leftMs: number): Buffer =>
    encodePush(3, [TOKEN, 'accepted', user, wholeMs(leftMs)]),
  /** The largest command of a WebSocket: its bytes (`ws-max-payload`), its arguments with its name (`ws-max-arguments`). */
  limits: (bytes: number, args: number): Buffer => encodePush(3, [TOKEN, 'limits', bytes, args]),
  expiring: (leftMs: number): Buffer => encodePush(3, [TOKEN, 'expiring', wholeMs(leftMs)]),
  expired: (graceMs: number): Buffer => encodePush(3, [TOKEN, 'expired', wholeMs(graceMs)]),
  /** @param channel The channel or pattern that was lost (byte string), empty where it is more than one. */
  revoked: (channel: string, message: string): Buffer =>
    encodePush(3, [TOKEN, 'revoked', channel, toByteString(message)]),
  /** The session may do more than before: what was denied may be tried again. */
  granted: (): Buffer => encodePush(3, [TOKEN, 'granted']),
}

/** Sends a token push: they exist in RESP3 only. */
export function tell(client: Client, frame: Buffer): void {
  if (client.protocol === 3) client.output.push(frame)
}

/** The push that tells a client of a subscription it has lost. */
export function unsubscribePush(client: Client, { space, name, left }: LostSubscription): Buffer {
  return encodePush(client.protocol, [UNSUBSCRIBE_WORDS[space], name, left])
}

function wholeMs(ms: number): number {
  return Math.max(0, Math.floor(ms))
}
