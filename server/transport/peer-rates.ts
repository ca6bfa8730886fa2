import { networkOf } from '../addresses.ts'
import { RateLimiter } from './rates.ts'

/** Peers that are remembered; the one that came longest ago is forgotten for a new one. */
const MAX_PEERS = 10_000

/**
 * How fast each of many peers does something: a token bucket for each. What is refused costs no token, so that a peer is served
 * again as soon as it slows down, however often it has tried.
 */
export class PeerRates {
  /** The one that came longest ago first. */
  readonly #buckets = new Map<string, RateLimiter>()

  /** Peers that are remembered. */
  get size(): number {
    return this.#buckets.size
  }

  /**
   * Counts what a peer does.
   *
   * @param perSecond 0 is no limit.
   * @param nowMs Monotonic milliseconds.
   * @param count How often at once; all of it is admitted where one would be.
   * @returns False if it is one too many, and is not counted.
   */
  admits(peer: string, perSecond: number, nowMs: number, count = 1): boolean {
    if (perSecond === 0) return true
    const bucket = this.#buckets.get(peer) ?? new RateLimiter(perSecond, nowMs)
    this.#buckets.delete(peer)
    this.#buckets.set(peer, bucket)
    this.#forgetOldest()
    if (bucket.take(perSecond, nowMs, 0) > 0) return false
    bucket.take(perSecond, nowMs, count)
    return true
  }

  #forgetOldest(): void {
    if (this.#buckets.size <= MAX_PEERS) return
    for (const peer of this.#buckets.keys()) {
      this.#buckets.delete(peer)
      return
    }
  }
}

/** How fast each address (IPv6: each /64) opens connections, or sends requests. */
export class AddressRates extends PeerRates {
  override admits(ip: string, perSecond: number, nowMs: number, count = 1): boolean {
    return super.admits(perSecond === 0 ? ip : networkOf(ip), perSecond, nowMs, count)
  }
}
