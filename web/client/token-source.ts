import type { ClientClock } from './environment.ts'

/**
 * Why a token is asked for.
 *
 * - `initial`: there was none yet.
 * - `expiring`, `expired`: the one in use ends soon, or has ended.
 * - `refused`: the server did not accept the last one.
 * - `revoked`: the last one was revoked.
 */
export type TokenReason = 'initial' | 'expiring' | 'expired' | 'refused' | 'revoked'

/**
 * Fetches a token. Never called while an earlier call is pending, and not for a mere loss of network.
 *
 * Throw a {@link SignedOutError} to stop the client; anything else that is thrown is tried again later.
 */
export type TokenProvider = (request: { readonly reason: TokenReason }) => string | Promise<string>

/** Holds the token in use, and gets new ones. */
export class TokenSource {
  readonly #provider: TokenProvider | undefined
  readonly #clock: ClientClock
  #token: string | undefined
  #expiresAtMs = Infinity
  #pending: Promise<string> | undefined
  #reason: TokenReason = 'initial'

  /** @param token A token that is all there ever will be, a provider, or undefined where a cookie logs in. */
  constructor(token: string | TokenProvider | undefined, clock: ClientClock) {
    this.#provider = typeof token === 'function' ? token : undefined
    this.#token = typeof token === 'string' ? token : undefined
    this.#clock = clock
  }

  /** A refused token can be replaced. */
  get canRefresh(): boolean {
    return this.#provider !== undefined
  }

  /** The token to connect with: the one in use while it is good, else a fresh one. */
  async current(): Promise<string | undefined> {
    if (!this.#provider) return this.#token
    if (this.#token !== undefined && this.#clock.wallMs() < this.#expiresAtMs) return this.#token
    return this.fresh(this.#token === undefined ? this.#reason : 'expired')
  }

  /** Asks the provider. Whoever asks while a call is pending gets that call's token. */
  fresh(reason: TokenReason): Promise<string> {
    this.#pending ??= this.#fetch(reason).finally(() => {
      this.#pending = undefined
    })
    return this.#pending
  }

  /** Notes how long the token in use is good for. */
  lasts(expiresAtMs: number): void {
    this.#expiresAtMs = expiresAtMs
  }

  /** Forgets a token that the server refused, unless it has been replaced since. */
  refuse(token: string | undefined, reason: TokenReason): void {
    if (!this.#provider || this.#token !== token) return
    this.#token = undefined
    this.#reason = reason
  }

  async #fetch(reason: TokenReason): Promise<string> {
    const token = await this.#provider?.({ reason })
    if (typeof token !== 'string' || token === '')
      throw new TypeError('The token provider gave no token')
    this.#token = token
    this.#expiresAtMs = Infinity
    return token
  }
}
