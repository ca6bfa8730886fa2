import { compileGlob } from '../../shared/glob.ts'
import type { Request } from '../resp/request.ts'
import type { CatalogEntry } from './catalog.ts'
import { asciiLower } from './command-rules.ts'
import type { ChannelRule, Selector, User } from './user.ts'

/** Which arguments of a command are channels, and what it does with them. */
export interface ChannelUse {
  /** `none`: the command names channels, or none, but needs no right to them (the unsubscribes). */
  readonly kind: 'subscribe' | 'pattern' | 'publish' | 'none'
  /** Position of the first channel; the command's name is argument 0. */
  readonly first: number
  /** Position of the last channel; negative counts from the end, -1 being the last argument. */
  readonly last: number
}

/** Which arguments of a command are keys, and which rights they need. */
export interface KeyUse {
  readonly first: number
  /** Negative counts from the end, -1 being the last argument. */
  readonly last: number
  /** Distance between keys, at least 1. */
  readonly step: number
  /** The command shows what is in the key. */
  readonly read: boolean
  /** The command changes the key. */
  readonly write: boolean
}

/** Why a user may not run a command. */
export interface Denial {
  readonly reason: 'command' | 'key' | 'channel'
  /** The full name of the command, or the first key or channel that was refused: a byte string. */
  readonly object: string
}

/** Commands that every user may run, whatever its rules: Redis' flag `no_auth`. */
const ALWAYS_ALLOWED: ReadonlySet<string> = new Set(['auth', 'hello', 'quit', 'reset'])

/**
 * Whether a user may run a command (Redis' ACL check at the time of the call).
 *
 * The selectors are tried in order. One of them must allow everything: the command, all its keys and all its
 * channels. A channel must match a rule's glob; a pattern to subscribe to must be equal, byte by byte, to a
 * rule, since whether one glob contains another is not asked.
 *
 * @returns Undefined if it may; else one refusal: of a channel before a key before the command, and among
 *   refusals of one kind the one that came last in the arguments.
 */
export function check(
  user: User,
  entry: CatalogEntry,
  request: Request,
  channels?: ChannelUse,
  keys?: KeyUse,
): Denial | undefined {
  return isUnrestricted(user.selectors[0] as Selector, keys)
    ? undefined
    : checkSelectors(user, entry, request, channels, keys, equalsRule)
}

/**
 * As {@link check}, for the user that bounds what a token grants: a pattern to subscribe to also passes if it
 * can only match what a rule of the form `literal*` matches, so that a wide ceiling leaves narrower pattern
 * subscriptions alone.
 */
export function checkCeiling(
  user: User,
  entry: CatalogEntry,
  request: Request,
  channels?: ChannelUse,
  keys?: KeyUse,
): Denial | undefined {
  return isUnrestricted(user.selectors[0] as Selector, keys)
    ? undefined
    : checkSelectors(user, entry, request, channels, keys, liesWithinRule)
}

/** Whether a ceiling's rules let a token's user subscribe to `pattern`: the test of {@link checkCeiling}. */
export function ceilingAllowsPattern(selector: Selector, pattern: string): boolean {
  return selector.allChannels || selector.channels.some((rule) => liesWithinRule(pattern, rule))
}

/** Whether a selector allows the command whatever its arguments are: most backends' users, and the default user. */
function isUnrestricted(selector: Selector, keys: KeyUse | undefined): boolean {
  return (
    selector.allCommands &&
    selector.allChannels &&
    selector.commandRules.length === 0 &&
    (keys === undefined || selector.allKeys)
  )
}

type PatternTest = (pattern: string, rule: ChannelRule) => boolean

/** The order in which refusals outweigh each other. */
const WEIGHT = { command: 0, key: 1, channel: 2 } as const

function checkSelectors(
  user: User,
  entry: CatalogEntry,
  request: Request,
  channels: ChannelUse | undefined,
  keys: KeyUse | undefined,
  patternTest: PatternTest,
): Denial | undefined {
  let reason: Denial['reason'] = 'command'
  let position = 0
  for (const selector of user.selectors) {
    if (!allowsCommand(selector, entry, request)) continue
    let failed = keys ? deniedKey(selector, request, keys) : 0
    let kind: Denial['reason'] = 'key'
    if (failed === 0 && channels) {
      failed = deniedChannel(selector, request, channels, patternTest)
      kind = 'channel'
    }
    if (failed === 0) return undefined
    if (WEIGHT[kind] > WEIGHT[reason] || (kind === reason && failed > position)) {
      reason = kind
      position = failed
    }
  }
  return { reason, object: reason === 'command' ? entry.name : request.text(position) }
}

function allowsCommand(selector: Selector, entry: CatalogEntry, request: Request): boolean {
  if (((selector.allowed[entry.id >>> 5] as number) >>> (entry.id & 31)) & 1) return true
  if (ALWAYS_ALLOWED.has(entry.name)) return true
  const firstArguments = selector.firstArguments.get(entry.id)
  if (!firstArguments || request.count < 2) return false
  return firstArguments.includes(asciiLower(request.text(1)))
}

/** Position of the first key that a selector refuses; 0 if there is none. */
function deniedKey(selector: Selector, request: Request, use: KeyUse): number {
  if (selector.allKeys) return 0
  const end = endOf(use.last, request)
  for (let position = use.first; position <= end; position += use.step) {
    const key = request.text(position)
    const allowed = selector.keys.some(
      (rule) => (rule.read || !use.read) && (rule.write || !use.write) && rule.glob.matches(key),
    )
    if (!allowed) return position
  }
  return 0
}

/** Position of the first channel that a selector refuses; 0 if there is none. */
function deniedChannel(
  selector: Selector,
  request: Request,
  use: ChannelUse,
  patternTest: PatternTest,
): number {
  if (selector.allChannels || use.kind === 'none') return 0
  const end = endOf(use.last, request)
  for (let position = use.first; position <= end; position++) {
    const channel = request.text(position)
    const allowed = selector.channels.some((rule) =>
      use.kind === 'pattern' ? patternTest(channel, rule) : rule.glob.matches(channel),
    )
    if (!allowed) return position
  }
  return 0
}

/** The absolute position of a last argument that may be counted from the end. */
function endOf(last: number, request: Request): number {
  return Math.min(last < 0 ? request.count + last : last, request.count - 1)
}

function equalsRule(pattern: string, rule: ChannelRule): boolean {
  return pattern === rule.pattern
}

function liesWithinRule(pattern: string, rule: ChannelRule): boolean {
  if (pattern === rule.pattern) return true
  const prefix = /^([^*?[\\]*)\*$/.exec(rule.pattern)?.[1]
  return prefix !== undefined && compileGlob(pattern).literalHead.startsWith(prefix)
}
