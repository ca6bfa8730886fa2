/** What a subscription is made of: a channel, a glob pattern of channels, or a shard channel. */
export type SubscriptionKind = 'channel' | 'pattern' | 'shard'

/** A name or payload: a string, which is sent as UTF-8, or bytes, which are sent as they are. */
export type Bytes = string | Uint8Array

/** A message as a handler receives it. */
export interface Message {
  /** The kind of the subscription that it came through. */
  readonly kind: SubscriptionKind
  /** The channel it was published to, read as UTF-8: for people. */
  readonly channel: string
  /** The channel's exact bytes. */
  readonly channelBytes: Uint8Array
  /** The pattern it came through; undefined but for patterns. */
  readonly pattern: string | undefined
  readonly payload: Uint8Array
  /** The payload read as UTF-8; bytes that are not UTF-8 become U+FFFD. */
  text(): string
}

/** Called for each message. What it throws becomes an `error` event and disturbs nothing else. */
export type MessageHandler = (message: Message) => void

/** One handler on one name. */
export interface Subscription {
  readonly kind: SubscriptionKind
  /** Channel or pattern, read as UTF-8: for people. */
  readonly name: string
  /**
   * Settles with the server's first answer: resolves once messages arrive, rejects with a {@link RespcastError}
   * (`ERR_DENIED`, `ERR_CLOSED`) when the name was refused, and the subscription is over. Need not be awaited.
   */
  readonly ready: Promise<void>
  /**
   * Ends the subscription; the handler is not called again. The server is told when the last handler of a name goes.
   *
   * @returns Resolves once the server confirmed, or at once where nothing has to be confirmed. Never rejects.
   */
  unsubscribe(): Promise<void>
}

/** Why a connection ended, or could not be made. */
export interface Cause {
  /** The WebSocket close code, where there was a close. */
  readonly code: number | undefined
  /**
   * A name of shared/close-codes.ts (`permissions-changed`, `draining`, ...), or one of the client's own: `lost`, `timeout`,
   * `protocol-error`, `bad-address`, `token-failed`, `signed-out`, `closed`.
   */
  readonly name: string
  /** For people; may be empty. */
  readonly text: string
}

/**
 * The state of a connection.
 *
 * `connecting` → `authenticating` → `online`; from each of them to `waiting` and back to `connecting`. `denied` is left by
 * `retry()` only, `closed` never.
 */
export type ConnectionState =
  | { readonly status: 'connecting' }
  | { readonly status: 'authenticating' }
  | { readonly status: 'online' }
  /** The next attempt comes in so many milliseconds, counted from the change to this state. */
  | { readonly status: 'waiting'; readonly retryInMs: number; readonly cause: Cause }
  /** Another attempt would be refused as well. */
  | { readonly status: 'denied'; readonly cause: Cause }
  /** `close()` was called. */
  | { readonly status: 'closed'; readonly cause: Cause }

/** Who the server says this connection is. */
export interface Identity {
  /** The ACL user: `jwt:42`. */
  readonly user: string
  /** When the token ends, in milliseconds since 1970 of the local clock. */
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
  /** Messages may have been missed during the last so many milliseconds, on every subscription. */
  readonly gap: { readonly spanMs: number }
  /** A handler, a listener or the token provider failed. */
  readonly error: unknown
}
