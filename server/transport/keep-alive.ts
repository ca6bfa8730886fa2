import type { Clock, Timer } from '../clock.ts'
import type { Settings } from '../config/settings.ts'

/** A peer that is kept alive. There may be very many, so its state is kept in it. */
export interface Pingable {
  /** Time of its next check, in monotonic milliseconds. */
  dueMs: number
  /** Time of the ping that it has to answer; 0 if no answer is due. */
  pingedMs: number
  ping(): void
  /** Called if it did not answer in time. */
  dead(): void
  /** Monotonic milliseconds of the last byte or pong from it. */
  lastHeardMs(): number
}

/** Interval of the checks of all peers, in ms. */
const LOOK_MS = 1_000

/**
 * Pings every peer each `ws-ping-interval`, varied by 20 % either way so that pings are spread, and reports those that stay
 * silent for `ws-pong-timeout`. Any byte from a peer is an answer. One timer serves all.
 */
export class KeepAlive {
  readonly #clock: Clock
  readonly #settings: Settings
  readonly #random: () => number
  readonly #peers = new Set<Pingable>()
  #timer: Timer | undefined

  /** @param random 0 to 1. */
  constructor(clock: Clock, settings: Settings, random: () => number) {
    this.#clock = clock
    this.#settings = settings
    this.#random = random
  }

  add(peer: Pingable): void {
    peer.dueMs = this.#nextDueMs()
    this.#peers.add(peer)
    this.#timer ??= this.#clock.every(LOOK_MS, () => this.#look())
  }

  remove(peer: Pingable): void {
    this.#peers.delete(peer)
    if (this.#peers.size > 0) return
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #nextDueMs(): number {
    return (
      this.#clock.monotonicMs() +
      this.#settings.seconds('ws-ping-interval') * 1000 * (0.8 + 0.4 * this.#random())
    )
  }

  #look(): void {
    if (this.#settings.seconds('ws-ping-interval') === 0) return
    const nowMs = this.#clock.monotonicMs()
    for (const peer of this.#peers) {
      if (peer.dueMs > nowMs) continue
      if (peer.pingedMs === 0) {
        peer.pingedMs = nowMs
        peer.dueMs = nowMs + this.#settings.seconds('ws-pong-timeout') * 1000
        peer.ping()
      } else if (peer.lastHeardMs() >= peer.pingedMs) {
        peer.pingedMs = 0
        peer.dueMs = this.#nextDueMs()
      } else {
        this.remove(peer)
        peer.dead()
      }
    }
  }
}
