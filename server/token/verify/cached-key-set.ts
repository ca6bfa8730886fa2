import type { Clock, Timer } from '../../clock.ts'
import { parseJwks } from './jwks.ts'
import type { VerificationKey } from './jwks.ts'
import { matchingKeys } from './key-set.ts'
import type { KeySet, KeySetListener } from './key-set.ts'

/** How a {@link CachedKeySet} keeps its keys; all in milliseconds of the monotonic clock. */
export interface CacheTimes {
  /** A good set is fetched again after this time, in the background. */
  readonly refreshMs: number
  /** Least time between the starts of two attempts, and the first step of the backoff. */
  readonly coolDownMs: number
  /** The backoff doubles with each failure up to this. */
  readonly longestBackoffMs: number
  /** Keys are used this long after the last good fetch. */
  readonly staleMs: number
}

/** Refresh 10 minutes, cool-down 30 seconds, backoff to 5 minutes, stale keys for 24 hours. */
export const CACHE_TIMES: CacheTimes = {
  refreshMs: 600_000,
  coolDownMs: 30_000,
  longestBackoffMs: 300_000,
  staleMs: 86_400_000,
}

/**
 * The keys of a key set that is kept elsewhere and changes there.
 *
 * At most one load is under way, and none starts before the cool-down of the last is over, whether that succeeded or
 * not: no stream of unknown key ids makes it knock more often. While loads fail the last good keys stay.
 */
export class CachedKeySet implements KeySet {
  readonly #load: () => Promise<string>
  readonly #clock: Clock
  readonly #listener: KeySetListener
  readonly #times: CacheTimes
  #keys: readonly VerificationKey[] = []
  #inherited: readonly string[] = []
  #loadedAtMs: number | undefined
  #nextAttemptMs = 0
  #failures = 0
  #loading: Promise<void> | undefined
  #timer: Timer | undefined
  #stopped = false

  /** @param load Resolves to the text of the key set, bounded in size and time. */
  constructor(
    load: () => Promise<string>,
    clock: Clock,
    listener: KeySetListener,
    times: CacheTimes = CACHE_TIMES,
  ) {
    this.#load = load
    this.#clock = clock
    this.#listener = listener
    this.#times = times
    this.#nextAttemptMs = clock.monotonicMs()
  }

  async start(): Promise<void> {
    await this.#attempt()
  }

  startNow(): void {
    void this.#attempt()
  }

  ids(): readonly string[] {
    return this.#usable().map((key) => key.id)
  }

  inherit(keyIds: readonly string[]): void {
    if (this.#loadedAtMs === undefined) this.#inherited = keyIds
  }

  async candidates(
    algorithm: string,
    kid: string | undefined,
  ): Promise<readonly VerificationKey[]> {
    const known = matchingKeys(this.#usable(), algorithm, kid)
    if (known.length > 0) return known
    await this.#attempt()
    return matchingKeys(this.#usable(), algorithm, kid)
  }

  holds(keyId: string): boolean {
    return this.#usable().some((key) => key.id === keyId) || this.#inherited.includes(keyId)
  }

  /**
   * Puts a key set in force that is there already.
   *
   * @throws Error with a sentence for the log.
   */
  protected put(text: string): void {
    const startedMs = this.#clock.monotonicMs()
    this.#replace(parseJwks(text))
    this.#nextAttemptMs = startedMs + this.#times.coolDownMs
    this.#arm(startedMs + this.#times.refreshMs)
  }

  /** Ends background refreshes; keys at hand stay usable, a load under way has no effect any more. */
  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  #usable(): readonly VerificationKey[] {
    if (this.#loadedAtMs === undefined) return []
    return this.#clock.monotonicMs() - this.#loadedAtMs <= this.#times.staleMs ? this.#keys : []
  }

  /** Joins the load under way, or starts one unless it is too early. */
  #attempt(): Promise<void> {
    if (this.#loading !== undefined) return this.#loading
    const nowMs = this.#clock.monotonicMs()
    if (this.#stopped || nowMs < this.#nextAttemptMs) return Promise.resolve()
    this.#timer?.cancel()
    this.#nextAttemptMs = nowMs + this.#times.coolDownMs
    this.#loading = this.#loadOnce(nowMs).finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #loadOnce(startedMs: number): Promise<void> {
    let nextMs: number
    try {
      const keys = parseJwks(await this.#load())
      if (this.#stopped) return
      this.#failures = 0
      nextMs = startedMs + this.#times.refreshMs
      this.#replace(keys)
    } catch (error) {
      if (this.#stopped) return
      const backoffMs = this.#times.coolDownMs * 2 ** this.#failures
      this.#failures = Math.min(this.#failures + 1, 16)
      nextMs = startedMs + Math.min(backoffMs, this.#times.longestBackoffMs)
      this.#nextAttemptMs = nextMs
      this.#listener.failed?.(describe(error))
    }
    this.#arm(nextMs)
  }

  #arm(atMs: number): void {
    this.#timer = this.#clock.after(atMs - this.#clock.monotonicMs(), () => void this.#attempt())
  }

  #replace(keys: readonly VerificationKey[]): void {
    const kept = new Set(keys.map((key) => key.id))
    const before = [...this.#keys.map((key) => key.id), ...this.#inherited]
    const removed = before.filter((id) => !kept.has(id))
    this.#keys = keys
    this.#inherited = []
    this.#loadedAtMs = this.#clock.monotonicMs()
    if (removed.length > 0) this.#listener.removed?.(removed)
  }
}

/** The message of an error and of its cause: that of `fetch` alone says only that it failed. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
