import { inject, onScopeDispose, shallowRef, toValue, watch } from 'vue'
import type { InjectionKey, MaybeRefOrGetter, Plugin, ShallowRef } from 'vue'
import type { AnyCodec, CodecName } from '../client/codec.ts'
import type { RespcastClient } from '../client/client.ts'
import type { Bytes, ConnectionState, Message, SubscriptionKind } from '../client/types.ts'
import { ChannelStore } from '../store/channel-store.ts'
import type { AnyClient, ChannelReaction, ChannelState } from '../store/channel-store.ts'

const CLIENT: InjectionKey<AnyClient> = Symbol('respcast')

/**
 * A plugin of Vue that gives a client to all components. Whoever made the client closes it.
 *
 * @example
 * createApp(App).use(respcast(connect(url, { token }))).mount('#app')
 */
export function respcast(client: AnyClient): Plugin {
  return { install: (app) => void app.provide(CLIENT, client) }
}

/** The client that {@link respcast} gave: to publish, for example. @throws {Error} The plugin is missing. */
export function useRespcast<
  Channels extends object = Record<string, unknown>,
>(): RespcastClient<Channels> {
  return anyClient() as RespcastClient<Channels>
}

function anyClient(): AnyClient {
  const client = inject(CLIENT, undefined)
  if (!client) throw new Error('The application does not use the plugin respcast(client)')
  return client
}

/** Options of {@link useChannel}. */
export interface ChannelOptions<Data, Value> extends ChannelReaction<Data, Value> {
  /** Default `channel`. */
  readonly kind?: SubscriptionKind
  /** Instead of the client's. */
  readonly codec?: CodecName | AnyCodec
  /** The value before the first message. */
  readonly initial?: Value
}

/**
 * Hears a channel as long as the component, or the scope, lives, and a second longer.
 *
 * @param name May be a ref or a getter: another name starts over with the initial value. Undefined or null: not known yet.
 * @example
 * const news = useChannel('news', { codec: 'text' })
 * // in the template: {{ news.status }} {{ news.value?.data }}
 */
export function useChannel<Data = unknown, Value = Message<Data> | undefined>(
  name: MaybeRefOrGetter<Bytes | null | undefined>,
  options: ChannelOptions<Data, Value> = {},
): Readonly<ShallowRef<ChannelState<Value>>> {
  const client = anyClient()
  const { kind = 'channel', codec, initial } = options
  const storeOf = (of: Bytes | null | undefined): ChannelStore<Data, Value> => {
    const store = new ChannelStore<Data, Value>(client, { kind, name: of, codec }, initial as Value)
    store.reaction = options
    return store
  }
  const state = shallowRef(storeOf(undefined).snapshot())
  watch(
    () => toValue(name),
    (of, _before, onCleanup) => {
      const store = storeOf(of)
      const end = store.subscribe(() => {
        state.value = store.snapshot()
      })
      state.value = store.snapshot()
      onCleanup(end)
    },
    { immediate: true },
  )
  return state
}

/** The state of the connection, with its reason. */
export function useConnection(): Readonly<ShallowRef<ConnectionState>> {
  const client = anyClient()
  const state = shallowRef(client.state)
  onScopeDispose(
    client.on('state', (next) => {
      state.value = next
    }),
  )
  return state
}

export type { AnyClient, ChannelReaction, ChannelState } from '../store/channel-store.ts'
