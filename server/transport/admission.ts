import type { ClientTable } from '../client/clients.ts'
import type { Counters } from '../command/counters.ts'

/** What both listeners ask before they take a connection. */
export interface AdmissionSettings {
  /** `maxclients`. */
  readonly maxClients: () => number
}

/** Limits on connections that hold for both listeners together. */
export class Admission {
  readonly #clients: ClientTable
  readonly #counters: Counters
  readonly #settings: AdmissionSettings
  #closing = false

  constructor(clients: ClientTable, counters: Counters, settings: AdmissionSettings) {
    this.#clients = clients
    this.#counters = counters
    this.#settings = settings
  }

  /** Whether the server is going away and takes nobody any more. */
  get closing(): boolean {
    return this.#closing
  }

  /** From now on nobody is admitted. */
  close(): void {
    this.#closing = true
  }

  /** Whether there is room for one more; counted as received, and as rejected if there is not. */
  admit(): boolean {
    this.#counters.connectionsReceived++
    if (!this.#closing && this.#clients.size < this.#settings.maxClients()) return true
    this.#counters.connectionsRejected++
    return false
  }
}
