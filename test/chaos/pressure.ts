import { readFileSync } from 'node:fs'

/** A machine is busy if some task waits for a processor for so much of the time. */
const BUSY = 0.75

/** How long some task has waited for a processor while others had them, as Linux counts it; a span of that. */
export class Pressure {
  readonly #fromMs = performance.now()
  readonly #fromWaitedMs = waitedMs()

  /** The part of the time since the beginning, 0 to 1; 0 where nobody counts it. */
  get share(): number {
    return (waitedMs() - this.#fromWaitedMs) / Math.max(1, performance.now() - this.#fromMs)
  }

  /** Nobody can be blamed for being late in that time. */
  get isBusy(): boolean {
    return this.share >= BUSY
  }
}

function waitedMs(): number {
  try {
    const [, total = '0'] =
      /^some .*total=(\d+)$/m.exec(readFileSync('/proc/pressure/cpu', 'utf8')) ?? []
    return Number(total) / 1_000
  } catch {
    return 0
  }
}
