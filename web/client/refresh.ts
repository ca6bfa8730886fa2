import { fullJitter } from '../../shared/backoff.ts'
import type { Connection } from './connection.ts'
import type { ClientTimer, Environment } from './environment.ts'
import { ReplyError, SignedOutError } from './errors.ts'
import type { TokenReason } from './token-source.ts'

/** Waits between attempts to replace a token that is about to end. */
const RETRY = { baseMs: 1000, maxMs: 30_000 }

/** Events of a refresh. */
interface RefreshListener {
  /** A fresh token is in use on the live connection. */
  refreshed(): void
  failed(error: unknown): void
}

/**
 * Replaces the token of a live connection: asks the provider and logs in again in-band, so that no subscription is lost.
 *
 * It retries until it succeeds or the connection ends. The next connection then uses the token that is available.
 */
export class Refresh {
  readonly #connection: Connection
  readonly #environment: Environment
  readonly #listener: RefreshListener
  /** The epoch of the running refresh. */
  #epoch: number | undefined
  #attempt = 0
  #timer: ClientTimer | undefined

  constructor(connection: Connection, environment: Environment, listener: RefreshListener) {
    this.#connection = connection
    this.#environment = environment
    this.#listener = listener
  }

  /** Starts, unless a refresh is already running on this connection or there is no provider. */
  start(reason: TokenReason): void {
    const { epoch, tokens } = this.#connection
    if (!tokens.canRefresh || this.#epoch === epoch) return
    this.#epoch = epoch
    this.#attempt = 0
    void this.#run(epoch, reason)
  }

  /** Forgets the connection that ended. */
  stop(): void {
    this.#epoch = undefined
    this.#timer?.cancel()
  }

  async #run(epoch: number, reason: TokenReason): Promise<void> {
    let token: string | undefined
    try {
      token = await this.#connection.tokens.fresh(reason)
      // Here and below, answers for a connection that has ended are dropped; the token itself is kept for the next one.
      if (epoch !== this.#connection.epoch) return
      await this.#connection.online?.call(['AUTH', 'jwt', token])
      if (epoch !== this.#connection.epoch) return
      this.#connection.swapped(token)
      this.#epoch = undefined
      this.#listener.refreshed()
    } catch (error) {
      if (epoch !== this.#connection.epoch) return
      this.#listener.failed(error)
      if (error instanceof SignedOutError) return
      // The server could not judge the token: it may be good.
      const wasRefused = error instanceof ReplyError && error.prefix !== 'TRYAGAIN'
      if (wasRefused) this.#connection.tokens.refuse(token, 'refused')
      const waitMs = fullJitter(++this.#attempt, RETRY, () => this.#environment.random())
      this.#timer = this.#environment.clock.after(waitMs, () => {
        void this.#run(epoch, wasRefused ? 'refused' : reason)
      })
    }
  }
}
