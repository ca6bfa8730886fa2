import type { User } from '../../acl/user.ts'
import type { Clock } from '../../clock.ts'
import { RespcastError } from '../../errors.ts'
import type { CacheTimes } from '../verify/cached-key-set.ts'
import { GrantCompiler, sessionKeyId } from '../grant/grants.ts'
import type { CompiledGrant, GrantParts, SourcedSelector } from '../grant/grants.ts'
import type { Issuer } from '../verify/issuer.ts'
import type { Fetch } from '../verify/key-fetch.ts'
import { refuse } from '../verify/refusal.ts'
import type { TokenRefusal } from '../verify/refusal.ts'
import { TrustedIssuers } from '../verify/trusted-issuers.ts'
import type { PreparedIssuers } from '../verify/trusted-issuers.ts'
import { judgeAgain, verify } from '../verify/verify.ts'
import type { VerifiedToken } from '../verify/verify.ts'

/** What happens to keys, for the log and for the sessions they admitted. */
export interface IssuerEvents {
  /** Keys of an issuer could not be loaded; the detail is a clause for the log. */
  keysFailed?(issuer: Issuer, detail: string): void
  /** Keys of an issuer are no longer trusted: sessions whose `keyId` is among them are to end. */
  keysRemoved?(issuer: Issuer, keyIds: readonly string[]): void
}

/** What a {@link TokenAuthenticator} is built with. */
export interface AuthenticatorParts extends GrantParts {
  /** None turns tokens off. */
  readonly issuers: readonly Issuer[]
  readonly clock: Clock
  /** The global `fetch`, or a double. */
  readonly fetch: Fetch
  readonly events?: IssuerEvents
  readonly cacheTimes?: CacheTimes
}

/** How a login with a token ends. */
export type Authentication = { readonly ok: CompiledGrant } | { readonly refused: TokenRefusal }

/** Logs tokens in: from the text of a token to what its session may do. */
export class TokenAuthenticator {
  readonly #clock: Clock
  readonly #issuers: TrustedIssuers
  readonly #grants: GrantCompiler
  readonly #findUser: (userName: string) => User | undefined

