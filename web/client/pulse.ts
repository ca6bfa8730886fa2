import { ownCause } from './connection.ts'
import type { Connection } from './connection.ts'
import type { ClientTimer, Environment } from './environment.ts'
import type { Link } from './link.ts'

/** Longest interval of the checks; a shorter heartbeat is checked twice in its time. Milliseconds. */
const MAX_PERIOD_MS = 10_000

/** Delay of a timer that shows that the device slept. Milliseconds. */
const DRIFT_MS = 5000

/** Settings of a pulse. Milliseconds. */
interface PulseSettings {
  readonly heartbeatMs: number
  readonly probeTimeoutMs: number
}

/**
 * Detects dead connections that were never closed.
 *
 * A lost network closes no connection, and a sleeping device misses a close. So a link is probed by `PING` when nothing was
 * received for long, when the page wakes up, and when a timer shows that time has jumped. A link that does not answer is replaced.
 */
export class Pulse {
  readonly #connection: Connection
  readonly #environment: Environment
  readonly #settings: PulseSettings
  readonly #endWake: () => void
  #timer: ClientTimer | undefined
  #probed: Link | undefined

  constructor(connection: Connection, environment: Environment, settings: PulseSettings) {
    this.#connection = connection
    this.#environment = environment
    this.#settings = settings
    this.#endWake = environment.onWake(() => this.wake())
  }

  /** Starts the checks, unless they run. */
  start(): void {
    const { clock } = this.#environment
    const wallMs = clock.wallMs()
    const periodMs = Math.min(MAX_PERIOD_MS, this.#settings.heartbeatMs / 2)
    this.#timer ??= clock.after(periodMs, () => {
      this.#timer = undefined
      this.start()
      this.#beat(clock.wallMs() - wallMs - periodMs)
    })
  }

  /** Pauses the checks. */
  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** Stops, and ends the listener for wake-ups. */
  end(): void {
    this.stop()
    this.#endWake()
  }

  /** The page may have slept, or the network changed: ends a wait, and probes the link. */
  wake(): void {
    this.#connection.wake()
    const link = this.#connection.online
    if (link) void this.#probe(link)
  }

  #beat(lateMs: number): void {
    const link = this.#connection.online
    const { clock } = this.#environment
    if (lateMs > DRIFT_MS) this.wake()
    else if (link && clock.monotonicMs() - link.lastReceivedMs >= this.#settings.heartbeatMs)
      void this.#probe(link)
  }

  async #probe(link: Link): Promise<void> {
    if (this.#probed === link) return
    this.#probed = link
    const deadline = this.#environment.clock.after(this.#settings.probeTimeoutMs, () => {
      if (this.#connection.online !== link) return
      this.#connection.abandon(ownCause('lost', 'no answer to a probe'))
    })
    // An error is an answer as well.
    await link.call(['PING']).catch(() => undefined)
    deadline.cancel()
    if (this.#probed === link) this.#probed = undefined
  }
}
