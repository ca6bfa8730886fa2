import { describeUser } from '../../acl/describe.ts'
import type { Selector } from '../../acl/user.ts'
import { fixForCeiling, fixForDeny, fixForGrant, fixForOff, fixForRoles } from './fix.ts'
import { allows, channelsOf, deniedByCeiling, deniedByOverlay, type Question } from './question.ts'
import type { ExplainedGrant } from './subject.ts'
import { isDenied } from '../grant/grants.ts'
import { issuerLabel, type Revocation } from '../revoke/revocation.ts'

/** Why a token may do something, or may not: TOKEN EXPLAIN. Texts are byte strings; what does not apply is undefined. */
export interface Explanation {
  readonly allowed: boolean
  /** The user that the token is compiled into. */
  readonly user: string | undefined
  /** The alias of its issuer, or `default`. */
  readonly issuer: string | undefined
  /** The compiled user as a line of ACL LIST. */
  readonly grant: string | undefined
  /** The role that decides; without a command all roles that the token names, with blanks between. */
  readonly role: string | undefined
  /** The rule that decides: a channel rule, a command rule, a `deny`; for a refused token what is wrong with it. */
  readonly rule: string | undefined
  /** Where that rule comes from: `role`, `claim`, or `default` (`acl-pubsub-default`, and what every token has). */
  readonly source: 'role' | 'claim' | 'default' | undefined
  /** The ceiling that refuses; where it is allowed, those that bound the token, with blanks between. */
  readonly ceiling: string | undefined
  /** The revocation that refuses: its id, kind and target. */
  readonly revocation: string | undefined
  /** The smallest change that would allow it. */
  readonly fix: string | undefined
}

/** What an explanation says behind `allowed`, in the order in which it is told. */
export const EXPLANATION_FIELDS = [
  'user',
  'issuer',
  'grant',
  'role',
  'rule',
  'source',
  'ceiling',
  'revocation',
  'fix',
] as const satisfies readonly (keyof Explanation)[]

/** Nothing that applies. */
export const UNEXPLAINED: Explanation = {
  allowed: false,
  user: undefined,
  issuer: undefined,
  grant: undefined,
  role: undefined,
  rule: undefined,
  source: undefined,
  ceiling: undefined,
  revocation: undefined,
  fix: undefined,
}

/**
 * Explains a token: whether it logs in, or what becomes of one command. What beats comes first: revocations and `deny`,
 * ceilings, then any selector that allows, then nothing.
 */
export function explain(subject: ExplainedGrant, question: Question | undefined): Explanation {
  const { grant, ceilings, revocation } = subject
  const known: Explanation = {
    ...UNEXPLAINED,
    user: grant.userName,
    issuer: issuerLabel(grant.issuerAlias),
    grant: describeUser(grant.user),
  }
  const bounds = joined(ceilings.map(({ name }) => name))
  if (revocation !== undefined) return revoked(known, revocation)
  const off = subject.isLive ? undefined : ceilings.find(({ enabled }) => !enabled)
  if (off !== undefined) return { ...known, ceiling: off.name, fix: fixForOff(off) }
  if (question === undefined) {
    const role = joined(grant.roles)
    return { ...known, allowed: true, role, ceiling: bounds, fix: fixForRoles(subject) }
  }
  const explanation = explainCommand(subject, known, question)
  return explanation.allowed ? { ...explanation, ceiling: bounds } : explanation
}

function explainCommand(
  subject: ExplainedGrant,
  known: Explanation,
  question: Question,
): Explanation {
  const { grant, ceilings, overlay } = subject
  const denied = deniedByOverlay(overlay, question)
  if (denied !== undefined) {
    if (!isDenied(grant, denied)) {
      const kind = question.channels?.kind === 'publish' ? 'publish' : 'subscribe'
      return revoked(known, subject.channelRevocation(denied, kind))
    }
    const rule = grant.deny.find((one) => isDenied({ deny: [one] }, denied))?.pattern
    return { ...known, rule: `deny ${rule}`, source: 'claim', fix: fixForDeny(rule) }
  }
  for (const ceiling of ceilings) {
    if (deniedByCeiling(ceiling, question) === undefined) continue
    return { ...known, ceiling: ceiling.name, fix: fixForCeiling(ceiling, question) }
  }
  const decider = grant.user.selectors.find((selector) => allows(grant.user, selector, question))
  if (decider === undefined) return { ...known, fix: fixForGrant(subject, question) }
  const found = subject.sources.find(({ selector }) => selector === decider)
  return {
    ...known,
    allowed: true,
    role: found?.role,
    rule: ruleOf(decider, question),
    source: found?.source ?? 'default',
  }
}

/** The channel rules that let a command's channels pass, else the command rule. */
function ruleOf(selector: Selector, question: Question): string {
  const names = channelsOf(question)
  if (names.length === 0) return `+${question.entry.name}`
  if (selector.allChannels) return 'allchannels'
  const rules = names.map((name) =>
    selector.channels.find(({ pattern, glob }) =>
      question.channels?.kind === 'pattern' ? pattern === name : glob.matches(name),
    ),
  )
  return [...new Set(rules.map((rule) => `&${rule?.pattern ?? ''}`))].join(' ')
}

function joined(names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : names.join(' ')
}

function revoked(known: Explanation, revocation: Revocation | undefined): Explanation {
  if (revocation === undefined) return known
  const { id, kind, target } = revocation
  const text = `${id} ${kind.toUpperCase()} ${target}`.trimEnd()
  return { ...known, revocation: text, fix: `TOKEN UNREVOKE ${id}` }
}
