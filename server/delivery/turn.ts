import type { Arenas } from './arenas.ts'
import type { Segment } from './segment.ts'

/** Places that are kept from turn to turn. */
const KEPT_PLACES = 1_024

/** Segments left for new ones that are looked at again, to use their memory again. */
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

  /** Notes a segment that was left for a new one. A turn may last as long as there is load: what was sent by now is used again. */
  filled(segment: Segment): void {
    this.#filled.push(segment)
    this.#filled = this.#filled.filter((one) => !one.recycle()).slice(-FILLED_SEGMENTS)
  }

  /** Seals what is open, and uses the memory again of what everybody was sent. */
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
