import { networkOf } from '../addresses.ts'
import { RateLimiter } from './rates.ts'

/** Addresses that are remembered; the one that came longest ago is forgotten for a new one. */
const MAX_NETWORKS = 10_000

/**
 * How fast each address (IPv6: each /64) opens connections: a token bucket for each. A connection that is refused costs no token, so
 * that an address is served again as soon as it slows down, however many it has tried.
 */
export class ConnectionRates {
  /** By network, the one that came longest ago first. */
  readonly #buckets = new Map<string, RateLimiter>()

  /** Addresses that are remembered. */
  get size(): number {
    return this.#buckets.size
  }

  /**
   * Counts a connection.
   *
   * @param perSecond 0 is no limit.
   * @param nowMs Monotonic milliseconds.
   * @returns False if it is one too many, and is not counted.
   */
  admits(ip: string, perSecond: number, nowMs: number): boolean {
    if (perSecond === 0) return true
    const network = networkOf(ip)
    const bucket = this.#buckets.get(network) ?? new RateLimiter(perSecond, nowMs)
    this.#buckets.delete(network)
    this.#buckets.set(network, bucket)
    this.#forgetOldest()
    if (bucket.take(perSecond, nowMs, 0) > 0) return false
    bucket.take(perSecond, nowMs)
    return true
  }

  #forgetOldest(): void {
    if (this.#buckets.size <= MAX_NETWORKS) return
    for (const network of this.#buckets.keys()) {
      this.#buckets.delete(network)
      return
    }
  }
}
