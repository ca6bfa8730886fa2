import type { Clock, Timer } from '../../clock.ts'
import { RespcastError } from '../../errors.ts'
import { parseJwks } from './keys.ts'
import type { KeyNames, VerificationKey } from './keys.ts'
import type { KeySet, KeySetListener } from './key-set.ts'

/** Times of a {@link JwksCache}; all in milliseconds of the monotonic clock. */
export interface CacheTimes {
  /** A good set is loaded again after this time, in the background. */
  readonly refreshMs: number
  /** Least time between the starts of two attempts, and the first step of the backoff. */
  readonly coolDownMs: number
  /** Maximum of the backoff, which doubles with each failure. */
  readonly longestBackoffMs: number
  /** Keys are used this long after the last good load. */
  readonly staleMs: number
}

/** Refresh 10 minutes, cool-down 30 seconds, backoff to 5 minutes, stale keys for 24 hours. */
export const CACHE_TIMES: CacheTimes = {
  refreshMs: 600_000,
  coolDownMs: 30_000,
  longestBackoffMs: 300_000,
  staleMs: 86_400_000,
}

/** The origin of a key set. One that has {@link loadNow} must be good at start; another is tried again later. */
interface JwksSource {
  /** Resolves to the text of the key set, bounded in size and time. */
  load(): Promise<string>
  /** Returns the text in this turn. @throws Error, or the RespcastError to report. */
  loadNow?(): string
  /** The error that reports a problem with a source that must be good. */
  unusable?(problem: string, cause?: unknown): RespcastError
}

/**
 * Keys tried for one token. Only a set with several keys under one `kid`, or a token without `kid`, needs more than
 * one; the bound keeps a bad token cheap.
 */
const MAX_CANDIDATES = 4

/**
 * The keys of a key set that is kept elsewhere and changes there.
 *
 * At most one load is under way, and none starts before the cool-down of the last one is over, even if that failed:
 * unknown key ids cannot make it load more often. While loads fail the last good keys stay.
 */
export class JwksCache implements KeySet {
  readonly #source: JwksSource
  readonly #clock: Clock
  readonly #listener: KeySetListener
  readonly #times: CacheTimes
  #keys: readonly VerificationKey[] = []
  #inherited: readonly string[] = []
  #loadedAtMs: number | undefined
  #nextAttemptMs: number
  #failures = 0
  #firstFailure: string | undefined
  #outage: string | undefined
  #loading: Promise<void> | undefined
  #timer: Timer | undefined
  #stopped = false

  constructor(
    source: JwksSource,
    clock: Clock,
    listener: KeySetListener,
    times: CacheTimes = CACHE_TIMES,
  ) {
    this.#source = source
    this.#clock = clock
    this.#listener = listener
    this.#times = times
    this.#nextAttemptMs = clock.monotonicMs()
  }

  async start(): Promise<void> {
    await this.#attempt()
    if (this.#firstFailure === undefined || this.#source.unusable === undefined) return
    this.stop()
    throw this.#source.unusable(this.#firstFailure)
  }

  startNow(): void {
    const source = this.#source
    if (source.loadNow === undefined) {
      void this.#attempt()
      return
    }
    try {
      const startedMs = this.#clock.monotonicMs()
      this.#replace(parseJwks(source.loadNow()))
      this.#nextAttemptMs = startedMs + this.#times.coolDownMs
      this.#arm(startedMs + this.#times.refreshMs)
    } catch (cause) {
      if (cause instanceof RespcastError || source.unusable === undefined) throw cause
      throw source.unusable(cause instanceof Error ? cause.message : String(cause), cause)
    }
  }

  ids(): readonly string[] {
    return this.#usable().map((key) => key.id)
  }

  names(): readonly KeyNames[] {
    return this.#keys.map((key) => key.names)
  }

  get outage(): string | undefined {
    return this.#outage
  }

  inherit(keyIds: readonly string[]): void {
    if (this.#loadedAtMs === undefined) this.#inherited = keyIds
  }

  async candidates(
    algorithm: string,
    kid: string | undefined,
  ): Promise<readonly VerificationKey[]> {
    const known = this.#matching(algorithm, kid)
    if (known.length > 0) return known
    await this.#attempt()
    return this.#matching(algorithm, kid)
  }

  holds(keyId: string): boolean {
    return this.#usable().some((key) => key.id === keyId) || this.#inherited.includes(keyId)
  }

  /** Stops background refreshes. The loaded keys stay usable; a load under way has no effect any more. */
  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  /** The usable keys that fit a header. `kid` is data: it is compared, and nothing else is done with it. */
  #matching(algorithm: string, kid: string | undefined): readonly VerificationKey[] {
    return this.#usable()
      .filter((key) => key.algorithms.includes(algorithm) && (kid === undefined || key.kid === kid))
      .slice(0, MAX_CANDIDATES)
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
      const keys = parseJwks(await this.#source.load())
      if (this.#stopped) return
      this.#failures = 0
      this.#outage = undefined
      nextMs = startedMs + this.#times.refreshMs
      this.#replace(keys)
    } catch (error) {
      if (this.#stopped) return
      const backoffMs = this.#times.coolDownMs * 2 ** this.#failures
      this.#failures = Math.min(this.#failures + 1, 16)
      nextMs = startedMs + Math.min(backoffMs, this.#times.longestBackoffMs)
      this.#nextAttemptMs = nextMs
      const detail = describe(error)
      this.#firstFailure ??= detail
      this.#outage = detail
      this.#listener.failed?.(detail)
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
    this.#listener.loaded?.()
  }
}

/** The message of an error and of its cause: that of `fetch` alone says only that it failed. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
