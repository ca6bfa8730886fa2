import { messageEvent } from '../delivery/event.ts'
import { type Payload, Segment } from '../delivery/segment.ts'
import { messagePrefix, type MessageKind } from '../resp/push.ts'
import type { Protocol } from '../resp/reply-writer.ts'
import type { Encoding, Overlay, PatternBudget, Subscriber } from './subscriber.ts'
import type { Sharing, Turn } from '../delivery/turn.ts'

/** Options of delivery; shared by the whole registry and changed at run time. */
export interface DeliveryOptions extends PatternBudget {
  /** Payloads of at least so many bytes are referenced, not copied: `min-string-size-avoid-copy-reply`. */
  readonly shareBytes: number
  /** Payloads up to this size are taken by every subscriber: none has a smaller {@link Subscriber.maxMessageBytes}. */
  readonly maxMessageBytes: number
  /** Called with the number of subscribers that were not given a message for its size: see {@link Subscriber.maxMessageBytes}. */
  readonly onTooLarge?: (payloadBytes: number, subscribers: number) => void
}

/** Size in bytes at which a segment is left for a new one: under steady load none would ever be released. */
const FULL_SEGMENT_BYTES = 524_288

/**
 * Subscribers of one name. Most names have one, and a set for one costs as much as the rest of its subscription, so a
 * single subscriber is kept without a set.
 */
type Members = Subscriber | Set<Subscriber> | undefined

/** The subscribers of one name in one encoding, and the segment that they share now. */
class Group implements Sharing {
  plain: Members
  /** Those under a deny overlay, asked at each message. */
  filtered: Members
  open: Segment | undefined
  #prefix: Buffer | undefined

  /** Ends the segment: the next message begins another. */
  seal(): Segment | undefined {
    const { open } = this
    if (open) open.sealed = true
    this.open = undefined
    return open
  }

  prefix(protocol: Protocol, kind: MessageKind, name: string): Buffer {
    this.#prefix ??= messagePrefix(protocol, kind, name)
    return this.#prefix
  }
}

/**
 * One channel, shard channel or pattern and its subscribers.
 *
 * A message is encoded once for each encoding that is needed, and appended to the segment that the group's subscribers
 * share; only those are visited whose output does not already end in it.
 */
export abstract class Entry {
  readonly name: string
  #resp2: Group | undefined
  #resp3: Group | undefined
  #events: Group | undefined

  /** @param name Channel or pattern as a byte string. */
  constructor(name: string) {
    this.name = name
  }

  /** Kind of its messages. No field, since there may be a million entries. */
  protected abstract get kind(): MessageKind

