import type { Protocol } from '../resp/reply-writer.ts'
import type { Segment } from '../resp/segment.ts'
import type { Subscriptions } from './subscriptions.ts'

/** What a subscriber offers to the core. The core neither knows nor asks what is behind it. */
export interface Subscriber {
  /** The protocol in which its messages are encoded; to change it, see `Registry.changeProtocol`. */
  readonly protocol: Protocol
  /** Its own view of what it is subscribed to: the core's reverse index. */
  readonly subscriptions: Subscriptions
  /** Largest payload it takes, in bytes; a larger message is not delivered to it. */
  readonly maxMessageBytes: number
  /**
   * For a subscriber under a deny overlay: whether it may be given a message of this channel. Undefined where there is none,
   * so that nothing is asked per message.
   */
  readonly accepts: ((channel: string) => boolean) | undefined
  /** Puts everything from `start` on, also what will still be appended, behind what it is to be sent. */
  attach(segment: SubscriberSegment, start: number): void
  /** Puts the whole frames `[start, end)` behind what it is to be sent. */
  deliver(segment: SubscriberSegment, start: number, end: number): void
}

/** A segment whose readers are subscribers. */
export type SubscriberSegment = Segment<Subscriber>
