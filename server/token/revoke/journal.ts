import { asciiJson } from '../../ascii-json.ts'
import type { Journal, Position } from '../../control/journal.ts'
import type { Register } from '../../control/register.ts'
import { type LogEntry, type RegisterEntry } from './log.ts'
import { idOf, keyOf, type Revocation } from './revocation.ts'

/** Deletions that are remembered; beyond it the oldest are forgotten. */
export const MOST_DELETIONS = 100_000

/** The registers and the position in the log of gateways, as entries of `token-log-file`. */
export class RegisterJournal implements Journal {
  /** Those of revocations have the record that the table has as well: 250,000 of them as text would be 100 MB. */
  readonly #registers = new Map<string, RegisterEntry>()
  /** Keys of deletions, oldest first. */
  readonly #deletions = new Set<string>()
  #position: Position | undefined
  readonly #find: (id: number) => Revocation | undefined
  readonly #write: (entries: readonly LogEntry[]) => Promise<boolean>

  /**
   * @param find The record of an id that is in force or remembered.
   * @param write Appends to the file, and settles after the fsync. @returns False where it could not be written.
   */
  constructor(
    find: (id: number) => Revocation | undefined,
    write: (entries: readonly LogEntry[]) => Promise<boolean>,
  ) {
    this.#find = find
    this.#write = write
  }

  /** The state of now: until the first {@link append} that with which the process started. */
  get kept(): Journal['kept'] {
    const registers: Register[] = []
    for (const { key, version, uuid, value } of this.#registers.values()) {
      const text = typeof value === 'string' ? value : value === null ? undefined : asciiJson(value)
      registers.push({ key, version, uuid, value: text })
    }
    return { registers, position: this.#position }
  }

  append(registers: readonly Register[], position: Position): Promise<boolean> {
    const entries: LogEntry[] = []
    for (const { key, version, uuid, value } of registers) {
      const id = idOf(key)
      const kept =
        id === undefined || value === undefined ? (value ?? null) : this.#recordOf(id, value)
      entries.push({ op: 'register', key, version, uuid, value: kept })
    }
    entries.push({ op: 'at', ...position })
    for (const entry of entries) this.take(entry)
    return this.#write(entries)
  }

  /** Takes an entry in, as it is read from the file. Those of other kinds do not matter. */
  take(entry: LogEntry): void {
    if (entry.op === 'at') {
      const { id, uuid, epoch } = entry
      this.#position = { id, uuid, epoch }
    } else if (entry.op === 'register') {
      const { key, value } = entry
      this.#registers.set(key, entry)
      this.#deletions.delete(key)
      if (value === null) this.#noteDeletion(key)
    }
  }

  /** Reports whether gateways have a register of this revocation. */
  knows(id: number): boolean {
    return this.#registers.has(keyOf(id))
  }

  /** Forgets the register of a revocation that was lifted here alone: it is unknown here, should gateways still have it. */
  forget(id: number): void {
    this.#registers.delete(keyOf(id))
    this.#deletions.delete(keyOf(id))
  }

  /**
   * The entries from which all of this can be read again. Registers of revocations that are neither in force nor remembered are
   * forgotten: they have ended.
   *
   * @param holds Is called with each record that these entries have as it is now.
   */
  *entries(holds: (record: Revocation) => void): IterableIterator<LogEntry> {
    for (const entry of this.#registers.values()) {
      const { key, value } = entry
      const id = idOf(key)
      if (id !== undefined && value !== null) {
        const record = this.#find(id)
        if (record === undefined) {
          this.#registers.delete(key)
          continue
        }
        if (record === value) holds(record)
      }
      yield entry
    }
    if (this.#position) yield { op: 'at', ...this.#position }
  }

  /** @returns The record of the table, if it is the same. */
  #recordOf(id: number, value: string): Revocation {
    const known = this.#find(id)
    return known && asciiJson(known) === value ? known : (JSON.parse(value) as Revocation)
  }

  #noteDeletion(key: string): void {
    this.#deletions.add(key)
    if (this.#deletions.size <= MOST_DELETIONS) return
    for (const oldest of this.#deletions) {
      this.#deletions.delete(oldest)
      this.#registers.delete(oldest)
      return
    }
  }
}