  /** Number of subscribers. */
  get size(): number {
    return groupSize(this.#resp2) + groupSize(this.#resp3) + groupSize(this.#events)
  }

  add(subscriber: Subscriber): void {
    const group = this.#group(subscriber.encoding)
    if (subscriber.overlay && this.mustAsk(subscriber.overlay)) {
      group.filtered = withMember(group.filtered, subscriber)
    } else {
      group.plain = withMember(group.plain, subscriber)
      group.open?.detach(subscriber.output)
    }
  }

  /** Reports whether an overlay may take messages of this entry away, so that it is asked for each of them. */
  protected mustAsk(overlay: Overlay): boolean {
    return !overlay.mayReceive(this.name)
  }

  /** All subscribers. */
  *subscribers(): IterableIterator<Subscriber> {
    for (const group of [this.#resp3, this.#resp2, this.#events]) {
      if (!group) continue
      yield* eachMember(group.plain)
      yield* eachMember(group.filtered)
    }
  }

  delete(subscriber: Subscriber): void {
    for (const group of [this.#resp2, this.#resp3, this.#events]) {
      if (!group) continue
      group.plain = withoutMember(group.plain, subscriber)
      group.filtered = withoutMember(group.filtered, subscriber)
    }
    if (this.#resp2 && groupSize(this.#resp2) === 0) this.#resp2 = undefined
    if (this.#resp3 && groupSize(this.#resp3) === 0) this.#resp3 = undefined
    if (this.#events && groupSize(this.#events) === 0) this.#events = undefined
  }

  /** Seals the shared segments: the next message starts another. */
  closeSegments(): void {
    this.#resp2?.seal()
    this.#resp3?.seal()
    this.#events?.seal()
  }

  /**
   * Gives one message to every subscriber.
   *
   * @param key The channel as a byte string.
   * @returns How many subscribers it was given to.
   */
  deliver(key: string, payload: Payload, options: DeliveryOptions, turn: Turn): number {
    let receivers = 0
    if (this.#resp3) receivers += this.#deliver(3, this.#resp3, key, payload, options, turn)
    if (this.#resp2) receivers += this.#deliver(2, this.#resp2, key, payload, options, turn)
    if (this.#events) {
      receivers += this.#deliver('events', this.#events, key, payload, options, turn)
    }
    return receivers
  }

  #deliver(
    encoding: Encoding,
    group: Group,
    key: string,
    payload: Payload,
    options: DeliveryOptions,
    turn: Turn,
  ): number {
    const channel = this.kind === 'pmessage' ? key : undefined
    if (payload.length > options.maxMessageBytes) {
      const apart = new Segment(this.kind, this.name)
      this.#append(apart, encoding, group, channel, payload, options)
      turn.bytes += apart.length
      return deliverLarge(group, key, payload.length, apart, options)
    }
    if (group.open && group.open.length >= FULL_SEGMENT_BYTES) {
      turn.filled(group.open)
      group.seal()
    }
    let segment = group.open
    let start = 0
    if (segment) {
      start = segment.length
      this.#append(segment, encoding, group, channel, payload, options)
      if (segment.detached !== undefined) attachAgain(group, segment, start)
    } else {
      segment = new Segment(this.kind, this.name, turn.arenas)
      this.#append(segment, encoding, group, channel, payload, options)
      group.open = segment
      turn.began(group)
      for (const subscriber of eachMember(group.plain)) subscriber.output.attach(segment, 0)
    }
    turn.bytes += segment.length - start
    const plain = memberCount(group.plain)
    if (group.filtered === undefined) return plain
    return plain + deliverFiltered(group, key, segment, start)
  }

  #append(
    segment: Segment,
    encoding: Encoding,
    group: Group,
    channel: string | undefined,
    payload: Payload,
    { shareBytes }: DeliveryOptions,
  ): void {
    if (encoding === 'events') {
      const event = messageEvent(this.kind, this.name, channel, payload)
      segment.appendWhole(event, channel, shareBytes)
    } else {
      const prefix = group.prefix(encoding, this.kind, this.name)
      segment.append(prefix, channel, payload, shareBytes)
    }
  }

  #group(encoding: Encoding): Group {
    if (encoding === 2) return (this.#resp2 ??= new Group())
    if (encoding === 3) return (this.#resp3 ??= new Group())
    return (this.#events ??= new Group())
  }
}

/** A channel. */
export class ChannelEntry extends Entry {
  protected get kind(): MessageKind {
    return 'message'
  }
}

/** A shard channel. */
export class ShardEntry extends Entry {
  protected get kind(): MessageKind {
    return 'smessage'
  }
}

function groupSize(group: Group | undefined): number {
  return group === undefined ? 0 : memberCount(group.plain) + memberCount(group.filtered)
}

function attachAgain(group: Group, segment: Segment, start: number): void {
  // Emptied first: attaching may close another share of this very segment.
  const { detached = [] } = segment
  segment.detached = undefined
  for (const output of detached) {
    if (isMember(group.plain, output.client)) output.attach(segment, start)
  }
}

function deliverFiltered(group: Group, key: string, segment: Segment, start: number): number {
  let receivers = 0
  for (const subscriber of eachMember(group.filtered)) {
    if (subscriber.overlay?.mayReceive(key) === false) continue
    subscriber.output.deliver(segment, start, segment.length)
    receivers++
  }
  return receivers
}

/** Delivers a message that some subscribers do not take: in a segment of its own, to one after the other. */
function deliverLarge(
  group: Group,
  key: string,
  payloadBytes: number,
  segment: Segment,
  { onTooLarge }: DeliveryOptions,
): number {
  let receivers = 0
  let tooLarge = 0
  for (const members of [group.plain, group.filtered]) {
    for (const subscriber of eachMember(members)) {
      if (members === group.filtered && subscriber.overlay?.mayReceive(key) === false) continue
      if (payloadBytes > subscriber.maxMessageBytes) {
        tooLarge++
        continue
      }
      subscriber.output.deliver(segment, 0, segment.length)
      receivers++
    }
  }
  if (tooLarge > 0) onTooLarge?.(payloadBytes, tooLarge)
  return receivers
}

/** `members` and one more. */
function withMember(members: Members, subscriber: Subscriber): Members {
  if (members === undefined || members === subscriber) return subscriber
  if (members instanceof Set) return members.add(subscriber)
  return new Set([members, subscriber])
}

/** `members` without one that may be among them. */
function withoutMember(members: Members, subscriber: Subscriber): Members {
  if (members === subscriber) return undefined
  if (!(members instanceof Set)) return members
  members.delete(subscriber)
  return members.size === 0 ? undefined : members
}

/** Reports whether a subscriber is among `members`. */
function isMember(members: Members, subscriber: Subscriber): boolean {
  return members === subscriber || (members instanceof Set && members.has(subscriber))
}

/** Number of members. */
function memberCount(members: Members): number {
  if (members === undefined) return 0
  return members instanceof Set ? members.size : 1
}

/** All members. */
function eachMember(members: Members): Iterable<Subscriber> {
  if (members === undefined) return []
  return members instanceof Set ? members : [members]
}
