import { hash } from 'node:crypto'

/** Tokens that are remembered for one key, some 100 bytes each. */
const MOST_TOKENS = 10_000

/**
 * The tokens that one key was found to have signed. Clients return with the token that they have, all at once where a network or a
 * proxy failed, and the signature is what costs most of a login.
 *
 * Whether a key made a signature depends on the bytes of both and on nothing else, so it is the one thing about a token that may be
 * remembered: issuer, key set, algorithm, claims, times and revocations are looked at in each login. The memory belongs to
 * the key, and ends with it. Tokens are known by the SHA-256 of all of their bytes, so that none is kept that could log in; only good
 * signatures get in, so that nobody without a key can fill it.
 */
export class ProvenTokens {
  /** The one that was proven longest ago first. */
  readonly #digests = new Set<string>()

  /** Tokens that are remembered. */
  get size(): number {
    return this.#digests.size
  }

  /** @param digest See {@link digestOf}. */
  has(digest: string): boolean {
    return this.#digests.has(digest)
  }

  add(digest: string): void {
    this.#digests.add(digest)
    if (this.#digests.size <= MOST_TOKENS) return
    for (const oldest of this.#digests) {
      this.#digests.delete(oldest)
      return
    }
  }
}

/** The name under which a token is remembered. */
export function digestOf(token: string): string {
  return hash('sha256', token, 'binary')
}
