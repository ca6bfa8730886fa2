import type { Bytes, ConnectionState, Message } from '../client/types.ts'
import { channelStore } from '../store/channel-store.ts'
import type { AnyClient, ChannelOptions, ChannelState } from '../store/channel-store.ts'

/**
 * A store of Svelte that can be read.
 *
 * @see https://svelte.dev/docs/svelte/stores#Store-contract
 */
export interface ReadableStore<Value> {
  /** Calls `run` at once and at each change. @returns Ends that. */
  subscribe(run: (value: Value) => void): () => void
}

/**
 * A channel as a store: subscribed while somebody subscribes to the store, and a second longer.
 *
 * @example
 * const news = channel(client, 'news', {
 *   codec: 'text',
 *   initial: [] as string[],
 *   reduce: (lines, message) => [...lines, message.data],
 * })
 * // in the markup: {$news.status} {$news.value.join(', ')}
 */
export function channel<Data = unknown, Value = Message<Data> | undefined>(
  client: AnyClient,
  name: Bytes,
  options: ChannelOptions<Data, Value> = {},
): ReadableStore<ChannelState<Value>> {
  const store = channelStore(client, name, options)
  return {
    subscribe: (run) => {
      const end = store.subscribe(() => run(store.snapshot()))
      run(store.snapshot())
      return end
    },
  }
}

/** The state of the connection as a store. */
export function connection(client: AnyClient): ReadableStore<ConnectionState> {
  return {
    subscribe: (run) => {
      run(client.state)
      return client.on('state', run)
    },
  }
}

export type {
  AnyClient,
  ChannelOptions,
  ChannelReaction,
  ChannelState,
} from '../store/channel-store.ts'
