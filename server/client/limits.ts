/** One class of `client-output-buffer-limit`; 0 switches a bound off. */
export interface OutputLimit {
  /** At this many waiting bytes the client is closed at once. */
  readonly hardBytes: number
  /** Above this many for longer than `softSeconds` it is closed too. */
  readonly softBytes: number
  readonly softSeconds: number
}

/** Classes of output limits. `replica` is kept for CONFIG GET; nobody belongs to it. */
export type LimitClass = 'normal' | 'replica' | 'pubsub' | 'websocket'

/** What clients of one transport may do; read at each use, so that CONFIG SET holds at once. */
export interface ClientLimits {
  /** None of the limits on subscriptions below is set. */
  readonly unlimited: boolean
  /** Channels and shard channels of one client; Infinity over TCP. */
  readonly maxSubscriptions: number
  readonly maxPatterns: number
  /** Bytes of a channel's name. */
  readonly maxChannelBytes: number
  readonly maxPatternBytes: number
  /** Names in one command of the SUBSCRIBE family. */
  readonly maxNamesPerCommand: number
  /** Largest payload that is delivered. */
  readonly maxMessageBytes: number
}

/** The limits of TCP clients: Redis has none but those of its parser. */
export const NO_CLIENT_LIMITS: ClientLimits = {
  unlimited: true,
  maxSubscriptions: Number.POSITIVE_INFINITY,
  maxPatterns: Number.POSITIVE_INFINITY,
  maxChannelBytes: Number.POSITIVE_INFINITY,
  maxPatternBytes: Number.POSITIVE_INFINITY,
  maxNamesPerCommand: Number.POSITIVE_INFINITY,
  maxMessageBytes: Number.POSITIVE_INFINITY,
}

/**
 * Whether a client has to be closed for what it does not read (redis.conf, `client-output-buffer-limit`). The soft
 * clock starts when the soft bound is passed and is forgotten as soon as the client is below it again.
 */
export class OutputLimiter {
  #overSoftSinceMs: number | undefined

  /** Whether the soft bound is passed and its clock runs. */
  get isCounting(): boolean {
    return this.#overSoftSinceMs !== undefined
  }

  /** Forgets the soft clock: nothing waits any more. */
  reset(): void {
    this.#overSoftSinceMs = undefined
  }

  /**
   * @param heldBytes What waits now.
   * @param nowMs Of a clock that never goes back.
   */
  exceeded(limit: OutputLimit, heldBytes: number, nowMs: number): 'hard' | 'soft' | undefined {
    if (limit.hardBytes > 0 && heldBytes >= limit.hardBytes) return 'hard'
    if (limit.softBytes === 0 || heldBytes < limit.softBytes) {
      this.#overSoftSinceMs = undefined
      return undefined
    }
    this.#overSoftSinceMs ??= nowMs
    return nowMs - this.#overSoftSinceMs > limit.softSeconds * 1000 ? 'soft' : undefined
  }
}
