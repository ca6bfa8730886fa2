import { compileGlob, type Glob } from '../../shared/glob.ts'
import { Entry } from './entry.ts'
import type { Overlay } from './subscriber.ts'

/** Number of channels whose matching patterns are cached. */
const CACHED_CHANNELS = 4_096

/** A pattern and its subscribers. */
export class PatternEntry extends Entry {
  readonly glob: Glob
  readonly sequence: number

  constructor(pattern: string, sequence: number) {
    super(pattern)
    this.glob = compileGlob(pattern)
    this.sequence = sequence
  }

  protected get kind(): 'pmessage' {
    return 'pmessage'
  }

  protected override mustAsk(overlay: Overlay): boolean {
    return overlay.mayDeny(this.glob)
  }
}

const NO_PATTERNS: readonly PatternEntry[] = []

/**
 * Index that finds the patterns that match a channel without trying them all.
 *
 * Patterns are kept in buckets by their literal head: only those whose head the channel begins with are tried. The set of head
 * lengths determines which prefixes of the channel are looked up. Busy channels are answered from a cache that any change of
 * the patterns empties.
 */
export class PatternIndex {
  readonly #entries = new Map<string, PatternEntry>()
  readonly #byHead = new Map<string, Set<PatternEntry>>()
  /** Number of buckets by length of head. */
  readonly #headLengths = new Map<number, number>()
  readonly #cache = new Map<string, readonly PatternEntry[]>()
  #sequence = 0

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
    const head = entry.glob.literalHead
    let bucket = this.#byHead.get(head)
    if (!bucket) {
      bucket = new Set()
      this.#byHead.set(head, bucket)
      this.#headLengths.set(head.length, (this.#headLengths.get(head.length) ?? 0) + 1)
    }
    bucket.add(entry)
    this.#cache.clear()
    return entry
  }

  delete(entry: PatternEntry): void {
    this.#entries.delete(entry.name)
    const head = entry.glob.literalHead
    const bucket = this.#byHead.get(head)
    bucket?.delete(entry)
    if (bucket?.size === 0) {
      this.#byHead.delete(head)
      const left = (this.#headLengths.get(head.length) ?? 1) - 1
      if (left === 0) this.#headLengths.delete(head.length)
      else this.#headLengths.set(head.length, left)
    }
    this.#cache.clear()
  }

  /** The patterns that match `channel` (byte string), in the order in which they came. */
  matching(channel: string): readonly PatternEntry[] {
    if (this.#entries.size === 0) return NO_PATTERNS
    const cached = this.#cache.get(channel)
    if (cached) return cached
    const found = this.#find(channel)
    if (this.#cache.size >= CACHED_CHANNELS) this.#cache.clear()
    this.#cache.set(channel, found)
    return found
  }

  #find(channel: string): readonly PatternEntry[] {
    const found: PatternEntry[] = []
    for (const length of this.#headLengths.keys()) {
      if (length > channel.length) continue
      const bucket = this.#byHead.get(channel.slice(0, length))
      if (!bucket) continue
      for (const entry of bucket) if (entry.glob.matches(channel)) found.push(entry)
    }
    if (found.length === 0) return NO_PATTERNS
    return found.sort((a, b) => a.sequence - b.sequence)
  }
}
