import { compileGlob } from '../../shared/glob.ts'
import type { Overlay } from '../pubsub/subscriber.ts'
import type { Request } from '../resp/request.ts'
import type { CatalogEntry } from './catalog.ts'
import { asciiLower } from './rules.ts'
import type { ChannelRule, Selector, User } from './user.ts'
import { errorLine, type ErrorLine } from '../resp/reply-writer.ts'

/** The identity of a token session, for CLIENT LIST and the log. */
interface TokenIdentity {
  readonly sub: string
  readonly iss: string
  readonly jti: string | undefined
  /** `kid` of the token's header. */
  readonly kid: string | undefined
  /** The key that verified the token. */
  readonly key: { readonly kid: string | undefined; readonly thumbprint: string }
  /** Wall clock, milliseconds since 1970. */
  readonly expiresAtMs: number
}

/** The identity of a client, by which its commands are judged. Replaced as a whole, never changed. */
export interface Identity {
  /** The user, stored or compiled from a token. */
  readonly user: User
  /** Users that bound the permissions of `user`: a command passes only if each of them allows it too. */
  readonly ceilings: readonly User[]
  /** Present for a token session. */
  readonly token: TokenIdentity | undefined
}

/** A refused command, and whose rules refuse it. */
export type Denial = {
  readonly reason: 'command' | 'key' | 'channel'
  /** The full name of the command, or the key or channel that was refused: a byte string. */
  readonly object: string
} & (
  | {
      /**
       * `deny`: the deny overlay of a token session takes the channel away, by a claim or a revocation.
       * `user`: no selector of the user allows it.
       */
      readonly by: 'deny' | 'user'
    }
  | { readonly by: 'ceiling'; readonly ceiling: User }
)

/** Commands that every user may run regardless of its rules: Redis' flag `no_auth`. */
const ALWAYS_ALLOWED: ReadonlySet<string> = new Set(['auth', 'hello', 'quit', 'reset'])

/**
 * Decides whether a client may run a command. Every permission in the server is decided here.
 *
 * The deny overlay refuses first, then the ceilings in their order, then the user. A user's selectors are tried in
 * order, and one of them must allow everything: the command, all its keys and all its channels. A channel must match
 * a rule's glob. A pattern to subscribe to must be equal, byte by byte, to a rule of the user; in a ceiling it also
 * passes if all it can match begins with the literal head of a rule `literal*`, so that a wide ceiling does not cut
 * narrower pattern subscriptions. The overlay lets patterns pass: their messages are filtered.
 *
 * @returns Undefined if it may; else the denial by the first of these that refuses. A user or ceiling that refuses
 *   names a channel before a key before the command, and among refusals of one kind the argument that came last.
 */
export function authorize(
  identity: Identity,
  overlay: Pick<Overlay, 'mayReceive' | 'mayPublish'> | undefined,
  entry: CatalogEntry,
  request: Request,
): Denial | undefined {
  const { user, ceilings } = identity
  if (overlay === undefined && ceilings.length === 0) {
    // Small enough to be inlined in the dispatcher: most clients need nothing else.
    if (isUnrestricted(user.selectors[0], entry)) return undefined
  }
  return decide(user, ceilings, overlay, entry, request)
}

function decide(
  user: User,
  ceilings: readonly User[],
  overlay: Pick<Overlay, 'mayReceive' | 'mayPublish'> | undefined,
  entry: CatalogEntry,
  request: Request,
): Denial | undefined {
  if (overlay !== undefined) {
    const position = positionDenied(overlay, entry, request)
    if (position > 0) return { by: 'deny', reason: 'channel', object: request.text(position) }
  }
  for (let i = 0; i < ceilings.length; i++) {
    const ceiling = ceilings[i] as User
    const refusal = refusalBy(ceiling, entry, request, true)
    if (refusal !== undefined) return { by: 'ceiling', ceiling, ...refusal }
  }
  const refusal = refusalBy(user, entry, request, false)
  return refusal && { by: 'user', ...refusal }
}

/** The first selector of a user that allows a command by itself. */
export function allowingSelector(
  selectors: readonly Selector[],
  entry: CatalogEntry,
  request: Request,
): Selector | undefined {
  return selectors.find((selector) => {
    return (
      allowsCommand(selector, entry, request) &&
      positionOfDeniedKey(selector, entry, request) === 0 &&
      positionOfDeniedChannel(selector, entry, request, false) === 0
    )
  })
}

/** The channels, or patterns, that a command needs rights to; byte strings. */
export function channelsOf({ channels }: CatalogEntry, request: Request): string[] {
  const names: string[] = []
  if (channels === undefined || channels.kind === 'none') return names
  const end = endOf(channels.last, request)
  for (let position = channels.first; position <= end; position++)
    names.push(request.text(position))
  return names
}

/** Reports whether a selector allows a command, regardless of its keys and channels. */
export function allowsCommand(selector: Selector, entry: CatalogEntry, request: Request): boolean {
  if (((selector.allowed[entry.id >>> 5] as number) >>> (entry.id & 31)) & 1) return true
  if (ALWAYS_ALLOWED.has(entry.name)) return true
  const firstArguments = selector.firstArguments.get(entry.id)
  if (!firstArguments || request.count < 2) return false
  return firstArguments.includes(asciiLower(request.text(1)))
}

/**
 * Reports whether a selector has a rule for a channel.
 *
 * @param isPattern The channel is a pattern to subscribe to.
 * @param inCeiling The selector is of a ceiling.
 */
