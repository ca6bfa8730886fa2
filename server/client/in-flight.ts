/** Messages that one client may have on the way to the upstream, and their bytes. One larger message may go alone. */
const MOST_PUBLISHES = 1_024
const MOST_BYTES = 1_048_576

/** Publishes of one client that the upstream has not answered yet. */
export class PublishesInFlight {
  #count = 0
  #bytes = 0
  #waiting: (() => void)[] = []

  get count(): number {
    return this.#count
  }

  /** Bytes of the messages. */
  get bytes(): number {
    return this.#bytes
  }

  /** Reports whether a message of so many bytes has to wait until others are answered. */
  isFull(messageBytes: number): boolean {
    if (this.#count === 0) return false
    return this.#count >= MOST_PUBLISHES || this.#bytes + messageBytes > MOST_BYTES
  }

  add(messageBytes: number): void {
    this.#count++
    this.#bytes += messageBytes
  }

  /** A message has been answered. */
  remove(messageBytes: number): void {
    this.#count--
    this.#bytes -= messageBytes
    if (this.#waiting.length === 0) return
    // A waiter that is not due yet waits again.
    for (const check of this.#waiting.splice(0)) check()
  }

  /** Settles once half of the room is free, and a message of so many bytes fits in. */
  room(messageBytes: number): Promise<void> {
    return this.#until(
      () =>
        this.#count === 0 ||
        (this.#count <= MOST_PUBLISHES / 2 && this.#bytes + messageBytes <= MOST_BYTES / 2),
    )
  }

  /** Settles once all are answered. */
  none(): Promise<void> {
    return this.#until(() => this.#count === 0)
  }

  #until(isDue: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (isDue()) resolve()
        else this.#waiting.push(check)
      }
      check()
    })
  }
}
