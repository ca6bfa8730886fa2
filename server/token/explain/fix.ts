import { escapeGlob } from '../../../shared/glob.ts'
import type { User } from '../../acl/user.ts'
import {
  aboutChannel,
  allows,
  channelsOf,
  deniedByCeiling,
  deniedByUser,
  type Question,
} from './question.ts'
import type { ExplainedGrant } from './subject.ts'
import type { CompiledGrant } from '../grant/grants.ts'
import { mayNameRole } from '../verify/issuer.ts'
import { CHANNEL_COMMANDS, PUBLISH_RULES, SUBSCRIBE_RULES } from '../grant/token-commands.ts'

/** What to do where a ceiling is off, so that nobody logs in under it. */
export function fixForOff(ceiling: User): string {
  return `ACL SETUSER ${ceiling.name} on`
}

/** What to do where a ceiling refuses a command: what its root permissions lack for all of it. */
export function fixForCeiling(ceiling: User, question: Question): string {
  const root = { ...ceiling, selectors: ceiling.selectors.slice(0, 1) }
  const names = channelsOf(question)
  const lacksCommand = deniedByCeiling(root, question)?.reason === 'command'
  const holder = lacksCommand ? withCommand(root) : root
  const lacking = names.filter((name) => deniedByCeiling(holder, aboutChannel(question, name)))
  const rules = [
    ...(lacksCommand ? [`+${question.entry.name}`] : []),
    ...channelRules(lacking, question),
  ]
  return `ACL SETUSER ${ceiling.name} ${rules.join(' ')}`
}

/** The same channels under every command. */
function withCommand(user: User): User {
  const selectors = user.selectors.map((one) => ({ ...one, allowed: one.allowed.map(() => ~0) }))
  return { ...user, selectors }
}

/** What to do where the token itself denies a channel. */
export function fixForDeny(pattern: string | undefined): string {
  return `a token without ${JSON.stringify(pattern ?? '')} in deny`
}

/** What is to be done about roles that a token names and that give it nothing; undefined where there are none. */
export function fixForRoles({ grant, findUser }: ExplainedGrant): string | undefined {
  for (const role of grant.roles) {
    if (!mayNameRole(grant.token.issuer, role)) return boundLine(grant, role)
    if (findUser(`role:${role}`) === undefined) {
      return `ACL SETUSER role:${role} off resetchannels <rules>: there is no such role`
    }
  }
  return undefined
}

/** What to do where nothing that a token has allows a command. */
export function fixForGrant(subject: ExplainedGrant, question: Question): string {
  const { grant } = subject
  if (!CHANNEL_COMMANDS.includes(question.entry.name)) {
    return `none: a token cannot hold ${question.entry.name}`
  }
  const names = channelsOf(question)
  const missing = names.filter((name) => deniedByUser(grant.user, aboutChannel(question, name)))
  if (names.length > 1 && missing.length === 0) return 'one command for each channel'

  const lacking = missing.length === 0 ? names : missing
  const bound = subject
    .unboundSources()
    .find(
      ({ role, selector }) =>
        role !== undefined &&
        !mayNameRole(grant.token.issuer, role) &&
        allows(grant.user, selector, question),
    )
  if (bound?.role !== undefined) return boundLine(grant, bound.role)

  const named = grant.roles.filter((role) => mayNameRole(grant.token.issuer, role))
  const stored = named.find((role) => subject.findUser(`role:${role}`) !== undefined)
  const role = stored ?? named[0]
  if (role === undefined) return claimLine(grant, question, lacking)
  const rules = question.channels?.kind === 'publish' ? PUBLISH_RULES : SUBSCRIBE_RULES
  const channels = channelRules(lacking, question).join(' ')
  const start = `ACL SETUSER role:${role}${stored === undefined ? ' off resetchannels' : ''}`
  return `${start} (resetchannels ${rules.join(' ')} ${channels})`
}

/** The line that lets an issuer name a role. */
function boundLine({ token }: CompiledGrant, role: string): string {
  const { alias, roles } = token.issuer
  return `issuer ${alias} roles ${[...(roles ?? []), role].join(' ')}`
}

/** The rules that allow channels or patterns. Behind `&*` the ACL takes no other. */
function channelRules(names: readonly string[], question: Question): readonly string[] {
  const rules = names.map((name) => channelRule(name, question))
  return rules.includes('&*') ? ['&*'] : rules
}

/** The rule that allows one channel, or the one pattern. */
function channelRule(name: string, { channels }: Question): string {
  return `&${channels?.kind === 'pattern' ? name : escapeGlob(name)}`
}

/** What a token would have to say, in the shape that its issuer's tokens have. */
function claimLine(grant: CompiledGrant, question: Question, names: readonly string[]): string {
  const { format, claim, alias } = grant.token.issuer
  const action = question.channels?.kind === 'publish' ? 'publish' : 'subscribe'
  const patterns = names.map((name) => channelRule(name, question).slice(1))
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
