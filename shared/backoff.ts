/** Limits of the waits between attempts, in milliseconds. */
interface BackoffLimits {
  /** Maximum of the first wait. It doubles with each attempt. */
  readonly baseMs: number
  /** Upper limit of the waits. */
  readonly maxMs: number
}

/**
 * Returns the wait before an attempt: random, up to a ceiling that doubles with each attempt ("full jitter").
 *
 * Clients that lose a server at the same moment return evenly spread, not in waves.
 *
 * @param attempt 0 for the first attempt.
 * @param random Gives a number from 0 up to, but not including, 1.
 * @returns Whole milliseconds.
 */
export function fullJitter(attempt: number, limits: BackoffLimits, random: () => number): number {
  const ceilingMs = Math.min(limits.maxMs, limits.baseMs * 2 ** Math.max(attempt, 0))
  return Math.floor(random() * ceilingMs)
}
