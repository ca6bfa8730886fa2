import { atEndOfTurn, type Clock } from './clock.ts'

/** Longest time that a long piece of work takes of one turn of the event loop, in ms. */
const SLICE_MS = 8

/**
 * Divides a long piece of work among turns of the event loop, so that clients, heartbeats and the lease get theirs meanwhile:
 * `if (slices.isOver) await slices.next()`.
 */
export class Slices {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #startMs: number

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
    this.#startMs = clock.monotonicMs()
  }

  /** The work has had its time of this turn. */
  get isOver(): boolean {
    return this.#clock.monotonicMs() - this.#startMs >= SLICE_MS
  }

  /** Settles in the next turn, with a new slice. */
  async next(): Promise<void> {
    await new Promise<void>(atEndOfTurn)
    this.#startMs = this.#clock.monotonicMs()
  }
}
