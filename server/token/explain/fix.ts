import { escapeGlob } from '../../../shared/glob.ts'
import {
  allowingSelector,
  allowsChannel,
  allowsCommand,
  channelsOf,
  type Identity,
} from '../../acl/authorize.ts'
import type { CatalogEntry } from '../../acl/catalog.ts'
import type { User } from '../../acl/user.ts'
import type { Overlay } from '../../pubsub/subscriber.ts'
import { ArgumentList, type Request } from '../../resp/request.ts'
import type { CompiledGrant, SourcedSelector } from '../grant/grants.ts'
import { CHANNEL_COMMANDS, PUBLISH_RULES, SUBSCRIBE_RULES } from '../grant/token-commands.ts'
import type { Revocation } from '../revoke/revocation.ts'
import { mayNameRole } from '../verify/issuer.ts'
import type { FaultCode } from '../verify/refusal.ts'

/** A command that is asked about, with its arguments. */
export interface Question {
  readonly entry: CatalogEntry
  readonly request: Request
}

/** A token session that is asked about, live or as it would be. */
export interface ExplainedGrant {
  readonly grant: CompiledGrant
  readonly sources: readonly SourcedSelector[]
  readonly identity: Identity
  readonly overlay: Overlay | undefined
  /** A connection is logged in with it, so that `off` of a ceiling means nothing to it. */
  readonly isLive: boolean
  /** The revocation that refuses the token as a whole. */
  readonly revocation: Revocation | undefined
  /** Finds the revocation that takes a channel away. */
  readonly channelRevocation: (
    channel: string,
    kind: 'publish' | 'subscribe',
  ) => Revocation | undefined
  readonly findUser: (userName: string) => User | undefined
  /** The sources as they would be if the issuer could name every role. */
  readonly unboundSources: () => readonly SourcedSelector[]
}

/** The fixes for faults of a token; a fault that is not listed has none. */
export const FIX_FOR_FAULT: Readonly<Partial<Record<FaultCode, string>>> = {
  expired: 'a new token',
  'key-removed': 'a new token, signed with a key of now',
  'unknown-issuer': "a configured issuer with exactly this 'iss'",
  algorithm: 'its algorithm among those pinned for the issuer',
  'no-kid': 'a token whose header names its key, or require-kid no for the issuer',
  'unknown-key': 'its kid in the key set of the issuer',
  'keys-unavailable': 'the key server back: the token may be good',
  signature: 'a token signed with a key of the issuer',
  'wrong-audience': "a token for this server, or its 'aud' among the audiences of the issuer",
  'no-audience': "a token with an 'aud' of the issuer's audiences",
  'no-expiry': "a token with an 'exp'",
  lifetime: 'a shorter life, or a longer max-lifetime of the issuer',
  'issued-in-future': "the issuer's clock set right",
  'not-yet-valid': 'waiting until nbf',
  'role-expansion': 'fewer values in the claims that its roles expand',
  'too-many-names': 'fewer names in the claim; a role can hold more',
}

/** The fix where a ceiling is off, so that no token logs in under it. */
export function fixForOff(ceiling: User): string {
  return `ACL SETUSER ${ceiling.name} on`
}

/** The fix where a ceiling refuses a command: the rules that its root permissions lack. */
export function fixForCeiling(ceiling: User, { entry, request }: Question): string {
  const root = ceiling.selectors[0]
  const isPattern = entry.channels?.kind === 'pattern'
  const lacking = channelsOf(entry, request).filter(
    (name) => !allowsChannel(root, name, isPattern, true),
  )
  const rules = [
    ...(allowsCommand(root, entry, request) ? [] : [`+${entry.name}`]),
    ...channelRules(lacking, entry),
  ]
  return `ACL SETUSER ${ceiling.name} ${rules.join(' ')}`
}

/** The fix where the token itself denies a channel. */
export function fixForDeny(pattern: string): string {
  return `a token without ${JSON.stringify(pattern)} in deny`
}

