/// <reference lib="esnext.disposable" preserve="true" />

/** What a subscription is made of: a channel, a glob pattern of channels, or a shard channel. */
export type SubscriptionKind = 'channel' | 'pattern' | 'shard'

/** A name or payload: a string, which is sent as UTF-8, or bytes, which are sent as they are. */
export type Bytes = string | Uint8Array

/** A message as it is delivered. */
export interface Message<Data = Uint8Array> {
  /** The kind of the subscription that it came through. */
  readonly kind: SubscriptionKind
  /** The channel it was published to, read as UTF-8: for people. */
  readonly channel: string
  /** The channel's exact bytes. */
  readonly channelBytes: Uint8Array
  /** The pattern it came through; undefined but for patterns. */
  readonly pattern: string | undefined
  readonly payload: Uint8Array
  /** The payload as the subscription's codec reads it. */
  readonly data: Data
  /** The payload read as UTF-8; bytes that are not UTF-8 become U+FFFD. */
  text(): string
}

/** Called for each message. What it throws becomes an `error` event and disturbs nothing else. */
export type MessageHandler<Data = Uint8Array> = (message: Message<Data>) => void

/**
 * - `pending`: asked for; there is no connection, or the connection of now has not confirmed it.
 * - `live`: the connection of now has confirmed it: messages arrive.
 * - `denied`: refused or taken away; tried again with the next connection or token.
 * - `ended`: over for good.
 */
export type SubscriptionStatus = 'pending' | 'live' | 'denied' | 'ended'

/** What a subscription tells: event name → `detail` of the event. */
export interface SubscriptionEvents<Data = Uint8Array> {
  readonly message: Message<Data>
  /** The status changed. */
  readonly status: SubscriptionStatus
  /** It is live again, and messages of the last so many milliseconds may have been missed. */
  readonly gap: Gap
  readonly denied: Denial
  /** The buffer was full; so many messages have been dropped since the subscription began. */
  readonly drop: number
}

/**
 * One listener on one name: by a handler, by events, or by `for await`.
 *
 * Without a handler messages wait in a bounded buffer until they are iterated over. All iterators of one subscription share
 * that buffer. Leaving the loop ends the subscription.
 */
export interface Subscription<Data = Uint8Array> extends AsyncIterable<Message<Data>> {
  readonly kind: SubscriptionKind
  /** Channel or pattern, read as UTF-8: for people. */
  readonly name: string
  readonly status: SubscriptionStatus
  /**
   * Settles with the server's first answer: resolves once messages arrive, rejects with a `DeniedError` or `ClosedError` when
   * the name was refused, and the subscription is over. Need not be awaited.
   */
  readonly ready: Promise<void>
  /** Messages that did not fit into the buffer. */
  readonly dropped: number
  /**
   * Ends the subscription; nothing is delivered any more. The server is told when the last subscription of a name goes.
   *
   * @returns Resolves once the server confirmed, or at once where nothing has to be confirmed. Never rejects.
   */
  unsubscribe(): Promise<void>
  /** As an `EventTarget` does; a `message` listener takes the place of the buffer. */
  addEventListener<Name extends keyof SubscriptionEvents>(
    name: Name,
    listener: (event: CustomEvent<SubscriptionEvents<Data>[Name]>) => void,
    options?: boolean | { once?: boolean; signal?: AbortSignal },
  ): void
  removeEventListener<Name extends keyof SubscriptionEvents>(
    name: Name,
    listener: (event: CustomEvent<SubscriptionEvents<Data>[Name]>) => void,
  ): void
  /** The same as `unsubscribe()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Why a connection ended, or could not be made. */
export interface Cause {
  /** The WebSocket close code, where there was a close. */
  readonly code: number | undefined
  /**
   * A name of shared/close-codes.ts (`permissions-changed`, `draining`, ...), or one of the client's own: `lost`, `timeout`,
   * `protocol-error`, `bad-address`, `token-failed`, `signed-out`, `wrong-password`, `login-refused`, `closed`.
   */
  readonly name: string
  /** The code of the error reply that refused a login by password (`WRONGPASS`). */
  readonly prefix?: string | undefined
  /** For people; may be empty. */
  readonly text: string
}

/**
 * The state of a connection.
 *
 * `connecting` → `authenticating` → `online`; from each of them to `waiting` or `offline` and back to `connecting`. `denied` is
 * left by `retry()` and `authenticate()` only, `closed` never.
 */
export type ConnectionState =
  | { readonly status: 'connecting' }
  | { readonly status: 'authenticating' }
  | { readonly status: 'online' }
  /** The next attempt comes in so many milliseconds, counted from the change to this state. */
  | { readonly status: 'waiting'; readonly retryInMs: number; readonly cause: Cause }
  /** The device says that it has no network: the next attempt comes when it has, or, since it may be wrong, after the time. */
  | { readonly status: 'offline'; readonly retryInMs: number; readonly cause: Cause }
  /** Another attempt would be refused as well. */
  | { readonly status: 'denied'; readonly cause: Cause }
  /** `close()` was called. */
  | { readonly status: 'closed'; readonly cause: Cause }

/** Who the server says this connection is. */
export interface Identity {
  /** The ACL user: `jwt:42`. */
  readonly user: string
  /** When the token ends, in milliseconds since 1970 of the local clock; `Infinity` for a login by password. */
  readonly expiresAtMs: number
}

/** A subscription that was refused, or that was lost. It is tried again with the next connection or token. */
export interface Denial {
  readonly kind: SubscriptionKind
  readonly name: string
  readonly nameBytes: Uint8Array
  /** The code of the error reply (`NOPERM`); `LOST` where the server took a subscription away. */
  readonly code: string
  readonly message: string
}

/** A time within which messages may have been missed. It ends when it is told. */
export interface Gap {
  readonly spanMs: number
}

/**
 * What `TOKEN WHY` says: allowed; or what stands in the way: the command or the channel is not granted, a ceiling bounds the
 * user, or the channel is denied.
 */
export type Verdict = 'ok' | 'command' | 'channel' | 'ceiling' | 'deny'

/** What a client tells: event name → argument of the listener. */
export interface ClientEvents {
  readonly state: ConnectionState
  readonly accepted: Identity
  /** The token ends soon; where there is a provider, the client is already asking it. */
  readonly expiring: { readonly leftMs: number }
  /** The token has ended; the connection follows after the grace. */
  readonly expired: { readonly graceMs: number }
  /** Permission was taken away: for one channel or pattern; undefined where it is more than one, or the whole token. */
  readonly revoked: { readonly channel: string | undefined; readonly message: string }
  readonly denied: Denial
  /** The connection was replaced, and everything that may be is subscribed again. */
  readonly gap: Gap
  /** A handler, a listener, a codec or the token provider failed. */
  readonly error: unknown
}
