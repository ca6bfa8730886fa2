import { bytesOfString } from '../../shared/bytes.ts'
import type { ClientClock } from './environment.ts'

/** Time limit of a provider. Milliseconds. */
const PROVIDER_TIMEOUT_MS = 30_000

/**
 * Reason for a token request.
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
 * Throw a `SignedOutError` to stop the client; anything else that is thrown is tried again later, and so is a call that takes
 * longer than 30 seconds.
 */
export type TokenProvider = (request: {
  readonly reason: TokenReason
  /** Aborted when the answer is no longer needed: the time limit is over, or the client was closed. */
  readonly signal: AbortSignal
}) => string | Promise<string>

/** Holds the token in use, and fetches new ones. */
export class TokenSource {
  readonly #provider: TokenProvider | undefined
  readonly #clock: ClientClock
  #token: string | undefined
  #expiresAtMs = Infinity
  #pending: Promise<string> | undefined
  #abort: ((error: Error) => void) | undefined
  #reason: TokenReason = 'initial'

  /** @param token A fixed token, a provider, or undefined where a cookie or a password logs in. */
  constructor(token: string | TokenProvider | undefined, clock: ClientClock) {
    this.#provider = typeof token === 'function' ? token : undefined
    this.#token = typeof token === 'string' ? token : undefined
    this.#clock = clock
  }

  /** Reports whether a refused token can be replaced. */
  get canRefresh(): boolean {
    return this.#provider !== undefined
  }

  /** The token to connect with: the one in use while it is valid, else a fresh one. */
  async current(): Promise<string | undefined> {
    if (!this.#provider) return this.#token
    if (this.#token !== undefined && this.#clock.wallMs() < this.#expiresAtMs) return this.#token
    return this.fresh(this.#token === undefined ? this.#reason : 'expired')
  }

  /** Asks the provider. Concurrent callers share one call. */
  fresh(reason: TokenReason): Promise<string> {
    this.#pending ??= this.#fetch(reason).finally(() => {
      this.#pending = undefined
    })
    return this.#pending
  }

  /** Sets the expiry of the token in use. */
  lasts(expiresAtMs: number): void {
    this.#expiresAtMs = expiresAtMs
  }

  /** Replaces the token by one that the application provides. */
  use(token: string): void {
    this.#token = token
    this.#expiresAtMs = Infinity
  }

  /**
   * Drops a token that the server refused, unless it has been replaced since.
   *
   * @returns True if there is another token, or a provider of one.
   */
  refuse(token: string | undefined, reason: TokenReason): boolean {
    const isReplaced = this.#token !== token
    if (!this.#provider) return isReplaced
    if (!isReplaced) {
      this.#token = undefined
      this.#reason = reason
    }
    return true
  }

  /** Aborts the pending call. */
  close(): void {
    this.#abort?.(new Error('The client was closed'))
  }

  async #fetch(reason: TokenReason): Promise<string> {
    const controller = new AbortController()
    let abort!: (error: Error) => void
    const aborted = new Promise<never>((_resolve, reject) => {
      abort = (error) => {
        reject(error)
        controller.abort(error)
      }
    })
    this.#abort = abort
    const deadline = this.#clock.after(PROVIDER_TIMEOUT_MS, () => {
      abort(new Error('The token provider gave no answer'))
    })
    try {
      const token = await Promise.race([
        this.#provider?.({ reason, signal: controller.signal }),
        aborted,
      ])
      if (typeof token !== 'string' || token === '')
        throw new TypeError('The token provider gave no token')
      this.use(token)
      return token
    } finally {
      deadline.cancel()
      this.#abort = undefined
    }
  }
}

/**
 * The subject of a token. Only tells tabs apart: whether the token is good is the server's business.
 *
 * @returns Empty for what is not a JWT.
 * @see RFC 7519 section 4.1.2
 */
export function subjectOf(token: string | undefined): string {
  try {
    const payload = token?.split('.')[1] ?? ''
    const text = atob(payload.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = bytesOfString(text)
    const { iss, sub } = JSON.parse(new TextDecoder().decode(bytes)) as Record<
      'iss' | 'sub',
      unknown
    >
    return JSON.stringify([iss, sub])
  } catch {
    return ''
  }
}
