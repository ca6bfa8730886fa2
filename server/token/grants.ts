import { compileGlob } from '../../shared/glob.ts'
import type { CommandCatalog } from '../acl/catalog.ts'
import type { PubsubDefault } from '../acl/selector-draft.ts'
import type { ChannelRule, Selector, User } from '../acl/user.ts'
import type { ClaimedGrant } from './claims.ts'
import { ContentPool } from './content-pool.ts'
import { issuerName, tokenUserName } from './issuer.ts'
import type { PlaceholderValues } from './placeholders.ts'
import { TokenFault } from './refusal.ts'
import { PatternBudget, RoleSelectors } from './role-selectors.ts'
import type { RoleAlternative } from './role-selectors.ts'
import type { JsonObject } from './text.ts'
import { CommandSets, PUBLISH_RULES, SUBSCRIBE_RULES } from './token-commands.ts'
import type { VerifiedToken } from './verify.ts'

/**
 * What one session may do by its token. Names are byte strings.
 *
 * Order of precedence at a check: {@link isDenied} refuses before all; then the ceiling, if there is one; then any
 * selector of `user` that allows; then nothing.
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
  /** Messages for its patterns must be checked with {@link isDenied} one by one. */
  readonly filters: boolean
  readonly group: string | undefined
  readonly sub: string
  readonly iss: string
  /** `undefined` for the default issuer. */
  readonly issuerAlias: string | undefined
  readonly jti: string | undefined
  readonly kid: string | undefined
  /** The key that verified the token, see `KeySet.holds`. */
  readonly keyId: string
  /** ms since 1970; 0 for a token without `iat`. */
  readonly issuedAtMs: number
  /** ms since 1970. */
  readonly expiresAtMs: number
  /** What it was compiled from. */
  readonly token: VerifiedToken
}

/** What grants are compiled with. */
export interface GrantParts {
  readonly catalog: CommandCatalog
  /** Finds a role by the name of its ACL user, `role:<name>` (byte string). */
  readonly findRole: (userName: string) => User | undefined
  /** The directive `acl-pubsub-default`, as it is now. */
  readonly pubsubDefault: () => PubsubDefault
  /** The directive `placeholder-separators`, as bytes. */
  readonly separators: string
}

/** Tells whether the `deny` list of a grant takes a channel away, whatever allows it. */
export function isDenied(grant: Pick<CompiledGrant, 'deny'>, channel: string): boolean {
  // As a glob `*` leaves the empty channel out; as a list entry it means every channel, as in an allow.
  return grant.deny.some(({ pattern, glob }) => pattern === '*' || glob.matches(channel))
}

/** Compiles verified tokens into ACL users. */
export class GrantCompiler {
  readonly #parts: GrantParts
  readonly #commands: CommandSets
  readonly #root: Selector
  readonly #roles: RoleSelectors
  readonly #selectors = new ContentPool<Selector>()
  readonly #lists = new ContentPool<readonly Selector[]>()
  readonly #denials = new ContentPool<readonly ChannelRule[]>()
  readonly #ids = new WeakMap<Selector, number>()
  #nextId = 0

  constructor(parts: GrantParts) {
    this.#parts = parts
    this.#commands = new CommandSets(parts.catalog)
    this.#root = this.#commands.root()
    this.#roles = new RoleSelectors(this.#commands)
  }

  /**
   * Compiles a token as it logs in.
   *
   * @throws TokenFault if its placeholders make more than 256 patterns, those of its lists included.
   */
  compile(token: VerifiedToken): CompiledGrant {
    const { selectors, exceeded } = this.#selectorsOf(token)
    if (exceeded) throw new TokenFault('its roles expand to more than 256 channel patterns')
    const { claimed, issuer } = token
    const userName = tokenUserName(issuer.alias, token.sub)
    return {
      userName,
      user: { name: userName, enabled: true, noPassword: false, passwords: [], selectors },
      roles: claimed.roles ?? [],
      deny: this.#denyOf(claimed),
      filters: claimed.deny.length > 0,
      group: claimed.group,
      sub: token.sub,
      iss: issuerName(issuer),
      issuerAlias: issuer.alias,
      jti: token.jti,
      kid: token.kid,
      keyId: token.keyId,
      issuedAtMs: token.issuedAtMs,
      expiresAtMs: token.expiresAtMs,
      token,
    }
  }

  /**
   * Compiles the grant of a live session again, after a role was edited or deleted.
   *
   * `acl-pubsub-default` plays no part: it means something only to tokens without roles. A session is not ended for
   * too many patterns; those that do not fit vanish.
   *
   * @returns The same object if nothing has changed for this session.
   */
  recompile(grant: CompiledGrant): CompiledGrant {
    if (grant.roles.length === 0) return grant
    const { selectors } = this.#selectorsOf(grant.token)
    if (selectors === grant.user.selectors) return grant
    return { ...grant, user: { ...grant.user, selectors } }
  }

  #selectorsOf(token: VerifiedToken): { selectors: readonly Selector[]; exceeded: boolean } {
    const { claimed } = token
    const budget = new PatternBudget(countPatterns(claimed))
    const alternatives = [
      ...this.#roleAlternatives(token, budget),
      ...listAlternative(SUBSCRIBE_RULES, claimed.subscribe, claimed.channels),
      ...listAlternative(PUBLISH_RULES, claimed.publish, claimed.channels),
    ]
    if (isSilent(claimed) && this.#parts.pubsubDefault() === 'allchannels') {
      alternatives.push({ rules: SUBSCRIBE_RULES, allChannels: true, patterns: [] })
    }
    const all = [this.#root, ...alternatives.map((one) => this.#selector(one))]
    const selectors = this.#lists.get(all.map((one) => this.#idOf(one)).join(' '), () => all)
    return { selectors, exceeded: budget.exceeded }
  }

  #roleAlternatives(token: VerifiedToken, budget: PatternBudget): readonly RoleAlternative[] {
    let payload: JsonObject | undefined
    const values: PlaceholderValues = {
      sub: token.sub,
      iss: issuerName(token.issuer),
      payload: () => (payload ??= JSON.parse(token.payload) as JsonObject),
      separators: this.#parts.separators,
    }
    return [...new Set(token.claimed.roles)].flatMap((name) => {
      const role = this.#parts.findRole(`role:${name}`)
      return role === undefined ? [] : this.#roles.of(role, values, budget)
    })
  }

  #selector({ rules, allChannels, patterns }: RoleAlternative): Selector {
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

function channelRule(pattern: string): ChannelRule {
  return { pattern, glob: compileGlob(pattern) }
}

/** Nothing in the token says which channels it is for, so that `acl-pubsub-default` says it. */
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
): readonly RoleAlternative[] {
  if (own === undefined && both === undefined) return []
  const patterns = [...new Set([...(own ?? []), ...(both ?? [])])]
  return [{ rules, allChannels: patterns.includes('*'), patterns }]
}
