import type { Client } from './client.ts'
import { CLOSES, closeWith } from './close.ts'
import { clientForLog } from './describe.ts'
import type { Timer } from '../clock.ts'
import type { Services } from '../command/context.ts'
import type { BufferLimit } from '../config/values.ts'
import type { Output } from '../delivery/output.ts'

/** Bytes that may wait for a client that has not logged in and does not read (CVE-2025-21605). */
const UNAUTHENTICATED_BYTES = 4_096

/** The first bytes of a TCP client's output never count, as in Redis, where they lie in a buffer of their own. */
const UNCOUNTED_BYTES = 16_384

/** A larger reply is sent to nobody, whatever the limit of its class. */
const LARGEST_REPLY_BYTES = 536_870_912

/** Interval of the checks of clients that nothing is sent to, in ms. */
const LOOK_MS = 1_000

/**
 * Judges a client by the output that it does not read (redis.conf, `client-output-buffer-limit`). The soft clock starts when
 * the soft bound is passed and is forgotten as soon as the client is below it again.
 */
export class OutputLimiter {
  #overSoftSinceMs: number | undefined

  /** Reports whether the soft bound is passed and its clock runs. */
  get isCounting(): boolean {
    return this.#overSoftSinceMs !== undefined
  }

  /** Resets the soft clock: nothing waits any more. */
  reset(): void {
    this.#overSoftSinceMs = undefined
  }

  /**
   * Returns the bound that is exceeded, if any.
   *
   * @param heldBytes Output that waits now.
   * @param nowMs Of a clock that never goes back.
   */
  exceeded(limit: BufferLimit, heldBytes: number, nowMs: number): 'hard' | 'soft' | undefined {
    if (limit.hardBytes > 0 && heldBytes >= limit.hardBytes) return 'hard'
    if (limit.softBytes === 0 || heldBytes < limit.softBytes) {
      this.#overSoftSinceMs = undefined
      return undefined
    }
    this.#overSoftSinceMs ??= nowMs
    return nowMs - this.#overSoftSinceMs > limit.softSeconds * 1000 ? 'soft' : undefined
  }
}

type GuardedServer = Pick<Services, 'clients' | 'clock' | 'config' | 'counters' | 'peerLog'>

/** Closes clients that do not read their output, or that are silent for longer than `timeout`. */
export class OutputGuard {
  readonly #server: GuardedServer
  #timer: Timer | undefined

  constructor(server: GuardedServer) {
    this.#server = server
  }

  /** Starts the checks of clients that nothing is sent to. */
  start(): void {
    this.#timer = this.#server.clock.every(LOOK_MS, () => this.#look())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  /** Judges a TCP client right before a write: Redis' classes count all that waits then. */
  beforeWrite(output: Output, nowMs: number): void {
    const held = output.heldBytes - UNCOUNTED_BYTES
    if (held <= 0 && !output.limiter?.isCounting) return
    if (!output.isClosed && !output.client.isWeb) this.#judge(output, held, nowMs)
  }

  /**
   * Judges a WebSocket, and any client that has not logged in, by the bytes that its socket has not taken, or that wait for a
   * reply that comes later.
   */
  afterWrite(output: Output, nowMs: number): void {
    if (!output.isHeldUp) {
      // It is not judged again before the next write: its soft clock must not run on until then.
      output.limiter?.reset()
      return
    }
    if (output.isClosed) return
    const { client } = output
    if (!client.authenticated && output.heldBytes > UNAUTHENTICATED_BYTES) {
      this.#close(client, 'unauthenticated')
    } else if (client.isWeb) {
      // One write exceeds the cap by one message at most, so it does not count alone.
      this.#judge(output, output.itemCount === 0 ? 0 : output.heldBytes, nowMs)
    }
  }

  /** Bytes of a reply that reach the hard limit of a client's output; never above 512 MB. */
  roomFor(client: Client): number {
    const { hardBytes } = this.#server.config.bufferLimits()[client.limitClass]
    if (hardBytes === 0) return LARGEST_REPLY_BYTES
    const uncounted = client.isWeb ? 0 : UNCOUNTED_BYTES
    return Math.min(hardBytes + uncounted - client.output.heldBytes, LARGEST_REPLY_BYTES)
  }

  /** Closes a client that there is no room for the reply of: see {@link roomFor}. */
  closeOverLimit(client: Client): void {
    if (!client.closed) this.#close(client, 'hard')
  }

  #judge(output: Output, heldBytes: number, nowMs: number): void {
    const { client } = output
    const limit = this.#server.config.bufferLimits()[client.limitClass]
    output.limiter ??= new OutputLimiter()
    const bound = output.limiter.exceeded(limit, heldBytes, nowMs)
    if (bound) this.#close(client, bound)
  }

  #close(client: Client, bound: 'hard' | 'soft' | 'unauthenticated'): void {
    const { clock, config, counters, peerLog } = this.#server
    counters.outputLimitDisconnections++
    peerLog.write('outputLimit', () => ({
      ...clientForLog(client, config, clock.monotonicMs()),
      bound,
    }))
    client.close(closeWith(CLOSES.outputLimit, { text: `output buffer over its ${bound} limit` }))
  }

  #look(): void {
    const { clients, clock, config } = this.#server
    const nowMs = clock.monotonicMs()
    const idleMs = config.seconds('timeout') * 1000
    for (const client of clients.all()) {
      if (client.output.isHeldUp) {
        this.beforeWrite(client.output, nowMs)
        this.afterWrite(client.output, nowMs)
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
