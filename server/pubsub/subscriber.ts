import type { Glob } from '../../shared/glob.ts'
import type { Protocol } from '../resp/reply-writer.ts'
import type { Output } from '../delivery/output.ts'
import type { Subscriptions } from './subscriptions.ts'

/** Channels that are taken away from a subscriber, whatever else allows them. Names are byte strings. */
export interface Overlay {
  /** Whether it may subscribe to a channel and be given its messages. */
  mayReceive(channel: string): boolean
  /** Whether it may publish to a channel. */
  mayPublish(channel: string): boolean
  /** Reports whether a channel that `pattern` matches may be taken away, so that each of its messages has to be asked for. */
  mayDeny(pattern: Glob): boolean
}

/** What a subscriber offers to the core. The core neither knows nor asks what is behind it. */
export interface Subscriber {
  /** The protocol in which its messages are encoded; to change it, see `Registry.regroup`. */
  readonly protocol: Protocol
  /** Its own view of what it is subscribed to: the core's reverse index. */
  readonly subscriptions: Subscriptions
  /** Largest payload it takes, in bytes; a larger message is not delivered to it. */
  readonly maxMessageBytes: number
  /**
   * Read when it subscribes; where that changes under its subscriptions, see `Registry.regroup`. Nothing is asked per
   * message of those whose overlay cannot reach the name.
   */
  readonly overlay: Overlay | undefined
  /** Where its messages go. */
  readonly output: Output
}
