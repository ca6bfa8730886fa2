import type { AnyCodec, CodecName } from '../client/codec.ts'
import type { Bytes, ConnectionState, Message, SubscriptionKind } from '../client/types.ts'
import { ChannelStore } from '../store/channel-store.ts'
import type { AnyClient, ChannelReaction, ChannelState } from '../store/channel-store.ts'

/**
 * A store of Svelte that can be read.
 *
 * @see https://svelte.dev/docs/svelte/stores#Store-contract
 */
export interface ReadableStore<Value> {
  /** Calls `run` at once and at each change. @returns Ends that. */
  subscribe(run: (value: Value) => void): () => void
}

/** Options of {@link channel}. */
export interface ChannelOptions<Data, Value> extends ChannelReaction<Data, Value> {
  /** Default `channel`. */
  readonly kind?: SubscriptionKind
  /** Instead of the client's. */
  readonly codec?: CodecName | AnyCodec
  /** The value before the first message. */
  readonly initial?: Value
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
  const { kind = 'channel', codec, initial } = options
  const store = new ChannelStore<Data, Value>(client, { kind, name, codec }, initial as Value)
  store.reaction = options
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

export type { AnyClient, ChannelReaction, ChannelState } from '../store/channel-store.ts'
