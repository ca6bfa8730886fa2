import type { SubscriptionKind } from './types.ts'

/** The words of each kind of subscription. */
export interface SubscriptionCommands {
  readonly subscribe: string
  readonly unsubscribe: string
  /** Kind of the push that brings a message. */
  readonly message: string
}

/** Redis' three families of subscriptions. */
export const COMMANDS: Record<SubscriptionKind, SubscriptionCommands> = {
  channel: { subscribe: 'SUBSCRIBE', unsubscribe: 'UNSUBSCRIBE', message: 'message' },
  pattern: { subscribe: 'PSUBSCRIBE', unsubscribe: 'PUNSUBSCRIBE', message: 'pmessage' },
  shard: { subscribe: 'SSUBSCRIBE', unsubscribe: 'SUNSUBSCRIBE', message: 'smessage' },
}

/** What a server lets one command of a browser hold is 128 arguments and 64 KiB; half of that is asked for. */
const MAX_BATCH_NAMES = 64
const MAX_BATCH_BYTES = 32 * 1024

/** Cuts names into lists that fit into one command each. */
export function batches<Item extends { readonly bytes: Uint8Array }>(
  items: readonly Item[],
): Item[][] {
  const result: Item[][] = []
  let batchBytes = Infinity
  for (const item of items) {
    const current = result.at(-1)
    batchBytes += item.bytes.length
    if (!current || current.length === MAX_BATCH_NAMES || batchBytes > MAX_BATCH_BYTES) {
      result.push([item])
      batchBytes = item.bytes.length
    } else {
      current.push(item)
    }
  }
  return result
}