  /** @throws RespcastError `ERR_CONFIG` that names every problem of the issuers, or of their key files. */
  constructor(parts: AuthenticatorParts) {
    const { clock, events, issuers } = parts
    this.#clock = clock
    this.#findUser = parts.findUser
    this.#grants = new GrantCompiler(parts)
    this.#issuers = new TrustedIssuers({
      ...parts,
      keysFailed: (issuer, detail) => events?.keysFailed?.(issuer, detail),
      keysRemoved: (issuer, keyIds) => {
        const ids = keyIds.map((keyId) => sessionKeyId(issuer.alias, keyId))
        events?.keysRemoved?.(issuer, ids)
      },
    })
    this.#issuers.replace(this.#issuers.prepare(issuers, false))
  }

  /** An issuer is configured, so that tokens can log in at all. */
  get enabled(): boolean {
    return this.#issuers.byIss.size > 0
  }

  /**
   * Gets the keys of all issuers. A URL that fails does not keep the server from starting.
   *
   * @throws RespcastError `ERR_CONFIG` if a key file cannot be used, or the ceiling of an issuer is no stored user.
   */
  async start(): Promise<void> {
    this.#checkCeilings([...this.#issuers.byIss.values()].map(({ issuer }) => issuer))
    await this.#issuers.start()
  }

  /** Ends background work; tokens can still be verified with the keys at hand. */
  stop(): void {
    this.#issuers.stop()
  }

  /**
   * Makes other issuers ready to take the place of those in force, which stay as they are. Key files are read here; what is
   * behind a URL is fetched in the background.
   *
   * @throws RespcastError `ERR_CONFIG` that names every problem of the issuers, or of their key files.
   */
  prepare(issuers: readonly Issuer[]): PreparedIssuers {
    this.#checkCeilings(issuers)
    return this.#issuers.prepare(issuers, true)
  }

  /** Gives up what {@link prepare} made ready. */
  discard(prepared: PreparedIssuers): void {
    this.#issuers.discard(prepared)
  }

  /**
   * Puts other issuers in force. Live sessions are the caller's: see {@link trusts} and {@link recompile}.
   *
   * @returns The aliases of the issuers that changed, came or went; `undefined` is the default one.
   */
  replaceIssuers(prepared: PreparedIssuers): ReadonlySet<string | undefined> {
    return this.#issuers.replace(prepared)
  }

  /**
   * Verifies and compiles a token. Never rejects.
   *
   * Time passes while it runs: roles are read at its end, and whoever puts the grant in force must do so in the turn
   * in which the promise settles, or {@link recompile} it first.
   *
   * @param token As it came, of any size.
   */
  async authenticate(token: string): Promise<Authentication> {
    const issuers = this.#issuers.byIss
    const verified = await verify(token, issuers, this.#clock)
    // Under issuers that are in force no longer it means nothing.
    if (issuers !== this.#issuers.byIss) return this.authenticate(token)
    if ('refused' in verified) return verified
    try {
      return { ok: this.#grants.compile(verified.ok) }
    } catch (error) {
      return { refused: refuse(token, error, verified.ok) }
    }
  }

  /**
   * Whether the token of a live session would be accepted under the issuers of now, but for its age: its issuer is there, its key
   * is trusted, and audience, algorithm, lifetime and claims pass.
   */
  trusts(grant: CompiledGrant): boolean {
    const trusted = this.#issuers.ofAlias(grant.issuerAlias)
    if (trusted === undefined || trusted.issuer.iss !== grant.token.issuer.iss) return false
    return trusted.keys.holds(grant.token.keyId) && this.#tokenNow(grant) !== undefined
  }

  /**
   * Compiles a live session's grant again after a change of roles or of its issuer; the same object if nothing changed
   * for it. One that is trusted no longer stays as it is, until it is cut.
   */
  recompile(grant: CompiledGrant): CompiledGrant {
    const token = this.#tokenNow(grant)
    return token === undefined ? grant : this.#grants.recompile(grant, token)
  }

  /** The stored users that bound a grant now, see {@link GrantCompiler.ceilingsOf}. */
  ceilingsOf(grant: CompiledGrant): readonly User[] {
    return this.#grants.ceilingsOf(grant)
  }

  /** The issuer of an exact `iss`. */
  issuerOf(iss: string): Issuer | undefined {
    return this.#issuers.byIss.get(iss)?.issuer
  }

  /** Whether a stored user bounds what some issuer grants. */
  isCeiling(userName: string): boolean {
    for (const { issuer } of this.#issuers.byIss.values()) {
      if (issuer.ceiling === userName) return true
    }
    return false
  }

  /** Where the selectors of a grant come from, see {@link GrantCompiler.sourcesOf}. */
  sourcesOf(grant: CompiledGrant): readonly SourcedSelector[] {
    return this.#grants.sourcesOf(grant.token)
  }

  /** The same as if the issuer could name every role: what its bound takes away is found by comparing. */
  unboundSourcesOf({ token }: CompiledGrant): readonly SourcedSelector[] {
    return this.#grants.sourcesOf({ ...token, issuer: { ...token.issuer, roles: undefined } })
  }

  #checkCeilings(issuers: readonly Issuer[]): void {
    for (const { alias, ceiling } of issuers) {
      if (ceiling === '' || this.#findUser(ceiling) !== undefined) continue
      throw new RespcastError(
        'ERR_CONFIG',
        `issuer ${alias} ceiling: there is no ACL user '${ceiling}'. Make it first.`,
      )
    }
  }

  /** The token of a grant under the settings that its issuer has now; `undefined` where they refuse it. */
  #tokenNow({ token, issuerAlias }: CompiledGrant): VerifiedToken | undefined {
    const issuer = this.#issuers.ofAlias(issuerAlias)?.issuer
    if (issuer === undefined || issuer.iss !== token.issuer.iss) return undefined
    if (issuer === token.issuer) return token
    try {
      return judgeAgain(token, issuer, this.#clock)
    } catch {
      return undefined
    }
  }
}
