/** Where a message is published: `PUBLISH` or `SPUBLISH`. */
export type MessageSpace = 'channel' | 'shard'

/** How a message is subscribed to. */
export type SubscriptionKind = 'channel' | 'pattern' | 'shard'

/** The place of clients that are connected to the upstream itself; every other place is the name of a gateway. */
export const NATIVE = 'upstream'

/** The beginning of channels that belong to gateways. */
export const CONTROL_PREFIX = '{respcast:'

/** A moment, as one process that records everything saw it. */
export interface Moment {
  /** Position among all that was recorded: unique, and increasing. */
  readonly tick: number
  /** Unix milliseconds. */
  readonly ms: number
}

/**
 * Outcome of a publish.
 *
 * - `open`: not answered until the end of the history
 * - `published`: it was answered with a number
 * - `not-published`: the error said so
 * - `unknown`: the error said so, or the connection ended
 */
export type Outcome = 'open' | 'published' | 'not-published' | 'unknown'

/** A message, as its publisher knows it. */
export interface Message {
  /** A connection, which sends its messages one after another. */
  readonly publisher: string
  /** Increases with each message of the publisher. */
  readonly number: number
  readonly place: string
  readonly space: MessageSpace
  /** Byte string. */
  readonly channel: string
  readonly sent: Moment
  outcome: Outcome
  answered: Moment | undefined
  /** The number that was answered. */
  receivers: number | undefined
}

/** Something that a client did or saw. Names are byte strings. */
export type SessionEvent = Moment &
  (
    | {
        /** A command for a name was sent; the upstream or gateway confirmed it; it refused to subscribe. */
        readonly type: 'joining' | 'joined' | 'refused' | 'leaving' | 'left'
        readonly kind: SubscriptionKind
        readonly name: string
      }
    | {
        readonly type: 'message'
        readonly kind: SubscriptionKind
        /** The subscription. */
        readonly name: string
        readonly channel: string
        /** Undefined: these bytes were sent by nobody. */
        readonly message: Message | undefined
      }
    /** The reply to a publish of this client. */
    | { readonly type: 'answered'; readonly message: Message }
    /** Messages may be missing; the name undefined: of all subscriptions. */
    | {
        readonly type: 'gap'
        readonly name: string | undefined
        readonly fromMs: number
        readonly toMs: number
      }
    | {
        readonly type: 'closed'
        readonly by: 'server' | 'client'
        /** Close code and reason of a WebSocket. */
        readonly reason?: string
      }
    /** What gateways have agreed on, among the messages: a byte string. */
    | { readonly type: 'control'; readonly payload: string }
    /** A reply that cannot be the answer to what was asked, or bytes that are no RESP. */
    | { readonly type: 'nonsense'; readonly text: string }
  )

/** A connection from beginning to end, with what it saw in the order of its bytes. */
export interface Session {
  readonly name: string
  readonly place: string
  readonly transport: 'tcp' | 'websocket'
  readonly events: readonly SessionEvent[]
}

/** A span of time, in Unix milliseconds. */
export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** A time in which slots of a cluster went to another owner, from the fault until everything was well again. */
export interface Replacement extends Span {
  readonly slots: ReadonlySet<number>
}

/** All that clients of an upstream and of its gateways did and saw. */
export interface History {
  readonly topology: 'standalone' | 'sentinel' | 'cluster'
  readonly messages: readonly Message[]
  readonly sessions: readonly Session[]
  /** When faults were at work, until everything was well again. */
  readonly disturbed: readonly Span[]
  readonly replaced: readonly Replacement[]
}
