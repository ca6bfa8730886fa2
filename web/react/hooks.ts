import {
  createContext,
  createElement,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useSyncExternalStore,
} from 'react'
import type { ReactNode } from 'react'
import type { RespcastClient } from '../client/client.ts'
import type { AnyCodec, CodecName } from '../client/codec.ts'
import type { Bytes, ConnectionState, Message, SubscriptionKind } from '../client/types.ts'
import { ChannelStore } from './channel-store.ts'
import type { AnyClient, ChannelReaction, ChannelState } from './channel-store.ts'

const ClientContext = createContext<AnyClient | undefined>(undefined)

/** Properties of {@link RespcastProvider}. */
export interface ProviderProps {
  /** A client that `connect` made. It outlives the components: whoever made it closes it. */
  readonly client: AnyClient
  readonly children?: ReactNode
}

/** Gives a client to the components within. */
export function RespcastProvider({ client, children }: ProviderProps): ReactNode {
  return createElement(ClientContext.Provider, { value: client }, children)
}

/**
 * The client of the nearest {@link RespcastProvider}: to publish, for example.
 *
 * @typeParam Channels What the client was connected with.
 * @throws {Error} Outside of a provider.
 */
export function useRespcast<
  Channels extends object = Record<string, Uint8Array>,
>(): RespcastClient<Channels> {
  // Whoever made the client knows its channels.
  return useAnyClient() as RespcastClient<Channels>
}

/** The client of the nearest {@link RespcastProvider}. @throws {Error} Outside of one. */
function useAnyClient(): AnyClient {
  const client = useContext(ClientContext)
  if (!client) throw new Error('There is no RespcastProvider around this component')
  return client
}

/** Options of {@link useChannel}. */
export interface ChannelOptions<Data, Value> extends ChannelReaction<Data, Value> {
  /** Default `channel`. */
  readonly kind?: SubscriptionKind
  /** Instead of the client's. A codec of one's own must be the same object at each rendering. */
  readonly codec?: CodecName | AnyCodec
  /** The value before the first message. Taken when the channel begins. */
  readonly initial?: Value
}

/**
 * Hears a channel as long as the component is mounted, and renders it again when something comes.
 *
 * Components of one channel share one subscription of the server. The channel stays subscribed for a second after the last
 * component is gone, so that mounting again (StrictMode, navigation) neither misses messages nor causes traffic. A change of the
 * name starts over with the initial value.
 *
 * @example
 * const { status, value } = useChannel('room:7', {
 *   codec: 'text',
 *   initial: [],
 *   reduce: (lines, message) => [...lines, message.data].slice(-100),
 * })
 */
export function useChannel<Data = Uint8Array, Value = Message<Data> | undefined>(
  name: Bytes,
  options: ChannelOptions<Data, Value> = {},
): ChannelState<Value> {
  const client = useAnyClient()
  const { kind = 'channel', codec, initial } = options
  // Equal bytes are one name, whatever array they come in.
  const key = typeof name === 'string' ? name : `bytes ${name.join()}`
  const store = useMemo(
    // Without an initial value the type of the value has `undefined` in it.
    () => new ChannelStore<Data, Value>(client, { kind, name, codec }, initial as Value),
    // `name` counts by its bytes, and `initial` once.
    [client, kind, key, codec],
  )
  useEffect(() => {
    store.reaction = options
  })
  return useSyncExternalStore(store.subscribe, store.snapshot, store.snapshot)
}

/** The state of the connection, with its reason; renders again when it changes. */
export function useConnection(): ConnectionState {
  const client = useAnyClient()
  const subscribe = useCallback((listener: () => void) => client.on('state', listener), [client])
  const snapshot = (): ConnectionState => client.state
  return useSyncExternalStore(subscribe, snapshot, snapshot)
}
