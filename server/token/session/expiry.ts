import type { Clock, Timer } from '../../clock.ts'

/** Who is told about the end of a token. None of the calls may throw. */
export interface ExpiryListener {
  /** The token is going to expire; comes once, at 60 to 85 % of the life it had left. */
  expiring(remainingMs: number): void
  /** The token has expired; the session lives on for `graceMs`. */
  expired(graceMs: number): void
  /** The grace is over. Nothing is told after this. */
  end(): void
}

/** A session in the wheel. */
export interface ExpiryEntry {
  /** Takes the session out; may be called at any time, also from a listener and twice. */
  remove(): void
}

/** The life of one token, in ms of the wall clock. */
export interface TokenLife {
  readonly expiresAtMs: number
  readonly graceMs: number
}

/** How late a call may be, and how many slots the wheel has. */
const TICK_MS = 250
const SLOTS = 4096

type Stage = 'expiring' | 'expired' | 'end'

/** A session as the wheel keeps it; there may be very many. */
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
 * Tells sessions of the end of their tokens: one timer for all of them, none while there are none.
 *
 * A session waits in slot `tick of its due time mod slots`; one that is due in a later turn of the wheel stays there.
 * Each tick reads the wall clock, so that a clock that was set forwards makes tokens expire at once, and one that was
 * set backwards makes them last. Calls are never early and at most a quarter of a second late.
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

  /** Forgets all sessions and stops the timer. */
  stop(): void {
    for (const slot of this.#slots) for (const entry of slot) this.remove(entry)
  }

  /** Takes a session out, see {@link ExpiryEntry.remove}. */
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

  /** Tells a session everything that is due by now, and puts it where it is due next. */
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

  /** After the clock went back, slots no longer follow from the due times: works them out again. */
  #replaceAll(): void {
    const entries = this.#slots.flatMap((slot) => [...slot])
    for (const slot of this.#slots) slot.clear()
    for (const entry of entries) this.#place(entry)
  }
}

function tickBefore(ms: number): number {
  return Math.floor(ms / TICK_MS)
}
