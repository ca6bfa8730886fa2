import type { Clock, Timer } from '../clock.ts'
import type { Registry } from '../pubsub/registry.ts'
import type { Space } from '../pubsub/subscriber.ts'
import type { ErrorLine } from '../resp/reply-writer.ts'
import type { PendingNames } from './backplane.ts'
import { Cover, headOf, shortened, Source, type Waiter } from './link/source.ts'
import type { SubscriberLink } from './link/subscriber-link.ts'

/** Everything that the interest of a gateway depends on. Limits are read at use. */
export interface InterestHost {
  readonly clock: Clock
  /** 0 to 1. */
  readonly random: () => number
  readonly atEndOfTurn: (callback: () => void) => void
  readonly registry: Registry
  readonly limits: {
    readonly maxChannels: number
    readonly maxCovers: number
    readonly lingerMs: number
    readonly maxLingering: number
  }
  /** The link that a source belongs on now; undefined if there is none. */
  readonly linkOf: (source: Source) => SubscriberLink | undefined
  /** Nobody needs a source any more, and it is not subscribed to. */
  readonly forgotten: (source: Source) => void
  /** More patterns than covers: they share wider ones, or no longer. */
  readonly onLevel: (level: number) => void
}

/** Longest time that a client waits for its subscription, in ms. */
const CONFIRM_MS = 2_000
/** The wait after a refusal that ends by itself, in ms. */
const RETRY_MS = 100
/** Sources that linger are looked at so often, in ms. */
const LINGER_TICK_MS = 1_000

const NOT_CONFIRMED = 'TRYAGAIN the upstream does not confirm the subscription' satisfies ErrorLine
const REFUSED = 'ERR the upstream refuses the subscription' satisfies ErrorLine

/** A local pattern. */
interface LocalPattern {
  readonly name: string
  readonly head: string
  /** Where its messages come from. */
  cover: Cover
  /** The cover that it moves to when that is confirmed. */
  next: Cover | undefined
  isOccupied: boolean
  pins: number
}

/**
 * The names that are subscribed to upstream, and why: the local subscriptions, those who wait to become such, and names that
 * linger after their last subscriber.
 *
 * Exact names are their own source. Patterns share at most `maxCovers` covers, since a Redis tries every pattern for every message,
 * and hostile ones stall it: a cover is a literal head and `*`. If there are more heads than that, they are cut after their
 * first part (level 1), and then to nothing (level 2).
 */
export class Interest {
  readonly #host: InterestHost
  readonly #names = { channel: new Map<string, Source>(), shard: new Map<string, Source>() }
  /** By name upstream. */
  readonly #covers = new Map<string, Cover>()
  readonly #patterns = new Map<string, LocalPattern>()
  /** Local patterns by head, whole and shortened. */
  readonly #heads = new Map<string, number>()
  readonly #shortHeads = new Map<string, number>()
  #level = 0
  readonly #waiters = new Set<Waiter>()
  readonly #lingering = new Set<Source>()
  /** Covers in force that patterns are to move to. */
  readonly #moving = new Set<Cover>()
  readonly #timer: Timer

  constructor(host: InterestHost) {
    this.#host = host
    this.#timer = host.clock.every(LINGER_TICK_MS, () => this.#endLingering())
    host.registry.observer = {
      occupied: (space, name) => this.#occupied(space, name),
      vacated: (space, name) => this.#vacated(space, name),
    }
  }

  stop(): void {
    this.#timer.cancel()
  }

  /** All sources. */
  *sources(): IterableIterator<Source> {
    yield* this.#names.channel.values()
    yield* this.#names.shard.values()
    yield* this.#covers.values()
  }

  get wanted(): number {
    return this.#names.channel.size + this.#names.shard.size + this.#covers.size
  }

  find(space: Space, name: string): Source | undefined {
    return space === 'pattern' ? this.#covers.get(name) : this.#names[space].get(name)
  }

