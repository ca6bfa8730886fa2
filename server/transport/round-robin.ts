/** Longest time that the waiting connections take of one turn of the event loop, in ms; at least one of them goes on. */
const SLICE_MS = 2

/** A turn of the event loop that has read input of clients for longer is late, in ms. */
const LATE_MS = 5

/** A connection that shares the event loop with the others. */
interface Participant {
  /** Begins a new budget, and goes on with the input that waited for it. */
  takeTurn(): void
}

/** Environment of a {@link RoundRobin}. */
interface RoundRobinOptions {
  /** Calls back once everything readable in this turn of the event loop has been handled. */
  readonly atEndOfTurn: (callback: () => void) => void
  /** Monotonic milliseconds. */
  readonly nowMs: () => number
}

/**
 * Connections that have spent their budget of this turn of the event loop (`ws-turn-budget`, `tcp-turn-budget`), longest wait
 * first. Each goes on for one more budget, then the sockets are read, and so on: a long pipeline is executed in pieces, and
 * whoever sends one command waits for one piece of each of the others, not for all of them.
 */
export class RoundRobin {
  readonly #options: RoundRobinOptions
  #waiting: Participant[] = []
  #scheduled = false
  /** When this turn of the event loop was first asked whether it is late. */
  #beganMs: number | undefined

  constructor(options: RoundRobinOptions) {
    this.#options = options
  }

  /** Gives a connection its next turn once this one is over. It must not be waiting already. */
  add(participant: Participant): void {
    this.#waiting.push(participant)
    this.#schedule()
  }

  /** Tells whether those who are read from now on should leave most of their budget for turns to come: others wait for its end. */
  isLate(nowMs: number): boolean {
    if (this.#beganMs === undefined) {
      this.#beganMs = nowMs
      this.#options.atEndOfTurn(this.#endTurn)
    }
    return nowMs - this.#beganMs > LATE_MS
  }

  readonly #endTurn = (): void => {
    this.#beganMs = undefined
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    this.#options.atEndOfTurn(this.#run)
  }

  readonly #run = (): void => {
    this.#scheduled = false
    const { nowMs } = this.#options
    const round = this.#waiting
    this.#waiting = []
    const startMs = nowMs()
    for (let at = 0; at < round.length; at++) {
      if (at > 0 && nowMs() - startMs > SLICE_MS) {
        this.#waiting = [...round.slice(at), ...this.#waiting]
        this.#schedule()
        return
      }
      round[at]?.takeTurn()
    }
  }
}
