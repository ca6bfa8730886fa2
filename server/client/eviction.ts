import type { Client } from './client.ts'
import type { ClientTable } from './clients.ts'
import { CLOSES } from './close.ts'
import { MemoryLedger } from './memory-ledger.ts'
import type { Clock, Timer } from '../clock.ts'

/** What eviction needs of its surroundings. */
export interface ClientEvictionParts {
  /** `maxmemory-clients` in bytes; 0 is off. */
  readonly limitBytes: () => number
  readonly clients: ClientTable
  readonly clock: Clock
  /** Called before a client is closed. */
  readonly onEvict: (client: Client) => void
}

/** How often all clients are measured, in ms: for what grows without anything being sent, as unfinished input. */
const LOOK_MS = 1_000

/**
 * Closes the biggest clients while all of them together hold as much memory as `maxmemory-clients` allows, or more.
 * CLIENT NO-EVICT counts, and is spared.
 *
 * Each client is measured after it was written to, and all of them once a second: nobody is visited per message.
 */
export class ClientEviction {
  readonly #parts: ClientEvictionParts
  readonly #ledger = new MemoryLedger()
  #limitBytes = 0
  #timer: Timer | undefined

  constructor(parts: ClientEvictionParts) {
    this.#parts = parts
    parts.clients.onClosed((client) => this.#ledger.forget(client))
  }

  start(): void {
    this.applyLimit()
    this.#timer = this.#parts.clock.every(LOOK_MS, () => this.#look())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  /** Reads the limit again: it has changed. */
  applyLimit(): void {
    this.#limitBytes = this.#parts.limitBytes()
    if (this.#limitBytes === 0) this.#ledger.clear()
    else this.#look()
  }

  /** Measures a client that has just been written to. */
  note(client: Client): void {
    if (this.#limitBytes === 0) return
    this.#ledger.note(client)
    if (this.#ledger.total >= this.#limitBytes) this.#evict()
  }

  #look(): void {
    if (this.#limitBytes === 0) return
    for (const client of this.#parts.clients.all()) this.#ledger.note(client)
    this.#evict()
  }

  #evict(): void {
    while (this.#ledger.total >= this.#limitBytes) {
      const victim = this.#ledger.biggest()
      if (!victim) return
      this.#parts.onEvict(victim)
      victim.close(CLOSES.evicted)
    }
  }
}
