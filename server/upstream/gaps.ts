import type { Clock } from '../clock.ts'
import type { Subscriber } from '../pubsub/subscriber.ts'
import type { Gap } from './backplane.ts'
import type { Source } from './link/source.ts'

/** Sources that went out together, from that moment until the last of them is in force again. */
interface OpenGap {
  readonly cause: string
  readonly fromMs: number
  readonly missing: Set<Source>
  readonly holders: Iterable<Subscriber>
  readonly name: string | undefined
}

/** The gaps of a gateway: which are open, and how many there have been. */
export class Gaps {
  readonly #clock: Clock
  readonly #open = new Set<OpenGap>()
  readonly #counts = new Map<string, number>()
  readonly #listeners: ((gap: Gap) => void)[] = []
  #seconds = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Gaps so far, by cause. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts
  }

  /** Their length in seconds, together. */
  get seconds(): number {
    return this.#seconds
  }

  /** Sources that are to come back. */
  get missing(): number {
    let count = 0
    for (const { missing } of this.#open) count += missing.size
    return count
  }

  onGap(listener: (gap: Gap) => void): void {
    this.#listeners.push(listener)
  }

  /**
   * A gap begins: messages of these sources may be lost from now on.
   *
   * @param lastProofMs Nothing that was published before was lost; monotonic milliseconds.
   * @param name See {@link Gap.name}.
   */
  begin(
    cause: string,
    lastProofMs: number,
    sources: readonly Source[],
    holders: Iterable<Subscriber>,
    name: string | undefined,
  ): void {
    if (sources.length === 0) return
    this.#counts.set(cause, (this.#counts.get(cause) ?? 0) + 1)
    const fromMs = this.#clock.wallMs() - (this.#clock.monotonicMs() - lastProofMs)
    this.#open.add({ cause, fromMs, missing: new Set(sources), holders, name })
  }

  /** A source is in force again, or nobody needs it any more, or the upstream refuses it. */
  settled(source: Source): void {
    for (const gap of this.#open) {
      if (!gap.missing.delete(source) || gap.missing.size > 0) continue
      this.#open.delete(gap)
      const { fromMs, holders, name } = gap
      const toMs = this.#clock.wallMs()
      this.#seconds += Math.max(toMs - fromMs, 0) / 1_000
      const told = { fromMs: Math.floor(fromMs), toMs: Math.ceil(toMs), holders, name }
      for (const listener of this.#listeners) listener(told)
    }
  }
}
