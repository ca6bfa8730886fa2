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
