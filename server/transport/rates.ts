/** Tokens that may be saved up, in seconds of the rate. */
const BURST_SECONDS = 2

/**
 * A token bucket: so many events a second, with a burst of twice as many. The rate is read at each use.
 */
export class RateLimiter {
  readonly #perSecond: () => number
  #tokens: number
  #atMs: number

  /**
   * @param perSecond 0 is no limit.
   * @param nowMs Monotonic milliseconds.
   */
  constructor(perSecond: () => number, nowMs: number) {
    this.#perSecond = perSecond
    this.#tokens = perSecond() * BURST_SECONDS
    this.#atMs = nowMs
  }

  /** Takes one token, which may be owed. @returns Milliseconds until the next may be taken; 0 if at once. */
  take(nowMs: number): number {
    const rate = this.#perSecond()
    if (rate === 0) return 0
    const earned = ((nowMs - this.#atMs) / 1000) * rate
    this.#tokens = Math.min(rate * BURST_SECONDS, this.#tokens + earned) - 1
    this.#atMs = nowMs
    return this.#tokens >= 0 ? 0 : (-this.#tokens / rate) * 1000
  }
}
