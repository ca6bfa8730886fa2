import type { Arenas } from '../resp/arenas.ts'
import type { SubscriberSegment } from './subscriber.ts'

/** Segments whose memory is used again at the end of the turn; what a longer turn begins beyond them is left alone. */
const RECYCLED_SEGMENTS = 4_096

/** What is open until all subscribers have been written. */
export class Turn {
  /** Payloads up to this size are taken by every subscriber there is. */
  smallestMaxMessageBytes = Number.POSITIVE_INFINITY
  readonly arenas: Arenas
  #groups: { seal(): void }[] = []
  #segments: SubscriberSegment[] = []

  constructor(arenas: Arenas) {
    this.arenas = arenas
  }

  /** A group has begun a segment. */
  began(group: { seal(): void }, segment: SubscriberSegment): void {
    this.#groups.push(group)
    if (this.#segments.length < RECYCLED_SEGMENTS) this.#segments.push(segment)
  }

  /** Seals what is open, and uses the memory again of what everybody was sent. */
  end(): void {
    for (const group of this.#groups) group.seal()
    for (const segment of this.#segments) segment.recycle()
    this.#groups = []
    this.#segments = []
  }
}
