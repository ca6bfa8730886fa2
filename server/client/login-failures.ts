import { networkOf, splitAddress } from '../addresses.ts'
import type { Services } from '../command/context.ts'
import type { FaultCode } from '../token/verify/refusal.ts'
import type { Client } from './client.ts'

/** Reason of a refused login: label of the metric, and word of the log. The peer is not told. */
export type LoginFailure =
  | 'unknown-user'
  | 'user-disabled'
  | 'wrong-password'
  /** A good password that may not be used here: by a reserved name, or over this transport. */
  | 'not-allowed'
  /** Not verified: it came inside EXEC, which cannot wait. */
  | 'throttled'
  /** `ws-max-connections-per-user`. */
  | 'too-many-connections'
  | `token-${FaultCode | 'not-configured' | 'revoked' | 'subject-disabled'}`

/** A pause that ends a run of failures, in ms. */
const PAUSE_MS = 60_000

/** Failures of an address that are answered at once, as in Redis. */
const FREE_FAILURES = 10

/** The wait doubles with each failure, and reaches `auth-failure-delay` after so many. */
const DOUBLINGS = 4

/** Failures that end a WebSocket. */
const WEBSOCKET_FAILURES = 5

/** Addresses that are remembered; the one that failed longest ago is forgotten for a new one. */
const MAX_NETWORKS = 10_000

/** Failures without a pause of a minute between them. */
export class FailureRun {
  #count = 0
  #lastMs = 0

  /** Failures of the run that is under way at `nowMs`, monotonic milliseconds. */
  countAt(nowMs: number): number {
    return nowMs - this.#lastMs < PAUSE_MS ? this.#count : 0
  }

  /** Adds a failure. @returns The failures of the run, this one included. */
  add(nowMs: number): number {
    this.#count = this.countAt(nowMs) + 1
    this.#lastMs = nowMs
    return this.#count
  }
}

/** What follows from a failed login. */
interface Consequence {
  /** Time until it may be answered, in ms. */
  readonly waitMs: number
  /** It is one too many for its WebSocket. */
  readonly isLast: boolean
}

type FailuresHost = Pick<Services, 'clock' | 'config' | 'counters' | 'peerLog'>

/**
 * Slows down those who try passwords and tokens. The first failures of an address (IPv6: a /64) are answered at once;
 * after ten of them further ones wait, up to `auth-failure-delay`, until none has come for a minute. Only failures wait: a
 * good login from the same address does not. Five failures end a WebSocket.
 */
export class LoginFailures {
  readonly #host: FailuresHost
  /** By network, the one that failed longest ago first. */
  readonly #runs = new Map<string, FailureRun>()

  constructor(host: FailuresHost) {
    this.#host = host
  }

  /** Addresses that are remembered. */
  get size(): number {
    return this.#runs.size
  }

  /** Reports whether the next failure of this client's address will have to wait. */
  mustWait(client: Client): boolean {
    const run = this.#runs.get(networkOfClient(client))
    return this.#waitMs((run?.countAt(this.#host.clock.monotonicMs()) ?? 0) + 1) > 0
  }

  /** Counts a failure. The first of an address that has to wait is logged: one line for each run. */
  note(client: Client, reason: LoginFailure): Consequence {
    const { clock, peerLog } = this.#host
    const nowMs = clock.monotonicMs()
    const network = networkOfClient(client)
    const count = this.#runOf(network, nowMs).add(nowMs)
    if (count === FREE_FAILURES + 1) {
      const { address, transport } = client.origin
      peerLog.write('failedLogins', () => ({ network, address, transport, reason }))
    }
    client.failedLogins ??= new FailureRun()
    const ofClient = client.failedLogins.add(nowMs)
    return {
      waitMs: this.#waitMs(count),
      isLast: client.isWeb && ofClient >= WEBSOCKET_FAILURES,
    }
  }

  #waitMs(count: number): number {
    const mostMs = this.#host.config.integer('auth-failure-delay')
    if (count <= FREE_FAILURES) return 0
    return mostMs * 2 ** Math.min(0, count - FREE_FAILURES - 1 - DOUBLINGS)
  }

  /** The run of a network, as the one that failed last. */
  #runOf(network: string, nowMs: number): FailureRun {
    const runs = this.#runs
    const run = runs.get(network) ?? new FailureRun()
    runs.delete(network)
    for (const [oldest, other] of runs) {
      if (other.countAt(nowMs) > 0 && runs.size < MAX_NETWORKS) break
      runs.delete(oldest)
    }
    runs.set(network, run)
    return run
  }
}

function networkOfClient({ origin }: Client): string {
  return networkOf(splitAddress(origin.address).ip)
}
