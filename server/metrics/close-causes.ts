import { CLOSE_CODES } from '../../shared/close-codes.ts'

/** Causes that have no close code of their own: on TCP, or in good order. */
const OTHER_CAUSES = [
  'quit',
  'peer-closed',
  'idle',
  'killed',
  'shutdown',
  'query-buffer',
  'cross-protocol',
  'ping-flood',
]

/** The names of {@link CloseCause} there are. All are shown from the start, so that the first of each is a rise. */
export const CLOSE_CAUSES: readonly string[] = [
  ...new Set([...CLOSE_CODES.map(({ name }) => name), ...OTHER_CAUSES]),
]
