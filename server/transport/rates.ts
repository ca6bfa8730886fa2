/** Capacity of a bucket, in seconds of the rate. */
const BURST_SECONDS = 2

/** A token bucket: so many events a second, with a burst of twice as many. The rate may change from call to call. */
export class RateLimiter {
  #tokens: number
  #atMs: number

  /** @param nowMs Monotonic milliseconds. */
  constructor(perSecond: number, nowMs: number) {
    this.#tokens = perSecond * BURST_SECONDS
    this.#atMs = nowMs
  }

  /**
   * Takes one token, which may be owed.
   *
   * @param perSecond 0 is no limit.
   * @returns Milliseconds until the next may be taken; 0 if at once.
   */
  take(perSecond: number, nowMs: number): number {
    if (perSecond === 0) return 0
    const earned = ((nowMs - this.#atMs) / 1000) * perSecond
    this.#tokens = Math.min(perSecond * BURST_SECONDS, this.#tokens + earned) - 1
    this.#atMs = nowMs
    return this.#tokens >= 0 ? 0 : (-this.#tokens / perSecond) * 1000
  }
}
