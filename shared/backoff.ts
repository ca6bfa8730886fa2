/** How long to wait between attempts, in milliseconds. */
export interface BackoffLimits {
  /** The longest first wait. It doubles with each attempt. */
  readonly baseMs: number
  /** The longest wait of all. */
  readonly maxMs: number
}

/**
 * The wait before an attempt: any length between nothing and a ceiling that doubles each time ("full jitter").
 *
 * Clients that lost a server in the same moment come back evenly spread over the ceiling, not in waves.
 *
 * @param attempt 0 for the first attempt.
 * @param random Gives a number from 0 up to, but not including, 1.
 * @returns Whole milliseconds.
 */
export function fullJitter(attempt: number, limits: BackoffLimits, random: () => number): number {
  const ceilingMs = Math.min(limits.maxMs, limits.baseMs * 2 ** Math.max(attempt, 0))
  return Math.floor(random() * ceilingMs)
}
