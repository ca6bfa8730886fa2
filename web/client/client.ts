import { byteString, utf8Text } from '../../shared/bytes.ts'
import type { CommandArgument } from '../../shared/resp/command.ts'
import type { RespValue } from '../../shared/resp/types.ts'
import { Connection } from './connection.ts'
import { Emitter } from './emitter.ts'
import type { Environment } from './environment.ts'
import { RespcastError } from './errors.ts'
import type { Link } from './link.ts'
import { messageOf } from './message.ts'
import type { Settings } from './options.ts'
import { Refresh } from './refresh.ts'
import { Subscriptions } from './subscriptions.ts'
import { COMMANDS } from './subscription-commands.ts'
import { readTokenPush } from './token-push.ts'
import type {
  Bytes,
  ClientEvents,
  ConnectionState,
  Identity,
  MessageHandler,
  Subscription,
  SubscriptionKind,
} from './types.ts'

const KINDS = ['channel', 'pattern', 'shard'] as const

/** Commands that would change what the connection is. */
const RESERVED = new Set(
  'AUTH HELLO RESET QUIT MULTI EXEC DISCARD MONITOR SUBSCRIBE UNSUBSCRIBE PSUBSCRIBE PUNSUBSCRIBE SSUBSCRIBE SUNSUBSCRIBE'.split(
    ' ',
  ),
)

/**
 * A client of a Respcast server: one WebSocket, kept alive, and the subscriptions on it.
 *
 * Delivery is at most once. After a loss of connection everything is subscribed again, and a `gap` event says how long
 * messages may have been missed.
 */
export class RespcastClient {
  readonly #environment: Environment
  readonly #settings: Settings
  readonly #events = new Emitter<ClientEvents>()
  readonly #connection: Connection
  readonly #refresh: Refresh
  readonly #subscriptions: Subscriptions
  readonly #endWake: () => void
  #identity: Identity | undefined
  /** Since when messages may have been missed, in milliseconds of the monotonic clock. */
  #gapSinceMs: number | undefined
  #probing = false

