import type { Client } from '../client/client.ts'

/** Places that are kept when nobody waits, and that may lie unused in front of those who do. */
const SPARE_PLACES = 4_096

/** Clients that wait to be written, in the order in which they came. Its places are used again: a turn allocates nothing. */
export class WriteQueue {
  #clients: (Client | undefined)[] = []
  #head = 0
  #tail = 0

  get isEmpty(): boolean {
    return this.#head === this.#tail
  }

  push(client: Client): void {
    if (this.#head > SPARE_PLACES) {
      this.#clients = this.#clients.slice(this.#head, this.#tail)
      this.#tail -= this.#head
      this.#head = 0
    }
    this.#clients[this.#tail++] = client
  }

  /** Takes the one who came first; undefined if nobody waits. */
  shift(): Client | undefined {
    if (this.#head === this.#tail) return undefined
    const client = this.#clients[this.#head]
    this.#clients[this.#head++] = undefined
    if (this.#head === this.#tail) {
      this.#head = this.#tail = 0
      if (this.#clients.length > SPARE_PLACES) this.#clients = []
    }
    return client
  }
}
