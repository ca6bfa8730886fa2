import type { ClientClock } from './environment.ts'

/** A provider that has not answered by then is given up. Milliseconds. */
const PROVIDER_TIMEOUT_MS = 30_000

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
 * Throw a `SignedOutError` to stop the client; anything else that is thrown is tried again later, and so is a call that takes
 * longer than 30 seconds.
 */
export type TokenProvider = (request: {
  readonly reason: TokenReason
  /** Aborted when the answer is of no use any more: the time is over, or the client was closed. */
  readonly signal: AbortSignal
}) => string | Promise<string>

/** Holds the token in use, and gets new ones. */
export class TokenSource {
  readonly #provider: TokenProvider | undefined
  readonly #clock: ClientClock
  #token: string | undefined
  #expiresAtMs = Infinity
  #pending: Promise<string> | undefined
  #abort: ((error: Error) => void) | undefined
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

  /** Takes a token that the application brought by itself. */
  use(token: string): void {
    this.#token = token
    this.#expiresAtMs = Infinity
  }

  /**
   * Forgets a token that the server refused, unless it has been replaced since.
   *
   * @returns There is another one, or somebody to ask for it.
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

  /** The answer of a call that is pending is of no use any more. */
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
      abort(new Error('The token provider did not answer'))
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
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0))
    const { iss, sub } = JSON.parse(new TextDecoder().decode(bytes)) as Record<
      'iss' | 'sub',
      unknown
    >
    return JSON.stringify([iss, sub])
  } catch {
    return ''
  }
}
