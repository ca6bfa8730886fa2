import type { Payload } from '../delivery/segment.ts'
import { ChannelEntry, ShardEntry, type DeliveryOptions, type Entry } from './entry.ts'
import { PatternEntry, PatternIndex } from './pattern-index.ts'
import type { Space, Subscriber } from './subscriber.ts'
import type { Turn } from '../delivery/turn.ts'

/** The spaces for publishing. */
export type PublishSpace = 'channel' | 'shard'

/** Subscriptions of one subscriber that are ended in one go: a few milliseconds' work. */
const FORGOTTEN_AT_ONCE = 10_000

/** Is told which names have local subscribers. */
export interface RegistryObserver {
  /** A name (byte string) has got its first subscriber. */
  occupied(space: Space, name: string): void
  /** A name has lost its last one. */
  vacated(space: Space, name: string): void
}

const SPACES: readonly Space[] = ['channel', 'pattern', 'shard']

/**
 * Index of subscriptions: forward indexes from name to subscribers, kept in step with each subscriber's own
 * {@link Subscriber.subscriptions}. Nothing is stored for subscribers that are gone.
 *
 * Global and shard channels are two tables under one implementation. Entries disappear with their last subscriber,
 * else abandoned names would pile up.
 */
export class Registry {
  readonly options: DeliveryOptions
  /** Set once, by an upstream. */
  observer: RegistryObserver | undefined
  readonly #channels = new Map<string, Entry>()
  readonly #shards = new Map<string, Entry>()
  readonly #patterns: PatternIndex
  readonly #turn: Turn
  #subscribers = 0
  #meteredPatterns = 0

  /** @param turn Notes the segments that are opened, for the flusher to end. */
  constructor(options: DeliveryOptions, turn: Turn) {
    this.options = options
    this.#patterns = new PatternIndex(options)
    this.#turn = turn
  }

  /** Subscribers with at least one subscription: INFO's `pubsub_clients`. */
  get subscriberCount(): number {
    return this.#subscribers
  }

  /** Distinct patterns: PUBSUB NUMPAT. */
  get patternCount(): number {
    return this.#patterns.size
  }

  /** Distinct patterns that only metered subscribers hold. */
  get meteredPatternCount(): number {
    return this.#meteredPatterns
  }

  /** Channels with at least one exact subscriber. */
  channelCount(space: PublishSpace): number {
    return this.#table(space).size
  }

  /** Their names (byte strings), in the order in which they came: PUBSUB CHANNELS and SHARDCHANNELS. */
  channelNames(space: PublishSpace): IterableIterator<string> {
    return this.#table(space).keys()
  }

  /** Subscribers of a name: PUBSUB NUMSUB and SHARDNUMSUB; for a pattern those of the pattern itself. */
  countOf(space: Space, name: string): number {
    return this.#known(space, name)?.size ?? 0
  }

  /** The subscribers of a name; for a pattern those of the pattern itself. Subscribing meanwhile is not allowed. */
  subscribersOf(space: Space, name: string): Iterable<Subscriber> {
    return this.#known(space, name)?.subscribers() ?? []
  }

  /** A pattern has exceeded the budget of a message, and matches nothing more. */
  isDropped(pattern: string): boolean {
    return this.#patterns.get(pattern)?.isDropped ?? false
  }

  /** The patterns with at least one subscriber, in the order in which they came. */
  patterns(): IterableIterator<PatternEntry> {
    return this.#patterns.entries()
  }

  /**
   * SUBSCRIBE, PSUBSCRIBE or SSUBSCRIBE of one name.
   *
   * @param name Byte string.
   * @param owner The user (byte string) whose permissions allowed it.
   * @returns False where the subscription was there already.
   */
  subscribe(space: Space, subscriber: Subscriber, name: string, owner: string): boolean {
    const before = subscriber.subscriptions.any
    const known = this.#known(space, name)
    // All subscribers of a name share its string.
    if (!subscriber.subscriptions.add(space, known?.name ?? name, owner)) return false
    if (!before) this.#subscribers++
    const entry = known ?? this.#create(space, name)
    if (entry instanceof PatternEntry) {
      if (known && entry.isMetered) this.#meteredPatterns--
      entry.add(subscriber)
      if (entry.isDropped && !entry.isMetered) this.#patterns.restore(entry)
      if (entry.isMetered) this.#meteredPatterns++
    } else {
      entry.add(subscriber)
    }
    return true
  }

  /** The inverse of {@link subscribe}. @returns False where there was no such subscription. */
  unsubscribe(space: Space, subscriber: Subscriber, name: string): boolean {
    if (!subscriber.subscriptions.delete(space, name)) return false
    if (!subscriber.subscriptions.any) this.#subscribers--
    this.#leave(space, subscriber, name)
    return true
  }

