/** Numbers that a seed determines, on every machine alike (mulberry32). */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** A number from 0 up to, not including, `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end
  }

  /** Returns true with this chance, in percent. */
  chance(percent: number): boolean {
    return this.below(100) < percent
  }

  /** One of these. */
  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T
  }

  /** Between `least` and `most` values, made one after the other. */
  several<T>(least: number, most: number, make: () => T): T[] {
    return Array.from({ length: least + this.below(most - least + 1) }, make)
  }
}
