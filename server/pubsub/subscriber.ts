import type { Glob } from '../../shared/glob.ts'
import type { Protocol } from '../resp/reply-writer.ts'
import type { Output } from '../delivery/output.ts'

/** Channels that are taken away from a subscriber, regardless of its permissions. Names are byte strings. */
export interface Overlay {
  /** Reports whether it may subscribe to a channel and be given its messages. */
  mayReceive(channel: string): boolean
  /** Reports whether it may publish to a channel. */
  mayPublish(channel: string): boolean
  /** Reports whether a channel that `pattern` matches may be taken away, so that each message has to be checked. */
  mayDeny(pattern: Glob): boolean
}

/** Bounds the work of finding the patterns that match one message. */
export interface PatternBudget {
  /** Steps that one message may cost at patterns which only metered subscribers hold: `ws-pattern-steps`. */
  readonly maxPatternSteps: number
  /** Ends the subscriptions to a pattern that matches nothing from now on. Called before the message is delivered. */
  readonly dropPattern?: (pattern: string) => void
}

/** The encoding of messages to a subscriber: a version of RESP, or server-sent events. */
export type Encoding = Protocol | 'events'

/** A subscriber, as far as the registry knows it. */
export interface Subscriber {
  /** To change it, see `Registry.regroup`. */
  readonly encoding: Encoding
  /** Its own subscriptions: the reverse index of the registry. */
  readonly subscriptions: Subscriptions
  /** Largest payload it takes, in bytes; a larger message is not delivered to it. */
  readonly maxMessageBytes: number
  /** Its patterns are held to {@link PatternBudget}. Fixed for its life. */
  readonly isMetered: boolean
  /**
   * Read when it subscribes; to change it later, see `Registry.regroup`. Subscribers whose overlay cannot reach a name are
   * not checked for each message.
   */
  readonly overlay: Overlay | undefined
  /** Takes its messages. */
  readonly output: Output
}

/** The three name spaces of Pub/Sub. They share nothing: the same name may live in each. */
export type Space = 'channel' | 'pattern' | 'shard'

/**
 * Names in the order of subscription, each with its owner: the user (byte string) under whose permissions it was made.
 *
 * Nearly always one user owns all, so owners are kept by name only if they differ from the first. Most subscribers have
 * one subscription: a single name is kept without a set.
 */
class NameTable {
  #names: string | Set<string> | undefined
  readonly #owner: string
  #otherOwners: Map<string, string> | undefined

  constructor(owner: string) {
    this.#owner = owner
  }

  get size(): number {
    if (this.#names === undefined) return 0
    return typeof this.#names === 'string' ? 1 : this.#names.size
  }

  has(name: string): boolean {
    return this.#names instanceof Set ? this.#names.has(name) : this.#names === name
  }

  keys(): Iterable<string> {
    if (this.#names === undefined) return []
    return typeof this.#names === 'string' ? [this.#names] : this.#names
  }

  *[Symbol.iterator](): IterableIterator<[name: string, owner: string]> {
    for (const name of this.keys()) yield [name, this.#otherOwners?.get(name) ?? this.#owner]
  }

  /** Adds a name that is not in the table. */
  add(name: string, owner: string): void {
    if (this.#names === undefined) this.#names = name
    else if (typeof this.#names === 'string') this.#names = new Set([this.#names, name])
    else this.#names.add(name)
    if (owner === this.#owner) return
    this.#otherOwners ??= new Map()
    this.#otherOwners.set(name, owner)
  }

  /** @returns False if it was absent. */
  delete(name: string): boolean {
    this.#otherOwners?.delete(name)
    if (this.#names instanceof Set) return this.#names.delete(name)
    if (this.#names !== name) return false
    this.#names = undefined
    return true
  }
}

const NONE = new NameTable('')

/**
 * The subscriptions of one subscriber, by name (byte strings), so that a disconnect costs its own subscriptions only.
 * Only the registry changes them.
 */
export class Subscriptions {
  #channels: NameTable | undefined
  #patterns: NameTable | undefined
  #shards: NameTable | undefined

  /** Names and owners in a space, in the order of subscription. */
  names(space: Space): Omit<NameTable, 'add' | 'delete'> {
    return this.#table(space) ?? NONE
  }

  /** Channels and patterns: the count in (p)subscribe and (p)unsubscribe confirmations. */
  get count(): number {
    return (this.#channels?.size ?? 0) + (this.#patterns?.size ?? 0)
  }

  /** Shard channels: the count in ssubscribe and sunsubscribe confirmations. */
  get shardCount(): number {
    return this.#shards?.size ?? 0
  }

  /** True with any subscription at all: Redis' PUBSUB flag. */
  get any(): boolean {
    return (
      this.#channels !== undefined || this.#patterns !== undefined || this.#shards !== undefined
    )
  }

  /** @returns False where it was there already (its owner stays). */
  add(space: Space, name: string, owner: string): boolean {
    const table = this.#table(space) ?? this.#create(space, owner)
    if (table.has(name)) return false
    table.add(name, owner)
    return true
  }

  /** @returns False where there was none. */
  delete(space: Space, name: string): boolean {
    const table = this.#table(space)
    if (!table?.delete(name)) return false
    if (table.size === 0) this.#set(space, undefined)
    return true
  }

  /** Removes all names of a space. @returns The names. */
  take(space: Space): Iterable<string> {
    const table = this.#table(space)
    this.#set(space, undefined)
    return table?.keys() ?? []
  }

  #table(space: Space): NameTable | undefined {
    if (space === 'channel') return this.#channels
    return space === 'pattern' ? this.#patterns : this.#shards
  }

  #create(space: Space, owner: string): NameTable {
    const table = new NameTable(owner)
    this.#set(space, table)
    return table
  }

  #set(space: Space, table: NameTable | undefined): void {
    if (space === 'channel') this.#channels = table
    else if (space === 'pattern') this.#patterns = table
    else this.#shards = table
  }
}
