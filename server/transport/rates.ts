/** Capacity of a bucket, in seconds of the rate. */
const BURST_SECONDS = 2

/** A token bucket: so many events a second, with a burst of twice as many. The rate may change from call to call. */
export class RateLimiter {
  #tokens: number
  #atMs: number

  /** @param nowMs Monotonic milliseconds. */
  constructor(perSecond: number, nowMs: number) {
    this.#tokens = perSecond * BURST_SECONDS
    this.#atMs = nowMs
  }

  /**
   * Takes tokens, which may be owed.
   *
   * @param perSecond 0 is no limit.
   * @param count How many; 0 asks only.
   * @returns Milliseconds until the next may be taken; 0 if at once.
   */
  take(perSecond: number, nowMs: number, count = 1): number {
    if (perSecond === 0) return 0
    const earned = ((nowMs - this.#atMs) / 1000) * perSecond
    this.#tokens = Math.min(perSecond * BURST_SECONDS, this.#tokens + earned) - count
    this.#atMs = nowMs
    return this.#tokens >= 0 ? 0 : (-this.#tokens / perSecond) * 1000
  }
}

/** What one client may send in a second; 0 is no limit. */
export interface RateLimits {
  readonly commandsPerSecond: number
  readonly publishesPerSecond: number
  /** Names in SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE. */
  readonly subscriptionsPerSecond: number
  readonly inputBytesPerSecond: number
}

const EXCESSES = ['commands', 'messages', 'subscriptions', 'bytes'] as const

/** What a client sent too much of. */
type Excess = (typeof EXCESSES)[number]

const PUBLISHING = new Set(['publish', 'spublish'])
const SUBSCRIBING = new Set(['subscribe', 'psubscribe', 'ssubscribe'])

/** The rates of one client. */
export class ClientRates {
  readonly #limits: RateLimits
  readonly #commands: RateLimiter
  readonly #publishes: RateLimiter
  readonly #subscriptions: RateLimiter
  readonly #input: RateLimiter

  /** @param limits May change. */
  constructor(limits: RateLimits, nowMs: number) {
    this.#limits = limits
    this.#commands = new RateLimiter(limits.commandsPerSecond, nowMs)
    this.#publishes = new RateLimiter(limits.publishesPerSecond, nowMs)
    this.#subscriptions = new RateLimiter(limits.subscriptionsPerSecond, nowMs)
    this.#input = new RateLimiter(limits.inputBytesPerSecond, nowMs)
  }

  countInput(bytes: number, nowMs: number): void {
    this.#input.take(this.#limits.inputBytesPerSecond, nowMs, bytes)
  }

  /** Counts a command, whether it was executed, queued or refused. @param count Its arguments, with its name. */
  countCommand(name: string, count: number, nowMs: number): void {
    this.#commands.take(this.#limits.commandsPerSecond, nowMs)
    if (PUBLISHING.has(name)) this.#publishes.take(this.#limits.publishesPerSecond, nowMs)
    if (SUBSCRIBING.has(name)) {
      this.#subscriptions.take(this.#limits.subscriptionsPerSecond, nowMs, count - 1)
    }
  }

  /** Milliseconds until no rate is exceeded; 0 if none is. */
  waitMs(nowMs: number): number {
    return Math.max(
      this.#waitMs('commands', nowMs),
      this.#waitMs('messages', nowMs),
      this.#waitMs('subscriptions', nowMs),
      this.#waitMs('bytes', nowMs),
    )
  }

  /** The rate that is exceeded longest. */
  worst(nowMs: number): Excess {
    return EXCESSES.reduce((worst, one) =>
      this.#waitMs(one, nowMs) > this.#waitMs(worst, nowMs) ? one : worst,
    )
  }

  #waitMs(of: Excess, nowMs: number): number {
    const limits = this.#limits
    if (of === 'commands') return this.#commands.take(limits.commandsPerSecond, nowMs, 0)
    if (of === 'messages') return this.#publishes.take(limits.publishesPerSecond, nowMs, 0)
    if (of === 'subscriptions') {
      return this.#subscriptions.take(limits.subscriptionsPerSecond, nowMs, 0)
    }
    return this.#input.take(limits.inputBytesPerSecond, nowMs, 0)
  }
}
