import { ownCause } from './connection.ts'
import type { Connection } from './connection.ts'
import type { ClientTimer, Environment } from './environment.ts'
import type { Link } from './link.ts'

/** How often time and the connection are looked at. Milliseconds. */
const PERIOD_MS = 10_000

/** A timer that comes this much too late means that the device slept. Milliseconds. */
const DRIFT_MS = 5000

/** What a pulse needs to know. Milliseconds. */
export interface PulseSettings {
  readonly heartbeatMs: number
  readonly probeTimeoutMs: number
}

/**
 * Finds connections that are dead and have not said so.
 *
 * A network that goes away closes nothing, and a device that sleeps misses the close. So a link is probed by `PING` when nothing
 * was received for long, when the page wakes up, and when a timer shows that time has jumped; one that does not answer is
 * replaced.
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

  /** Begins to look, unless it does already. */
  start(): void {
    const { clock } = this.#environment
    const wallMs = clock.wallMs()
    this.#timer ??= clock.after(PERIOD_MS, () => {
      this.#timer = undefined
      this.start()
      this.#beat(clock.wallMs() - wallMs - PERIOD_MS)
    })
  }

  /** Pauses, as long as there is nothing to look at. */
  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** Stops for good. */
  end(): void {
    this.stop()
    this.#endWake()
  }

  /** The page may have slept, or the network changed: a wait is over, and a link may be dead. */
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
