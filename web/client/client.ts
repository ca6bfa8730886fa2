import { isTagged } from '../../shared/resp/types.ts'
import type { RespValue } from '../../shared/resp/types.ts'
import { argumentOf, payloadOf } from './arguments.ts'
import type { DataIn, NameIn, PatternDataIn, Publishable } from './channels.ts'
import { codecOf } from './codec.ts'
import type { AnyCodec, CodecName, DataOf } from './codec.ts'
import { inTime, isCallOptions } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import { Connection } from './connection.ts'
import { Emitter } from './emitter.ts'
import type { Environment } from './environment.ts'
import {
  ClosedError,
  ConnectionError,
  DeniedError,
  ReplyError,
  RespcastError,
  SetupError,
} from './errors.ts'
import type { Link } from './link.ts'
import type { Settings } from './options.ts'
import { Pulse } from './pulse.ts'
import { routePush, textOf } from './pushes.ts'
import { Refresh } from './refresh.ts'
import type { SubscribeOptions } from './subscriber.ts'
import { Subscriptions } from './subscriptions.ts'
import type {
  Bytes,
  Cause,
  ClientEvents,
  ConnectionState,
  Identity,
  MessageHandler,
  Subscription,
  SubscriptionKind,
  Verdict,
} from './types.ts'

/** Commands that would change the state of the connection. */
const RESERVED = /^(AUTH|HELLO|RESET|QUIT|MULTI|EXEC|DISCARD|MONITOR|[PS]?(UN)?SUBSCRIBE)$/i

/** Arguments of `subscribe` after the name: a handler, or options, or both. */
type Arguments<Data> =
  | readonly [options?: SubscribeOptions]
  | readonly [handler: MessageHandler<Data>, options?: SubscribeOptions]

/** Options that name a codec. */
type WithCodec<Choice> = SubscribeOptions & { readonly codec: Choice }

/** Data made by the codec of one subscription instead of the client's. */
type CodedArguments<Choice extends CodecName | AnyCodec> =
  | readonly [options: WithCodec<Choice>]
  | readonly [handler: MessageHandler<DataOf<Choice>>, options: WithCodec<Choice>]

/**
 * A client of a Respcast server: one WebSocket, kept alive, and the subscriptions on it.
 *
 * Delivery is at most once. After a loss of connection everything is subscribed again, and a `gap` event says how long
 * messages may have been missed.
 *
 * @typeParam Channels Data types of the channels (channels.ts). By default every channel has the type of the codec.
 */
export class RespcastClient<Channels extends object = Record<string, Uint8Array>> {
  readonly #environment: Environment
  readonly #settings: Settings
  readonly #events = new Emitter<ClientEvents>()
  readonly #connection: Connection
  readonly #refresh: Refresh
  readonly #pulse: Pulse
  readonly #subscriptions: Subscriptions
  readonly #abort = (): void => this.close()
  #identity: Identity | undefined

