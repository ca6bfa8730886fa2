import { compileGlob, type Glob } from '../../shared/glob.ts'
import { Entry } from './entry.ts'
import type { StepMeter } from '../../shared/glob-automaton.ts'
import type { Overlay, PatternBudget, Subscriber } from './subscriber.ts'

/** Number of channels that one generation of the cache holds, and of patterns that it names. */
const CACHED_CHANNELS = 2_048
const CACHED_PATTERNS = 16_384

/** Longer names are not cached: nobody repeats them, and their bytes would add up. */
const LONGEST_CACHED = 256

/** Heads and tails are filed by so many bytes at most: each length is a look-up. */
const LONGEST_FILED = 256

/** Changes of the patterns after which the cache is emptied. */
const CHANGES_KEPT = 256

/** A pattern and its subscribers. */
export class PatternEntry extends Entry {
  readonly glob: Glob
  readonly sequence: number
  /** It has exceeded the budget of a message: it matches nothing more, and its subscribers are losing it. */
  isDropped = false
  #unmetered = 0

  constructor(pattern: string, sequence: number) {
    super(pattern)
    this.glob = compileGlob(pattern)
    this.sequence = sequence
  }

  /** Only metered subscribers hold it. */
  get isMetered(): boolean {
    return this.#unmetered === 0
  }

  override add(subscriber: Subscriber): void {
    super.add(subscriber)
    if (!subscriber.isMetered) this.#unmetered++
  }

  override delete(subscriber: Subscriber): void {
    super.delete(subscriber)
    if (!subscriber.isMetered) this.#unmetered--
  }

  protected get kind(): 'pmessage' {
    return 'pmessage'
  }

  protected override mustAsk(overlay: Overlay): boolean {
    return overlay.mayDeny(this.glob)
  }
}

const NO_PATTERNS: readonly PatternEntry[] = []

/** Steps per byte of a channel that any pattern may take: only costlier ones are counted, and dropped. */
const FREE_STEPS_PER_BYTE = 4

const UNBOUNDED: PatternBudget = { maxPatternSteps: Number.POSITIVE_INFINITY }

/** Patterns by a literal text that every channel they match has at one end. */
class Buckets {
  readonly #byText = new Map<string, Set<PatternEntry>>()
  /** Number of buckets by length of text. */
  readonly #lengths = new Map<number, number>()

  add(text: string, entry: PatternEntry): void {
    const bucket = this.#byText.get(text)
    if (bucket) {
      bucket.add(entry)
      return
    }
    this.#byText.set(text, new Set([entry]))
    this.#lengths.set(text.length, (this.#lengths.get(text.length) ?? 0) + 1)
  }

  delete(text: string, entry: PatternEntry): void {
    const bucket = this.#byText.get(text)
    bucket?.delete(entry)
    if (bucket?.size !== 0) return
    this.#byText.delete(text)
    const left = (this.#lengths.get(text.length) ?? 1) - 1
    if (left === 0) this.#lengths.delete(text.length)
    else this.#lengths.set(text.length, left)
  }

  /** The buckets whose text a channel begins with or, if `atEnd`, ends with. */
  *of(channel: string, atEnd: boolean): IterableIterator<ReadonlySet<PatternEntry>> {
    for (const length of this.#lengths.keys()) {
      if (length > channel.length) continue
      const text = atEnd ? channel.slice(channel.length - length) : channel.slice(0, length)
      const bucket = this.#byText.get(text)
      if (bucket) yield bucket
    }
  }
}

/** The patterns that match a channel, as of a number of changes. */
interface Cached {
  found: readonly PatternEntry[]
  changes: number
}

/**
 * Index that finds the patterns that match a channel without trying them all.
 *
 * Patterns are filed by their literal head and, if they have none, by their literal tail: only those are tried that a channel
 * begins or ends with. Busy channels are answered from a cache of two generations: a channel that is asked for again moves to
 * the young one, and the old one goes when the young one is full, so that names which come once do not drive out the busy
 * ones. A new pattern is tried against a cached channel when that is asked for.
 */
export class PatternIndex {
  readonly #entries = new Map<string, PatternEntry>()
  readonly #byHead = new Buckets()
  readonly #byTail = new Buckets()
  #young = new Map<string, Cached>()
  #old = new Map<string, Cached>()
  /** Patterns that the young generation names. */
  #youngPatterns = 0
  /** Patterns that came or went since the cache was emptied. */
  #changed: PatternEntry[] = []
  #sequence = 0
  readonly #budget: PatternBudget
  readonly #meter: Required<StepMeter> = {
    steps: 0,
    most: Number.POSITIVE_INFINITY,
    gaveUp: false,
  }

  constructor(budget: PatternBudget = UNBOUNDED) {
    this.#budget = budget
  }

  /** Number of distinct patterns. */
  get size(): number {
    return this.#entries.size
  }

  get(pattern: string): PatternEntry | undefined {
    return this.#entries.get(pattern)
  }

  /** All patterns, in the order in which they came. */
  entries(): IterableIterator<PatternEntry> {
    return this.#entries.values()
  }