  /**
   * Ends subscriptions of a subscriber, oldest first, at the cost of those alone. Sends no notice.
   *
   * @param most Maximum number.
   */
  unsubscribeSome(subscriber: Subscriber, most: number): void {
    let left = most
    for (const space of SPACES) {
      for (const name of subscriber.subscriptions.names(space).keys()) {
        if (left-- <= 0) return
        this.unsubscribe(space, subscriber, name)
      }
    }
  }

  /**
   * Ends every subscription of a subscriber that is gone for good, or, if there are very many, a part of them. The rest counts
   * until it is ended, and receives nothing.
   *
   * @returns A function that ends the next part and reports whether more are left; undefined if all are ended.
   */
  forget(subscriber: Subscriber): (() => boolean) | undefined {
    if (!subscriber.subscriptions.any) return undefined
    this.#subscribers--
    const { subscriptions } = subscriber
    const held = SPACES.map((space) => ({
      space,
      names: subscriptions.take(space)[Symbol.iterator](),
    }))
    let at = 0
    const leaveSome = (): boolean => {
      for (let count = 0; count < FORGOTTEN_AT_ONCE; count++) {
        const current = held[at]
        if (!current) return false
        const next = current.names.next()
        if (next.done === true) at++
        else this.#leave(current.space, subscriber, next.value)
      }
      return true
    }
    return leaveSome() ? leaveSome : undefined
  }

  /**
   * Runs a change of a subscriber's protocol or deny overlay, and moves its subscriptions to the groups that follow from it.
   * Messages delivered before stay as they were encoded.
   */
  regroup(subscriber: Subscriber, change: () => void): void {
    if (!subscriber.subscriptions.any) {
      change()
      return
    }
    const entries: Entry[] = []
    for (const space of SPACES) {
      for (const name of subscriber.subscriptions.names(space).keys()) {
        entries.push(this.#known(space, name) as Entry)
      }
    }
    for (const entry of entries) {
      entry.delete(subscriber)
      // Its output may end in a share that would go on growing with messages for the others.
      entry.closeSegments()
    }
    change()
    for (const entry of entries) entry.add(subscriber)
  }

  /**
   * Delivers a message to the current subscribers, at most once.
   *
   * @param key The channel as a byte string.
   * @param payload Asked for its bytes only if there are subscribers.
   * @returns Deliveries: exact subscribers, and for global channels one for each pattern of each subscriber.
   */
  publish(space: PublishSpace, key: string, payload: Payload): number {
    const exact = this.#table(space).get(key)
    let receivers = exact ? exact.deliver(key, payload, this.options, this.#turn) : 0
    if (space === 'channel' && this.#patterns.size > 0) {
      for (const entry of this.#patterns.matching(key)) {
        receivers += entry.deliver(key, payload, this.options, this.#turn)
      }
    }
    return receivers
  }

  /** Delivers a message to the subscribers of that very channel, and to no pattern. See {@link publish}. */
  publishToChannel(space: PublishSpace, key: string, payload: Payload): number {
    return this.#table(space).get(key)?.deliver(key, payload, this.options, this.#turn) ?? 0
  }

  /** Delivers a message to those patterns that match and that are `chosen` by name. See {@link publish}. */
  publishToPatterns(key: string, payload: Payload, chosen: (pattern: string) => boolean): number {
    let receivers = 0
    for (const entry of this.#patterns.matching(key)) {
      if (chosen(entry.name)) receivers += entry.deliver(key, payload, this.options, this.#turn)
    }
    return receivers
  }

  #table(space: PublishSpace): Map<string, Entry> {
    return space === 'channel' ? this.#channels : this.#shards
  }

  #known(space: Space, name: string): Entry | undefined {
    return space === 'pattern' ? this.#patterns.get(name) : this.#table(space).get(name)
  }

  #create(space: Space, name: string): Entry {
    this.observer?.occupied(space, name)
    if (space === 'pattern') return this.#patterns.add(name)
    const entry = space === 'shard' ? new ShardEntry(name) : new ChannelEntry(name)
    this.#table(space).set(name, entry)
    return entry
  }

  #leave(space: Space, subscriber: Subscriber, name: string): void {
    if (space === 'pattern') {
      const entry = this.#patterns.get(name) as PatternEntry
      if (entry.isMetered) this.#meteredPatterns--
      entry.delete(subscriber)
      if (entry.size === 0) {
        this.#patterns.delete(entry)
        this.observer?.vacated(space, name)
      } else if (entry.isMetered) this.#meteredPatterns++
      return
    }
    const table = this.#table(space)
    const entry = table.get(name) as Entry
    entry.delete(subscriber)
    if (entry.size > 0) return
    table.delete(name)
    this.observer?.vacated(space, name)
  }
}