  /** The covers that match a channel. */
  *coversOf(channel: string): IterableIterator<Cover> {
    for (const cover of this.#covers.values()) if (cover.matches(channel)) yield cover
  }

  get hasCovers(): boolean {
    return this.#covers.size > 0
  }

  /** Reports whether a pattern's messages come from this cover. */
  isUnder(pattern: string, cover: Source): boolean {
    return this.#patterns.get(pattern)?.cover === cover
  }

  /** See `Backplane.want`. */
  want(
    space: Space,
    names: readonly string[],
    done: (failure: ErrorLine | undefined) => void,
  ): PendingNames | ErrorLine | undefined {
    const { limits, clock } = this.#host
    if (space !== 'pattern') {
      const known = this.#names.channel.size + this.#names.shard.size
      if (known + names.length > limits.maxChannels) {
        const added = new Set(names.filter((name) => !this.#names[space].has(name))).size
        if (known + added > limits.maxChannels) {
          return `ERR at most ${limits.maxChannels} channels of this gateway are allowed at the upstream`
        }
      }
    }
    const patterns = space === 'pattern' ? names.map((name) => this.#pattern(name)) : []
    const sources = new Set<Source>(
      space === 'pattern'
        ? patterns.map(({ cover }) => cover)
        : names.map((name) => this.#source(space, name)),
    )
    let missing = 0
    for (const { state } of sources) if (state !== 'in') missing++
    if (missing === 0) {
      if (patterns.length > 0) this.#host.atEndOfTurn(() => this.#forgetUnused(patterns))
      return undefined
    }
    const finish = (failure: 'timeout' | 'refused' | undefined, isTold = true): void => {
      if (!this.#waiters.delete(waiter)) return
      timer.cancel()
      for (const source of sources) {
        const at = source.waiters?.indexOf(waiter) ?? -1
        if (at >= 0) source.waiters?.splice(at, 1)
      }
      if (isTold)
        done(failure === undefined ? undefined : failure === 'refused' ? REFUSED : NOT_CONFIRMED)
      for (const pattern of patterns) pattern.pins--
      this.#forgetUnused(patterns)
      for (const source of sources) {
        source.pins--
        if (!source.isNeeded) this.#update(source)
      }
    }
    const waiter: Waiter = { missing, sources, finish }
    const timer = clock.after(CONFIRM_MS, () => finish('timeout'))
    this.#waiters.add(waiter)
    for (const pattern of patterns) pattern.pins++
    for (const source of sources) {
      source.pins++
      if (source.state === 'in') continue
      ;(source.waiters ??= []).push(waiter)
      this.#update(source)
    }
    return { cancel: () => finish(undefined, false) }
  }

  /** A source is in force: as of here in the stream its messages come. */
  confirmed(source: Source): void {
    if (source instanceof Cover) {
      this.#moving.delete(source)
      this.#takePatterns(source)
    }
    const waiters = source.waiters
    source.waiters = undefined
    for (const waiter of waiters ?? []) if (--waiter.missing === 0) waiter.finish(undefined)
    // Its waiters may have given it up.
    if (!source.isNeeded) this.#update(source)
  }

  /**
   * Everything that was published before this point of a link's stream has come from all of its sources, and nothing of what is
   * published after it: patterns whose next cover is in force move there.
   */
  betweenMessages(link: SubscriberLink): void {
    if (this.#moving.size === 0) return
    for (const cover of [...this.#moving]) {
      if (cover.link !== link || cover.state !== 'in') continue
      this.#moving.delete(cover)
      this.#takePatterns(cover)
    }
  }

  /** A source is out, and its link says why. Those who wait for it are told. */
  refused(source: Source): void {
    for (const waiter of source.waiters?.slice() ?? []) waiter.finish('refused')
    if (!source.isNeeded) this.dropped(source)
  }

  /** A source is not subscribed to any more, or never was, and nobody needs it. */
  dropped(source: Source): void {
    // Another source may have taken its name since it was queued.
    if (source.isNeeded || source.state !== 'out') return
    if (this.find(source.space, source.name) !== source) return
    if (source instanceof Cover) {
      this.#covers.delete(source.name)
      this.#moving.delete(source)
    } else if (source.space !== 'pattern') this.#names[source.space].delete(source.name)
    this.#host.forgotten(source)
  }

  /**
   * A link has ended: its sources are out.
   *
   * @returns Those that were in force.
   */
  linkLost(link: SubscriberLink): Source[] {
    const lost: Source[] = []
    for (const source of this.sources()) {
      if (source.link !== link) continue
      if (source.state === 'in' && source.isNeeded) lost.push(source)
      this.#takeOut(source)
      this.dropped(source)
    }
    return lost
  }

  /** A source has gone out by itself: whoever counted on it waits again. */
  sourceLost(source: Source): void {
    source.link = undefined
    this.#waitAgain(source)
    this.#update(source)
  }

  /** A source is out, and its node did not take it: it is asked for where it belongs now. */
  retry(source: Source): void {
    source.link = undefined
    this.#update(source)
  }

  /** As {@link retry}, in a while: nothing is known of another node. */
  retryLater(source: Source, delayMs = RETRY_MS): void {
    this.#host.clock.after(delayMs, () => {
      if (source.state === 'out') this.retry(source)
    })
  }

  /** Subscribes to everything that belongs on a link, names with many subscribers first. */
  linkFound(link: SubscriberLink): void {
    const { registry, linkOf } = this.#host
    const due: [Source, number][] = []
    for (const source of this.sources()) {
      if (linkOf(source) !== link) continue
      const subscribers =
        source instanceof Cover ? source.patterns.size : registry.countOf(source.space, source.name)
      due.push([source, subscribers])
    }
    due.sort((a, b) => b[1] - a[1])
    for (const [source] of due) this.#update(source)
  }

  #takeOut(source: Source): void {
    if (source.state === 'in') this.#waitAgain(source)
    source.state = 'out'
    source.batch = undefined
    source.link = undefined
  }

  #waitAgain(source: Source): void {
    if (source.pins === 0) return
    for (const waiter of this.#waiters) {
      if (!waiter.sources.has(source) || source.waiters?.includes(waiter)) continue
      waiter.missing++
      ;(source.waiters ??= []).push(waiter)
    }
  }

  /** Has its link bring a source in line. */
  #update(source: Source): void {
    const link = source.link ?? this.#host.linkOf(source)
    if (link?.link.isUp !== true) {
      this.dropped(source)
      return
    }
    source.link = link
    link.update(source)
  }

  #source(space: 'channel' | 'shard', name: string): Source {
    const known = this.#names[space].get(name)
    if (known) return known
    const source = new Source(space, name)
    this.#names[space].set(name, source)
    return source
  }

  #occupied(space: Space, name: string): void {
    if (space === 'pattern') {
      const pattern = this.#pattern(name)
      pattern.isOccupied = true
      if (pattern.cover.state === 'out') this.#update(pattern.cover)
      return
    }
    const source = this.#source(space, name)
    source.isOccupied = true
    this.#endLinger(source)
    if (source.state === 'out') this.#update(source)
  }

  #vacated(space: Space, name: string): void {
    if (space === 'pattern') {
      const pattern = this.#patterns.get(name)
      if (!pattern) return
      pattern.isOccupied = false
      this.#forgetUnused([pattern])
      return
    }
    const source = this.#names[space].get(name)
    if (!source) return
    source.isOccupied = false
    this.#linger(source)
  }

