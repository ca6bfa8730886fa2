import type { Clock } from '../clock.ts'
import type { Change, SharedPart } from '../control/part.ts'
import type { ClientTable } from './clients.ts'
import { killClients, readKillOrder } from './kill.ts'

/**
 * Two gateways read the clock of the upstream through answers that take a while: a connection that was made just before an order may
 * seem younger than it. In ms.
 */
const CLOCK_ERROR_MS = 1_000

/**
 * CLIENT KILL at all gateways: an order has the filters as JSON, and reaches connections that are older than the order, give or take
 * {@link CLOCK_ERROR_MS}. Nothing of it
 * is kept.
 */
export class SharedKills implements SharedPart {
  readonly prefix = 'k'
  readonly #clients: ClientTable
  readonly #clock: Clock
  readonly #upstreamMs: () => number

  /** @param upstreamMs The clock of the upstream as it is now, by which orders are dated; in ms since 1970. */
  constructor(clients: ClientTable, clock: Clock, upstreamMs: () => number) {
    this.#clients = clients
    this.#clock = clock
    this.#upstreamMs = upstreamMs
  }

  *names(): IterableIterator<string> {}

  valueOf(): undefined {
    return undefined
  }

  strays(): readonly [] {
    return []
  }

  /** There are orders and no registers. */
  accepts(): boolean {
    return false
  }

  apply(): number {
    return 0
  }

  understands(value: string): boolean {
    return readKillOrder(value) !== undefined
  }

  /** @returns The number of connections that were closed. */
  obey(value: string, { atMs }: Change): number {
    const order = readKillOrder(value)
    if (!order) return 0
    const orderedMs = this.#clock.monotonicMs() - Math.max(0, this.#upstreamMs() - atMs)
    return killClients(this.#clients, order, orderedMs, CLOCK_ERROR_MS)
  }
}
