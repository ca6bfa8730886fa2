import { seededRandom } from '../support/random.ts'

/** Random choices that are the same for the same seed. */
export class Dice {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = seededRandom(seed)
  }

  /** A number from 0 to 1, 1 excluded. */
  readonly unit = (): number => this.#random()

  /** A whole number from 0 to `bound`, `bound` excluded. */
  below(bound: number): number {
    return Math.floor(this.#random() * bound)
  }

  /** True once in `times`. */
  oneIn(times: number): boolean {
    return this.below(times) === 0
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }

  /** Between `least` and `most` things. */
  several<T>(least: number, most: number, make: () => T): T[] {
    return Array.from({ length: least + this.below(most - least + 1) }, make)
  }

  /** A text of up to `most` pieces. */
  text(pieces: readonly string[], most: number): string {
    return this.several(0, most, () => this.pick(pieces)).join('')
  }

  /** A byte string of up to `most` bytes. */
  bytes(most: number): string {
    return this.several(0, most, () => String.fromCharCode(this.below(256))).join('')
  }

  /**
   * A text that was damaged in a few places: bytes changed, taken out, doubled, or a piece put in.
   *
   * @param pieces What may be put in.
   */
  damaged(text: string, pieces: readonly string[]): string {
    let changed = text
    for (let times = this.below(4); times > 0; times--) {
      const at = this.below(changed.length + 1)
      const before = changed.slice(0, at)
      const after = changed.slice(at)
      switch (this.below(5)) {
        case 0:
          changed = before + String.fromCharCode(this.below(256)) + after.slice(1)
          break
        case 1:
          changed = before + after.slice(1 + this.below(8))
          break
        case 2:
          changed = before + after.slice(0, 1 + this.below(12)) + after
          break
        case 3:
          changed = before
          break
        default:
          changed = before + this.pick(pieces) + after
      }
    }
    return changed
  }
}
