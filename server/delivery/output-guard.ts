import type { Client } from '../client/client.ts'
import type { ClientTable } from '../client/clients.ts'
import { CLOSES, closeWith } from '../client/close.ts'
import type { LimitClass, OutputLimit } from '../client/limits.ts'
import type { Clock, Timer } from '../clock.ts'

/** What the guard needs of its surroundings. */
export interface OutputGuardParts {
  /** The bounds of a class of `client-output-buffer-limit`. */
  readonly limit: (name: LimitClass) => OutputLimit
  /** `timeout`; 0 is off. */
  readonly idleSeconds: () => number
  readonly clients: ClientTable
  readonly clock: Clock
  readonly onExceeded: (client: Client, bound: 'hard' | 'soft' | 'unauthenticated') => void
}

/** Bytes that may wait for a client that has not logged in and does not read (CVE-2025-21605). */
const UNAUTHENTICATED_BYTES = 4_096

/** The first bytes of a TCP client's output never count, as in Redis, where they lie in a buffer of their own. */
const UNCOUNTED_BYTES = 16_384

/** How often clients are looked at that nothing is sent to, in ms. */
const LOOK_MS = 1_000

/** Closes clients that do not read what they are sent, or that are silent for too long. */
export class OutputGuard {
  readonly #parts: OutputGuardParts
  #timer: Timer | undefined

  constructor(parts: OutputGuardParts) {
    this.#parts = parts
  }

  /** Starts looking at clients that nothing is sent to. */
  start(): void {
    this.#timer = this.#parts.clock.every(LOOK_MS, () => this.#look())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  /** Redis' classes count what waits before it is written. */
  beforeWrite(client: Client, nowMs: number): void {
    if (client.closed || client.isWebSocket) return
    const held = client.output.heldBytes - UNCOUNTED_BYTES
    if (held > 0 || client.limiter.isCounting) this.#judge(client, held, nowMs)
  }

  /** A WebSocket is judged by what its socket has not taken, and whoever has not logged in likewise. */
  afterWrite(client: Client, nowMs: number): void {
    if (client.closed) return
    if (!client.output.isBlocked) {
      // Nobody looks at it again before it is sent something: its soft clock must not run on until then.
      if (client.limiter.isCounting) client.limiter.reset()
      return
    }
    if (!client.authenticated && client.output.heldBytes > UNAUTHENTICATED_BYTES) {
      this.#close(client, 'unauthenticated')
    } else if (client.isWebSocket) {
      // What was handed over as one write is one message at most beyond the cap: it does not count alone.
      this.#judge(client, client.output.itemCount === 0 ? 0 : client.output.heldBytes, nowMs)
    }
  }

  #judge(client: Client, heldBytes: number, nowMs: number): void {
    const bound = client.limiter.exceeded(this.#parts.limit(client.limitClass), heldBytes, nowMs)
    if (bound) this.#close(client, bound)
  }

  #close(client: Client, bound: 'hard' | 'soft' | 'unauthenticated'): void {
    this.#parts.onExceeded(client, bound)
    client.close(closeWith(CLOSES.outputLimit, { text: `output buffer over its ${bound} limit` }))
  }

  #look(): void {
    const { clients, clock, idleSeconds } = this.#parts
    const nowMs = clock.monotonicMs()
    const idleMs = idleSeconds() * 1000
    for (const client of clients.all()) {
      if (client.output.isBlocked) {
        this.beforeWrite(client, nowMs)
        this.afterWrite(client, nowMs)
      } else if (
        idleMs > 0 &&
        !client.subscriptions.any &&
        !client.isMonitor &&
        !client.isHeld &&
        nowMs - client.lastInteractionMs > idleMs
      ) {
        client.close(CLOSES.idle)
      }
    }
  }
}
