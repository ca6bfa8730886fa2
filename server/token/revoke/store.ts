import type { Clock, Timer } from '../../clock.ts'
import type { CompiledGrant } from '../grant/grants.ts'
import type { RevokedChannels } from './channels.ts'
import { RevocationTable } from './table.ts'
import { MAX_REVOCATIONS, type Revocation, type RevocationOrder } from './revocation.ts'
import type { TokenLogFile } from './log-file.ts'
import { encodeEntry, type LogEntry } from './log.ts'

/** The part of the log file that the store needs. */
export type RevocationLog = Pick<TokenLogFile, 'read' | 'prepare' | 'append' | 'close'>

/** What a store is built with. */
export interface RevocationStoreParts {
  readonly clock: Clock
  /** Where records survive; `live` answers what belongs in it. Without one they live as long as the process. */
  readonly log?: (live: () => Buffer) => RevocationLog
  /** A write failed, or works again. */
  readonly onDurable?: (isDurable: boolean, error?: unknown) => void
}

/** How long after a failure the log is tried again, in ms. */
const RETRY_MS = 5_000

const NOT_DURABLE = 'revocations are in force but not durable: token-log-file cannot be written'

/** The revocations of this server: in force in memory at once, on disk a moment later. */
export class RevocationStore {
  readonly #parts: RevocationStoreParts
  readonly #table: RevocationTable
  readonly #log: RevocationLog | undefined
  readonly #expiredListeners: ((record: Revocation) => void)[] = []
  #nextId = 1
  #isBroken = false
  #retry: Timer | undefined

  constructor(parts: RevocationStoreParts) {
    this.#parts = parts
    this.#table = new RevocationTable(parts.clock, (record) => {
      for (const listener of this.#expiredListeners) listener(record)
    })
    this.#log = parts.log?.(() => this.#live())
  }

  /** Revocations of channels, for the overlays of sessions. */
  get channels(): RevokedChannels {
    return this.#table.channels
  }

  get size(): number {
    return this.#table.size
  }

  /** Whether there is no room for another record: {@link MAX_REVOCATIONS}. */
  get isFull(): boolean {
    return this.#table.size >= MAX_REVOCATIONS
  }

  /** What `/readyz` reports: undefined where nothing is wrong. */
  get problem(): string | undefined {
    return this.#isBroken ? NOT_DURABLE : undefined
  }

  /**
   * Reads the log.
   *
   * @param mustBeWritable Tokens can log in, so that a log which cannot be written refuses to start.
   * @throws RespcastError `ERR_DATA_DIR`: the log cannot be used.
   */
  async open(mustBeWritable: boolean): Promise<void> {
    if (!this.#log) return
    const entries = await this.#log.read()
    const inForce = new Map<number, Revocation>()
    for (const entry of entries) {
      if (entry.op === 'revoke') inForce.set(entry.record.id, entry.record)
      else if (entry.op === 'lift') inForce.delete(entry.id)
      this.#nextId = Math.max(this.#nextId, nextIdOf(entry))
    }
    const nowMs = this.#parts.clock.wallMs()
    for (const record of inForce.values()) {
      if (record.expiresAtMs === undefined || record.expiresAtMs > nowMs) this.#table.add(record)
    }
    const isStale = this.#table.size + 1 < entries.length
    if (mustBeWritable) await this.#log.prepare(isStale)
  }

  /** Oldest first. */
  list(): IterableIterator<Revocation> {
    return this.#table.list()
  }

  /** The revocation that refuses a token, if there is one. */
  refusing(grant: CompiledGrant): Revocation | undefined {
    return this.#table.refusing(grant)
  }

  /** Puts a revocation in force. It survives once {@link commit} has settled. */
  add(order: RevocationOrder, by: string, hit: number): Revocation {
    const record: Revocation = {
      ...order,
      id: this.#nextId++,
      by,
      atMs: Math.floor(this.#parts.clock.wallMs()),
      hit,
    }
    this.#table.add(record)
    return record
  }

  /** Takes a revocation out of force. @returns The record, if there was one. */
  lift(id: number): Revocation | undefined {
    return this.#table.delete(id)
  }

  /**
   * Waits until a change is on disk. Never rejects.
   *
   * @returns Whether it is.
   */
  async commit(change: Exclude<LogEntry, { readonly op: 'next' }>): Promise<boolean> {
    return this.#append(encodeEntry(change))
  }

  /** Calls `listener` for each record that has come to its end. */
  onExpired(listener: (record: Revocation) => void): void {
    this.#expiredListeners.push(listener)
  }

  /** Ends what goes on in the background, and closes the log behind what waits to be written. */
  async close(): Promise<void> {
    this.#table.stop()
    this.#retry?.cancel()
    await this.#log?.close()
  }

  async #append(bytes: Buffer): Promise<boolean> {
    if (!this.#log) return true
    try {
      await this.#log.append(bytes)
      this.#setBroken(false)
      return true
    } catch (error) {
      this.#setBroken(true, error)
      return false
    }
  }

  #setBroken(isBroken: boolean, error?: unknown): void {
    this.#retry?.cancel()
    this.#retry = undefined
    if (isBroken) {
      // Everything in force is written anew then; there is nothing to add.
      this.#retry = this.#parts.clock.after(RETRY_MS, () => void this.#append(Buffer.alloc(0)))
    }
    if (isBroken === this.#isBroken) return
    this.#isBroken = isBroken
    this.#parts.onDurable?.(!isBroken, error)
  }

  /** What a log that is written anew holds. */
  #live(): Buffer {
    const entries = [encodeEntry({ op: 'next', id: this.#nextId })]
    for (const record of this.#table.list()) entries.push(encodeEntry({ op: 'revoke', record }))
    return Buffer.concat(entries)
  }
}

function nextIdOf(entry: LogEntry): number {
  if (entry.op === 'next') return entry.id
  return (entry.op === 'revoke' ? entry.record.id : entry.id) + 1
}
