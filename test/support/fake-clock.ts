import type { Clock, Timer } from '../../server/clock.ts'

interface Pending {
  dueMs: number
  periodMs: number | undefined
  readonly callback: () => void
}

/** A clock that stands still until a test moves it. Wall and monotonic time can be moved apart. */
export class FakeClock implements Clock {
  #wallMs: number
  #monotonicMs = 0
  readonly #pending = new Set<Pending>()

  constructor(wallMs = 1_700_000_000_000) {
    this.#wallMs = wallMs
  }

  wallMs(): number {
    return this.#wallMs
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  after(delayMs: number, callback: () => void): Timer {
    return this.#add({
      dueMs: this.#monotonicMs + Math.max(delayMs, 0),
      periodMs: undefined,
      callback,
    })
  }

  every(periodMs: number, callback: () => void): Timer {
    return this.#add({ dueMs: this.#monotonicMs + periodMs, periodMs, callback })
  }

  /** Timers that have been set and neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#pending.size
  }

  /** Moves both clocks on by `ms`, firing what falls due, in order. */
  advance(ms: number): void {
    const endMs = this.#monotonicMs + ms
    for (;;) {
      let next: Pending | undefined
      for (const pending of this.#pending) {
        if (pending.dueMs <= endMs && (!next || pending.dueMs < next.dueMs)) next = pending
      }
      if (!next) break
      this.#moveTo(Math.max(next.dueMs, this.#monotonicMs))
      if (next.periodMs === undefined) this.#pending.delete(next)
      else next.dueMs += next.periodMs
      next.callback()
    }
    this.#moveTo(endMs)
  }

  /** Steps the wall clock alone, as an administrator or NTP may. */
  stepWall(ms: number): void {
    this.#wallMs += ms
  }

  #moveTo(monotonicMs: number): void {
    this.#wallMs += monotonicMs - this.#monotonicMs
    this.#monotonicMs = monotonicMs
  }

  #add(pending: Pending): Timer {
    this.#pending.add(pending)
    return { cancel: () => void this.#pending.delete(pending) }
  }
}
