import { asciiJson } from '../../ascii-json.ts'
import type { Journal, KeptRegister, Position } from '../../control/journal.ts'
import type { Register } from '../../control/register.ts'
import { lineOfEntry, lineOfRegister, type LogEntry, type RegisterEntry } from './log.ts'
import type { RecordTexts } from './record-text.ts'
import { idOf, keyOf, type Revocation } from './revocation.ts'

/** Deletions that are remembered; beyond it the oldest are forgotten. */
export const MOST_DELETIONS = 100_000

/** Registers of a whole state that are written at once. */
const NOTED_AT_ONCE = 500

/** The registers and the position in the log of gateways, as entries of `token-log-file`. */
export class RegisterJournal implements Journal {
  /** Those of revocations have the record that the table has as well: 250,000 of them as text would be 100 MB. */
  readonly #registers = new Map<string, RegisterEntry>()
  /** Keys of deletions, oldest first. */
  readonly #deletions = new Set<string>()
  #position: Position | undefined
  /** Keys of registers that are not in the file yet. */
  #noted: string[] = []
  #isWritingNoted = false
  readonly #find: (id: number) => Revocation | undefined
  readonly #texts: RecordTexts
  readonly #write: (lines: Buffer, count: number) => Promise<boolean>

  /**
   * @param find The record of an id that is in force or remembered.
   * @param write Appends so many entries to the file, and settles after the fsync. @returns False where they could not be written.
   */
  constructor(
    find: (id: number) => Revocation | undefined,
    texts: RecordTexts,
    write: (lines: Buffer, count: number) => Promise<boolean>,
  ) {
    this.#find = find
    this.#texts = texts
    this.#write = write
  }

  /** The number of registers. */
  get size(): number {
    return this.#registers.size
  }

  /** The state of now: until the first {@link append} that with which the process started. */
  get kept(): Journal['kept'] {
    const registers: KeptRegister[] = []
    for (const { key, version, uuid, value } of this.#registers.values()) {
      const text = typeof value === 'string' ? value : undefined
      registers.push({ key, version, uuid, isDeleted: value === null, value: text })
    }
    return { registers, position: this.#position }
  }

  append(registers: readonly Register[], position: Position): Promise<boolean> {
    let lines = ''
    for (const register of registers) {
      const { key, version, uuid, value } = register
      const kept = this.#keep(register)
      // The text of a record is as the file has it.
      const json = value !== undefined && typeof kept === 'object' ? value : asciiJson(kept)
      lines += lineOfRegister({ key, version, uuid }, json)
    }
    const at = { op: 'at', ...position } as const
    this.take(at)
    lines += lineOfEntry(at)
    const written = this.#write(Buffer.from(lines, 'latin1'), registers.length + 1)
    void this.#writeNoted()
    return written
  }

  note(registers: readonly Register[]): void {
    for (const register of registers) {
      this.#keep(register)
      this.#noted.push(register.key)
    }
  }

  /** Writes no more of what was noted: a gateway that starts reads the whole state. */
  stop(): void {
    this.#noted = []
  }

  /** @returns The value as its entry has it. */
  #keep({ key, version, uuid, value }: Register): RegisterEntry['value'] {
    const id = idOf(key)
    const isRecord = id !== undefined && value !== undefined
    const kept = isRecord ? this.#recordOf(id, value) : (value ?? null)
    this.take({ op: 'register', key, version, uuid, value: kept })
    return kept
  }

  /** Writes the registers that were noted, as they are by then. */
  async #writeNoted(): Promise<void> {
    if (this.#isWritingNoted) return
    this.#isWritingNoted = true
    while (this.#noted.length > 0) {
      const keys = this.#noted.slice(-NOTED_AT_ONCE)
      this.#noted.length -= keys.length
      let lines = ''
      for (const key of keys) {
        const entry = this.#registers.get(key)
        if (entry !== undefined) lines += lineOfEntry(entry)
      }
      await this.#write(Buffer.from(lines, 'latin1'), keys.length)
    }
    this.#isWritingNoted = false
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
    // Registers that come while these are written are written after them, with their own position.
    const position = this.#position
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
    if (position) yield { op: 'at', ...position }
  }

  /** @returns The record of the table, if it is the same. */
  #recordOf(id: number, value: string): Revocation {
    const known = this.#find(id)
    if (known && this.#texts.isOf(known, value)) return known
    return this.#texts.read(value) ?? (JSON.parse(value) as Revocation)
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
