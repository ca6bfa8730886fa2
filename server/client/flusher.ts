import type { Client } from './client.ts'

/** How long one slice of a flush may take before the loop gets its turn, in ms. */
const SLICE_MS = 8

/** Clients between two looks at the clock. */
const CLIENTS_PER_LOOK = 32

/** What the flusher needs of its surroundings. */
export interface FlusherOptions {
  /** Calls back once everything readable in this turn of the event loop has been handled. */
  readonly atEndOfTurn: (callback: () => void) => void
  /** Monotonic milliseconds. */
  readonly nowMs: () => number
  /** Called before clients are written: what is published from then on belongs to the next turn. */
  readonly endTurn: () => void
  /** Called for each client right before and right after its write, to judge its limits. */
  readonly beforeWrite: (client: Client, nowMs: number) => void
  readonly afterWrite: (client: Client, nowMs: number) => void
}

/**
 * Writes each client that has something to be sent once at the end of the turn, however much was put in its output.
 *
 * A flush of very many clients is cut in slices, so that the loop is never held for long. Order within a client
 * is not touched by that: what comes meanwhile goes behind what waits.
 */
export class Flusher {
  readonly #options: FlusherOptions
  #dirty: Client[] = []
  #scheduled = false

  constructor(options: FlusherOptions) {
    this.#options = options
  }

  /** Asks for a client to be written at the end of this turn. */
  add(client: Client): void {
    this.#dirty.push(client)
    if (!this.#scheduled) this.#schedule()
  }

  #schedule(): void {
    this.#scheduled = true
    this.#options.atEndOfTurn(() => this.#run())
  }

  #run(): void {
    this.#scheduled = false
    this.#options.endTurn()
    const clients = this.#dirty
    this.#dirty = []
    const startMs = this.#options.nowMs()
    let nowMs = startMs
    for (let i = 0; i < clients.length; i++) {
      if (i % CLIENTS_PER_LOOK === CLIENTS_PER_LOOK - 1) {
        nowMs = this.#options.nowMs()
        if (nowMs - startMs > SLICE_MS) {
          this.#dirty = clients.slice(i).concat(this.#dirty)
          break
        }
      }
      const client = clients[i] as Client
      this.#options.beforeWrite(client, nowMs)
      client.flush(nowMs)
      this.#options.afterWrite(client, nowMs)
    }
    if (this.#dirty.length > 0 && !this.#scheduled) this.#schedule()
  }
}
