import { compileGlob } from '../../../shared/glob.ts'
import type { Identity } from '../../acl/authorize.ts'
import type { CommandCatalog } from '../../acl/catalog.ts'
import type { PubsubDefault } from '../../acl/rules.ts'
import type { ChannelRule, Selector, Selectors, User } from '../../acl/user.ts'
import { MAX_PATTERNS } from '../verify/claims.ts'
import type { ClaimedGrant } from '../verify/claims.ts'
import { ContentPool } from './content-pool.ts'
import { issuerName, mayNameRole, sessionKeyId, tokenUserName } from '../verify/issuer.ts'
import { expandRolePattern, fixedText, parseRolePattern } from './placeholders.ts'
import type { PlaceholderValues, RolePattern } from './placeholders.ts'
import { parseObject } from '../verify/compact.ts'
import { TokenFault } from '../verify/refusal.ts'
import type { JsonObject } from '../text.ts'
import { CommandSets, PUBLISH_RULES, SUBSCRIBE_RULES } from './token-commands.ts'
import type { KeyNames } from '../verify/keys.ts'
import type { VerifiedToken } from '../verify/verify.ts'

/**
 * The permissions that a token gives one session. Names are byte strings.
 *
 * Order of precedence at a check: {@link isDenied} refuses before all else; then the ceilings; then any selector of `user`
 * that allows; then nothing.
 */
export interface CompiledGrant {
  /** `jwt:<sub>`, or `jwt@<alias>:<sub>`. */
  readonly userName: string
  /** On, without password. The selectors are shared by all sessions of the same grants: compare them by identity. */
  readonly user: User
  /** Names of the roles it asks for, without `role:`, whether or not they exist. */
  readonly roles: readonly string[]
  /** Wins over every allow, see {@link isDenied}. */
  readonly deny: readonly ChannelRule[]
  readonly group: string | undefined
  readonly sub: string
  readonly iss: string
  /** `undefined` for the default issuer. */
  readonly issuerAlias: string | undefined
  /** Name of the ACL user that bounds the issuer; empty is none. See {@link GrantCompiler.identityOf}. */
  readonly issuerCeiling: string
  readonly jti: string | undefined
  /** `kid` of the token's header, which proves nothing: see {@link key}. */
  readonly kid: string | undefined
  /** The key that verified the token, see {@link sessionKeyId}. */
  readonly keyId: string
  /** Names of that key. */
  readonly key: KeyNames
  /** ms since 1970; 0 for a token without `iat`. */
  readonly issuedAtMs: number
  /** ms since 1970. */
  readonly expiresAtMs: number
  /** The token that it was compiled from. */
  readonly token: VerifiedToken
  /** The {@link GrantParts.usersVersion} that it was compiled at. */
  readonly usersVersion: number
}

/** The parts that a {@link GrantCompiler} is built with. */
export interface GrantParts {
  readonly catalog: CommandCatalog
  /** Finds a stored user (byte string): a role `role:<name>`, a ceiling. */
  readonly findUser: (userName: string) => User | undefined
  /** Differs after each change of the stored users. */
  readonly usersVersion: () => number
  /** The directive `acl-pubsub-default`, as it is now. */
  readonly pubsubDefault: () => PubsubDefault
  /** The directive `placeholder-separators`, as bytes. */
  readonly separators: string
}

/** A selector that a token has besides the commands that every token has, and where it comes from. */
export interface SourcedSelector {
  readonly selector: Selector
  /** `role`: of the role named; `claim`: of the token's own lists; `default`: of `acl-pubsub-default`. */
  readonly source: 'role' | 'claim' | 'default'
  /** Without `role:`. */
  readonly role: string | undefined
}

/** Reports whether the `deny` list of a grant takes a channel away. */
export function isDenied(grant: Pick<CompiledGrant, 'deny'>, channel: string): boolean {
  // As a glob `*` does not match the empty channel; as a list entry it means every channel, as in an allow.
  return grant.deny.some(({ pattern, glob }) => pattern === '*' || glob.matches(channel))
}

