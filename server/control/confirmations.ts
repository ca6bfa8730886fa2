import type { Clock, Timer } from '../clock.ts'
import type { MissingNode } from './control.ts'

/** A gateway whose confirmation is waited for. */
export interface Awaited {
  readonly id: string
  readonly name: string
  /** Monotonic milliseconds: then it is fenced, if it has not applied the entry. */
  readonly leaseEndsMs: number
}

/** Who has confirmed an entry, and who has not. */
export interface Confirmed {
  /** Sessions that the others have cut or restricted. */
  readonly sessions: number
  readonly confirmed: readonly string[]
  readonly fenced: readonly string[]
  readonly missing: readonly MissingNode[]
}

/** The confirmations of one entry, from before it is sent: they may come before the answer to the commit. */
export class Confirmations {
  readonly #clock: Clock
  /** Sessions by id of the gateway. */
  readonly #came = new Map<string, number>()
  #isEnough: () => boolean = () => false
  #finish: () => void = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A gateway has applied the entry. */
  came(node: string, sessions: number): void {
    this.#came.set(node, sessions)
    if (this.#isEnough()) this.#finish()
  }

  /**
   * Waits until so many have confirmed or are fenced.
   *
   * @param awaited Looked up again and again: a gateway may have joined with the entry applied.
   * @param ms Longest wait.
   */
  async wait(awaited: readonly Awaited[], count: number | 'all', ms: number): Promise<Confirmed> {
    const clock = this.#clock
    const needed = count === 'all' ? awaited.length : Math.min(count, awaited.length)
    const isDone = ({ id, leaseEndsMs }: Awaited): boolean =>
      this.#came.has(id) || leaseEndsMs <= clock.monotonicMs()
    this.#isEnough = () => awaited.filter(isDone).length >= needed
    if (!this.#isEnough() && ms > 0) {
      const endMs = clock.monotonicMs() + ms
      await new Promise<void>((resolve) => {
        let timer: Timer | undefined
        const look = (): void => {
          const nowMs = clock.monotonicMs()
          if (this.#isEnough() || nowMs >= endMs) {
            this.#finish()
            return
          }
          const ends = awaited.map(({ leaseEndsMs }) => leaseEndsMs).filter((at) => at > nowMs)
          timer = clock.after(Math.min(endMs, ...ends) - nowMs, look)
        }
        this.#finish = () => {
          timer?.cancel()
          resolve()
        }
        look()
      })
    }
    return this.#result(awaited)
  }

  #result(awaited: readonly Awaited[]): Confirmed {
    const nowMs = this.#clock.monotonicMs()
    const confirmed: string[] = []
    const fenced: string[] = []
    const missing: MissingNode[] = []
    for (const { id, name, leaseEndsMs } of awaited) {
      if (this.#came.has(id)) confirmed.push(name)
      else if (leaseEndsMs <= nowMs) fenced.push(name)
      else missing.push({ name, fencedInMs: Math.ceil(leaseEndsMs - nowMs) })
    }
    let sessions = 0
    for (const hit of this.#came.values()) sessions += hit
    return { sessions, confirmed, fenced, missing }
  }
}
