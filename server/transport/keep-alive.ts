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
 * Pings every peer each `ws-ping-interval` at the latest, up to 20 % earlier so that pings are spread, and reports those that stay
 * silent for `ws-pong-timeout`. Any byte from a peer is an answer. One timer serves all.
 *
 * A dead line is found within the sum of both: intervals run from ping to ping, and count the time until the next check.
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
    peer.dueMs = this.#dueAfter(this.#clock.monotonicMs())
    this.#peers.add(peer)
    this.#timer ??= this.#clock.every(LOOK_MS, () => this.#look())
  }

  remove(peer: Pingable): void {
    this.#peers.delete(peer)
    if (this.#peers.size > 0) return
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** @param lastMs Of the ping before. */
  #dueAfter(lastMs: number): number {
    const intervalMs = this.#settings.seconds('ws-ping-interval') * 1000
    return lastMs + intervalMs * (0.8 + 0.2 * this.#random()) - LOOK_MS
  }

  #look(): void {
    if (this.#settings.seconds('ws-ping-interval') === 0) return
    const nowMs = this.#clock.monotonicMs()
    for (const peer of this.#peers) {
      if (peer.dueMs > nowMs) continue
      if (peer.pingedMs === 0) {
        this.#ping(peer, nowMs)
      } else if (peer.lastHeardMs() >= peer.pingedMs) {
        peer.dueMs = this.#dueAfter(peer.pingedMs)
        peer.pingedMs = 0
        if (peer.dueMs <= nowMs) this.#ping(peer, nowMs)
      } else if (nowMs >= this.#answerDueMs(peer)) {
        this.remove(peer)
        peer.dead()
      } else {
        peer.dueMs = this.#answerDueMs(peer)
      }
    }
  }

  #ping(peer: Pingable, nowMs: number): void {
    peer.pingedMs = nowMs
    // The next ping may be due before the answer is.
    peer.dueMs = Math.min(this.#answerDueMs(peer), this.#dueAfter(nowMs))
    peer.ping()
  }

  /** At the check that comes so much later, if that is a bit early too. */
  #answerDueMs({ pingedMs }: Pingable): number {
    return pingedMs + this.#settings.seconds('ws-pong-timeout') * 1000 - LOOK_MS / 2
  }
}
