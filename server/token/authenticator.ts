import type { Clock } from '../clock.ts'
import { RespcastError } from '../errors.ts'
import { GrantCompiler } from './grants.ts'
import type { CompiledGrant, GrantParts } from './grants.ts'
import { issuerProblems } from './issuer.ts'
import type { Issuer } from './issuer.ts'
import type { CacheTimes } from './cached-key-set.ts'
import type { Fetch } from './key-fetch.ts'
import { createKeySet } from './key-sets.ts'
import { refuse, TokenFault } from './refusal.ts'
import type { Refusal } from './refusal.ts'
import { verify } from './verify.ts'
import type { TrustedIssuer } from './verify.ts'

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
export type Authentication = { readonly ok: CompiledGrant } | { readonly refused: Refusal }

/** Logs tokens in: from the text of a token to what its session may do. */
export class TokenAuthenticator {
  readonly #clock: Clock
  readonly #trusted = new Map<string, TrustedIssuer>()
  readonly #grants: GrantCompiler

  /** @throws RespcastError `ERR_CONFIG` that names every problem of the issuers, or of their key files. */
  constructor(parts: AuthenticatorParts) {
    const problems = issuerProblems(parts.issuers)
    if (problems.length > 0) throw new RespcastError('ERR_CONFIG', problems.join('; '))
    const { clock, fetch, events, cacheTimes } = parts
    this.#clock = clock
    this.#grants = new GrantCompiler(parts)
    for (const issuer of parts.issuers) {
      const listener = {
        failed: (detail: string) => events?.keysFailed?.(issuer, detail),
        removed: (keyIds: readonly string[]) => events?.keysRemoved?.(issuer, keyIds),
      }
      const keys = createKeySet(issuer, {
        clock,
        fetch,
        listener,
        ...(cacheTimes === undefined ? {} : { times: cacheTimes }),
      })
      this.#trusted.set(issuer.iss, { issuer, keys })
    }
  }

  /** An issuer is configured, so that tokens can log in at all. */
  get enabled(): boolean {
    return this.#trusted.size > 0
  }

  /**
   * Gets the keys of all issuers. A URL that fails does not keep the server from starting.
   *
   * @throws RespcastError `ERR_CONFIG` if a key file cannot be used.
   */
  async start(): Promise<void> {
    await Promise.all([...this.#trusted.values()].map(({ keys }) => keys.start()))
  }

  /** Ends background work; tokens can still be verified with the keys at hand. */
  stop(): void {
    for (const { keys } of this.#trusted.values()) keys.stop()
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
    const verified = await verify(token, this.#trusted, this.#clock)
    if ('refused' in verified) return verified
    try {
      return { ok: this.#grants.compile(verified.ok) }
    } catch (error) {
      const fault = error instanceof TokenFault ? error : new TokenFault(`failed: ${String(error)}`)
      return { refused: refuse(token, fault, verified.ok) }
    }
  }

  /** Compiles a live session's grant again after a change of roles; the same object if nothing changed for it. */
  recompile(grant: CompiledGrant): CompiledGrant {
    return this.#grants.recompile(grant)
  }
}