  /** Use `connect`. */
  constructor(url: string, settings: Settings, environment: Environment) {
    const failed = (error: unknown): void => this.#fail(error)
    this.#environment = environment
    this.#settings = settings
    this.#subscriptions = new Subscriptions(settings.codec, () => this.#nowMs(), {
      gap: (gap) => this.#emit('gap', gap),
      denied: (denial) => this.#emit('denied', denial),
      failed,
    })
    this.#connection = new Connection(url, settings, environment, {
      state: (state) => this.#enter(state),
      online: () => this.#online(),
      offline: (link, complete) => this.#offline(link, complete),
      pushed: (kind, items) =>
        routePush(kind, items, this.#subscriptions, (...notice) => this.#noticed(...notice)),
      failed,
    })
    this.#refresh = new Refresh(this.#connection, environment, {
      // The new token may allow what the old one did not.
      refreshed: () => void this.#resubscribe(),
      failed,
    })
    this.#pulse = new Pulse(this.#connection, environment, settings)
    settings.signal?.addEventListener('abort', this.#abort)
    if (settings.signal?.aborted) this.close()
    else this.#connection.start()
  }

  get state(): ConnectionState {
    return this.#connection.state
  }

  /** The identity that the server last accepted. */
  get identity(): Identity | undefined {
    return this.#identity
  }

  /**
   * Listens to an event.
   *
   * @returns A function that removes the listener.
   */
  on<Name extends keyof ClientEvents>(
    name: Name,
    listener: (argument: ClientEvents[Name]) => void,
  ): () => void {
    return this.#events.on(name, listener)
  }

  /** Subscribes to a channel. May be called at any time; the subscription survives reconnects. Redis `SUBSCRIBE`. */
  subscribe<Choice extends CodecName | AnyCodec>(
    channel: Bytes,
    ...args: CodedArguments<Choice>
  ): Subscription<DataOf<Choice>>
  subscribe<Name extends NameIn<Channels>>(
    channel: Name | Uint8Array,
    ...args: Arguments<DataIn<Channels, Name>>
  ): Subscription<DataIn<Channels, Name>>
  subscribe(channel: Bytes, ...args: Arguments<never>): unknown {
    return this.#add('channel', channel, args)
  }

  /** Subscribes to all channels that match a glob pattern. Redis `PSUBSCRIBE`. */
  psubscribe<Choice extends CodecName | AnyCodec>(
    pattern: Bytes,
    ...args: CodedArguments<Choice>
  ): Subscription<DataOf<Choice>>
  psubscribe<Pattern extends string>(
    pattern: Pattern | Uint8Array,
    ...args: Arguments<PatternDataIn<Channels, Pattern>>
  ): Subscription<PatternDataIn<Channels, Pattern>>
  psubscribe(pattern: Bytes, ...args: Arguments<never>): unknown {
    return this.#add('pattern', pattern, args)
  }

  /** Subscribes to a shard channel. Redis `SSUBSCRIBE`. */
  ssubscribe<Choice extends CodecName | AnyCodec>(
    channel: Bytes,
    ...args: CodedArguments<Choice>
  ): Subscription<DataOf<Choice>>
  ssubscribe<Name extends NameIn<Channels>>(
    channel: Name | Uint8Array,
    ...args: Arguments<DataIn<Channels, Name>>
  ): Subscription<DataIn<Channels, Name>>
  ssubscribe(channel: Bytes, ...args: Arguments<never>): unknown {
    return this.#add('shard', channel, args)
  }

  /**
   * Publishes to a channel with the codec of the client. Bytes are sent unchanged.
   *
   * @returns Number of receivers. Redis `PUBLISH`.
   * @throws {TypeError} For data that the codec cannot encode.
   * @throws {RespcastError} `ConnectionError`, `ReplyError` (`NOPERM`)
   */
  publish<Name extends NameIn<Channels>>(
    channel: Name | Uint8Array,
    data: Publishable<DataIn<Channels, Name>>,
    options?: CallOptions,
  ): Promise<number> {
    return this.#publish('PUBLISH', channel, data, options)
  }

  /** Publishes to a shard channel, otherwise as {@link RespcastClient.publish}. Redis `SPUBLISH`. */
  spublish<Name extends NameIn<Channels>>(
    channel: Name | Uint8Array,
    data: Publishable<DataIn<Channels, Name>>,
    options?: CallOptions,
  ): Promise<number> {
    return this.#publish('SPUBLISH', channel, data, options)
  }

  /**
   * Sends any other command. Options may follow its arguments.
   *
   * @returns The reply, as shared/resp/types.ts describes it.
   * @throws {TypeError} For arguments that are neither strings nor bytes.
   * @throws {RespcastError} As `publish`, and `ERR_COMMAND` for commands that would change the state of the connection.
   */
  async call(
    command: string,
    ...args: readonly Bytes[] | readonly [...Bytes[], CallOptions]
  ): Promise<RespValue> {
    const last = args.at(-1)
    const options = isCallOptions(last) ? last : undefined
    const values = options ? args.slice(0, -1) : args
    if (RESERVED.test(command))
      throw new RespcastError('ERR_COMMAND', `${command} cannot be sent by call()`)
    return this.#send([command, ...(values as readonly Bytes[])], options)
  }

  /**
   * Asks the server for the reason why a channel may or may not be used.
   *
   * @param command `subscribe`, `psubscribe`, `ssubscribe`, `publish`, `spublish`.
   * @throws {RespcastError} As `publish`.
   */
  async why(channel: Bytes, command = 'subscribe'): Promise<Verdict> {
    return verdictOf(await this.#send(['TOKEN', 'WHY', command, channel]))
  }

  /** Connects now if the client waits or was denied. */
  retry(): void {
    this.#connection.start()
  }

  /**
   * Replaces the token: logs in with it on the live connection, or connects if the client waits or was denied.
   *
   * @throws {RespcastError} `ReplyError` where the server refuses it; the token before stays in use. `ERR_COMMAND` for a client
   *   with a `login`.
   */
  async authenticate(token: string): Promise<void> {
    if (this.#settings.login)
      throw new RespcastError('ERR_COMMAND', 'A client with a login takes no token')
    const link = this.#connection.online
    try {
      await link?.call(['AUTH', 'jwt', token])
    } catch (error) {
      if (error instanceof ReplyError) throw error
    }
    this.#connection.tokens.use(token)
    if (link && link === this.#connection.online) {
      this.#connection.swapped(token)
      await this.#resubscribe()
    } else {
      this.retry()
    }
  }

  /** Closes the connection and ends all subscriptions. The client cannot be used again. */
  close(): void {
    this.#settings.signal?.removeEventListener('abort', this.#abort)
    this.#pulse.end()
    this.#connection.close()
    this.#rejectAll()
  }

  #add(kind: SubscriptionKind, name: Bytes, args: Arguments<never>): unknown {
    const [first, second] = args
    const [handler, options] = typeof first === 'function' ? [first, second] : [undefined, first]
    // The codec, or the channel map, determines the type of the handler.
    const call = handler as MessageHandler<unknown> | undefined
    const subscription = this.#subscriptions.add(kind, name, call, options ?? {})
    const { state } = this
    if (state.status === 'closed') this.#rejectAll()
    else if (state.status === 'denied') this.#subscriptions.reject('unready', denialOf(state.cause))
    return subscription
  }

  async #publish(
    command: string,
    channel: Bytes,
    data: unknown,
    options?: CallOptions,
  ): Promise<number> {
    const name = argumentOf(channel, 'A channel')
    const payload = payloadOf(data, codecOf(this.#settings.codec))
    return Number(await this.#send([command, name, payload], options))
  }

  async #send(
    args: readonly Bytes[],
    { signal, timeoutMs = this.#settings.replyTimeoutMs }: CallOptions = {},
  ): Promise<RespValue> {
    signal?.throwIfAborted()
    const link = this.#connection.online
    if (!link) throw new ConnectionError('ERR_NOT_ONLINE', `The client is ${this.state.status}`)
    const reply = link.call(args.map((arg) => argumentOf(arg, 'An argument of a command')))
    return signal === undefined && timeoutMs === Infinity
      ? reply
      : inTime(reply, this.#environment, signal, timeoutMs)
  }

  #enter(state: ConnectionState): void {
    const { login } = this.#settings
    if (login && state.status === 'online')
      this.#identity = { user: login.user, expiresAtMs: Infinity }
    if (state.status === 'denied' || state.status === 'closed') this.#pulse.stop()
    else this.#pulse.start()
    this.#emit('state', state)
    if (state.status === 'denied') this.#denied(state.cause)
  }

  /** The client has stopped: says why, to those who listen for errors or, if nobody listens, to the console. */
  #denied(cause: Cause): void {
    const error = denialOf(cause)
    this.#subscriptions.reject('unready', error)
    if (this.#events.has('error')) this.#emit('error', error)
    else if (!this.#events.has('state')) console.error(error)
  }

  #rejectAll(): void {
    this.#subscriptions.reject('all', new ClosedError('ERR_CLOSED', 'The client was closed'))
  }

  #online(): void {
    if (this.#settings.login && this.#identity) this.#emit('accepted', this.#identity)
    void this.#resubscribe()
  }

  async #resubscribe(): Promise<void> {
    const link = this.#connection.online
    if (link) await this.#subscriptions.online(link)
  }

  /** After an orderly close nothing was missed until now, after any other since the last byte. */
  #offline(link: Link, complete: boolean): void {
    const sinceMs = complete ? this.#nowMs() : link.lastReceivedMs
    this.#refresh.stop()
    this.#subscriptions.offline(sinceMs)
  }

  #noticed(name: string, first: RespValue, second: RespValue): void {
    if (name === 'accepted') {
      // Who logs in by password is accepted by the reply.
      if (this.#settings.login) return
      const expiresAtMs = this.#environment.clock.wallMs() + Number(second)
      this.#identity = { user: textOf(first), expiresAtMs }
      this.#connection.tokens.lasts(expiresAtMs)
      this.#connection.accepted()
      this.#emit(name, this.#identity)
    } else if (name === 'granted') {
      this.#emit(name, undefined)
      void this.#resubscribe()
    } else if (name === 'expiring') {
      this.#emit(name, { leftMs: Number(first) })
      this.#refresh.start(name)
    } else if (name === 'expired') {
      this.#emit(name, { graceMs: Number(first) })
      this.#refresh.start(name)
    } else if (name === 'revoked') {
      this.#emit(name, { channel: textOf(first) || undefined, message: textOf(second) })
    }
  }

  #nowMs(): number {
    return this.#environment.clock.monotonicMs()
  }

  #emit<Name extends keyof ClientEvents>(name: Name, argument: ClientEvents[Name]): void {
    this.#events.emit(name, argument, (error) => this.#fail(error))
  }

  /** Without a listener for errors they become uncaught errors. */
  #fail(error: unknown): void {
    if (this.#events.has('error')) this.#events.emit('error', error, rethrow)
    else rethrow(error)
  }
}

/** Why the client has stopped. */
function denialOf({ name, text, prefix }: Cause): RespcastError {
  if (name === 'bad-address') return new SetupError('ERR_SETUP', text)
  const why =
    name === 'signed-out'
      ? `Nobody is signed in: ${text}`
      : `The server does not accept this client: ${text === '' ? name : `${name}: ${text}`}`
  return new DeniedError('ERR_DENIED', why, prefix)
}

function rethrow(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}

/**
 * Reads the reply of `TOKEN WHY`: a string, or a map whose first value is that string.
 *
 * @returns The obstacle, or `ok`. A newer server may have other words.
 */
function verdictOf(reply: RespValue): Verdict {
  const value = isTagged(reply) && reply.type === 'map' ? (reply.entries[0]?.[1] ?? '') : reply
  return (typeof value === 'string' ? value : textOf(value)) as Verdict
}
