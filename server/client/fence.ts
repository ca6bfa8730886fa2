import type { Clock, Timer } from '../clock.ts'
import type { Control } from '../control/control.ts'
import { comesByHttp, type Client } from './client.ts'
import type { ClientTable } from './clients.ts'
import { CLOSES, closeWith } from './close.ts'

/** WebSockets of a gateway that stays cut off are closed after so long, in ms: another gateway may serve them. */
const CLOSE_AFTER_MS = 60_000

/** Span over which their returns are spread, in ms. */
const RETURN_SPREAD_MS = 10_000

/** Clients between two turns of the event loop. */
const CLOSED_AT_ONCE = 500

/** Everything that the fence of clients works with. */
interface FenceParts {
  readonly clock: Clock
  readonly clients: ClientTable
  readonly control: Control
  /** 0 to 1. */
  readonly random: () => number
  readonly atEndOfTurn: (callback: () => void) => void
}

/**
 * Keeps from clients what they may have lost meanwhile: while this gateway does not know what was revoked, nothing that waits for a
 * client is written. Nothing is lost by that: once it knows, sessions that were revoked are gone with what waited for them, and the
 * others get it. Administrators' connections go on.
 */
export class ClientFence {
  readonly #parts: FenceParts
  #timer: Timer | undefined
  #withheld: Client[] = []
  #isFenced = false

  constructor(parts: FenceParts) {
    this.#parts = parts
    parts.control.onFence((isFenced) => {
      this.#isFenced = isFenced
      if (isFenced) this.#begin()
      else this.#end()
    })
  }

  stop(): void {
    this.#timer?.cancel()
  }

  #begin(): void {
    const { clients, clock } = this.#parts
    for (const client of clients.all()) {
      // Those for whom nothing waits get nothing either: no message comes any more, and commands are answered.
      if (client.origin.listener === 'admin' || client.output.itemCount === 0) continue
      client.output.withhold()
      this.#withheld.push(client)
    }
    this.#timer?.cancel()
    this.#timer = clock.after(CLOSE_AFTER_MS, () => {
      this.#close([...clients.all()].filter(({ origin }) => isOfBrowser(origin)))
    })
  }

  #end(): void {
    this.#timer?.cancel()
    const withheld = this.#withheld
    this.#withheld = []
    for (const { output } of withheld) output.release()
  }

  #close(clients: Client[]): void {
    const { random, atEndOfTurn } = this.#parts
    if (!this.#isFenced) return
    for (const client of clients.splice(0, CLOSED_AT_ONCE)) {
      const retryMs = Math.floor(random() * RETURN_SPREAD_MS)
      if (!client.closed) client.close(closeWith(CLOSES.cutOff, { retryMs }))
    }
    if (clients.length > 0) atEndOfTurn(() => this.#close(clients))
  }
}

function isOfBrowser({ transport, listener }: Client['origin']): boolean {
  return comesByHttp(transport) && listener !== 'admin'
}
