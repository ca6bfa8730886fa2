import type { Clock } from '../../clock.ts'

/** Time from one return to the next, in ms: 500 logins a second. */
const SLOT_MS = 2

/** Returns are spread over so many milliseconds at most; of more sessions than fit, several share a slot. */
const SPREAD_MS = 10_000

/** The first returns of a burst need no hint: the random wait of the clients spreads them enough. */
const FREE_MS = 200

/**
 * The times at which closed sessions are asked to return. One that is closed alone returns at once; those of a burst return
 * one after the other, at a rate at which a server logs clients in.
 */
export class ReturnSlots {
  readonly #clock: Clock
  /** Monotonic. */
  #nextMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The wait of the next session that is closed, in whole ms; undefined if it need not wait. */
  next(): number | undefined {
    const nowMs = this.#clock.monotonicMs()
    const untilMs = Math.max(this.#nextMs - nowMs, 0)
    const waitMs = untilMs < SPREAD_MS ? untilMs : 0
    this.#nextMs = nowMs + waitMs + SLOT_MS
    return waitMs < FREE_MS ? undefined : Math.floor(waitMs)
  }
}
