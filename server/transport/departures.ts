/** Longest time that sockets are closed in one turn of the event loop, in ms; at least one of them is. */
const SLICE_MS = 1

/** Environment of {@link Departures}. */
interface DeparturesOptions {
  /** Calls back once everything readable in this turn of the event loop has been handled. */
  readonly atEndOfTurn: (callback: () => void) => void
  /** Monotonic milliseconds. */
  readonly nowMs: () => number
}

/**
 * Sockets that are to be closed at once, whose clients neither get nor send anything any more. Closing a socket takes
 * most of the time that the end of a session does: hundreds that are revoked together are silent first, then that is told to whoever
 * waits for it, and then they are closed, a few in each turn of the event loop.
 */
export class Departures {
  readonly #options: DeparturesOptions
  #waiting: (() => void)[] = []
  #isScheduled = false

  constructor(options: DeparturesOptions) {
    this.#options = options
  }

  /** Closes a socket in a turn to come. */
  leave(close: () => void): void {
    this.#waiting.push(close)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#options.atEndOfTurn(this.#run)
  }

  readonly #run = (): void => {
    this.#isScheduled = false
    const { nowMs } = this.#options
    const startMs = nowMs()
    let at = 0
    do this.#waiting[at++]?.()
    while (at < this.#waiting.length && nowMs() - startMs < SLICE_MS)
    this.#waiting = this.#waiting.slice(at)
    if (this.#waiting.length > 0) this.#schedule()
  }
}