export function allowsChannel(
  { allChannels, channels }: Selector,
  channel: string,
  isPattern: boolean,
  inCeiling: boolean,
): boolean {
  if (allChannels) return true
  for (let i = 0; i < channels.length; i++) {
    const rule = channels[i] as ChannelRule
    if (isPattern) {
      if (channel === rule.pattern || (inCeiling && liesWithin(channel, rule.pattern))) return true
    } else if (rule.glob.matches(channel)) {
      return true
    }
  }
  return false
}

/** Reports whether a selector allows a command with any arguments, as those of most backends' users and of `default` do. */
function isUnrestricted(selector: Selector, entry: CatalogEntry): boolean {
  return (
    selector.allCommands &&
    selector.allChannels &&
    selector.commandRules.length === 0 &&
    (entry.keys === undefined || selector.allKeys)
  )
}

/** The order in which refusals of one user outweigh each other. */
const WEIGHT = { command: 0, key: 1, channel: 2 } as const

/** Redis' ACL check of one user. */
function refusalBy(
  { selectors }: User,
  entry: CatalogEntry,
  request: Request,
  inCeiling: boolean,
): Pick<Denial, 'reason' | 'object'> | undefined {
  if (isUnrestricted(selectors[0], entry)) return undefined
  let reason: Denial['reason'] = 'command'
  let position = 0
  for (let i = 0; i < selectors.length; i++) {
    const selector = selectors[i] as Selector
    if (!allowsCommand(selector, entry, request)) continue
    let kind: Denial['reason'] = 'key'
    let failed = entry.keys ? positionOfDeniedKey(selector, entry, request) : 0
    if (failed === 0 && entry.channels) {
      kind = 'channel'
      failed = positionOfDeniedChannel(selector, entry, request, inCeiling)
    }
    if (failed === 0) return undefined
    if (WEIGHT[kind] > WEIGHT[reason] || (kind === reason && failed > position)) {
      reason = kind
      position = failed
    }
  }
  return { reason, object: reason === 'command' ? entry.name : request.text(position) }
}

/** Position of the first channel that a deny overlay takes away; 0 if there is none. */
function positionDenied(
  overlay: Pick<Overlay, 'mayReceive' | 'mayPublish'>,
  { channels }: CatalogEntry,
  request: Request,
): number {
  if (channels === undefined || channels.kind === 'none' || channels.kind === 'pattern') return 0
  const end = endOf(channels.last, request)
  for (let position = channels.first; position <= end; position++) {
    const name = request.name(position)
    const may = channels.kind === 'publish' ? overlay.mayPublish(name) : overlay.mayReceive(name)
    if (!may) return position
  }
  return 0
}

/** Position of the first key that a selector refuses; 0 if there is none. */
function positionOfDeniedKey(selector: Selector, { keys }: CatalogEntry, request: Request): number {
  if (keys === undefined || selector.allKeys) return 0
  const end = endOf(keys.last, request)
  for (let position = keys.first; position <= end; position += keys.step) {
    const key = request.text(position)
    const allowed = selector.keys.some(
      (rule) => (rule.read || !keys.read) && (rule.write || !keys.write) && rule.glob.matches(key),
    )
    if (!allowed) return position
  }
  return 0
}

/** Position of the first channel that a selector refuses; 0 if there is none. */
function positionOfDeniedChannel(
  selector: Selector,
  { channels }: CatalogEntry,
  request: Request,
  inCeiling: boolean,
): number {
  if (channels === undefined || channels.kind === 'none' || selector.allChannels) return 0
  const isPattern = channels.kind === 'pattern'
  const end = endOf(channels.last, request)
  for (let position = channels.first; position <= end; position++) {
    if (!allowsChannel(selector, request.name(position), isPattern, inCeiling)) return position
  }
  return 0
}

/** The absolute position of a last argument that may be counted from the end. */
function endOf(last: number, request: Request): number {
  return Math.min(last < 0 ? request.count + last : last, request.count - 1)
}

/** Reports whether all that `pattern` can match begins with the literal head of a rule `literal*`. */
function liesWithin(pattern: string, rule: string): boolean {
  const prefix = /^([^*?[\\]*)\*$/.exec(rule)?.[1]
  if (prefix === undefined) return false
  // A pattern is compared with the rules of a ceiling one after the other.
  if (pattern !== lastPattern) {
    lastPattern = pattern
    lastHead = compileGlob(pattern).literalHead
  }
  return lastHead.startsWith(prefix)
}

/** The pattern that {@link liesWithin} was last asked about, and its literal head. */
let lastPattern = ''
let lastHead = ''

/** The error line, with its prefix and without `-`, for a command that a user may not run. */
export function denialText(user: User, { reason, object }: Denial): ErrorLine {
  switch (reason) {
    case 'command':
      return `NOPERM User ${user.name} has no permissions to run the '${object}' command`
    case 'key':
      return 'NOPERM No permissions to access a key'
    case 'channel':
      return 'NOPERM No permissions to access a channel'
  }
}

/** The bulk string that ACL DRYRUN answers for a command that a user may not run. */
export function dryRunText(user: User, { reason, object }: Denial): string {
  const action =
    reason === 'command' ? `run the '${object}' command` : `access the '${object}' ${reason}`
  return `User ${user.name} has no permissions to ${action}`
}

const EXEC_REASONS = {
  command: 'no permission to execute the command or subcommand',
  key: 'no permission to touch the specified keys',
  channel: 'no permission to access one of the channels used as arguments',
} as const

/** The error line, with its prefix and without `-`, in EXEC's slot of a command that was allowed when it was queued. */
export function execDenialText({ reason }: Denial): ErrorLine {
  return errorLine(
    'NOPERM',
    'ACLs rules changed between the moment the transaction was accumulated and the EXEC call. ' +
      `This command is no longer allowed for the following reason: ${EXEC_REASONS[reason]}`,
  )
}
