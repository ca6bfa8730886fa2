import { check, checkCeiling } from '../../acl/check.ts'
import type { ChannelUse, Denial, KeyUse } from '../../acl/check.ts'
import type { CatalogEntry } from '../../acl/catalog.ts'
import type { Selector, User } from '../../acl/user.ts'
import type { Identity } from '../../client/identity.ts'
import type { Overlay } from '../../pubsub/subscriber.ts'
import { ArgumentList } from '../../resp/request.ts'
import type { Request } from '../../resp/request.ts'

/** A command that somebody wants to run. */
export interface Question {
  readonly entry: CatalogEntry
  /** The command with its arguments. */
  readonly request: Request
  readonly channels: ChannelUse | undefined
  readonly keys: KeyUse | undefined
}

/** Why a session may not do something, in the order in which one reason beats the next; `ok` if it may. */
export type Verdict = 'deny' | 'ceiling' | 'channel' | 'command' | 'ok'

/** The channels, or patterns, that a command names; byte strings. */
export function channelsOf({ request, channels }: Question): readonly string[] {
  if (channels === undefined || channels.kind === 'none') return []
  const last = channels.last < 0 ? request.count + channels.last : channels.last
  const names: string[] = []
  for (let at = channels.first; at <= Math.min(last, request.count - 1); at++) {
    names.push(request.text(at))
  }
  return names
}

/** The same command for one of its channels. */
export function aboutChannel(question: Question, channel: string): Question {
  const { channels, request } = question
  if (channels === undefined) return question
  const words = Array.from({ length: channels.first }, (_, at) => request.text(at))
  return { ...question, request: ArgumentList.of(...words, channel) }
}

/** What a user's own rules refuse of a command. */
export function deniedByUser(user: User, question: Question): Denial | undefined {
  return check(user, question.entry, question.request, question.channels, question.keys)
}

/** What a ceiling refuses of a command. */
export function deniedByCeiling(user: User, question: Question): Denial | undefined {
  return checkCeiling(user, question.entry, question.request, question.channels, question.keys)
}

/** The first channel of a command that a deny overlay takes away. Patterns are let through, and filtered. */
export function deniedByOverlay(
  overlay: Overlay | undefined,
  question: Question,
): string | undefined {
  const kind = question.channels?.kind
  if (overlay === undefined || kind === undefined || kind === 'pattern') return undefined
  return channelsOf(question).find((channel) =>
    kind === 'publish' ? !overlay.mayPublish(channel) : !overlay.mayReceive(channel),
  )
}

/** Judges a command for a session. */
export function verdictOf(
  { user, ceilings }: Identity,
  overlay: Overlay | undefined,
  question: Question,
): Verdict {
  if (deniedByOverlay(overlay, question) !== undefined) return 'deny'
  if (ceilings.some((ceiling) => deniedByCeiling(ceiling, question))) return 'ceiling'
  const denial = deniedByUser(user, question)
  if (denial === undefined) return 'ok'
  return denial.reason === 'channel' ? 'channel' : 'command'
}

/** Whether one selector of a user allows a command by itself. */
export function allows(user: User, selector: Selector, question: Question): boolean {
  return deniedByUser({ ...user, selectors: [selector] }, question) === undefined
}