/** Compiles verified tokens into ACL users. */
export class GrantCompiler {
  readonly #parts: GrantParts
  readonly #commands: CommandSets
  readonly #root: Selector
  readonly #nothing: Selector
  readonly #roles: RoleSelectors
  readonly #selectors = new ContentPool<Selector>()
  readonly #lists = new ContentPool<Selectors>()
  readonly #denials = new ContentPool<readonly ChannelRule[]>()
  readonly #ids = new WeakMap<Selector, number>()
  #nextId = 0

  constructor(parts: GrantParts) {
    this.#parts = parts
    this.#commands = new CommandSets(parts.catalog)
    this.#root = this.#commands.root()
    this.#nothing = this.#commands.of([])
    this.#roles = new RoleSelectors(this.#commands)
  }

  /**
   * Compiles a token as it logs in.
   *
   * @throws TokenFault if its placeholders make more than 256 patterns, those of its lists included.
   */
  compile(token: VerifiedToken): CompiledGrant {
    const { selectors, exceeded } = this.#selectorsOf(token)
    if (exceeded)
      throw new TokenFault('role-expansion', 'its roles expand to more than 256 channel patterns')
    const { claimed, issuer } = token
    const userName = tokenUserName(issuer.alias, token.sub)
    return {
      userName,
      user: { name: userName, enabled: true, noPassword: false, passwords: [], selectors },
      roles: claimed.roles ?? [],
      deny: this.#denyOf(claimed),
      group: claimed.group,
      sub: token.sub,
      iss: issuerName(issuer),
      issuerAlias: issuer.alias,
      issuerCeiling: issuer.ceiling,
      jti: token.jti,
      kid: token.kid,
      keyId: sessionKeyId(issuer.alias, token.keyId),
      key: token.key,
      issuedAtMs: token.issuedAtMs,
      expiresAtMs: token.expiresAtMs,
      token,
      usersVersion: this.#parts.usersVersion(),
    }
  }

  /**
   * Compiles the grant of a live session again, after a role was edited or deleted, or its issuer was changed.
   *
   * A token without roles and lists keeps the `acl-pubsub-default` of its login. A session is not ended for too
   * many patterns; those that do not fit vanish.
   *
   * @param token The session's token under the current settings of its issuer. Its claims are the same.
   * @returns The same object if nothing has changed for this session.
   */
  recompile(grant: CompiledGrant, token: VerifiedToken = grant.token): CompiledGrant {
    const isNew = token !== grant.token
    const usersVersion = this.#parts.usersVersion()
    if (!isNew && (grant.roles.length === 0 || usersVersion === grant.usersVersion)) return grant
    const { selectors } = isSilent(token.claimed) ? grant.user : this.#selectorsOf(token)
    if (!isNew && selectors === grant.user.selectors) return grant
    const user = selectors === grant.user.selectors ? grant.user : { ...grant.user, selectors }
    return { ...grant, user, issuerCeiling: token.issuer.ceiling, token, usersVersion }
  }

