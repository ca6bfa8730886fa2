/// <reference lib="esnext.disposable" preserve="true" />

/** Kind of a subscription: a channel, a glob pattern of channels, or a shard channel. */
export type SubscriptionKind = 'channel' | 'pattern' | 'shard'

/** Bytes in memory, which are sent as they are. */
export type Binary = ArrayBuffer | ArrayBufferView

/** A name or payload: a string, which is sent as UTF-8, or bytes. */
export type Bytes = string | Binary

/** A delivered message. */
export interface Message<Data = Uint8Array> {
  /** The kind of the subscription that delivered it. */
  readonly kind: SubscriptionKind
  /** The channel it was published to, read as UTF-8 for display. */
  readonly channel: string
  /** The channel's exact bytes. */
  readonly channelBytes: Uint8Array
  /** The matching pattern, for pattern subscriptions. */
  readonly pattern: string | undefined
  readonly payload: Uint8Array
  /** The payload as the subscription's codec reads it. */
  readonly data: Data
  /** The payload read as UTF-8; bytes that are not UTF-8 become U+FFFD. */
  text(): string
}

/** Called for each message. An error that it throws becomes an `error` event, and affects nothing else. */
export type MessageHandler<Data = Uint8Array> = (message: Message<Data>) => void

/**
 * - `pending`: there is no connection, or the current one has not confirmed it yet.
 * - `live`: the current connection has confirmed it: messages arrive.
 * - `denied`: refused or taken away; retried with the next connection or token.
 * - `ended`: finished.
 */
export type SubscriptionStatus = 'pending' | 'live' | 'denied' | 'ended'

/** Events of a subscription: name → `detail` of the event. */
export interface SubscriptionEvents<Data = Uint8Array> {
  readonly message: Message<Data>
  /** The status changed. */
  readonly status: SubscriptionStatus
  /** It is live again, or the server has its upstream again, and messages of the given time span may have been missed. */
  readonly gap: Gap
  readonly denied: Denial
  /** The buffer was full: total number of messages dropped by this subscription. */
  readonly drop: number
}

/**
 * A subscription to one name, read by a handler, by events, or by `for await`.
 *
 * Without a handler messages wait in a bounded buffer until they are iterated over. All iterators of one subscription share
 * that buffer. Leaving the loop ends the subscription.
 */
export interface Subscription<Data = Uint8Array> extends AsyncIterable<Message<Data>> {
  readonly kind: SubscriptionKind
  /** Channel or pattern, read as UTF-8 for display. */
  readonly name: string
  readonly status: SubscriptionStatus
  /**
   * Settles with the server's first answer: resolves once messages arrive, rejects with a `DeniedError` or `ClosedError` when
   * the name was refused, and the subscription is over. Need not be awaited.
   */
  readonly ready: Promise<void>
  /** Number of messages that did not fit into the buffer. */
  readonly dropped: number
  /**
   * Ends the subscription: nothing more is delivered. The last subscription to a name unsubscribes on the server.
   *
   * @returns Resolves once the server confirmed, or at once if nothing has to be confirmed. Never rejects.
   */
  unsubscribe(): Promise<void>
  /** As in `EventTarget`. A `message` listener replaces the buffer. */
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

/** Cause of the end of a connection, or of a failed attempt. */
export interface Cause {
  /** The WebSocket close code, if there was a close. */
  readonly code: number | undefined
  /**
   * A name of shared/close-codes.ts (`permissions-changed`, `draining`, ...), or one of the client's own: `lost`, `timeout`,
   * `protocol-error`, `bad-address`, `token-failed`, `signed-out`, `wrong-password`, `login-refused`, `closed`.
   */
  readonly name: string
  /** The code of the error reply that refused a login by password (`WRONGPASS`). */
  readonly prefix?: string | undefined
  /** Text for display; may be empty. */
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
  /** The next attempt starts `retryInMs` after the change to this state. */
  | { readonly status: 'waiting'; readonly retryInMs: number; readonly cause: Cause }
  /** The device reports no network. The next attempt starts when it has one, or, since the report may be wrong, after the time. */
  | { readonly status: 'offline'; readonly retryInMs: number; readonly cause: Cause }
  /** Another attempt would be refused as well. */
  | { readonly status: 'denied'; readonly cause: Cause }
  /** `close()` was called. */
  | { readonly status: 'closed'; readonly cause: Cause }

/** The identity of the connection, as the server reports it. */
export interface Identity {
  /** The ACL user: `jwt:42`. */
  readonly user: string
  /** When the token ends, in milliseconds since 1970 of the local clock; `Infinity` for a login by password. */
  readonly expiresAtMs: number
}

/** A subscription that was refused or lost. It is retried with the next connection or token. */
export interface Denial {
  readonly kind: SubscriptionKind
  readonly name: string
  readonly nameBytes: Uint8Array
  /** The code of the error reply (`NOPERM`); `LOST` where the server took a subscription away. */
  readonly code: string
  readonly message: string
}

/**
 * A time span in which messages may have been missed. It ends when it is reported, or, where it was the server that missed
 * them, just before.
 */
export interface Gap {
  readonly spanMs: number
}

/**
 * Answer of `TOKEN WHY`: allowed, or the obstacle: the command or the channel is not granted, a ceiling limits the user, or the
 * channel is denied.
 */
export type Verdict = 'ok' | 'command' | 'channel' | 'ceiling' | 'deny'

/** Events of a client: name → argument of the listener. */
export interface ClientEvents {
  readonly state: ConnectionState
  readonly accepted: Identity
  /** The token expires soon. A provider has already been asked for another one. */
  readonly expiring: { readonly leftMs: number }
  /** The token has expired; the connection closes after the grace period. */
  readonly expired: { readonly graceMs: number }
  /** The session may do more than before: what was denied is subscribed again. */
  readonly granted: undefined
  /** Permission was taken away. The channel is undefined for several channels, or the whole token. */
  readonly revoked: { readonly channel: string | undefined; readonly message: string }
  readonly denied: Denial
  /**
   * At least one subscription was told of a gap: the longest of these. Comes once for all that were asked for together, or that the
   * server tells of together.
   */
  readonly gap: Gap
  /** A handler, a listener, a codec or the token provider failed. */
  readonly error: unknown
}