/** The fix for the first role that a token names and that gives it nothing; undefined if there is none. */
export function fixForRoles({ grant, findUser }: ExplainedGrant): string | undefined {
  for (const role of grant.roles) {
    if (!mayNameRole(grant.token.issuer, role)) return boundLine(grant, role)
    if (findUser(`role:${role}`) === undefined) {
      return `ACL SETUSER role:${role} off resetchannels <rules>: there is no such role`
    }
  }
  return undefined
}

/** The fix where nothing that a token has allows a command. */
export function fixForGrant(subject: ExplainedGrant, { entry, request }: Question): string {
  const { grant } = subject
  if (!CHANNEL_COMMANDS.includes(entry.name)) return `none: a token cannot hold ${entry.name}`
  const names = channelsOf(entry, request)
  const missing = names.filter((name) => {
    const alone = ArgumentList.of(request.text(0), name)
    return allowingSelector(grant.user.selectors, entry, alone) === undefined
  })
  if (names.length > 1 && missing.length === 0) return 'one command for each channel'

  const lacking = missing.length === 0 ? names : missing
  const bound = subject
    .unboundSources()
    .find(
      ({ role, selector }) =>
        role !== undefined &&
        !mayNameRole(grant.token.issuer, role) &&
        allowingSelector([selector], entry, request) !== undefined,
    )
  if (bound?.role !== undefined) return boundLine(grant, bound.role)

  const named = grant.roles.filter((role) => mayNameRole(grant.token.issuer, role))
  const stored = named.find((role) => subject.findUser(`role:${role}`) !== undefined)
  const role = stored ?? named[0]
  if (role === undefined) return claimLine(grant, entry, lacking)
  const rules = entry.channels?.kind === 'publish' ? PUBLISH_RULES : SUBSCRIBE_RULES
  const channels = channelRules(lacking, entry).join(' ')
  const start = `ACL SETUSER role:${role}${stored === undefined ? ' off resetchannels' : ''}`
  return `${start} (resetchannels ${rules.join(' ')} ${channels})`
}

/** The line that lets an issuer name a role. */
function boundLine({ token }: CompiledGrant, role: string): string {
  const { alias, roles } = token.issuer
  return `issuer ${alias} roles ${[...(roles ?? []).map(({ pattern }) => pattern), role].join(' ')}`
}

/** The rules that allow channels or patterns. After `&*` the ACL takes no other. */
function channelRules(names: readonly string[], entry: CatalogEntry): readonly string[] {
  const rules = names.map((name) => channelRule(name, entry))
  return rules.includes('&*') ? ['&*'] : rules
}

/** The rule that allows one channel, or the one pattern. */
function channelRule(name: string, { channels }: CatalogEntry): string {
  return `&${channels?.kind === 'pattern' ? name : escapeGlob(name)}`
}

/** The claims that a token lacks, in the format of its issuer's tokens. */
function claimLine(grant: CompiledGrant, entry: CatalogEntry, names: readonly string[]): string {
  const { format, claim, alias } = grant.token.issuer
  const action = entry.channels?.kind === 'publish' ? 'publish' : 'subscribe'
  const patterns = names.map((name) => channelRule(name, entry).slice(1))
  switch (format.kind) {
    case 'respcast':
      return `a token with ${JSON.stringify({ [claim]: { [action]: patterns } })}`
    case 'scope':
      return `a token with the scope ${patterns.map((one) => `${format.prefix}${action}:${one}`).join(' ')}`
    case 'authorization-details': {
      const detail = { type: 'respcast', actions: [action], channels: patterns }
      return `a token with ${JSON.stringify({ authorization_details: [detail] })}`
    }
    case 'groups':
      return `${alias === undefined ? 'jwt-group-role' : `issuer ${alias} group-role`} <group> <role>`
  }
}
