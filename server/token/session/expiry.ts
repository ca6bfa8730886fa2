import type { Clock, Timer } from '../../clock.ts'

/** Receives the stages of the end of a token. None of the calls may throw. */
export interface ExpiryListener {
  /** The token is going to expire. Called once, at 60 to 85 % of the life that it had left. */
  expiring(remainingMs: number): void
  /** The token has expired; the session lives on for `graceMs`. */
  expired(graceMs: number): void
  /** The grace is over. This is the last call. */
  end(): void
}

/** A session as its owner holds it. */
export interface ExpiryEntry {
  /** Removes the session. May be called at any time, also by a listener, and twice. */
  remove(): void
}

/** The life of one token, in ms of the wall clock. */
interface TokenLife {
  readonly expiresAtMs: number
  readonly graceMs: number
}

/** The longest delay of a call, and the number of slots. */
const TICK_MS = 250
const SLOTS = 4096

type Stage = 'expiring' | 'expired' | 'end'

/** A session as the wheel holds it. */
class Entry implements ExpiryEntry {
  readonly expiresAtMs: number
  readonly endsAtMs: number
  readonly listener: ExpiryListener
  readonly #wheel: ExpiryWheel
  stage: Stage | 'done' = 'expiring'
  /** Wall clock. */
  dueMs: number
  slot = 0

  constructor(wheel: ExpiryWheel, life: TokenLife, listener: ExpiryListener, dueMs: number) {
    this.#wheel = wheel
    this.expiresAtMs = life.expiresAtMs
    this.endsAtMs = life.expiresAtMs + life.graceMs
    this.listener = listener
    this.dueMs = dueMs
  }

  remove(): void {
    this.#wheel.remove(this)
  }
}

/**
 * Timing wheel for the ends of all tokens. It has one timer, and none while there are no sessions.
 *
 * A session waits in slot `tick of its due time mod slots`; if it is due in a later turn of the wheel it stays there. Each
 * tick reads the wall clock, so a clock that is set forwards makes tokens expire at once, and one that is set backwards
 * makes them last. Calls are never early, and at most a quarter of a second late.
 */
export class ExpiryWheel {
  readonly #clock: Clock
  readonly #slots: readonly Set<Entry>[] = Array.from({ length: SLOTS }, () => new Set<Entry>())
  #size = 0
  #tick = 0
  #timer: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Sessions in the wheel. */
  get size(): number {
    return this.#size
  }

  /** @param random 0 to 1, one draw per session, so that a fleet does not refresh in the same second. */
  add(life: TokenLife, listener: ExpiryListener, random: number): ExpiryEntry {
    const nowMs = this.#clock.wallMs()
    const leftMs = Math.max(life.expiresAtMs - nowMs, 0)
    const dueMs = nowMs + leftMs * (0.6 + 0.25 * random)
    const entry = new Entry(this, life, listener, dueMs)
    if (this.#size === 0) {
      this.#tick = tickBefore(nowMs)
      this.#timer = this.#clock.every(TICK_MS, () => this.#turn())
    }
    this.#size++
    this.#place(entry)
    return entry
  }

  /** Removes all sessions and stops the timer. */
  stop(): void {
    for (const slot of this.#slots) for (const entry of slot) this.remove(entry)
  }

  /** Removes a session, see {@link ExpiryEntry.remove}. */
  remove(entry: Entry): void {
    if (entry.stage === 'done') return
    entry.stage = 'done'
    this.#slots[entry.slot]?.delete(entry)
    if (--this.#size > 0) return
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #place(entry: Entry): void {
    const tick = Math.max(Math.ceil(entry.dueMs / TICK_MS), this.#tick + 1)
    entry.slot = tick % SLOTS
    this.#slots[entry.slot]?.add(entry)
  }

  #turn(): void {
    const nowMs = this.#clock.wallMs()
    const tick = tickBefore(nowMs)
    const from = this.#tick
    this.#tick = tick
    if (tick < from) {
      this.#replaceAll()
      return
    }
    const due: Entry[] = []
    const visits = Math.min(tick - from, SLOTS)
    for (let visit = 1; visit <= visits; visit++) {
      for (const entry of this.#slots[(from + visit) % SLOTS] ?? []) {
        if (entry.dueMs <= nowMs) due.push(entry)
      }
    }
    due.sort((one, other) => one.dueMs - other.dueMs)
    for (const entry of due) this.#fire(entry, nowMs)
  }

  /** Makes all calls that are due, and places the session where it is due next. */
  #fire(entry: Entry, nowMs: number): void {
    this.#slots[entry.slot]?.delete(entry)
    const { expiresAtMs, endsAtMs, listener } = entry
    if (entry.stage === 'expiring' && entry.dueMs <= nowMs) {
      entry.stage = 'expired'
      entry.dueMs = expiresAtMs
      if (nowMs < expiresAtMs) listener.expiring(expiresAtMs - nowMs)
    }
    if (entry.stage === 'expired' && entry.dueMs <= nowMs) {
      entry.stage = 'end'
      entry.dueMs = endsAtMs
      listener.expired(Math.max(endsAtMs - nowMs, 0))
    }
    if (entry.stage === 'end' && entry.dueMs <= nowMs) {
      this.remove(entry)
      listener.end()
    } else if (entry.stage !== 'done') {
      this.#place(entry)
    }
  }

  /** Places all sessions again: the clock went back, so their slots no longer follow from their due times. */
  #replaceAll(): void {
    const entries = this.#slots.flatMap((slot) => [...slot])
    for (const slot of this.#slots) slot.clear()
    for (const entry of entries) this.#place(entry)
  }
}

function tickBefore(ms: number): number {
  return Math.floor(ms / TICK_MS)
}
