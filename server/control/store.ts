import type { Entry } from './entry.ts'
import type { NodeRecord } from './node.ts'
import type { Register } from './register.ts'

/** An entry with its place in the log. */
export interface LoggedEntry {
  /** Id of the stream, `<ms>-<number>`. */
  readonly id: string
  /** Id of the entry before; empty for the first. */
  readonly previous: string
  readonly entry: Entry
}

/** What a commit is about. */
export interface CommitOrder {
  readonly entry: Entry
  /**
   * `edit`: each register follows the version before its own, else nothing is written. `merge`: registers that are newer than
   * those at the upstream are written, the others left out.
   */
  readonly mode: 'edit' | 'merge'
}

/** Answer to a commit. */
export type CommitAnswer =
  /** It is in the log, now or since an attempt whose answer was lost. `id` is empty where a merge had nothing newer. */
  | { readonly state: 'committed'; readonly id: string; readonly nodes: readonly SeenNode[] }
  /** Another edit came first. Its registers are on their way. */
  | { readonly state: 'conflict'; readonly keys: readonly string[] }
  /** The namespace has been written by a version that this one does not know, or the upstream refuses: a sentence with a remedy. */
  | { readonly state: 'refused'; readonly problem: string }
  /** No answer: it may be in the log or not. */
  | { readonly state: 'unknown' }

/** A gateway as the upstream has it. */
export interface SeenNode {
  readonly record: NodeRecord
  /** Its lease lasts for so long at most, as of the answer, in ms. 0 and less: it has lapsed. */
  readonly leaseLeftMs: number
}

/** Answer to a heartbeat. */
export interface Heartbeat {
  /** The number of this gateway. */
  readonly number: number
  /** The clock of the upstream, in ms since 1970. */
  readonly timeMs: number
  /** Id of the last entry of the log; empty where there is none. */
  readonly last: string
  /** Names this incarnation of the namespace: it changes when the keys were lost and made anew. */
  readonly epoch: string
  readonly nodes: readonly SeenNode[]
}

/** The tail of the log behind an entry. */
export type LogTail =
  | {
      readonly state: 'whole'
      readonly entries: readonly LoggedEntry[]
      /** Where the log ended. Not always the last of `entries`: one that is not taken has a place too. */
      readonly last: string
      readonly lastUuid: string
    }
  /** The entry is not there: trimmed, or lost by a failover. Only the whole state says what is in force. */
  | { readonly state: 'gone' }

/** A failed request. */
export interface StoreFailure {
  readonly state: 'failed'
  /** A sentence with directive and remedy; undefined where the connection was lost, which the upstream reports itself. */
  readonly problem: string | undefined
}

/**
 * The keys of one namespace at the upstream: the log, the registers, the gateways. Every write is one script, so that nothing is
 * half done. No promise rejects.
 */
export interface ControlStore {
  commit(order: CommitOrder): Promise<CommitAnswer>
  /** Registers this gateway or renews its lease, which the caller counts from the sending. */
  heartbeat(record: NodeRecord, leaseMs: number): Promise<Heartbeat | StoreFailure>
  /** Takes this gateway out of the registry. */
  leave(id: string): Promise<void>
  /** Takes registers out of the state: nobody needs them any more, not even their deletion. */
  forget(keys: readonly string[]): Promise<void>
  /** Reads the log behind an entry (an id and its uuid, so that another entry with this id is not taken for it). */
  readLog(after: string, uuid: string): Promise<LogTail | StoreFailure>
  /**
   * Reads all registers, and the id and the uuid of the last entry that they contain for certain. All texts are empty where the
   * namespace is not there.
   *
   * @param take Is called with some of the registers, and with the next once it has settled. A register may come twice; those that come
   *   before a failure were at the upstream.
   */
  readState(take: (registers: readonly Register[]) => void | Promise<void>): Promise<
    | {
        readonly state: 'read'
        /** See {@link Heartbeat.epoch}. */
        readonly epoch: string
        readonly last: string
        readonly lastUuid: string
      }
    | StoreFailure
  >
  /** Waits until what was committed is on so many replicas, or on the disk of the upstream. @returns False after `waitMs`. */
  makeDurable(kind: { readonly replicas: number } | 'aof', waitMs: number): Promise<boolean>
  /** A sentence where the upstream refused the last {@link makeDurable}. */
  readonly durabilityProblem: string | undefined
  /** Reads a message of the channel of entries; undefined if it is none, is not signed, or was forged: counted. */
  readMessage(payload: Buffer): LoggedEntry | undefined
  /** Entries and registers that were not taken: `unsigned`, `forged`, `broken`. */
  readonly rejected: ReadonlyMap<string, number>
}
