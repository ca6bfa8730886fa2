import type { Clock } from '../../clock.ts'
import { GrantCompiler } from '../grant/grants.ts'
import type { CompiledGrant, GrantParts } from '../grant/grants.ts'
import type { Issuer } from '../verify/issuer.ts'
import { refuse } from '../verify/refusal.ts'
import type { TokenRefusal } from '../verify/refusal.ts'
import { TrustedIssuers } from '../verify/trusted-issuers.ts'
import type { IssuerParts } from '../verify/trusted-issuers.ts'
import { judgeAgain, looksLikeToken, verify } from '../verify/verify.ts'
import type { VerifiedToken } from '../verify/verify.ts'

/** The parts that a {@link TokenAuthenticator} is built with. */
export interface AuthenticatorParts extends GrantParts, IssuerParts {
  /** Issuers to begin with; none turns tokens off. */
  readonly issuers: readonly Issuer[]
}

/** Result of an authentication. */
type Authentication = { readonly ok: CompiledGrant } | { readonly refused: TokenRefusal }

/** Turns the text of a token into the grant of a session. */
export class TokenAuthenticator {
  /** The issuers in force. */
  readonly issuers: TrustedIssuers
  /** Makes users of verified tokens. */
  readonly grants: GrantCompiler
  readonly #clock: Clock

  /** @throws RespcastError `ERR_CONFIG` that names every problem of the issuers, or of their key files. */
  constructor(parts: AuthenticatorParts) {
    this.#clock = parts.clock
    this.grants = new GrantCompiler(parts)
    this.issuers = new TrustedIssuers(parts.issuers, parts)
  }

  /** An issuer is configured, so that tokens can log in at all. */
  get enabled(): boolean {
    return this.issuers.byIss.size > 0
  }

  /** Reports whether a single AUTH argument is to be taken for a token. */
  looksLikeToken(text: string): boolean {
    return this.enabled && looksLikeToken(text)
  }

  /**
   * Verifies and compiles a token. Never rejects.
   *
   * Roles are read at its end: put the grant in force in the turn in which the promise settles, or {@link recompile} it
   * first.
   *
   * @param token As it came, of any size.
   */
  async authenticate(token: string): Promise<Authentication> {
    const issuers = this.issuers.byIss
    const verified = await verify(token, issuers, this.#clock)
    // The issuers were replaced meanwhile: the result is void.
    if (issuers !== this.issuers.byIss) return this.authenticate(token)
    if ('refused' in verified) return verified
    try {
      return { ok: this.grants.compile(verified.ok) }
    } catch (error) {
      return { refused: refuse(token, error, verified.ok) }
    }
  }

  /**
   * Reports whether the token of a live session would be accepted by the issuers now in force, apart from its age: its
   * issuer is configured, its key is trusted, and audience, algorithm, lifetime and claims pass.
   */
  trusts(grant: CompiledGrant): boolean {
    const trusted = this.issuers.ofAlias(grant.issuerAlias)
    if (trusted === undefined || trusted.issuer.iss !== grant.token.issuer.iss) return false
    return trusted.keys.holds(grant.token.keyId) && this.#tokenNow(grant) !== undefined
  }

  /**
   * Compiles the grant of a live session again after a change of its roles or issuer.
   *
   * @returns The same object if nothing changed for it, or if its token is no longer trusted.
   */
  recompile(grant: CompiledGrant): CompiledGrant {
    const token = this.#tokenNow(grant)
    return token === undefined ? grant : this.grants.recompile(grant, token)
  }

  /** The token of a grant under the settings that its issuer has now; `undefined` where they refuse it. */
  #tokenNow({ token, issuerAlias }: CompiledGrant): VerifiedToken | undefined {
    const issuer = this.issuers.ofAlias(issuerAlias)?.issuer
    if (issuer === undefined || issuer.iss !== token.issuer.iss) return undefined
    if (issuer === token.issuer) return token
    try {
      return judgeAgain(token, issuer, this.#clock)
    } catch {
      return undefined
    }
  }
}
