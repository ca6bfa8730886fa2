import type { CommitRequest } from '../../control/control.ts'

/** Number of other gateways that are to confirm, and how long they are waited for. */
export type Wait = CommitRequest['wait']

/** Longest wait, in ms: its connection does nothing else meanwhile. */
const MOST_WAIT_MS = 60_000

/** The text after `-ERR ` where {@link readWait} finds none. */
export const BAD_WAIT = `WAIT must be followed by a number of gateways or ALL, and by 1 to ${MOST_WAIT_MS} milliseconds`

/** Parses the words after WAIT: `<n>|ALL <ms>`. @returns Undefined if they are wrong. */
export function readWait(count: string, ms: string): Wait | undefined {
  const waitMs = /^\d{1,5}$/.test(ms) ? Number(ms) : 0
  if (waitMs < 1 || waitMs > MOST_WAIT_MS) return undefined
  if (count.toUpperCase() === 'ALL') return { count: 'all', ms: waitMs }
  return /^\d{1,5}$/.test(count) ? { count: Number(count), ms: waitMs } : undefined
}
