import type { History, Moment, Span } from './history.ts'

/** Whom a token session belongs to. Its role alone says what it may do. */
export interface TokenIdentity {
  readonly sub: string
  readonly role: string
  /** Its connection was there at that time, in Unix milliseconds. */
  readonly openedMs: number
}

/** What an operator orders. Revocations hold until they are lifted, whatever the token. */
export type OrderKind =
  | { readonly type: 'revoke-sub'; readonly sub: string }
  /** A glob; of the sessions with a role, or of all. */
  | { readonly type: 'revoke-channel'; readonly channel: string; readonly role: string | undefined }
  /** Names the order whose revocation ends. */
  | { readonly type: 'lift'; readonly label: string }
  /** All that a role may subscribe to: channels and patterns. */
  | { readonly type: 'role'; readonly role: string; readonly channels: readonly string[] }
  /** A role gets one channel more: it is named as the order. */
  | { readonly type: 'grow'; readonly role: string }
  | { readonly type: 'kill'; readonly sub: string }

/**
 * What an order was answered.
 *
 * - `open`: nothing until the end of the history, or the connection ended: it may be in force, or come into force
 * - `everywhere`: it is in force at all gateways
 * - `partly`: it is in the log, and not confirmed by some, which fence themselves
 * - `here`: it is in force at this gateway, and is committed later
 * - `none`: nothing has changed
 */
export type OrderOutcome =
  | { readonly state: 'open' | 'everywhere' | 'here' | 'none' }
  | {
      readonly state: 'partly'
      readonly missing: readonly string[]
      readonly fencedInMs: number
    }

/** An order and its answer. */
export interface ControlOrder {
  /** Unique; the reason of a revocation. */
  readonly label: string
  /** The gateway. */
  readonly place: string
  readonly kind: OrderKind
  readonly sent: Moment
  answered: Moment | undefined
  outcome: OrderOutcome
}

/** An entry of the log, as far as it matters here. */
export interface Commit {
  readonly uuid: string
  /** Its place in the log, and that of the entry before it; empty: it is the first. */
  readonly id: string
  readonly previous: string
  /** By the clock of the upstream, in Unix milliseconds. */
  readonly atMs: number
  readonly registers: readonly {
    readonly key: string
    readonly version: number
    readonly uuid: string
    readonly value: RegisterValue | undefined
  }[]
  /** The subject whose connections are closed. */
  readonly kill: string | undefined
}

/** What a register says; undefined in a {@link Commit}: a deletion. The label is that of the order of a revocation. */
export type RegisterValue =
  | { readonly type: 'revoke-sub'; readonly sub: string; readonly label?: string }
  | {
      readonly type: 'revoke-channel'
      readonly channel: string
      readonly role: string | undefined
      readonly label?: string
    }
  | { readonly type: 'role'; readonly role: string; readonly channels: readonly string[] }
  | { readonly type: 'other' }

/** What a gateway says at the end, when everything is well. */
export interface FinalState {
  readonly place: string
  /** The lines of ACL LIST. */
  readonly users: readonly string[]
  /** The labels of the revocations in force. */
  readonly revocations: readonly string[]
  /** The gateways that it knows. */
  readonly nodes: readonly string[]
  /** Subjects whose new tokens it refuses. */
  readonly refused: readonly string[]
}

/** A gateway that the upstream did not hear, or that did nothing. */
export interface CutOff extends Span {
  readonly place: string
  /** A session whose client did not read, and which got messages larger than a write: the one that was being written may still come. */
  readonly slow?: string
}

/** All that clients and operators of an upstream and its gateways did and saw. */
export interface ControlHistory {
  readonly history: History
  /** By name of the session. */
  readonly identities: ReadonlyMap<string, TokenIdentity>
  readonly orders: readonly ControlOrder[]
  readonly cutOffs: readonly CutOff[]
  readonly leaseMs: number
  /** When the log or the state at the upstream was lost in part: kills are not kept. */
  readonly forgetful: readonly Span[]
  readonly finals: readonly FinalState[]
  /** Reads what a native client got among the messages. @returns Undefined if gateways are not to take it. */
  read(payload: string): Commit | undefined
}