  /** The identity of a session of this grant, under the current ceilings. */
  identityOf(grant: CompiledGrant): Identity {
    return { user: grant.user, ceilings: this.#ceilingsOf(grant), token: grant }
  }

  /**
   * The stored users that bound a grant: its own ceiling, and that of its issuer. If the issuer's does not exist, a user
   * that is off and allows nothing replaces it: a missing bound must not mean none.
   */
  #ceilingsOf({ userName, issuerCeiling }: CompiledGrant): readonly User[] {
    const ceilings: User[] = []
    const own = this.#parts.findUser(userName)
    if (own !== undefined) ceilings.push(own)
    if (issuerCeiling !== '') {
      ceilings.push(this.#parts.findUser(issuerCeiling) ?? this.#missing(issuerCeiling))
    }
    return ceilings
  }

  #missing(name: string): User {
    return { name, enabled: false, noPassword: false, passwords: [], selectors: [this.#nothing] }
  }

  /** The selectors of a token's user after the first, which every token has, each with its source. */
  sourcesOf(token: VerifiedToken): readonly SourcedSelector[] {
    return this.#alternatives(token, new PatternBudget(countPatterns(token.claimed))).map(
      ({ alternative, source, role }) => ({ selector: this.#selector(alternative), source, role }),
    )
  }

  #selectorsOf(token: VerifiedToken): { selectors: Selectors; exceeded: boolean } {
    const budget = new PatternBudget(countPatterns(token.claimed))
    const alternatives = this.#alternatives(token, budget)
    const all: Selectors = [
      this.#root,
      ...alternatives.map(({ alternative }) => this.#selector(alternative)),
    ]
    const selectors = this.#lists.get(all.map((one) => this.#idOf(one)).join(' '), () => all)
    return { selectors, exceeded: budget.exceeded }
  }

  #alternatives(token: VerifiedToken, budget: PatternBudget): readonly SourcedAlternative[] {
    const { claimed } = token
    const own = [
      ...listAlternative(SUBSCRIBE_RULES, claimed.subscribe, claimed.channels),
      ...listAlternative(PUBLISH_RULES, claimed.publish, claimed.channels),
    ]
    const alternatives: SourcedAlternative[] = [
      ...this.#roleAlternatives(token, budget),
      ...own.map((alternative) => ({ alternative, source: 'claim', role: undefined }) as const),
    ]
    if (isSilent(claimed) && this.#parts.pubsubDefault() === 'allchannels') {
      const alternative = { rules: SUBSCRIBE_RULES, allChannels: true, patterns: [] }
      alternatives.push({ alternative, source: 'default', role: undefined })
    }
    return alternatives
  }

  #roleAlternatives(token: VerifiedToken, budget: PatternBudget): readonly SourcedAlternative[] {
    let payload: JsonObject | undefined
    const values: PlaceholderValues = {
      sub: token.sub,
      iss: issuerName(token.issuer),
      payload: () => (payload ??= parseObject(token.payload, 'payload')),
      separators: this.#parts.separators,
    }
    return [...new Set(token.claimed.roles)].flatMap((name) => {
      if (!mayNameRole(token.issuer, name)) return []
      const role = this.#parts.findUser(`role:${name}`)
      const alternatives = role === undefined ? [] : this.#roles.of(role, values, budget)
      return alternatives.map(
        (alternative) => ({ alternative, source: 'role', role: name }) as const,
      )
    })
  }

  #selector({ rules, allChannels, patterns }: Alternative): Selector {
    const channels = allChannels ? [] : patterns
    const content = [rules.join(' '), allChannels ? '1' : '0', ...channels].join('\n')
    return this.#selectors.get(content, () => ({
      ...this.#commands.of(rules),
      allChannels,
      channels: channels.map(channelRule),
    }))
  }

  #denyOf({ deny }: ClaimedGrant): readonly ChannelRule[] {
    return this.#denials.get(deny.join('\n'), () => [...new Set(deny)].map(channelRule))
  }

  #idOf(selector: Selector): number {
    let id = this.#ids.get(selector)
    if (id === undefined) this.#ids.set(selector, (id = this.#nextId++))
    return id
  }
}

/** One alternative of a token, its placeholders filled. */
interface Alternative {
  /** Command rules; never empty. */
  readonly rules: readonly string[]
  readonly allChannels: boolean
  /** Byte strings, each once, in the order of the role or list. */
  readonly patterns: readonly string[]
}

interface SourcedAlternative extends Pick<SourcedSelector, 'source' | 'role'> {
  readonly alternative: Alternative
}

