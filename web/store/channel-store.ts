import type { RespcastClient } from '../client/client.ts'
import { codecOf } from '../client/codec.ts'
import type { AnyCodec, CodecName } from '../client/codec.ts'
import type { SubscribeOptions } from '../client/subscriber.ts'
import type {
  Bytes,
  Denial,
  Gap,
  Message,
  MessageHandler,
  Subscription,
  SubscriptionKind,
  SubscriptionStatus,
} from '../client/types.ts'

/**
 * Time that a channel stays subscribed after the last component stopped showing it. Milliseconds.
 *
 * A component that is replaced by another one of the same channel, or that StrictMode mounts twice, causes no traffic.
 */
export const LINGER_MS = 1000

/** A client, whatever its channels bring. */
export type AnyClient = Pick<RespcastClient, 'state' | 'on'>

/** The channel of a {@link ChannelStore}. */
export interface ChannelSource {
  readonly kind: SubscriptionKind
  /** Undefined or null: not known yet. */
  readonly name: Bytes | null | undefined
  /** Undefined: the client's. */
  readonly codec: CodecName | AnyCodec | undefined
}

/** State of a channel, as components see it. Each change makes a new object. */
export interface ChannelState<Value> {
  /** `denied` also where the server refused the channel from the start; it is tried again when a token is accepted. */
  readonly status: SubscriptionStatus
  /** The value reduced from the messages so far. */
  readonly value: Value
  /** The last refusal, until the channel is live again. */
  readonly denial: Denial | undefined
  /** The last gap; a new one is a new object. */
  readonly gap: Gap | undefined
}

/** Reaction to messages and gaps. */
export interface ChannelReaction<Data, Value> {
  /** Makes the next value of the last one and a message. Without it the value is the last message. */
  reduce?(value: Value, message: Message<Data>): Value
  /** Messages may have been missed: reload their subject here. */
  onGap?(gap: Gap): void
}

/** Options of a channel, as the bindings take them. */
export interface ChannelOptions<Data, Value> extends ChannelReaction<Data, Value> {
  /** Default `channel`. */
  readonly kind?: SubscriptionKind
  /** Instead of the client's. */
  readonly codec?: CodecName | AnyCodec
  /** The value before the first message. Taken when the channel begins. */
  readonly initial?: Value
}

/** Makes the store of a channel. @param name Undefined or null: not known yet. */
export function channelStore<Data, Value>(
  client: AnyClient,
  name: Bytes | null | undefined,
  options: ChannelOptions<Data, Value>,
): ChannelStore<Data, Value> {
  const { kind = 'channel', codec, initial } = options
  // Without an initial value the type of the value has undefined.
  const store = new ChannelStore<Data, Value>(client, { kind, name, codec }, initial as Value)
  store.reaction = options
  return store
}

/** The subscribing methods of a client, without the types of its channels. */
type Hearing = Record<
  'subscribe' | 'psubscribe' | 'ssubscribe',
  (name: Bytes, handler: MessageHandler<never>, options: SubscribeOptions) => Subscription<unknown>
>

const METHODS = { channel: 'subscribe', pattern: 'psubscribe', shard: 'ssubscribe' } as const

/**
 * One channel as a store: subscribed while somebody looks, and a little longer.
 *
 * Listeners are told once for all messages that came in one turn of the event loop.
 *
 * The bindings of React, Vue and Svelte are made of it.
 */
export class ChannelStore<Data, Value> {
  reaction: ChannelReaction<Data, Value> = {}
  /** Codec of the messages to come; undefined: the client's. */
  codec: CodecName | AnyCodec | undefined
  readonly #client: AnyClient
  readonly #source: ChannelSource
  readonly #listeners = new Set<() => void>()
  #state: ChannelState<Value>
  #subscription: Subscription<unknown> | undefined
  #endRetries: () => void = () => undefined
  #linger: ReturnType<typeof setTimeout> | undefined
  /** When nobody had looked for a while, by `performance.now()`. */
  #stoppedMs: number | undefined
  #isScheduled = false

  constructor(client: AnyClient, source: ChannelSource, initial: Value) {
    this.#client = client
    this.#source = source
    this.codec = source.codec
    this.#state = { status: 'pending', value: initial, denial: undefined, gap: undefined }
  }

  /** Begins to look. @returns Ends that. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    clearTimeout(this.#linger)
    if (!this.#subscription) this.#start()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#linger = setTimeout(() => this.#stop(), LINGER_MS)
    }
  }

  readonly snapshot = (): ChannelState<Value> => this.#state

  #start(): void {
    // A refusal from the start ends a subscription; another token, or wider permissions, may bring it back.
    const retry = (): void => {
      if (this.#subscription?.status === 'ended' && this.#state.status === 'denied') this.#listen()
    }
    const ends = [this.#client.on('accepted', retry), this.#client.on('granted', retry)]
    this.#endRetries = () => {
      for (const end of ends) end()
    }
    this.#listen()
  }

  #listen(): void {
    const { kind, name } = this.#source
    if (name === null || name === undefined) return
    const client = this.#client as unknown as Hearing
    const subscription = client[METHODS[kind]](
      name,
      (message: Message<Data>) => this.#take(message),
      this.#options,
    )
    this.#subscription = subscription
    this.#status(subscription.status)
    subscription.addEventListener('status', ({ detail }) => this.#status(detail))
    subscription.addEventListener('denied', ({ detail }) => this.#change({ denial: detail }))
    subscription.addEventListener('gap', ({ detail }) => this.#gap(detail))
  }

  /** A codec of one's own is looked up at each message: it may be another object at each rendering. */
  get #options(): SubscribeOptions {
    const { codec } = this
    if (codec === undefined) return {}
    if (typeof codec === 'string') return { codec }
    return {
      codec: {
        decode: (payload) => codecOf(this.codec ?? codec).decode(payload),
        encode: (data: never) => codec.encode(data),
      },
    }
  }

  #gap(gap: Gap): void {
    this.#change({ gap })
    this.reaction.onGap?.(gap)
  }

  #stop(): void {
    const subscription = this.#subscription
    this.#subscription = undefined
    this.#endRetries()
    this.#stoppedMs = performance.now()
    void subscription?.unsubscribe()
  }

  #take(message: Message<Data>): void {
    const { reaction } = this
    // Without `reduce` the type of the value is that of a message.
    const value = reaction.reduce
      ? reaction.reduce(this.#state.value, message)
      : (message as unknown as Value)
    this.#change({ value })
  }

  #status(status: SubscriptionStatus): void {
    if (status === 'live') {
      this.#change({ status, denial: undefined })
      // A component that is shown again still has its old value, followed by a gap.
      if (this.#stoppedMs !== undefined)
        this.#gap({ spanMs: Math.round(performance.now() - this.#stoppedMs) })
      this.#stoppedMs = undefined
    } else if (status !== 'ended' || this.#state.status !== 'denied') this.#change({ status })
  }

  #change(change: Partial<ChannelState<Value>>): void {
    this.#state = { ...this.#state, ...change }
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      for (const listener of this.#listeners) listener()
    })
  }
}