  /** Use `connect`. */
  constructor(url: string, settings: Settings, environment: Environment) {
    const failed = (error: unknown): void => this.#fail(error)
    this.#environment = environment
    this.#settings = settings
    this.#subscriptions = new Subscriptions({
      denied: (denial) => this.#emit('denied', denial),
      failed,
    })
    this.#connection = new Connection(url, settings, environment, {
      state: (state) => this.#enter(state),
      online: (link) => void this.#online(link),
      offline: (link, complete) => this.#offline(link, complete),
      pushed: (kind, items) => this.#pushed(kind, items),
      failed,
    })
    this.#refresh = new Refresh(this.#connection, environment, {
      // The new token may allow what the old one did not.
      refreshed: () => void this.#resubscribe(),
      failed,
    })
    this.#endWake = environment.onWake(() => void this.#wake())
    this.#connection.start()
  }

  get state(): ConnectionState {
    return this.#connection.state
  }

  /** Who the server said we are when it last accepted a token. */
  get identity(): Identity | undefined {
    return this.#identity
  }

  /**
   * Listens to an event.
   *
   * @returns Ends that.
   */
  on<Name extends keyof ClientEvents>(
    name: Name,
    listener: (argument: ClientEvents[Name]) => void,
  ): () => void {
    return this.#events.on(name, listener)
  }

  /** Hears a channel. May be called at any time; the subscription outlives connections. Redis `SUBSCRIBE`. */
  subscribe(channel: Bytes, handler: MessageHandler): Subscription {
    return this.#add('channel', channel, handler)
  }

  /** Hears all channels that match a glob pattern. Redis `PSUBSCRIBE`. */
  psubscribe(pattern: Bytes, handler: MessageHandler): Subscription {
    return this.#add('pattern', pattern, handler)
  }

  /** Hears a shard channel. Redis `SSUBSCRIBE`. */
  ssubscribe(channel: Bytes, handler: MessageHandler): Subscription {
    return this.#add('shard', channel, handler)
  }

  /**
   * Publishes to a channel.
   *
   * @returns How many subscribers it went to. Redis `PUBLISH`.
   * @throws {RespcastError} `ERR_NOT_ONLINE`, `ERR_LOST`, `ERR_REPLY` (`NOPERM`)
   */
  async publish(channel: Bytes, payload: Bytes): Promise<number> {
    return Number(await this.#send(['PUBLISH', channel, payload]))
  }

  /** Publishes to a shard channel, otherwise as {@link RespcastClient.publish}. Redis `SPUBLISH`. */
  async spublish(channel: Bytes, payload: Bytes): Promise<number> {
    return Number(await this.#send(['SPUBLISH', channel, payload]))
  }

  /**
   * Sends any other command.
   *
   * @returns The reply, as shared/resp/types.ts describes it.
   * @throws {RespcastError} As `publish`, and `ERR_COMMAND` for commands that would change what the connection is.
   */
  async call(command: string, ...args: readonly CommandArgument[]): Promise<RespValue> {
    if (RESERVED.has(command.toUpperCase())) {
      throw new RespcastError('ERR_COMMAND', `${command} cannot be sent by call()`)
    }
    return this.#send([command, ...args])
  }

  /** Connects at once where the client waits, and tries again where it was denied. */
  retry(): void {
    this.#connection.start()
  }

  /** Closes the connection and ends all subscriptions, for good. */
  close(): void {
    this.#endWake()
    this.#connection.close()
    this.#subscriptions.reject('all', new RespcastError('ERR_CLOSED', 'The client was closed'))
  }

  #add(kind: SubscriptionKind, name: Bytes, handler: MessageHandler): Subscription {
    const subscription = this.#subscriptions.add(kind, name, handler)
    const { status } = this.state
    if (status === 'closed') {
      this.#subscriptions.reject('all', new RespcastError('ERR_CLOSED', 'The client was closed'))
    } else if (status === 'denied') {
      this.#rejectUnready()
    }
    return subscription
  }

  async #send(args: readonly CommandArgument[]): Promise<RespValue> {
    const link = this.#connection.online
    if (!link) throw new RespcastError('ERR_NOT_ONLINE', `The client is ${this.state.status}`)
    return link.call(args)
  }

  #enter(state: ConnectionState): void {
    if (state.status === 'denied') this.#rejectUnready()
    this.#emit('state', state)
  }

  #rejectUnready(): void {
    const error = new RespcastError('ERR_DENIED', 'The server does not accept this client')
    this.#subscriptions.reject('unready', error)
  }

  async #online(link: Link): Promise<void> {
    await this.#resubscribe()
    if (this.#connection.online !== link || this.#gapSinceMs === undefined) return
    const spanMs = Math.round(this.#environment.clock.monotonicMs() - this.#gapSinceMs)
    this.#gapSinceMs = undefined
    if (this.#subscriptions.size > 0) this.#emit('gap', { spanMs })
  }

  async #resubscribe(): Promise<void> {
    const link = this.#connection.online
    if (link) await this.#subscriptions.online(link)
  }

  /** A connection that was closed in good order has missed nothing until now, another one since its last byte. */
  #offline(link: Link, complete: boolean): void {
    if (this.#subscriptions.anyLive) {
      this.#gapSinceMs ??= complete ? this.#environment.clock.monotonicMs() : link.lastReceivedMs
    }
    this.#refresh.stop()
    this.#subscriptions.offline()
  }

  #pushed(kind: string, items: readonly RespValue[]): void {
    const [, first] = items
    if (kind === 'token') {
      this.#tokenPushed(items)
      return
    }
    for (const subscriptionKind of KINDS) {
      const { message, unsubscribe } = COMMANDS[subscriptionKind]
      if (!(first instanceof Uint8Array)) return
      if (kind === message) {
        const read = messageOf(subscriptionKind, items)
        if (read) this.#subscriptions.dispatch(subscriptionKind, byteString(first), read)
      } else if (kind === unsubscribe.toLowerCase()) {
        this.#subscriptions.taken(subscriptionKind, byteString(first))
      }
    }
  }

  #tokenPushed(items: readonly RespValue[]): void {
    const push = readTokenPush(items)
    switch (push?.name) {
      case 'accepted':
        this.#identity = {
          user: utf8Text(push.user),
          expiresAtMs: this.#environment.clock.wallMs() + push.leftMs,
        }
        this.#connection.tokens.lasts(this.#identity.expiresAtMs)
        this.#connection.accepted()
        this.#emit('accepted', this.#identity)
        break
      case 'expiring':
        this.#emit('expiring', { leftMs: push.leftMs })
        this.#refresh.start('expiring')
        break
      case 'expired':
        this.#emit('expired', { graceMs: push.graceMs })
        this.#refresh.start('expired')
        break
      case 'revoked':
        this.#emit('revoked', {
          channel: push.channel.length > 0 ? utf8Text(push.channel) : undefined,
          message: utf8Text(push.message),
        })
        break
      case undefined:
        break
    }
  }

  /** The page may have slept: a wait is over, and a link may be dead without having said so. */
  async #wake(): Promise<void> {
    if (this.state.status === 'waiting') this.retry()
    const link = this.#connection.online
    if (!link || this.#probing) return
    this.#probing = true
    const deadline = this.#environment.clock.after(this.#settings.probeTimeoutMs, () => {
      if (this.#connection.online !== link) return
      this.#connection.abandon({ code: undefined, name: 'lost', text: 'no answer to a probe' })
    })
    // An error is an answer as well.
    await link.call(['PING']).catch(() => undefined)
    deadline.cancel()
    this.#probing = false
  }

  #emit<Name extends keyof ClientEvents>(name: Name, argument: ClientEvents[Name]): void {
    this.#events.emit(name, argument, (error) => this.#fail(error))
  }

  /** Errors of handlers that nobody listens for go where uncaught errors go. */
  #fail(error: unknown): void {
    if (this.#events.has('error')) this.#events.emit('error', error, rethrow)
    else rethrow(error)
  }
}

function rethrow(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
