import { isDeepStrictEqual } from 'node:util'
import type { User } from '../../acl/user.ts'
import type { Clock } from '../../clock.ts'
import { RespcastError } from '../../errors.ts'
import { issuerProblems, sessionKeyId } from './issuer.ts'
import type { Issuer, KeySource } from './issuer.ts'
import type { CacheTimes } from './jwks-cache.ts'
import type { Fetch } from './key-fetch.ts'
import { createKeySet } from './key-set.ts'
import type { KeyNames } from './keys.ts'
import type { KeySet } from './key-set.ts'
import type { TrustedIssuer } from './verify.ts'

/** Receives the changes of keys, for the log and for the sessions that they admitted. */
interface IssuerEvents {
  /** Keys of an issuer could not be loaded; the detail is a clause for the log. */
  keysFailed?(issuer: Issuer, detail: string): void
  /** Keys of an issuer were loaded, and verify from now on. */
  keysLoaded?(issuer: Issuer): void
  /** Keys of an issuer are no longer trusted: sessions whose `keyId` is among them are to end. */
  keysRemoved?(issuer: Issuer, keyIds: readonly string[]): void
}

/** The parts of the server that issuers need. */
export interface IssuerParts {
  readonly clock: Clock
  /** The global `fetch`, or a double. */
  readonly fetch: Fetch
  /** Finds a stored user (byte string): a ceiling. */
  readonly findUser: (userName: string) => User | undefined
  readonly events?: IssuerEvents
  readonly cacheTimes?: CacheTimes
}

/** Issuers that were found good, with their keys, and are not in force yet. */
export type PreparedIssuers = readonly TrustedIssuer[]

/** The issuers in force, by `iss` and by alias, each with its keys. */
export class TrustedIssuers {
  readonly #parts: IssuerParts
  #byIss: ReadonlyMap<string, TrustedIssuer> = new Map()
  #byAlias: ReadonlyMap<string | undefined, TrustedIssuer> = new Map()

