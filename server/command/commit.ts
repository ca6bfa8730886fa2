import type { CommitOutcome, CommitRequest, MissingNode } from '../control/control.ts'
import type { ErrorLine } from '../resp/reply-writer.ts'
import type { CommandContext } from './context.ts'
import { utf8Bytes } from './replies.ts'

/** Every live gateway is to confirm, and is waited for so long, unless a command says it otherwise. */
export const ALL_SOON: CommitRequest['wait'] = { count: 'all', ms: 1_000 }

/** Names of gateways that an error lists. */
const MOST_NAMED = 10

/** The administrator who sends a command, as the log of gateways names him. */
export function actorOf({ client }: CommandContext): CommitRequest['actor'] {
  return { user: client.identity.user.name, address: client.origin.address }
}

/** Longest time until a gateway that has not confirmed delivers nothing any more, in ms; 0 if all have. */
export function fencedWithinMs(missing: readonly MissingNode[]): number {
  return Math.max(0, ...missing.map(({ fencedInMs }) => fencedInMs))
}

/** `not confirmed by b, c, fenced within 8123 ms` */
export function notConfirmedText(missing: readonly MissingNode[]): string {
  const names = missing.slice(0, MOST_NAMED).map(({ name }) => utf8Bytes(name))
  if (missing.length > MOST_NAMED) names.push(`and ${missing.length - MOST_NAMED} others`)
  return `not confirmed by ${names.join(', ')}, fenced within ${fencedWithinMs(missing)} ms`
}

/**
 * The error line about a change that is local first: in force here, and not certainly at the others.
 *
 * @param isDurable It is on the disk of this gateway, and as durable at the upstream as it is to be.
 * @returns Undefined where all others have confirmed it.
 */
export function localFirstError(outcome: CommitOutcome, isDurable: boolean): ErrorLine | undefined {
  const place = isDurable ? 'in force and on disk here' : 'in force here and not on disk'
  switch (outcome.state) {
    case 'unreachable':
      return `NOREPLICAS ${place}, committed to the other gateways when the upstream answers`
    case 'refused':
      return `NOREPLICAS ${place}, not committed to the other gateways: ${utf8Bytes(outcome.problem)}`
    case 'conflict':
      // It has no version that another edit could have replaced.
      return undefined
    case 'committed':
      if (outcome.missing.length === 0) return undefined
      return `NOREPLICAS ${isDurable ? 'durable' : 'not durable'}, ${notConfirmedText(outcome.missing)}`
  }
}
