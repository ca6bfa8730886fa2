import type { CommandContext } from './context.ts'
import type { Completion } from './spec.ts'

/** Names that a command of the SUBSCRIBE family handles before the event loop gets its turn: a few milliseconds' work. */
export const NAMES_PER_SLICE = 512

/** Handles the names `[from, to)`. @returns False to stop, its reply being complete. */
type HandleNames = (context: CommandContext, from: number, to: number) => boolean

/**
 * Handles the names of one command, slice by slice where there are many, so that nobody else waits for long. What is
 * written for a slice is sent, and counts against the output limit, before the next one begins. In a transaction all
 * names are one slice: nothing may happen in between.
 *
 * The request stays as it is all the while: its connection goes on parsing only when all of it is done.
 */
export function inSlices(
  context: CommandContext,
  count: number,
  handle: HandleNames,
): void | Promise<Completion> {
  if (!context.inTransaction) return handleFrom(context, 0, count, handle)
  handle(context, 0, count)
}

function handleFrom(
  context: CommandContext,
  from: number,
  count: number,
  handle: HandleNames,
): void | Promise<Completion> {
  const to = Math.min(from + NAMES_PER_SLICE, count)
  const goesOn = handle(context, from, to)
  if (!goesOn || to === count) return
  const { clock } = context.server
  return new Promise((resolve) => {
    clock.after(0, () => resolve((later) => handleFrom(later, to, count, handle)))
  })
}
