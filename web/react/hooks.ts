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
import { bytesOf } from '../client/arguments.ts'
import type { DataIn, NameIn } from '../client/channels.ts'
import type { RespcastClient } from '../client/client.ts'
import type { AnyCodec, CodecName, DataOf } from '../client/codec.ts'
import type { Binary, Bytes, ConnectionState, Message } from '../client/types.ts'
import { ChannelStore } from '../store/channel-store.ts'
import type { AnyClient, ChannelOptions, ChannelState } from '../store/channel-store.ts'

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
 * Types that an application declares once, instead of at each hook.
 *
 * @example
 * export const client = connect<Channels>(url, { token, codec: 'json' })
 * declare module 'respcast/react' {
 *   interface Register {
 *     client: typeof client
 *   }
 * }
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- Applications add to it.
export interface Register {}

/** The channels of the registered client. Without one their data may be anything. */
type RegisteredChannels = Register extends { client: RespcastClient<infer Channels> }
  ? Channels
  : Record<string, unknown>

/**
 * The client of the nearest {@link RespcastProvider}: to publish, for example.
 *
 * @typeParam Channels What the client was connected with; by default what {@link Register} says.
 * @throws {Error} Outside of a provider.
 */
export function useRespcast<
  Channels extends object = RegisteredChannels,
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

/** {@link ChannelOptions} that name a codec, which makes the data. */
type CodedOptions<Choice extends CodecName | AnyCodec, Value> = ChannelOptions<
  DataOf<Choice>,
  Value
> & { readonly codec: Choice }

/**
 * Hears a channel as long as the component is mounted, and renders it again when something comes.
 *
 * Components of one channel share one subscription of the server. The channel stays subscribed for a second after the last
 * component is gone, so that mounting again (StrictMode, navigation) neither misses messages nor causes traffic. A change of the
 * name starts over with the initial value.
 *
 * Of two `codec` objects the one of the last rendering counts. The data has the type of the `codec` here, else that of the channel in {@link Register}.
 *
 * @param name Undefined or null: not known yet. Nothing is subscribed, and the status is `pending`.
 * @example
 * const { status, value } = useChannel('room:7', {
 *   codec: 'text',
 *   initial: [] as string[],
 *   reduce: (lines, message) => [...lines, message.data].slice(-100),
 * })
 */
export function useChannel<
  Choice extends CodecName | AnyCodec,
  Value = Message<DataOf<Choice>> | undefined,
>(name: Bytes | null | undefined, options: CodedOptions<Choice, Value>): ChannelState<Value>
export function useChannel<
  Name extends NameIn<RegisteredChannels>,
  Value = Message<DataIn<RegisteredChannels, Name>> | undefined,
>(
  name: Name | Binary | null | undefined,
  options?: ChannelOptions<DataIn<RegisteredChannels, Name>, Value>,
): ChannelState<Value>
export function useChannel(
  name: Bytes | null | undefined,
  options: ChannelOptions<never, unknown> = {},
): ChannelState<unknown> {
  const client = useAnyClient()
  const { kind = 'channel', codec, initial } = options
  const key = keyOf(name)
  // An object may be made anew at each rendering: it changes nothing but the reading of messages.
  const choice = typeof codec === 'object' ? 'own' : codec
  const store = useMemo(
    () => new ChannelStore<never, unknown>(client, { kind, name, codec }, initial),
    // `name` counts by its bytes, and `initial` once.
    [client, kind, key, choice],
  )
  useEffect(() => {
    store.reaction = options
    store.codec = codec
  })
  return useSyncExternalStore(store.subscribe, store.snapshot, store.snapshot)
}

/** Equal bytes are one name, whatever array they come in. */
function keyOf(name: Bytes | null | undefined): string | undefined {
  if (name === null || name === undefined) return undefined
  return typeof name === 'string' ? name : `bytes ${bytesOf(name, 'A channel').join()}`
}

/** The state of the connection, with its reason; renders again when it changes. */
export function useConnection(): ConnectionState {
  const client = useAnyClient()
  const subscribe = useCallback((listener: () => void) => client.on('state', listener), [client])
  const snapshot = (): ConnectionState => client.state
  return useSyncExternalStore(subscribe, snapshot, snapshot)
}
