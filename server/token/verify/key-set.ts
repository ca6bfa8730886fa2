import type { VerificationKey } from './jwks.ts'

/**
 * Keys tried for one token. Only a set with several keys under one `kid`, or a token without `kid`, needs more than
 * one; the bound keeps a bad token cheap.
 */
const MAX_CANDIDATES = 4

/** The keys of one issuer. */
export interface KeySet {
  /**
   * Gets the keys before the first token comes.
   *
   * @throws RespcastError `ERR_CONFIG` if a key file cannot be used. A URL that fails is tried again later instead.
   */
  start(): Promise<void>
  /**
   * As {@link start}, in this turn: files are read here and now, and what comes from a URL is fetched in the background.
   *
   * @throws RespcastError `ERR_CONFIG` if a key file cannot be used.
   */
  startNow(): void
  /** Ids of the keys that are trusted now. */
  ids(): readonly string[]
  /**
   * Takes over the sessions that keys of a predecessor admitted, until it is known which of them are in this set: then
   * {@link KeySetListener.removed} hears of the others. A set that is complete already takes over nothing.
   */
  inherit(keyIds: readonly string[]): void
  /** The keys that may verify a token of this header; may look for new keys first. Never rejects. */
  candidates(algorithm: string, kid: string | undefined): Promise<readonly VerificationKey[]>
  /** Tells whether the key that once verified a token is still trusted. */
  holds(keyId: string): boolean
  stop(): void
}

/** Who wants to know what becomes of a key set. */
export interface KeySetListener {
  /** A load failed; the sentence is for the log. */
  failed?(detail: string): void
  /** Keys were taken out; sessions that they admitted are to end. */
  removed?(keyIds: readonly string[]): void
}

/** The keys of `keys` that fit a header. `kid` is data: it is compared, and nothing else is done with it. */
export function matchingKeys(
  keys: readonly VerificationKey[],
  algorithm: string,
  kid: string | undefined,
): readonly VerificationKey[] {
  return keys
    .filter((key) => key.algorithms.includes(algorithm) && (kid === undefined || key.kid === kid))
    .slice(0, MAX_CANDIDATES)
}
