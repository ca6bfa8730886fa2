import { inject, onScopeDispose, shallowRef, toValue, watch } from 'vue'
import type { InjectionKey, MaybeRefOrGetter, Plugin, ShallowRef } from 'vue'
import type { RespcastClient } from '../client/client.ts'
import type { Bytes, ConnectionState, Message } from '../client/types.ts'
import { channelStore } from '../store/channel-store.ts'
import type { AnyClient, ChannelOptions, ChannelState } from '../store/channel-store.ts'

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
  const state = shallowRef(channelStore(client, undefined, options).snapshot())
  watch(
    () => toValue(name),
    (of, _before, onCleanup) => {
      const store = channelStore(client, of, options)
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

export type {
  AnyClient,
  ChannelOptions,
  ChannelReaction,
  ChannelState,
} from '../store/channel-store.ts'