  /** Keeps a source that nobody needs for a while: subscribers come and go. */
  #linger(source: Source): void {
    const { clock, random, limits } = this.#host
    if (source.state === 'in' && limits.lingerMs > 0) {
      source.lingersUntilMs = clock.monotonicMs() + limits.lingerMs * (0.5 + random())
      this.#lingering.add(source)
      if (this.#lingering.size <= limits.maxLingering) return
      const [oldest] = this.#lingering
      if (oldest === undefined) return
      this.#endLinger(oldest)
      this.#update(oldest)
      return
    }
    if (!source.isNeeded) this.#update(source)
  }

  #endLinger(source: Source): void {
    source.lingersUntilMs = undefined
    this.#lingering.delete(source)
  }

  #endLingering(): void {
    const nowMs = this.#host.clock.monotonicMs()
    for (const source of this.#lingering) {
      if (source.lingersUntilMs === undefined || source.lingersUntilMs > nowMs) continue
      this.#endLinger(source)
      if (!source.isNeeded) this.#update(source)
    }
  }

  /** Covers that nobody needs make room: the upstream tries each of them for every message. */
  #endLingeringCovers(): void {
    for (const source of this.#lingering) {
      if (!(source instanceof Cover)) continue
      this.#endLinger(source)
      if (!source.isNeeded) this.#update(source)
    }
  }

  #pattern(name: string): LocalPattern {
    const known = this.#patterns.get(name)
    if (known) return known
    const head = headOf(name)
    const isNewHead = count(this.#heads, head, 1) === 1
    const isNewShortHead = count(this.#shortHeads, shortened(head), 1) === 1
    this.#adjustLevel()
    const cover = this.#cover(this.#idealHead(head))
    const pattern = { name, head, cover, next: undefined, isOccupied: false, pins: 0 }
    this.#patterns.set(name, pattern)
    cover.patterns.add(name)
    cover.isOccupied = true
    this.#endLinger(cover)
    if (this.#level === 0 ? isNewHead : this.#level === 1 && isNewShortHead)
      this.#rehomeUnder(cover.head)
    return pattern
  }

  /** Forgets patterns that nobody holds and nobody waits for. */
  #forgetUnused(patterns: readonly LocalPattern[]): void {
    for (const pattern of patterns) {
      if (pattern.isOccupied || pattern.pins > 0) continue
      // It may have been forgotten before, and another may have its name.
      if (this.#patterns.get(pattern.name) !== pattern) continue
      this.#patterns.delete(pattern.name)
      const { head, cover, next } = pattern
      this.#leave(pattern, cover, true)
      if (next) this.#leave(pattern, next, false)
      const isLastOfHead = count(this.#heads, head, -1) === 0
      const isLastOfShortHead = count(this.#shortHeads, shortened(head), -1) === 0
      if (this.#adjustLevel()) continue
      if (this.#level === 0 ? isLastOfHead : this.#level === 1 && isLastOfShortHead) {
        this.#rehome(cover.patterns)
        if (next) this.#rehome(next.patterns)
      }
    }
  }

  #leave(pattern: LocalPattern, cover: Cover, lingers: boolean): void {
    cover.patterns.delete(pattern.name)
    if (cover.patterns.size > 0) return
    cover.isOccupied = false
    if (lingers) this.#linger(cover)
    else if (!cover.isNeeded) this.#update(cover)
  }

  #cover(head: string): Cover {
    const fresh = new Cover(head)
    const known = this.#covers.get(fresh.name)
    if (known) return known
    this.#covers.set(fresh.name, fresh)
    if (this.#covers.size > this.#host.limits.maxCovers) this.#endLingeringCovers()
    return fresh
  }

  /** The heads that covers have at this level. */
  #levelHeads(): ReadonlyMap<string, number> {
    return this.#level === 0 ? this.#heads : this.#shortHeads
  }

  /** The shortest head of a cover that a pattern with this head is under. */
  #idealHead(head: string): string {
    if (this.#level === 2) return ''
    const heads = this.#levelHeads()
    const own = this.#level === 0 ? head : shortened(head)
    for (let length = 0; length < own.length; length++) {
      const shorter = own.slice(0, length)
      if (heads.has(shorter)) return shorter
    }
    return own
  }

  /** @returns True if the level has changed, and every pattern has been given its cover anew. */
  #adjustLevel(): boolean {
    const { maxCovers } = this.#host.limits
    // A level is left again when half of what it was entered for is there.
    const fits = (heads: ReadonlyMap<string, number>, level: number): boolean =>
      heads.size <= (level < this.#level ? maxCovers / 2 : maxCovers)
    const level = fits(this.#heads, 0) ? 0 : fits(this.#shortHeads, 1) ? 1 : 2
    if (level === this.#level) return false
    this.#level = level
    this.#host.onLevel(level)
    this.#rehome(this.#patterns.keys())
    return true
  }

  /** Patterns whose covers begin with `head` move to the cover of that head: the same messages would come twice. */
  #rehomeUnder(head: string): void {
    for (const cover of [...this.#covers.values()]) {
      if (cover.head !== head && cover.head.startsWith(head)) this.#rehome(cover.patterns)
    }
  }

  #rehome(names: Iterable<string>): void {
    for (const name of [...names]) {
      const pattern = this.#patterns.get(name)
      if (!pattern) continue
      const target = this.#cover(this.#idealHead(pattern.head))
      if (target === (pattern.next ?? pattern.cover)) continue
      if (pattern.next) this.#leave(pattern, pattern.next, false)
      pattern.next = undefined
      if (target === pattern.cover) continue
      pattern.next = target
      target.patterns.add(name)
      target.isOccupied = true
      this.#endLinger(target)
      // One message comes from each cover apart: between the two, a move would double it, or lose it.
      if (target.state === 'in') this.#moving.add(target)
      else this.#update(target)
    }
  }

  /** Patterns that wait for a cover move to it. */
  #takePatterns(cover: Cover): void {
    for (const name of cover.patterns) {
      const pattern = this.#patterns.get(name)
      if (pattern?.next === cover) this.#moveTo(pattern, cover)
    }
  }

  /** A pattern gets its messages from another cover from now on, which is confirmed. */
  #moveTo(pattern: LocalPattern, cover: Cover): void {
    const before = pattern.cover
    pattern.cover = cover
    pattern.next = undefined
    this.#leave(pattern, before, false)
  }
}

/** Adds to a count, and forgets it at 0. @returns The count. */
function count(counts: Map<string, number>, key: string, change: number): number {
  const value = (counts.get(key) ?? 0) + change
  if (value === 0) counts.delete(key)
  else counts.set(key, value)
  return value
}
