import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../clock.ts'
import { RespcastError } from '../../errors.ts'
import type { CacheTimes } from './cached-key-set.ts'
import { issuerProblems } from './issuer.ts'
import type { Issuer, KeySource } from './issuer.ts'
import type { Fetch } from './key-fetch.ts'
import type { KeySet } from './key-set.ts'
import { createKeySet } from './key-sets.ts'
import type { TrustedIssuer } from './verify.ts'

/** What {@link TrustedIssuers} are built with. */
export interface TrustedIssuerParts {
  readonly clock: Clock
  readonly fetch: Fetch
  readonly cacheTimes?: CacheTimes
  /** Keys of an issuer could not be loaded; the detail is a clause for the log. */
  readonly keysFailed: (issuer: Issuer, detail: string) => void
  /** Keys of an issuer are no longer in its set. */
  readonly keysRemoved: (issuer: Issuer, keyIds: readonly string[]) => void
}

/** Issuers that were found good, with their keys, and are not in force yet. */
export type PreparedIssuers = readonly TrustedIssuer[]

/** The issuers in force, by `iss` and by alias, each with its keys. */
export class TrustedIssuers {
  readonly #parts: TrustedIssuerParts
  #byIss: ReadonlyMap<string, TrustedIssuer> = new Map()
  #byAlias: ReadonlyMap<string | undefined, TrustedIssuer> = new Map()

  constructor(parts: TrustedIssuerParts) {
    this.#parts = parts
  }

  /** By the exact `iss`. Another map after each {@link replace}. */
  get byIss(): ReadonlyMap<string, TrustedIssuer> {
    return this.#byIss
  }

  /** The issuer of an alias; `undefined` is the default one. */
  ofAlias(alias: string | undefined): TrustedIssuer | undefined {
    return this.#byAlias.get(alias)
  }

  /**
   * Checks issuers and makes their key sets ready; nothing that is in force changes. An issuer whose keys come from where they
   * came from keeps its key set, unless it is read from a file: the file may have changed.
   *
   * @param atOnce Also key sets in files are read now. Otherwise {@link start} reads them.
   * @throws RespcastError `ERR_CONFIG` that names every problem of the issuers, or of the first key file that cannot be used.
   */
  prepare(issuers: readonly Issuer[], atOnce: boolean): PreparedIssuers {
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

  /** Gives up issuers that were prepared, and will not be put in force. */
  discard(prepared: PreparedIssuers): void {
    const used = new Set([...this.#byIss.values()].map(({ keys }) => keys))
    for (const { keys } of prepared) if (!used.has(keys)) keys.stop()
  }

  /**
   * Puts issuers in force. Those that came before verify nothing any more.
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

  /** Gets the keys of all issuers, see {@link KeySet.start}. */
  async start(): Promise<void> {
    await Promise.all([...this.#byIss.values()].map(({ keys }) => keys.start()))
  }

  /** Ends background work; tokens can still be verified with the keys at hand. */
  stop(): void {
    for (const { keys } of this.#byIss.values()) keys.stop()
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
    const { clock, fetch, cacheTimes, keysFailed, keysRemoved } = this.#parts
    const keys = createKeySet(issuer, {
      clock,
      fetch,
      listener: {
        failed: (detail) => keysFailed(issuer, detail),
        removed: (keyIds) => keysRemoved(issuer, keyIds),
      },
      ...(cacheTimes === undefined ? {} : { times: cacheTimes }),
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

/** Whether two sources are the same, so that the keys of one are good for the other. Of files nobody knows. */
function isSameSource(one: KeySource, other: KeySource): boolean {
  const inFile = 'path' in one || ('previous' in one && 'path' in one.previous)
  return !inFile && isDeepStrictEqual(one, other)
}
