import { escapeInvisible } from '../../../shared/words.ts'
import { allowingSelector, authorize, channelsOf, type Denial } from '../../acl/authorize.ts'
import { describeUser } from '../../acl/describe.ts'
import type { Selector, User } from '../../acl/user.ts'
import type { Client } from '../../client/client.ts'
import { isDenied, type CompiledGrant } from '../grant/grants.ts'
import { TokenOverlay, type RevokedChannels } from '../revoke/channels.ts'
import { issuerLabel, type Revocation } from '../revoke/revocation.ts'
import type { TokenAuthenticator } from '../session/authenticator.ts'
import { fromByteString, toByteString } from '../text.ts'
import { decodeCompact } from '../verify/compact.ts'
import type { TokenRefusal } from '../verify/refusal.ts'
import {
  fixForCeiling,
  fixForDeny,
  fixForGrant,
  fixForOff,
  fixForRoles,
  FIX_FOR_FAULT,
  type ExplainedGrant,
  type Question,
} from './fix.ts'

/** The answer of TOKEN EXPLAIN. Texts are byte strings; a field that does not apply is undefined. */
export interface Explanation {
  readonly allowed: boolean
  /** The user that the token is compiled into. */
  readonly user: string | undefined
  /** The alias of its issuer, or `default`. */
  readonly issuer: string | undefined
  /** The compiled user as a line of ACL LIST. */
  readonly grant: string | undefined
  /** The role that decides; without a command all roles that the token names, space-separated. */
  readonly role: string | undefined
  /** The rule that decides: a channel rule, a command rule, a `deny`; for a refused token its fault. */
  readonly rule: string | undefined
  /** The source of that rule: `role`, `claim`, or `default` (`acl-pubsub-default`, and the commands of every token). */
  readonly source: 'role' | 'claim' | 'default' | undefined
  /** The ceiling that refuses; if the command is allowed, those that bound the token, space-separated. */
  readonly ceiling: string | undefined
  /** The revocation that refuses: its id, kind and target. */
  readonly revocation: string | undefined
  /** The smallest change that would allow it. */
  readonly fix: string | undefined
  /** The `kid` of the key that verified the token, else the one that its header claims. */
  readonly kid: string | undefined
  /** The thumbprint of the key that verified the token. */
  readonly key: string | undefined
}

/** The fields of an explanation after `allowed`, in the order of the reply. */
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
  'kid',
  'key',
] as const satisfies readonly (keyof Explanation)[]

/** An explanation in which no field applies. */
const UNEXPLAINED: Explanation = {
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
  kid: undefined,
  key: undefined,
}

/** The answer of TOKEN WHY: `ok`, or the reason that comes first in the order of precedence. */
type Verdict = 'deny' | 'ceiling' | 'channel' | 'command' | 'ok'

/** The answer of TOKEN WHY for a decision of {@link authorize}. */
export function verdictOf(denial: Denial | undefined): Verdict {
  if (denial === undefined) return 'ok'
  if (denial.by !== 'user') return denial.by
  return denial.reason === 'channel' ? 'channel' : 'command'
}

/**
 * Explains a token: whether it logs in, or the fate of one command. A revocation of the token beats all; then the
 * command is decided as {@link authorize} decides it.
 */
function explain(subject: ExplainedGrant, question: Question | undefined): Explanation {
  const { grant, identity, revocation } = subject
  const { ceilings } = identity
  const known: Explanation = {
    ...UNEXPLAINED,
    user: grant.userName,
    issuer: issuerLabel(grant.issuerAlias),
    grant: describeUser(grant.user),
    kid: visible(grant.key.kid ?? grant.kid),
    key: grant.key.thumbprint,
  }
  const bounds = joined(ceilings.map(({ name }) => name))
  if (revocation !== undefined) return { ...known, ...revocationOf(revocation) }
  const off = subject.isLive ? undefined : ceilings.find(({ enabled }) => !enabled)
  if (off !== undefined) return { ...known, ceiling: off.name, fix: fixForOff(off) }
  if (question === undefined) {
    const role = joined(grant.roles)
    return { ...known, allowed: true, role, ceiling: bounds, fix: fixForRoles(subject) }
  }
  const denial = authorize(identity, subject.overlay, question.entry, question.request)
  if (denial) return { ...known, ...reasonOf(denial, subject, question) }
  return { ...known, ...permission(subject, question), allowed: true, ceiling: bounds }
}

/** The fields that name the rule that refuses, and the fix. */
function reasonOf(
  denial: Denial,
  subject: ExplainedGrant,
  question: Question,
): Partial<Explanation> {
  switch (denial.by) {
    case 'ceiling':
      return { ceiling: denial.ceiling.name, fix: fixForCeiling(denial.ceiling, question) }
    case 'user':
      return { fix: fixForGrant(subject, question) }
    case 'deny': {
      const channel = denial.object
      const rule = subject.grant.deny.find((one) => isDenied({ deny: [one] }, channel))?.pattern
      if (rule !== undefined) {
        return { rule: `deny ${rule}`, source: 'claim', fix: fixForDeny(rule) }
      }
      const kind = question.entry.channels?.kind === 'publish' ? 'publish' : 'subscribe'
      return revocationOf(subject.channelRevocation(channel, kind))
    }
  }
}

