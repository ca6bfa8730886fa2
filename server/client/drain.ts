import type { Clock, Timer } from '../clock.ts'
import type { Settings } from '../config/settings.ts'
import type { Logger } from '../log.ts'
import type { Client } from './client.ts'
import type { ClientTable } from './clients.ts'
import { CLOSES, closeWith } from './close.ts'

/** Time between two looks at who is due, in ms. */
const STEP_MS = 20

/** A client that has sent nothing for so long has, as far as can be known, nothing on its way: in ms. */
const QUIET_MS = 2

/** A client that is due is waited for so long to be quiet, in ms. */
const PATIENCE_MS = 2_000

/** Closes are spread already, so that clients may return within so many ms. */
const RETURN_MS = 1_000

/** Environment of a {@link Drain}. */
interface DrainParts {
  /** Calls back once everything readable in this turn of the event loop has been handled. */
  readonly atEndOfTurn: (callback: () => void) => void
  readonly clients: ClientTable
  readonly clock: Clock
  readonly config: Settings
  readonly log: Logger
  /** 0 to 1. */
  readonly random: () => number
  /** Takes nobody any more, but administrators. */
  readonly refuse: () => void
  /** Ends the server: nobody is left, but administrators, or the time is over. */
  readonly end: () => void
}

/**
 * `serving`, then `grace`: newcomers are still let in, as a load balancer takes a moment to notice. Then `leaving`: newcomers are
 * refused, and clients closed one after another. `over` is the server's end.
 */
type DrainState = 'serving' | 'grace' | 'leaving' | 'over'

/** Clients that are closed evenly over the time that there is, the oldest connection first. */
interface Departures {
  readonly clients: readonly Client[]
  /** So many of them have come due. */
  due: number
}

/** A client that is due. */
interface Leaver {
  readonly client: Client
  /** Monotonic milliseconds. */
  readonly sinceMs: number
}

/**
 * The way of a server out of service, while others take its clients over (SIGTERM, RESPCAST DRAIN): a grace in which it says that
 * it goes (`drain-grace-seconds`), then a span over which clients are closed evenly (`drain-seconds`), WebSockets and RESP each. One
 * is closed when it is quiet, so that everything it has sent is answered. Administrators' WebSockets stay until the end.
 */
export class Drain {
  readonly #parts: DrainParts
  #state: DrainState = 'serving'
  #timer: Timer | undefined
  #steps: Timer | undefined
  /** When clients began to be closed: monotonic milliseconds, as the next. */
  #startedMs = 0
  #deadlineMs = 0
  #spanMs = 0
  #endsAtMs: number | undefined
  #departures: Departures[] = []
  #leavers: Leaver[] = []

  constructor(parts: DrainParts) {
    this.#parts = parts
    parts.clients.onClosed(() => {
      if (this.#state === 'leaving') this.#endIfEmpty()
    })
  }

  /** It has begun, and is not taken back. */
  get isDraining(): boolean {
    return this.#endsAtMs !== undefined
  }

  /** When the server ends at the latest, in milliseconds since 1970; undefined unless it drains. */
  get endsAtMs(): number | undefined {
    return this.#endsAtMs
  }

  /** Time until then; 0 unless it drains. */
  get restMs(): number {
    return Math.max(0, Math.ceil(this.#deadlineMs - this.#parts.clock.monotonicMs()))
  }

  /** Somebody is connected, administrators' WebSockets not counted. */
  get anyClient(): boolean {
    for (const client of this.#parts.clients.all()) if (mustLeave(client)) return true
    return false
  }

  /** Begins, unless it has begun. */
  begin(): void {
    if (this.#state !== 'serving') return
    const { clients, clock, config, log } = this.#parts
    const graceMs = config.seconds('drain-grace-seconds') * 1000
    this.#spanMs = config.seconds('drain-seconds') * 1000
    this.#deadlineMs = clock.monotonicMs() + graceMs + this.#spanMs
    this.#endsAtMs = clock.wallMs() + graceMs + this.#spanMs
    this.#state = 'grace'
    log.info(
      { clients: clients.size, graceSeconds: graceMs / 1000, seconds: this.#spanMs / 1000 },
      'draining',
    )
    if (graceMs === 0) this.#leave()
    else this.#timer = clock.after(graceMs, () => this.#leave())
  }

  /** The server ends now: closes nobody any more. */
  stop(): void {
    this.#state = 'over'
    this.#timer?.cancel()
    this.#steps?.cancel()
  }

  #leave(): void {
    const { clients, clock, log, refuse } = this.#parts
    refuse()
    this.#state = 'leaving'
    const leaving = [...clients.all()].filter(mustLeave)
    log.info({ clients: leaving.length }, 'closing clients, and taking no others')
    if (this.#spanMs === 0 || leaving.length === 0) {
      this.#end()
      return
    }
    this.#departures = [true, false].map((isWeb) => ({
      clients: leaving.filter((client) => client.isWeb === isWeb),
      due: 0,
    }))
    this.#startedMs = clock.monotonicMs()
    this.#timer = clock.after(this.#spanMs, () => this.#end())
    this.#steps = clock.every(STEP_MS, () => this.#step())
    this.#step()
  }

  /** What has come from clients is read first, so that nobody is closed who has just sent something. */
  #step(): void {
    this.#parts.atEndOfTurn(() => {
      if (this.#state === 'leaving') this.#closeDue()
    })
  }

  #closeDue(): void {
    const nowMs = this.#parts.clock.monotonicMs()
    const part = (nowMs - this.#startedMs) / this.#spanMs
    for (const departures of this.#departures) {
      const { clients } = departures
      while (departures.due < clients.length && departures.due <= part * clients.length) {
        this.#leavers.push({ client: clients[departures.due++] as Client, sinceMs: nowMs })
      }
    }
    this.#leavers = this.#leavers.filter(({ client, sinceMs }) => {
      if (client.closed) return false
      if (!isQuiet(client, nowMs) && nowMs - sinceMs < PATIENCE_MS) return true
      const retryMs = Math.floor(this.#parts.random() * RETURN_MS)
      client.close(closeWith(CLOSES.draining, { retryMs }))
      return false
    })
  }

  #endIfEmpty(): void {
    if (!this.anyClient) this.#end()
  }

  #end(): void {
    this.stop()
    // Not in the midst of the close of the last client.
    this.#parts.atEndOfTurn(() => {
      this.#parts.log.info({ clients: this.#parts.clients.size }, 'drained')
      this.#parts.end()
    })
  }
}

function mustLeave({ origin }: Client): boolean {
  return origin.listener !== 'admin'
}

/** Reports whether everything that a client has sent is executed and answered, and nothing more seems to be on its way. */
function isQuiet(client: Client, nowMs: number): boolean {
  const { inFlight, isWaiting, lastHeardMs, queryBytes, transaction } = client
  return (
    !isWaiting &&
    queryBytes === 0 &&
    transaction === undefined &&
    (inFlight === undefined || inFlight.count === 0) &&
    nowMs - lastHeardMs >= QUIET_MS
  )
}
