import type { Timer } from '../clock.ts'
import type { Services } from '../command/context.ts'
import type { Client } from './client.ts'
import { CLOSES } from './close.ts'
import { clientForLog, clientMemory } from './describe.ts'

/** Clients below this size are one class; above it each class is twice the one before. */
const SMALLEST_CLASS_BYTES = 32_768

/** Bytes of the largest class and beyond: 2^(15 + 18), 8 GiB. */
const CLASSES = 19

interface Account {
  bytes: number
  /** Index into the classes; undefined for a client that may not be evicted. */
  size: number | undefined
}

/**
 * Ledger of the memory of all clients, which finds the biggest (`maxmemory-clients`).
 *
 * A client is measured after each write to it, and all of them periodically. A measurement takes constant time. Clients
 * are grouped by powers of two, so that the biggest is found without sorting.
 */
export class MemoryLedger {
  readonly #accounts = new Map<Client, Account>()
  readonly #classes: Set<Client>[] = Array.from({ length: CLASSES }, () => new Set())
  #total = 0

  /** Bytes of all clients as last measured. */
  get total(): number {
    return this.#total
  }

  /** Measures a client. */
  note(client: Client): void {
    if (client.closed) return
    const bytes = clientMemory(client)
    const size = client.noEvict ? undefined : classOf(bytes)
    const account = this.#accounts.get(client)
    if (!account) {
      this.#accounts.set(client, { bytes, size })
      this.#total += bytes
      if (size !== undefined) this.#classes[size]?.add(client)
      return
    }
    this.#total += bytes - account.bytes
    account.bytes = bytes
    if (account.size === size) return
    if (account.size !== undefined) this.#classes[account.size]?.delete(client)
    if (size !== undefined) this.#classes[size]?.add(client)
    account.size = size
  }

  /** Forgets a client that is gone. */
  forget(client: Client): void {
    const account = this.#accounts.get(client)
    if (!account) return
    this.#total -= account.bytes
    if (account.size !== undefined) this.#classes[account.size]?.delete(client)
    this.#accounts.delete(client)
  }

  /** Forgets all clients. */
  clear(): void {
    this.#accounts.clear()
    for (const clients of this.#classes) clients.clear()
    this.#total = 0
  }

  /** A client of the largest size class; undefined where none may be evicted. */
  biggest(): Client | undefined {
    for (let size = CLASSES - 1; size >= 0; size--) {
      for (const client of this.#classes[size] ?? []) return client
    }
    return undefined
  }
}

function classOf(bytes: number): number {
  if (bytes <= SMALLEST_CLASS_BYTES) return 0
  return Math.min(CLASSES - 1, Math.ceil(Math.log2(bytes / SMALLEST_CLASS_BYTES)))
}

/** Time between two measurements of all clients, in ms: unfinished input grows without any write. */
const LOOK_MS = 1_000

type EvictingServer = Pick<Services, 'clients' | 'clock' | 'config' | 'counters' | 'peerLog'>

/**
 * Closes the biggest clients while all of them together hold at least `maxmemory-clients`. Clients with NO-EVICT count,
 * but are not closed.
 *
 * Each client is measured after a write to it, and all of them once a second: no message costs a visit of each client.
 */
export class ClientEviction {
  readonly #server: EvictingServer
  readonly #ledger = new MemoryLedger()
  #limitBytes = 0
  #timer: Timer | undefined

  constructor(server: EvictingServer) {
    this.#server = server
    server.clients.onClosed((client) => this.#ledger.forget(client))
    server.config.onChange(['maxmemory-clients', 'maxmemory'], () => this.#limitChanged())
  }

  start(): void {
    this.#limitChanged()
    this.#timer = this.#server.clock.every(LOOK_MS, () => this.#look())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  /** Measures a client that has just been written to. */
  note(client: Client): void {
    if (this.#limitBytes === 0) return
    this.#ledger.note(client)
    if (this.#ledger.total >= this.#limitBytes) this.#evict()
  }

  #limitChanged(): void {
    this.#limitBytes = this.#server.config.memoryOrPercent('maxmemory-clients')
    if (this.#limitBytes === 0) this.#ledger.clear()
    else this.#look()
  }

  #look(): void {
    if (this.#limitBytes === 0) return
    for (const client of this.#server.clients.all()) this.#ledger.note(client)
    this.#evict()
  }

  #evict(): void {
    const { clock, config, counters, peerLog } = this.#server
    while (this.#ledger.total >= this.#limitBytes) {
      const victim = this.#ledger.biggest()
      if (!victim) return
      counters.evictedClients++
      peerLog.write('evicted', () => clientForLog(victim, config, clock.monotonicMs()))
      victim.close(CLOSES.evicted)
    }
  }
}