/** The fields that tell which rule allows a command. */
function permission({ grant, sources }: ExplainedGrant, question: Question): Partial<Explanation> {
  const { entry, request } = question
  const decider = allowingSelector(grant.user.selectors, entry, request) as Selector
  const found = sources.find(({ selector }) => selector === decider)
  return {
    role: found?.role,
    rule: ruleOf(decider, question),
    source: found?.source ?? 'default',
  }
}

/** The channel rules that let a command's channels pass, else the command rule. */
function ruleOf(selector: Selector, { entry, request }: Question): string {
  const names = channelsOf(entry, request)
  if (names.length === 0) return `+${entry.name}`
  if (selector.allChannels) return 'allchannels'
  const rules = names.map((name) =>
    selector.channels.find(({ pattern, glob }) =>
      entry.channels?.kind === 'pattern' ? pattern === name : glob.matches(name),
    ),
  )
  return [...new Set(rules.map((rule) => `&${rule?.pattern ?? ''}`))].join(' ')
}

function joined(names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : names.join(' ')
}

/** The fields that tell which revocation refuses. */
function revocationOf(revocation: Revocation | undefined): Partial<Explanation> {
  if (revocation === undefined) return {}
  const { id, kind, target } = revocation
  return {
    revocation: `${id} ${kind.toUpperCase()} ${target}`.trimEnd(),
    fix: `TOKEN UNREVOKE ${id}`,
  }
}

/** The revocations in force, as far as an explanation needs them. */
interface RevocationView {
  /** The revocation that refuses a token as a whole. */
  refusing(grant: CompiledGrant): Revocation | undefined
  /** Finds the revocation that takes a channel (byte string) away from a token. */
  readonly channels: RevokedChannels
}

/** The parts of a {@link TokenExplainer}. */
interface ExplainerParts {
  readonly authenticator: TokenAuthenticator
  readonly findUser: (userName: string) => User | undefined
  /** The grant of a live token session. */
  readonly grantOf: (client: Client) => CompiledGrant | undefined
  readonly revocations: RevocationView
}

/** Explains the permissions of tokens. It logs no client in, and counts and logs nothing. */
export class TokenExplainer {
  readonly #parts: ExplainerParts

  constructor(parts: ExplainerParts) {
    this.#parts = parts
  }

  /**
   * Explains a token that is not logged in. Never rejects.
   *
   * @param token As it came, of any size.
   */
  async explainToken(token: string, question?: Question): Promise<Explanation> {
    const result = await this.#parts.authenticator.authenticate(token)
    if ('ok' in result) return explain(this.#subject(result.ok, undefined), question)
    return this.#refused(token, result.refused)
  }

  #refused(token: string, { code, detail, kid, key }: TokenRefusal): Explanation {
    const iss = claimedIssuer(token)
    const issuer = iss === undefined ? undefined : this.#parts.authenticator.issuers.ofName(iss)
    // The `iss` of an unknown issuer is not in the settings.
    const stranger = iss !== undefined && issuer === undefined ? `: ${iss}` : ''
    return {
      ...UNEXPLAINED,
      issuer: issuer && issuerLabel(issuer.alias),
      rule: toByteString(escapeInvisible(`${detail}${stranger}`)),
      fix: FIX_FOR_FAULT[code],
      kid: visible(kid),
      key,
    }
  }

  /** Explains a live session. @returns Undefined if the client is not logged in with a token. */
  explainClient(client: Client, question?: Question): Explanation | undefined {
    const grant = this.#parts.grantOf(client)
    return grant === undefined ? undefined : explain(this.#subject(grant, client), question)
  }

  #subject(grant: CompiledGrant, client: Client | undefined): ExplainedGrant {
    const { authenticator, findUser, revocations } = this.#parts
    const { grants } = authenticator
    const { token } = grant
    return {
      grant,
      sources: grants.sourcesOf(grant.token),
      identity: client?.identity ?? grants.identityOf(grant),
      overlay: client ? client.overlay : new TokenOverlay(grant, revocations.channels),
      revocation: revocations.refusing(grant),
      channelRevocation: (channel, kind) => revocations.channels.find(grant, channel, kind),
      isLive: client !== undefined,
      findUser,
      unboundSources: () =>
        grants.sourcesOf({ ...token, issuer: { ...token.issuer, roles: undefined } }),
    }
  }
}

/** A byte string whose characters all show. */
function visible(name: string | undefined): string | undefined {
  return name && toByteString(escapeInvisible(fromByteString(name)))
}

/** The `iss` of a refused token, not verified. */
function claimedIssuer(token: string): string | undefined {
  try {
    const { payload } = decodeCompact(token)
    const iss = Object.hasOwn(payload, 'iss') ? payload['iss'] : undefined
    return typeof iss === 'string' ? iss.slice(0, 256) : undefined
  } catch {
    return undefined
  }
}
