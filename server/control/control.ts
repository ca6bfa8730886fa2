import type { Order } from './entry.ts'
import type { KnownNode, NodeRecord } from './node.ts'
import type { SharedPart } from './part.ts'
import type { Questions } from './questions.ts'

/** What somebody wants to change at all gateways. */
export interface CommitRequest {
  /** Keys of registers (see {@link SharedPart}) with their new values; undefined deletes. They change together. */
  readonly changes: readonly { readonly key: string; readonly value: string | undefined }[]
  readonly order?: Order | undefined
  /** Name of the ACL user, a byte string, and where it comes from. */
  readonly actor: { readonly user: string; readonly address: string }
  /**
   * The changes are in force here already, and stay in force whatever the upstream says: revocations, kills. They are committed later
   * where it cannot be reached. It settles, with the number of sessions hit here, when all of them have lost what the change takes.
   * Without it nothing is in force before it is in the log.
   */
  readonly enforced?: Promise<number> | undefined
  /** So many other gateways are to confirm, for so long they are waited for. */
  readonly wait: { readonly count: number | 'all'; readonly ms: number }
}

/** A gateway that has not confirmed. */
export interface MissingNode {
  readonly name: string
  /** After so many milliseconds it delivers nothing, unless it has applied the change. */
  readonly fencedInMs: number
}

/** What has become of a commit. */
export type CommitOutcome =
  | {
      readonly state: 'committed'
      /** Sessions that it hit, here and at those who confirmed. */
      readonly sessions: number
      /** Names of the others who have applied it, and whose sessions have lost what it takes; lapsed ones are not among them. */
      readonly confirmed: readonly string[]
      readonly missing: readonly MissingNode[]
      /** Names of gateways whose lease has lapsed: they deliver nothing before they have applied it. */
      readonly fenced: readonly string[]
      /** As `upstream-durability` asks, and on the disk of this gateway. */
      readonly isDurable: boolean
      /** It is in force here. What is not local first may not be yet, where this gateway is behind with the log. */
      readonly isHere: boolean
    }
  /** Another edit came first, and is in force now: the change has to be made again on top of it. */
  | { readonly state: 'conflict' }
  /** A sentence: nothing has changed, but for what is local first. */
  | { readonly state: 'refused'; readonly problem: string }
  /** The upstream does not answer. What is local first is in force here, and is committed later; orders are not. */
  | {
      readonly state: 'unreachable'
      readonly isDurable: boolean
      /** It was sent: it may be in the log, and in force in a moment. */
      readonly isSent: boolean
    }

/** Counters and states of the control plane, for INFO, metrics and the console. */
export interface ControlFigures {
  /** Entries of the log that this gateway has not applied. */
  readonly lag: number
  /** Seconds from a commit to the last confirmation; NaN before the first. Then their sum, and their number. */
  readonly ackSeconds: number
  readonly ackSecondsTotal: number
  readonly acks: number
  /**
   * Entries that were not taken, by reason: `unsigned`, `forged` and `broken` ones; `replayed`, which have been applied from another
   * place of the log; `unknown` to this version.
   */
  readonly rejected: ReadonlyMap<string, number>
  /** Seconds left of the lease; 0 without one. */
  readonly leaseSeconds: number
  readonly isFenced: boolean
  /** Times it was fenced, and the seconds it was so. */
  readonly fences: number
  readonly fencedSeconds: number
  /** Changes that are in force here and not yet in the log. */
  readonly pending: number
  /** Questions by what became of them: see `Questions.outcomes`. */
  readonly questions: ReadonlyMap<string, number>
}

/**
 * The control plane: what gateways of one namespace agree on. A change that is committed is in force at every gateway before the next
 * message that it receives, and a gateway that cannot be reached fences itself.
 */
export interface Control {
  /** No upstream, or `upstream-control no`: every change is made here alone. */
  readonly isAlone: boolean
  /** Number of this gateway, 0 alone: ids of clients and revocations are this × 2^40 and a counter. */
  readonly number: number
  /** Adds a part; before the start. */
  share(part: SharedPart): void
  /** Puts in force what this gateway has kept, and begins; before the upstream is started. */
  start(): void
  /** Commits a change, and waits for the others. Never rejects. */
  commit(request: CommitRequest): Promise<CommitOutcome>
  /** The error line that answers what this gateway may not do now; undefined while its lease lasts, and alone. */
  readonly refusal: `TRYAGAIN ${string}` | undefined
  /** Is told when this gateway is fenced, and when it serves again (once all that was committed meanwhile is in force). */
  onFence(listener: (isFenced: boolean) => void): void
  /** Reports whether a lease that lasted until now has lapsed: asked before deliveries, after a process may have been stopped. */
  checkLease(): void
  /** This gateway, and the others as they were at the last heartbeat. Alone: this one. */
  readonly self: NodeRecord
  readonly nodes: readonly KnownNode[]
  /** Asks all gateways and the upstream what is subscribed to. Undefined alone. */
  readonly questions: Pick<Questions, 'counts' | 'names' | 'patterns'> | undefined
  /** Sentences for `/readyz`. */
  readonly problems: readonly string[]
  /** Undefined alone. */
  readonly figures: ControlFigures | undefined
  /** The clock of the upstream in ms since 1970, as far as it is known; alone the wall clock. */
  readonly upstreamMs: number
  /** Leaves the registry. */
  stop(): Promise<void>
}
