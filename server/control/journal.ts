import type { Register } from './register.ts'

/** The last entry that a gateway has applied. */
export interface Position {
  /** Id of the stream; empty before the first. */
  readonly id: string
  /** Of the entry. */
  readonly uuid: string
  /** See `Heartbeat.epoch`. */
  readonly epoch: string
}

/** Where a gateway keeps what it has applied, so that nothing acknowledged is lost with the upstream. */
export interface Journal {
  /** What was kept when the process started: registers, tombstones included, and the last position. */
  readonly kept: {
    readonly registers: readonly Register[]
    readonly position: Position | undefined
  }
  /** Settles after the fsync. Never rejects. @returns False where it could not be written. */
  append(registers: readonly Register[], position: Position): Promise<boolean>
}
