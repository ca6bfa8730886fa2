import type { CommandContext } from './context.ts'
import type { Later } from './deferred.ts'
import type { Completion } from './spec.ts'

/** Number of names that are handled in one turn of the event loop: a few milliseconds of work. */
export const NAMES_PER_SLICE = 512

/** Handles the names `[from, to)`. @returns False to stop, its reply being complete. */
type HandleNames = (context: CommandContext, from: number, to: number) => boolean

/**
 * Handles the names of one command in slices, one for each turn of the event loop, so that other clients do not wait. The
 * replies of a slice are sent, and count against the output limit, before the next one begins. In a transaction all names
 * are one slice, since nothing may happen in between.
 *
 * The request stays valid: its connection parses on only when the command is done.
 */
export function inSlices(
  context: CommandContext,
  count: number,
  handle: HandleNames,
): void | Later<Completion> {
  if (!context.inTransaction) return handleFrom(context, 0, count, handle)
  handle(context, 0, count)
}

function handleFrom(
  context: CommandContext,
  from: number,
  count: number,
  handle: HandleNames,
): void | Later<Completion> {
  const to = Math.min(from + NAMES_PER_SLICE, count)
  const goesOn = handle(context, from, to)
  if (!goesOn || to === count) return
  return inNextTurn(context, (later) => handleFrom(later, to, count, handle))
}

/** Has the rest of a command done in the next turn of the event loop. */
export function inNextTurn({ server }: CommandContext, rest: Completion): Promise<Completion> {
  return new Promise((resolve) => {
    server.clock.after(0, () => resolve(rest))
  })
}
