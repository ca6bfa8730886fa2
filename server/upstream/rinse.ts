import type { Clock, Timer } from '../clock.ts'

/** Marks begin so, beacons with a digit. */
export const MARK = 'mark '

/** The longest wait for the other marks once one has come, in ms. */
const MOST_MS = 1_000

/**
 * The wait until a mark of each node has come back, or for so long after the first one that the others will not. Until one has come,
 * the node that they come through may stand still, with what was published before in front of it.
 */
export class Rinse {
  readonly #mark: string
  readonly #clock: Clock
  readonly #leastMs: number
  readonly #done: () => void
  readonly #send: (mark: string) => number
  readonly #seen = new Set<string>()
  readonly #sinceMs: number
  #missing: number | undefined
  #limit: Timer | undefined
  #rest: Timer | undefined

  /**
   * @param serial Unique on its link.
   * @param send Sends a mark through each node, with a number behind it, and answers how many.
   */
  constructor(
    clock: Clock,
    serial: number,
    leastMs: number,
    done: () => void,
    send: (mark: string) => number,
  ) {
    this.#clock = clock
    this.#mark = `${MARK}${serial}/`
    this.#leastMs = leastMs
    this.#done = done
    this.#send = send
    this.#sinceMs = clock.monotonicMs()
  }

  /** Sends the marks: they are heard from now on. */
  begin(): void {
    if (this.#missing !== undefined) return
    this.#missing = this.#send(this.#mark)
    this.#check()
  }

  came(text: string): void {
    if (!text.startsWith(this.#mark)) return
    this.#seen.add(text)
    this.#limit ??= this.#clock.after(MOST_MS, () => this.#end())
    this.#check()
  }

  cancel(): void {
    this.#limit?.cancel()
    this.#rest?.cancel()
  }

  #check(): void {
    if (this.#missing === undefined || this.#seen.size < this.#missing || this.#rest) return
    const passedMs = this.#clock.monotonicMs() - this.#sinceMs
    if (passedMs >= this.#leastMs) this.#end()
    else this.#rest = this.#clock.after(this.#leastMs - passedMs, () => this.#end())
  }

  #end(): void {
    this.cancel()
    this.#done()
  }
}