/** A selector of a role, analysed for all tokens. */
interface Plan {
  readonly rules: readonly string[]
  readonly allChannels: boolean
  readonly patterns: readonly RolePattern[]
  /** The alternative, if no pattern has placeholders. */
  readonly fixed: Alternative | undefined
}

/** The number of patterns that placeholders may still make for one token. */
class PatternBudget {
  #left: number
  /** A pattern did not fit, and vanished. */
  exceeded = false

  /** @param used Number of patterns in the token's own lists. */
  constructor(used: number) {
    this.#left = MAX_PATTERNS - used
  }

  take(patterns: readonly string[] | undefined): readonly string[] {
    if (patterns !== undefined && patterns.length <= this.#left) {
      this.#left -= patterns.length
      return patterns
    }
    this.exceeded = true
    return []
  }
}

/** Turns roles into alternatives for tokens. Each selector of a role is analysed once. */
class RoleSelectors {
  readonly #commands: CommandSets
  readonly #plans = new WeakMap<Selector, Plan>()

  constructor(commands: CommandSets) {
    this.#commands = commands
  }

  /**
   * The alternatives of a role for one token: its root permissions and its selectors, cut down to the commands that
   * tokens may hold. Whether the role is `on` or `off` does not matter.
   *
   * A pattern that the budget has no room for vanishes; fixed patterns are the operator's and are not counted.
   */
  of(role: User, values: PlaceholderValues, budget: PatternBudget): readonly Alternative[] {
    const alternatives: Alternative[] = []
    for (const selector of role.selectors) {
      const plan = this.#planOf(selector)
      if (plan.rules.length === 0) continue
      alternatives.push(plan.fixed ?? expand(plan, values, budget))
    }
    return alternatives
  }

  #planOf(selector: Selector): Plan {
    const known = this.#plans.get(selector)
    if (known !== undefined) return known
    const parsed = selector.channels.map(({ pattern }) => parseRolePattern(pattern))
    // SETUSER refuses a pattern that does not parse; one from elsewhere must not widen the role either.
    const patterns = parsed.filter((pattern) => typeof pattern !== 'string')
    const rules = this.#commands.restrict(selector)
    const { allChannels } = selector
    const texts = patterns.map(fixedText).filter((text) => text !== undefined)
    const fixed =
      texts.length === patterns.length ? { rules, allChannels, patterns: unique(texts) } : undefined
    const plan: Plan = { rules, allChannels, patterns, fixed }
    this.#plans.set(selector, plan)
    return plan
  }
}

function expand(plan: Plan, values: PlaceholderValues, budget: PatternBudget): Alternative {
  const patterns = plan.patterns.flatMap((pattern) => {
    const text = fixedText(pattern)
    return text === undefined ? budget.take(expandRolePattern(pattern, values)) : [text]
  })
  return { rules: plan.rules, allChannels: plan.allChannels, patterns: unique(patterns) }
}

function unique(patterns: readonly string[]): readonly string[] {
  return [...new Set(patterns)]
}

function channelRule(pattern: string): ChannelRule {
  return { pattern, glob: compileGlob(pattern) }
}

/** The token names neither roles nor channels, so `acl-pubsub-default` decides. */
function isSilent({ roles, channels, subscribe, publish }: ClaimedGrant): boolean {
  return (
    roles === undefined &&
    channels === undefined &&
    subscribe === undefined &&
    publish === undefined
  )
}

function countPatterns({ channels, subscribe, publish, deny }: ClaimedGrant): number {
  return [channels, subscribe, publish, deny].reduce((sum, list) => sum + (list?.length ?? 0), 0)
}

/** The alternative of one direction; absent if the token has neither of its lists. */
function listAlternative(
  rules: readonly string[],
  own: readonly string[] | undefined,
  both: readonly string[] | undefined,
): readonly Alternative[] {
  if (own === undefined && both === undefined) return []
  const patterns = [...new Set([...(own ?? []), ...(both ?? [])])]
  return [{ rules, allChannels: patterns.includes('*'), patterns }]
}
