import type { Register, Stamp } from './register.ts'

/** The last entry that a gateway has applied. */
export interface Position {
  /** Id of the stream; empty before the first. */
  readonly id: string
  /** Of the entry. */
  readonly uuid: string
  /** See `Heartbeat.epoch`. */
  readonly epoch: string
}

/** A register as a journal gives it back. */
export interface KeptRegister extends Stamp {
  readonly key: string
  readonly isDeleted: boolean
  /** Undefined where it was deleted, and where its part restores itself. */
  readonly value: string | undefined
}

/** Where a gateway keeps what it has applied, so that nothing acknowledged is lost with the upstream. */
export interface Journal {
  /** What was kept when the process started: registers, tombstones included, and the last position. */
  readonly kept: {
    readonly registers: readonly KeptRegister[]
    readonly position: Position | undefined
  }
  /** Settles after the fsync. Never rejects. @returns False where it could not be written. */
  append(registers: readonly Register[], position: Position): Promise<boolean>
  /**
   * Takes registers of a whole state, of which there may be very many. They are written a part at a time, after the next
   * {@link append}: a gateway does not wait for them before it serves, nor does an entry that comes meanwhile.
   */
  note(registers: readonly Register[]): void
}
