import type { Client } from './client.ts'

/**
 * How long one slice of a flush may take before the loop gets its turn, in ms. While a slice is short, publishers are read
 * between slices, and subscribers that were not written yet get their next messages in the same write: 500 subscribers of
 * a publisher that waits for each reply get several messages per write instead of one.
 */
const SLICE_MS = 0.1

/** Clients between two looks at the clock. */
const CLIENTS_PER_LOOK = 8

/** Places in front of the queue that are given back at once. */
const SPENT_PLACES = 4_096

/** What the flusher needs of its surroundings. */
export interface FlusherOptions {
  /** Calls back once everything readable in this turn of the event loop has been handled. */
  readonly atEndOfTurn: (callback: () => void) => void
  /** Monotonic milliseconds. */
  readonly nowMs: () => number
  /** Called when all clients have been written. */
  readonly endTurn: () => void
  /** Called for each client right before and right after its write, to judge its limits. */
  readonly beforeWrite: (client: Client, nowMs: number) => void
  readonly afterWrite: (client: Client, nowMs: number) => void
}

/**
 * Writes each client that has something to be sent at the end of the turn, once, however much was put in its output.
 *
 * Those who wait for a reply go first, so that they can go on. The others queue up, and are written in slices, so that the
 * loop is never held for long. Order within a client is not touched by that: what comes meanwhile goes behind what
 * waits.
 */
export class Flusher {
  readonly #options: FlusherOptions
  #first: Client[] = []
  #queue: Client[] = []
  /** Where the queue begins; what lies before has been written. */
  #head = 0
  #scheduled = false
  #holds = false

  constructor(options: FlusherOptions) {
    this.#options = options
  }

  /** Asks for a client to be written at the end of this turn. */
  add(client: Client, first: boolean): void {
    if (first) this.#first.push(client)
    else this.#queue.push(client)
    if (!this.#scheduled && !(first && this.#holds)) this.#schedule()
  }

  /** From here to {@link answer} nobody is written for a reply: all commands of one read are answered in one write. */
  hold(): void {
    this.#holds = true
  }

  /**
   * Writes those who wait for a reply now, not at the end of the turn. A turn of the loop costs as much as several
   * commands.
   *
   * @param nowMs Monotonic milliseconds.
   */
  answer(nowMs: number): void {
    this.#holds = false
    if (this.#first.length === 0) return
    this.#writeFirst(nowMs)
    if (this.#first.length > 0 && !this.#scheduled) this.#schedule()
  }

  #schedule(): void {
    this.#scheduled = true
    this.#options.atEndOfTurn(() => this.#run())
  }

  #run(): void {
    this.#scheduled = false
    const startMs = this.#options.nowMs()
    this.#writeFirst(startMs)
    this.#head = this.#writeAll(this.#queue, this.#head, false, startMs)
    if (this.#head === this.#queue.length) {
      this.#queue = []
      this.#head = 0
      this.#options.endTurn()
    } else if (this.#head > SPENT_PLACES) {
      this.#queue = this.#queue.slice(this.#head)
      this.#head = 0
    }
    const isLeft = this.#first.length > 0 || this.#queue.length > 0
    if (isLeft && !this.#scheduled) this.#schedule()
  }

  #writeFirst(startMs: number): void {
    const first = this.#first
    this.#first = []
    const written = this.#writeAll(first, 0, true, startMs)
    if (written < first.length) this.#first = first.slice(written).concat(this.#first)
  }

  /** Writes clients until the slice is over, at least some. @returns The first that was not written. */
  #writeAll(clients: readonly Client[], from: number, first: boolean, startMs: number): number {
    let nowMs = startMs
    for (let at = from; at < clients.length; at++) {
      if ((at - from) % CLIENTS_PER_LOOK === CLIENTS_PER_LOOK - 1) {
        nowMs = this.#options.nowMs()
        if (nowMs - startMs > SLICE_MS) return at
      }
      const client = clients[at] as Client
      this.#options.beforeWrite(client, nowMs)
      client.flush(nowMs, first)
      this.#options.afterWrite(client, nowMs)
    }
    return clients.length
  }
}
