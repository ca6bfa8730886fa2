import type { Arenas } from './arenas.ts'
import type { Segment } from './segment.ts'

/** Places that are kept from turn to turn. */
const KEPT_PLACES = 1_024

/** Number of full segments that are checked for reuse of their memory. */
const FILLED_SEGMENTS = 8

/** Subscribers that share a segment. */
export interface Sharing {
  /** Ends the segment: the next message begins another. @returns It. */
  seal(): Segment | undefined
}

/** The segments that are open until all subscribers have been written. */
export class Turn {
  readonly arenas: Arenas
  /** Of all messages of this turn, each counted once. */
  bytes = 0
  #sharing: (Sharing | undefined)[] = []
  #count = 0
  /** Sealed in the middle of the turn. */
  #filled: Segment[] = []

  constructor(arenas: Arenas) {
    this.arenas = arenas
  }

  /** Notes a segment that has been begun, to be sealed at the end. */
  began(sharing: Sharing): void {
    this.#sharing[this.#count++] = sharing
  }

  /** Notes a full segment. A turn may last as long as there is load, so memory that has been sent is reused. */
  filled(segment: Segment): void {
    this.#filled.push(segment)
    this.#filled = this.#filled.filter((one) => !one.recycle()).slice(-FILLED_SEGMENTS)
  }

  /** Seals the open segments, and reuses the memory of those that all subscribers were sent. */
  end(): void {
    for (let i = 0; i < this.#count; i++) {
      this.#sharing[i]?.seal()?.recycle()
      this.#sharing[i] = undefined
    }
    if (this.#count > KEPT_PLACES) this.#sharing = []
    this.#count = this.bytes = 0
    if (this.#filled.length === 0) return
    for (const segment of this.#filled) segment.recycle()
    this.#filled = []
  }
}