  add(pattern: string): PatternEntry {
    const entry = new PatternEntry(pattern, this.#sequence++)
    this.#entries.set(pattern, entry)
    const [buckets, text] = this.#place(entry)
    buckets.add(text, entry)
    this.#noteChange(entry)
    return entry
  }

  delete(entry: PatternEntry): void {
    this.#entries.delete(entry.name)
    const [buckets, text] = this.#place(entry)
    buckets.delete(text, entry)
    this.#noteChange(entry)
  }

  /** Lets a dropped pattern match again. */
  restore(entry: PatternEntry): void {
    entry.isDropped = false
    this.#noteChange(entry)
  }

  /** The patterns that match `channel` (byte string), in the order in which they came. */
  matching(channel: string): readonly PatternEntry[] {
    if (this.#entries.size === 0) return NO_PATTERNS
    if (channel.length > LONGEST_CACHED) return this.#find(channel)
    const young = this.#young.get(channel)
    if (young && young.changes === this.#changed.length) return young.found
    const known = young ?? this.#old.get(channel)
    const found = known ? this.#renewed(known, channel) : this.#find(channel)
    // Patterns that were dropped meanwhile may have emptied the cache.
    if (young && this.#young.get(channel) === young) this.#youngPatterns -= young.found.length
    this.#cache(channel, found)
    return found
  }

  #cache(channel: string, found: readonly PatternEntry[]): void {
    if (found.length > CACHED_PATTERNS) {
      this.#young.delete(channel)
      return
    }
    this.#young.set(channel, { found, changes: this.#changed.length })
    this.#youngPatterns += found.length
    if (this.#young.size <= CACHED_CHANNELS && this.#youngPatterns <= CACHED_PATTERNS) return
    this.#old = this.#young
    this.#young = new Map()
    this.#youngPatterns = 0
  }

  /** What was found for a channel, with the changes since. */
  #renewed({ found, changes }: Cached, channel: string): readonly PatternEntry[] {
    if (changes === this.#changed.length) return found
    const changed = new Set(this.#changed.slice(changes))
    const renewed = found.filter((entry) => !changed.has(entry))
    const costly = new CostlyPatterns(this.#budget.maxPatternSteps, channel)
    for (const entry of changed) {
      if (this.#entries.get(entry.name) !== entry) continue
      if (this.#try(entry, channel, costly)) renewed.push(entry)
    }
    return this.#kept(renewed, costly)
  }

  #noteChange(entry: PatternEntry): void {
    this.#changed.push(entry)
    if (this.#changed.length <= CHANGES_KEPT) return
    this.#changed = []
    this.#young.clear()
    this.#old.clear()
    this.#youngPatterns = 0
  }

  #place({ glob }: PatternEntry): readonly [Buckets, string] {
    const { literalHead } = glob
    if (literalHead !== '' || glob.isLiteral) {
      return [this.#byHead, literalHead.slice(0, LONGEST_FILED)]
    }
    return [this.#byTail, glob.literalTail.slice(-LONGEST_FILED)]
  }

  #find(channel: string): readonly PatternEntry[] {
    const found: PatternEntry[] = []
    const costly = new CostlyPatterns(this.#budget.maxPatternSteps, channel)
    for (const bucket of this.#byHead.of(channel, false))
      for (const entry of bucket) if (this.#try(entry, channel, costly)) found.push(entry)
    for (const bucket of this.#byTail.of(channel, true))
      for (const entry of bucket) if (this.#try(entry, channel, costly)) found.push(entry)
    return this.#kept(found, costly)
  }

  #try(entry: PatternEntry, channel: string, costly: CostlyPatterns): boolean {
    if (entry.isDropped) return false
    const meter = this.#meter
    meter.steps = 0
    meter.gaveUp = false
    meter.most = entry.isMetered ? costly.most : Number.POSITIVE_INFINITY
    const fits = entry.glob.matches(channel, meter)
    if (entry.isMetered) costly.note(entry, meter)
    return fits
  }

  /** Drops the costly ones among what was tried. @returns What is left of those that fit, in the order in which they came. */
  #kept(found: readonly PatternEntry[], { dropped }: CostlyPatterns): readonly PatternEntry[] {
    for (const entry of dropped) {
      entry.isDropped = true
      this.#noteChange(entry)
      this.#budget.dropPattern?.(entry.name)
    }
    const kept = found.filter((entry) => !dropped.has(entry))
    return kept.length === 0 ? NO_PATTERNS : kept.sort((a, b) => a.sequence - b.sequence)
  }
}

/**
 * The patterns that one message found costly. They share a budget. Those that exceed it together are dropped, and so is each costly
 * one after them as soon as it turns out to be: looking at it any longer is what nobody has time for.
 */
class CostlyPatterns {
  readonly dropped = new Set<PatternEntry>()
  readonly #freeSteps: number
  #left: number
  #tried: PatternEntry[] = []

  constructor(maxSteps: number, channel: string) {
    this.#left = maxSteps
    this.#freeSteps = channel.length * FREE_STEPS_PER_BYTE
  }

  /** Steps that the next pattern may take. */
  get most(): number {
    return Math.max(this.#freeSteps, this.#left)
  }

  note(entry: PatternEntry, { steps, gaveUp }: Required<StepMeter>): void {
    if (steps <= this.#freeSteps && !gaveUp) return
    this.#tried.push(entry)
    this.#left -= steps
    if (!gaveUp && this.#left >= 0) return
    this.#left = 0
    for (const each of this.#tried) this.dropped.add(each)
    this.#tried = []
  }
}
