/** The three name spaces of Pub/Sub. They share nothing: the same name may live in each. */
export type Space = 'channel' | 'pattern' | 'shard'

/** Name to owner: the user (byte string) under whose permissions the subscription was made. */
export type NameTable = Map<string, string>

const NONE: ReadonlyMap<string, string> = new Map()

/**
 * What one subscriber is subscribed to, by name (byte strings): so that a disconnect costs its own subscriptions
 * only. Changed by the registry alone.
 */
export class Subscriptions {
  #channels: NameTable | undefined
  #patterns: NameTable | undefined
  #shards: NameTable | undefined

  /** Names and owners in a space, in the order of subscription. */
  names(space: Space): ReadonlyMap<string, string> {
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

  /** Whether there is any subscription at all: Redis' PUBSUB flag. */
  get any(): boolean {
    return (
      this.#channels !== undefined || this.#patterns !== undefined || this.#shards !== undefined
    )
  }

  /** @returns False where it was there already (its owner stays). */
  add(space: Space, name: string, owner: string): boolean {
    const table = this.#table(space) ?? this.#create(space)
    if (table.has(name)) return false
    table.set(name, owner)
    return true
  }

  /** @returns False where there was none. */
  delete(space: Space, name: string): boolean {
    const table = this.#table(space)
    if (!table?.delete(name)) return false
    if (table.size === 0) this.#set(space, undefined)
    return true
  }

  #table(space: Space): NameTable | undefined {
    if (space === 'channel') return this.#channels
    return space === 'pattern' ? this.#patterns : this.#shards
  }

  #create(space: Space): NameTable {
    const table: NameTable = new Map()
    this.#set(space, table)
    return table
  }

  #set(space: Space, table: NameTable | undefined): void {
    if (space === 'channel') this.#channels = table
    else if (space === 'pattern') this.#patterns = table
    else this.#shards = table
  }
}
