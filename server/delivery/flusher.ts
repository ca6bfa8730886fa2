import { MOST_BYTES_IN_FLIGHT, type Client } from '../client/client.ts'
import { WriteQueue } from './write-queue.ts'

/**
 * How long one slice of a flush may take before the loop gets its turn, in ms. While a slice is short, publishers are read
 * between slices, and subscribers that were not written yet get their next messages in the same write: 500 subscribers of
 * a publisher that waits for each reply get several messages per write instead of one.
 */
const SLICE_MS = 0.1

/**
 * As {@link SLICE_MS} once so much waits that a write could not hold more: then messages that come meanwhile gain nothing by
 * it, and publishers must not get ahead of subscribers who read as fast as they are written.
 */
const LONG_SLICE_MS = 10

/** Clients between two looks at the clock. */
const CLIENTS_PER_LOOK = 8

/** What the flusher needs of its surroundings. */
export interface FlusherOptions {
  /** Calls back once everything readable in this turn of the event loop has been handled. */
  readonly atEndOfTurn: (callback: () => void) => void
  /** Monotonic milliseconds. */
  readonly nowMs: () => number
  /** Bytes of the messages that not all clients have been written yet, each counted once. */
  readonly openBytes: () => number
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
  readonly #first = new WriteQueue()
  readonly #others = new WriteQueue()
  #scheduled = false
  #holds = false

  constructor(options: FlusherOptions) {
    this.#options = options
  }

  /** Asks for a client to be written at the end of this turn. */
  add(client: Client, first: boolean): void {
    if (first) this.#first.push(client)
    else this.#others.push(client)
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
    if (this.#first.isEmpty) return
    this.#write(this.#first, true, nowMs)
    if (!this.#first.isEmpty && !this.#scheduled) this.#schedule()
  }

  #schedule(): void {
    this.#scheduled = true
    this.#options.atEndOfTurn(this.#run)
  }

  readonly #run = (): void => {
    this.#scheduled = false
    const startMs = this.#options.nowMs()
    this.#write(this.#first, true, startMs)
    this.#write(this.#others, false, startMs)
    if (this.#others.isEmpty) this.#options.endTurn()
    const isLeft = !this.#first.isEmpty || !this.#others.isEmpty
    if (isLeft && !this.#scheduled) this.#schedule()
  }

  /** Writes clients until the slice is over, at least some. */
  #write(queue: WriteQueue, first: boolean, startMs: number): void {
    let nowMs = startMs
    const sliceMs = this.#options.openBytes() < MOST_BYTES_IN_FLIGHT ? SLICE_MS : LONG_SLICE_MS
    for (let count = 1; !queue.isEmpty; count++) {
      if (count % CLIENTS_PER_LOOK === 0) {
        nowMs = this.#options.nowMs()
        if (nowMs - startMs > sliceMs) return
      }
      const client = queue.shift() as Client
      this.#options.beforeWrite(client, nowMs)
      client.flush(nowMs, first)
      this.#options.afterWrite(client, nowMs)
    }
  }
}
