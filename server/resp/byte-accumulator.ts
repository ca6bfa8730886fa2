const SMALLEST_CAPACITY = 256

/**
 * Collects bytes that arrive in pieces. It grows by doubling, so any number of pieces costs linear time, and it
 * never holds more than twice what was received, whatever length a peer promised.
 */
export class ByteAccumulator {
  #bytes: Buffer | undefined
  #length = 0

  /** Bytes collected so far. */
  get length(): number {
    return this.#length
  }

  /**
   * Adds `source[start, end)`.
   *
   * @param most Bytes that will be needed at most: the capacity is never larger.
   */
  append(source: Buffer, start: number, end: number, most: number): void {
    const needed = this.#length + (end - start)
    if (this.#bytes === undefined || this.#bytes.length < needed) this.#grow(needed, most)
    source.copy(this.#bytes as Buffer, this.#length, start, end)
    this.#length = needed
  }

  /** The byte at `index`, undefined beyond the end. */
  at(index: number): number | undefined {
    return index < this.#length ? this.#bytes?.[index] : undefined
  }

  /** The collected bytes; the accumulator is empty afterwards and does not touch them again. */
  take(): Buffer {
    const bytes = this.#bytes?.subarray(0, this.#length) ?? Buffer.alloc(0)
    this.#bytes = undefined
    this.#length = 0
    return bytes
  }

  #grow(needed: number, most: number): void {
    const capacity = Math.max(needed, Math.min(Math.max(needed * 2, SMALLEST_CAPACITY), most))
    const grown = Buffer.allocUnsafeSlow(capacity)
    this.#bytes?.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }
}
