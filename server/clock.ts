import { performance } from 'node:perf_hooks'

/** A pending timer; `cancel` may be called at any time, also after it fired. */
export interface Timer {
  cancel(): void
}

/**
 * Time for the server. Each part that waits or reads the time is handed a clock, so that tests own time.
 */
export interface Clock {
  /** Wall clock: milliseconds since 1970. It may jump in both directions. */
  wallMs(): number
  /** Milliseconds, with fractions, of a clock that never goes back. */
  monotonicMs(): number
  /** Calls `callback` once after `delayMs` (any size). Does not keep the process alive. */
  after(delayMs: number, callback: () => void): Timer
  /** Calls `callback` every `periodMs`. Does not keep the process alive. */
  every(periodMs: number, callback: () => void): Timer
}

/** The longest delay that Node's timers take: 2^31 - 1 ms, about 24.8 days; longer ones fire at once. */
const LONGEST_TIMEOUT_MS = 2_147_483_647

/** The clock of the machine. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, callback) {
    let handle: NodeJS.Timeout
    const arm = (remainingMs: number): void => {
      const stepMs = Math.min(Math.max(remainingMs, 0), LONGEST_TIMEOUT_MS)
      handle = setTimeout(() => {
        if (remainingMs > stepMs) arm(remainingMs - stepMs)
        else callback()
      }, stepMs)
      handle.unref()
    }
    arm(delayMs)
    return { cancel: () => clearTimeout(handle) }
  },
  every(periodMs, callback) {
    const handle = setInterval(callback, periodMs)
    handle.unref()
    return { cancel: () => clearInterval(handle) }
  },
}

/** Calls back once everything that is readable in this turn of the event loop has been handled. */
export function atEndOfTurn(callback: () => void): void {
  setImmediate(callback)
}

/** Waits for so many milliseconds, and keeps the process alive, which the timers of a {@link Clock} do not. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}
