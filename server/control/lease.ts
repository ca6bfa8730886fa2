/** The last second of a lease is not used: a turn of the event loop may take a while. */
const MARGIN_MS = 1_000

/**
 * The time for which this gateway may serve. A heartbeat that the upstream has accepted makes it last until `leaseMs` after the
 * heartbeat was *sent*, once everything that was in the log then has been applied. Times are monotonic milliseconds.
 */
export class Lease {
  readonly #leaseMs: number
  #endsMs = Number.NEGATIVE_INFINITY
  /** Accepted heartbeats that wait for entries to be applied, oldest first. */
  #waiting: { readonly sentMs: number; readonly last: string }[] = []

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs
  }

  /** Until then others count on this gateway; {@link servesUntilMs} is earlier. */
  get endsMs(): number {
    return this.#endsMs
  }

  /** From then on this gateway delivers nothing. */
  get servesUntilMs(): number {
    return this.#endsMs - MARGIN_MS
  }

  /** Entries are missing that an accepted heartbeat told of. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /**
   * A heartbeat was accepted.
   *
   * @param last The last entry of the log, as the answer says.
   * @param applied The last entry that has been applied here.
   */
  accepted(sentMs: number, last: string, applied: string): void {
    if (last === applied) this.#grant(sentMs)
    else this.#waiting.push({ sentMs, last })
  }

  /** An entry has been applied, and all before it. */
  applied(id: string): void {
    if (this.#waiting.length === 0) return
    const at = this.#waiting.findIndex(({ last }) => last === id)
    if (at >= 0) this.#grant((this.#waiting[at] as { sentMs: number }).sentMs)
  }

  /** What was promised by another upstream, or another state of it, counts no more. */
  dropWaiting(): void {
    this.#waiting = []
  }

  #grant(sentMs: number): void {
    this.#endsMs = Math.max(this.#endsMs, sentMs + this.#leaseMs)
    this.#waiting = this.#waiting.filter((each) => each.sentMs > sentMs)
  }
}
