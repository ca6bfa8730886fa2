/** Longest time that newcomers take of one turn of the event loop, in ms; at least one of them is let in. */
const SLICE_MS = 4

/** Environment of {@link Arrivals}. */
interface ArrivalsOptions {
  /** Calls back once everything readable in this turn of the event loop has been handled. */
  readonly atEndOfTurn: (callback: () => void) => void
  /** Monotonic milliseconds. */
  readonly nowMs: () => number
}

/**
 * Newcomers of one listener: accepted sockets and HTTP requests, first come, first served. A turn of the event loop reads whatever has
 * come, and hundreds of upgrades at once, each with a token to verify, would keep those waiting who are connected already. Once a
 * turn has spent its slice on newcomers, the others wait for the next.
 */
export class Arrivals {
  readonly #options: ArrivalsOptions
  #waiting: (() => void)[] = []
  #spentMs = 0
  #isScheduled = false

  constructor(options: ArrivalsOptions) {
    this.#options = options
  }

  /** Lets a newcomer in: at once, or in a turn to come if this one has no time left. */
  enter(go: () => void): void {
    if (this.#waiting.length > 0 || this.#spentMs >= SLICE_MS) this.#waiting.push(go)
    else this.#letIn(go)
    this.#schedule()
  }

  /** Lets a newcomer in at once. @returns False if this turn has no time left: then it has to wait. */
  enterAtOnce(go: () => void): boolean {
    if (this.#waiting.length > 0 || this.#spentMs >= SLICE_MS) return false
    this.#letIn(go)
    this.#schedule()
    return true
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#options.atEndOfTurn(this.#endTurn)
  }

  readonly #endTurn = (): void => {
    this.#isScheduled = false
    this.#spentMs = 0
    const queue = this.#waiting
    if (queue.length === 0) return
    let at = 0
    // Those who come meanwhile wait behind the others.
    while (at < queue.length && this.#spentMs < SLICE_MS) this.#letIn(queue[at++] as () => void)
    this.#waiting = queue.slice(at)
    this.#schedule()
  }

  #letIn(go: () => void): void {
    const { nowMs } = this.#options
    const startMs = nowMs()
    go()
    this.#spentMs += nowMs() - startMs
  }
}
