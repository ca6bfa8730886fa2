import type { Clock, Timer } from '../clock.ts'
import type { Settings } from '../config/settings.ts'
import { encodePush } from '../resp/push.ts'
import type { Backplane, Gap } from '../upstream/backplane.ts'
import type { Client } from './client.ts'
import { CLOSES } from './close.ts'

/** Time over which clients are closed after a gap, in ms: all at once, they would be back all at once. */
const SPREAD_MS = 2_000

/** Time between two closes, or rather between two groups that are closed together, in ms. */
const STEP_MS = 50

/**
 * Tells subscribers of messages that they may have missed (`upstream-gap-ws`, `upstream-gap-tcp`).
 *
 * A WebSocket gets the RESP3 push `gap <channel or pattern, empty for all> <from> <to>`, in Unix milliseconds, or is closed.
 * Clients over TCP are closed, as by a failover of Redis: their libraries know reconnects, and no such push.
 */
export class GapNotices {
  readonly #clock: Clock
  readonly #config: Settings
  /** To be closed, first noticed first. */
  readonly #leaving = new Set<Client>()
  #untilMs = 0
  #timer: Timer | undefined

  constructor(clock: Clock, config: Settings, backplane: Backplane) {
    this.#clock = clock
    this.#config = config
    backplane.onGap((gap) => this.#announce(gap))
  }

  /** Closes nobody any more. */
  stop(): void {
    this.#timer?.cancel()
    this.#leaving.clear()
  }

  #announce({ fromMs, toMs, name, holders }: Gap): void {
    const pushes = this.#config.choice('upstream-gap-ws') === 'push'
    const closesTcp = this.#config.choice('upstream-gap-tcp') === 'close'
    const push = encodePush(3, ['gap', name ?? '', Math.floor(fromMs), Math.ceil(toMs)])
    let isAnyLeaving = false
    for (const { output } of holders) {
      const { client } = output
      if (client.closed) continue
      if (client.isWeb && pushes) {
        output.push(push)
      } else if (client.isWeb || closesTcp) {
        this.#leaving.add(client)
        isAnyLeaving = true
      }
    }
    if (!isAnyLeaving) return
    this.#untilMs = this.#clock.monotonicMs() + SPREAD_MS
    this.#timer ??= this.#clock.every(STEP_MS, () => this.#closeSome())
  }

  #closeSome(): void {
    const leftMs = Math.max(0, this.#untilMs - this.#clock.monotonicMs())
    let count = Math.ceil(this.#leaving.size / (1 + Math.floor(leftMs / STEP_MS)))
    for (const client of this.#leaving) {
      if (count-- <= 0) return
      this.#leaving.delete(client)
      client.close(CLOSES.upstreamGap)
    }
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