  /**
   * @param issuers Issuers to begin with; none turns tokens off. Call {@link start} before the first token comes.
   * @throws RespcastError `ERR_CONFIG` that names every problem of the issuers, or of a file with a secret or a PEM key.
   */
  constructor(issuers: readonly Issuer[], parts: IssuerParts) {
    this.#parts = parts
    this.replace(this.#prepare(issuers, false))
  }

  /** By the exact `iss`. Another map after each {@link replace}. */
  get byIss(): ReadonlyMap<string, TrustedIssuer> {
    return this.#byIss
  }

  /** The issuer of an alias; `undefined` is the default one. */
  ofAlias(alias: string | undefined): TrustedIssuer | undefined {
    return this.#byAlias.get(alias)
  }

  /** The issuer of an exact `iss`. */
  ofName(iss: string): Issuer | undefined {
    return this.#byIss.get(iss)?.issuer
  }

  /**
   * Names of the keys that issuers hold.
   *
   * @param among Chooses issuers by their alias.
   */
  keyNames(among: (alias: string | undefined) => boolean): readonly KeyNames[] {
    return [...this.#byAlias].flatMap(([alias, { keys }]) => (among(alias) ? keys.names() : []))
  }

  /** Reports whether a stored user bounds the grants of some issuer. */
  isCeiling(userName: string): boolean {
    for (const { issuer } of this.#byIss.values()) if (issuer.ceiling === userName) return true
    return false
  }

  /**
   * Loads the keys of all issuers. A URL that fails does not keep the server from starting.
   *
   * @throws RespcastError `ERR_CONFIG` if a key file cannot be used, or the ceiling of an issuer is no stored user.
   */
  async start(): Promise<void> {
    const all = [...this.#byIss.values()]
    this.#checkCeilings(all.map(({ issuer }) => issuer))
    await Promise.all(all.map(({ keys }) => keys.start()))
  }

  /** Ends background work. Tokens can still be verified with the loaded keys. */
  stop(): void {
    for (const { keys } of this.#byIss.values()) keys.stop()
  }

  /**
   * Prepares issuers to take the place of those in force, which stay as they are. Key files are read here; URLs are fetched in
   * the background. An issuer whose key source has not changed keeps its key set, unless it is read from a file: the file may
   * have changed.
   *
   * @throws RespcastError `ERR_CONFIG` that names every problem of the issuers, or of the first key file that cannot be used.
   */
  prepare(issuers: readonly Issuer[]): PreparedIssuers {
    this.#checkCeilings(issuers)
    return this.#prepare(issuers, true)
  }

  /** The problems that `/readyz` reports: issuers whose tokens cannot be verified now. */
  get problems(): string[] {
    return [...this.#byIss.values()]
      .filter(({ keys }) => keys.ids().length === 0)
      .map(({ issuer, keys }) => {
        const reason = keys.outage ?? 'not loaded yet'
        return `no keys of the issuer ${issuer.alias ?? 'default'}: ${reason}`
      })
  }

  /** Releases issuers that were prepared and will not be put in force. */
  discard(prepared: PreparedIssuers): void {
    const used = new Set([...this.#byIss.values()].map(({ keys }) => keys))
    for (const { keys } of prepared) if (!used.has(keys)) keys.stop()
  }

  /**
   * Puts issuers in force. Those that came before verify nothing any more. The caller re-evaluates the live sessions.
   *
   * @returns The aliases of those that are new, gone, or have other settings or keys.
   */
  replace(prepared: PreparedIssuers): ReadonlySet<string | undefined> {
    const before = this.#byAlias
    for (const { issuer, keys } of prepared) {
      const old = before.get(issuer.alias)
      if (old === undefined || old.keys === keys || old.issuer.iss !== issuer.iss) continue
      keys.inherit(old.keys.ids())
    }
    this.#byIss = new Map(prepared.map((trusted) => [trusted.issuer.iss, trusted]))
    this.#byAlias = new Map(prepared.map((trusted) => [trusted.issuer.alias, trusted]))
    const kept = new Set(prepared.map(({ keys }) => keys))
    for (const { keys } of before.values()) if (!kept.has(keys)) keys.stop()
    const aliases = new Set([...before.keys(), ...this.#byAlias.keys()])
    for (const alias of aliases) {
      if (before.get(alias) === this.#byAlias.get(alias)) aliases.delete(alias)
    }
    return aliases
  }

  #prepare(issuers: readonly Issuer[], atOnce: boolean): PreparedIssuers {
    const problems = issuerProblems(issuers)
    if (problems.length > 0) throw new RespcastError('ERR_CONFIG', problems.join('; '))
    const prepared: TrustedIssuer[] = []
    try {
      for (const issuer of issuers) prepared.push(this.#prepareOne(issuer, atOnce))
    } catch (error) {
      this.discard(prepared)
      throw error
    }
    return prepared
  }

  #checkCeilings(issuers: readonly Issuer[]): void {
    for (const { alias, ceiling } of issuers) {
      if (ceiling === '' || this.#parts.findUser(ceiling) !== undefined) continue
      throw new RespcastError(
        'ERR_CONFIG',
        `${alias === undefined ? 'jwt-ceiling' : `issuer ${alias} ceiling`}: there is no ACL user '${ceiling}'. Make it first.`,
      )
    }
  }

  #prepareOne(issuer: Issuer, atOnce: boolean): TrustedIssuer {
    const old = this.#byAlias.get(issuer.alias)
    const keys = this.#keysFor(issuer, atOnce)
    if (old?.keys === keys && isDeepStrictEqual(old.issuer, issuer)) return old
    return { issuer, keys }
  }

  #keysFor(issuer: Issuer, atOnce: boolean): KeySet {
    const old = this.#byAlias.get(issuer.alias)
    if (old?.issuer.iss === issuer.iss && isSameSource(old.issuer.keys, issuer.keys))
      return old.keys
    const { clock, fetch, events, cacheTimes } = this.#parts
    const keys = createKeySet(issuer, {
      clock,
      fetch,
      listener: {
        failed: (detail) => events?.keysFailed?.(issuer, detail),
        loaded: () => events?.keysLoaded?.(issuer),
        removed: (keyIds) => {
          const ids = keyIds.map((keyId) => sessionKeyId(issuer.alias, keyId))
          events?.keysRemoved?.(issuer, ids)
        },
      },
      times: cacheTimes,
    })
    try {
      if (atOnce) keys.startNow()
    } catch (error) {
      keys.stop()
      throw error
    }
    return keys
  }
}

/** Reports whether the keys of one source are good for another. Files may have changed, so they never are. */
function isSameSource(one: KeySource, other: KeySource): boolean {
  const inFile = 'path' in one || ('previous' in one && 'path' in one.previous)
  return !inFile && isDeepStrictEqual(one, other)
}
