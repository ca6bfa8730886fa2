import type { Clock, Timer } from '../../clock.ts'
import type { Journal } from '../../control/journal.ts'
import { IDS_PER_NODE } from '../../control/node.ts'
import type { CompiledGrant } from '../grant/grants.ts'
import { RevokedChannels } from './channels.ts'
import { RegisterJournal } from './journal.ts'
import { encodeEntry, RevocationLog, type LogEntry, type LogFiles, type LogHooks } from './log.ts'
import { EndedRevocations } from './ended.ts'
import type { IssuerTerms } from './order.ts'
import { RecordTexts } from './record-text.ts'
import {
  coversIssueTime,
  idOf,
  isFrom,
  isOfKey,
  issuedBy,
  issuerLabel,
  MAX_REVOCATIONS,
  nameKey,
  nameKeys,
  namesOf,
} from './revocation.ts'
import type { Revocation, RevocationOrder } from './revocation.ts'

/** Interval at which the table looks for records that have ended, in ms. */
const LOOK_MS = 1_000

/** Ids of one block belong to one process. */
const ID_BLOCK = 1_000

interface Kept {
  readonly record: Revocation
  /** Wall clock, see {@link RevocationTable.endOf}; undefined for no end. */
  readonly endsAtMs: number | undefined
  /** Monotonic: the record is kept until then, even if the wall clock is set. */
  readonly untilMs: number
}

/**
 * The revocations of this server: in force in memory at once, in the log a moment later.
 *
 * A record ends when both clocks say so: a wall clock that is set forwards and back again must not let a token return. Its
 * end follows `jwt-max-lifetime` ({@link endOf}), so that a longer one does not let a token return either.
 */
export class RevocationTable {
  /** Revocations of channels, for the overlays of sessions. */
  readonly channels = new RevokedChannels()
  /** Called once for each record that has ended, when it is no longer in force. */
  onExpired: (record: Revocation) => void = () => {}
  readonly #ended = new EndedRevocations(() => this.#takeId())
  /** Records by the text of their registers. */
  readonly texts = new RecordTexts()
  readonly #journal = new RegisterJournal(
    (id) => this.get(id),
    this.texts,
    (lines, count) => this.#write(lines, count),
  )
  readonly #nodeNumber: () => number
  readonly #clock: Clock
  readonly #terms: () => readonly IssuerTerms[]
  readonly #log: RevocationLog | undefined
  readonly #byId = new Map<number, Kept>()
  /** Most names have one. */
  readonly #byName = new Map<string, Revocation | Revocation[]>()
  /** Ids of the records that did not come from gateways: they may have no register of them. */
  readonly #own = new Set<number>()
  /** Ids of the records of keys. */
  readonly #ofKeys = new Set<number>()
  /** Ids of records that end, by the second in which they do. */
  readonly #ends = new Map<number, number[]>()
  #nextEnd = Number.POSITIVE_INFINITY
  #timer: Timer | undefined
  /** The counter of ids: beyond that of every id that was seen, whoever gave it. */
  #nextId = 1
  #isReadOnly = false

  /**
   * @param options `terms`: of the issuers as they are now. `path`: the log, an absolute path; without it records live as long as
   *   the process. `onDurable`, `onUnfinished`: see {@link LogHooks}. `confirm`: rejects where another process has taken the
   *   log over. `nodeNumber`: of this gateway as it is now, 0 alone.
   */
  constructor(options: {
    readonly clock: Clock
    readonly terms?: () => readonly IssuerTerms[]
    readonly path?: string
    readonly files?: LogFiles
    readonly onDurable?: LogHooks['onDurable']
    readonly onUnfinished?: LogHooks['onUnfinished']
    readonly confirm?: () => Promise<void>
    readonly nodeNumber?: () => number
  }) {
    const { clock, terms = () => [], path = '', files, confirm, nodeNumber = () => 0 } = options
    const { onDurable = () => {}, onUnfinished = () => {} } = options
    this.#clock = clock
    this.#terms = terms
    this.#nodeNumber = nodeNumber
    if (path !== '') {
      const hooks = { onDurable, onUnfinished }
      const live = { entries: () => this.#live(), count: () => this.#liveCountNearly() }
      this.#log = new RevocationLog(path, clock, live, hooks, files, confirm)
    }
  }

  get size(): number {
    return this.#byId.size
  }

  /** No room is left for another record: {@link MAX_REVOCATIONS}. */
  get isFull(): boolean {
    return this.#byId.size >= MAX_REVOCATIONS
  }

  /** The problem that `/readyz` reports; undefined if there is none. */
  get problem(): string | undefined {
    return this.#log?.problem
  }

  /** What gateways share of this and other parts, in the same file. */
  get journal(): Journal {
    return this.#journal
  }

  /** The record of an id that is in force, or that has ended and is remembered. */
  get(id: number): Revocation | undefined {
    return this.#byId.get(id)?.record ?? this.#ended.get(id)
  }

  /** Reports whether gateways share this revocation, or its deletion. */
  isShared(id: number): boolean {
    return this.#journal.knows(id)
  }

  /** The records that have ended and are remembered. */
  ended(): IterableIterator<Revocation> {
    return this.#ended.list()
  }

  /** The records in force, oldest first. */
  *list(): IterableIterator<Revocation> {
    for (const { record } of this.#byId.values()) yield record
  }

  /** Those of them that did not come from gateways, though they may know them since. */
  *own(): IterableIterator<Revocation> {
    for (const id of this.#own) {
      const kept = this.#byId.get(id)
      if (kept !== undefined) yield kept.record
    }
  }

  /** The records of keys in force (KID, KEY). */
  ofKeys(): readonly Revocation[] {
    return [...this.#ofKeys].flatMap((id) => this.#byId.get(id)?.record ?? [])
  }

  /** The revocation that refuses a token, if there is one. */
  refusing(grant: CompiledGrant): Revocation | undefined {
    if (this.#byName.size > 0) {
      for (const [kind, name] of namesOf(grant)) {
        for (const record of this.#named(nameKey(kind, name))) {
          if (isFrom(record, grant) && this.#covers(record, grant)) return record
        }
      }
    }
    return this.#ended.refusing(grant)
  }

  /** Reports whether a record covers the issue time of a token. Past its own end only tokens of before the order are left. */
  #covers(record: Revocation, { issuedAtMs }: CompiledGrant): boolean {
    if (!coversIssueTime(record, issuedAtMs)) return false
    const { expiresAtMs } = record
    if (expiresAtMs === undefined || issuedAtMs <= issuedBy(record)) return true
    return this.#clock.wallMs() < expiresAtMs
  }

  /**
   * The time at which a record ends, in ms since 1970: that of its TTL, but not before the tokens that it is about would end
   * under the `jwt-max-lifetime` of now. Undefined for PERSIST.
   */
  endOf(record: Revocation): number | undefined {
    const { kind, expiresAtMs } = record
    if (expiresAtMs === undefined || kind === 'channel') return expiresAtMs
    const issuer = kind === 'issuer' ? record.target : record.issuer
    const lifetimes = this.#terms()
      .filter(({ alias }) => issuer === undefined || issuer === issuerLabel(alias))
      .map(({ maxLifetimeSeconds }) => maxLifetimeSeconds * 1000)
    return Math.max(expiresAtMs, issuedBy(record) + Math.max(0, ...lifetimes))
  }

  /**
   * Follows a change of `jwt-max-lifetime`: records in force end later or earlier, and ended ones are in force again where
   * their tokens could be valid now.
   */
  followTerms(): void {
    const nowMs = this.#clock.wallMs()
    this.#ends.clear()
    this.#nextEnd = Number.POSITIVE_INFINITY
    for (const [id, kept] of this.#byId) {
      const endsAtMs = this.endOf(kept.record)
      if (endsAtMs === undefined) continue
      const untilMs = kept.untilMs + endsAtMs - (kept.endsAtMs ?? endsAtMs)
      this.#byId.set(id, { ...kept, endsAtMs, untilMs })
      this.#endAt(id, Math.ceil(endsAtMs / 1000))
    }
    const isInForce = (record: Revocation): boolean => (this.endOf(record) ?? Infinity) > nowMs
    for (const record of this.#ended.take(isInForce)) {
      this.#insert(record)
      if (!this.#journal.knows(record.id)) this.#own.add(record.id)
    }
  }

  /**
   * The time until a token that a record does not refuse can be issued, in ms: past BEFORE, in the whole seconds of `iat`.
   * Undefined if waiting does not help.
   */
  retryAfterMs({ beforeMs, hard }: Revocation): number | undefined {
    if (beforeMs === undefined || hard) return undefined
    const nextSecondMs = (Math.floor(beforeMs / 1000) + 1) * 1000
    return Math.max(0, Math.ceil(nextSecondMs - this.#clock.wallMs()))
  }

  /**
   * Reads the log; records that are in force already stay.
   *
   * @param mustBeWritable Tokens can log in, so a log that cannot be written keeps the server from starting.
   * @param readOnly The file may be that of a running server, and is never written.
   * @param tookOver The process that wrote the log last did not end in good order, and may even be suspended: ids go on in a
   *   block of their own, so that none is given twice.
   * @throws RespcastError `ERR_DATA_DIR`: the log cannot be used.
   */
  async open(mustBeWritable: boolean, readOnly = false, tookOver = false): Promise<void> {
    this.#isReadOnly = readOnly
    if (!this.#log) return
    const entries = await this.#log.read()
    const inForce = new Map<number, Revocation>()
    for (const entry of entries) {
      if (entry.op === 'revoke') inForce.set(entry.record.id, entry.record)
      else if (entry.op === 'lift') {
        inForce.delete(entry.id)
        this.#journal.forget(entry.id)
      } else if (entry.op === 'register') this.#readRegister(entry, inForce)
      this.#journal.take(entry)
      this.#nextId = Math.max(this.#nextId, nextIdOf(entry))
    }
    const nowMs = this.#clock.wallMs()
    for (const record of inForce.values()) {
      if (this.#byId.has(record.id)) continue
      const endsAtMs = this.endOf(record)
      if ((endsAtMs ?? Infinity) > nowMs) {
        this.#insert(record, endsAtMs)
        if (!this.#journal.knows(record.id)) this.#own.add(record.id)
      } else this.#ended.add(record)
    }
    if (!mustBeWritable) return
    if (tookOver && entries.length > 0) {
      this.#nextId = (Math.floor((this.#nextId - 1) / ID_BLOCK) + 1) * ID_BLOCK + 1
    }
    await this.#log.prepare(tookOver || this.#liveCount() < entries.length)
  }

  #readRegister(
    { key, value }: Extract<LogEntry, { readonly op: 'register' }>,
    inForce: Map<number, Revocation>,
  ): void {
    const id = idOf(key)
    if (id === undefined) return
    if (typeof value === 'object' && value !== null) inForce.set(id, value)
    else inForce.delete(id)
  }

  /** Puts a revocation in force. It survives a restart once {@link commit} has settled. */
  add(order: RevocationOrder, by: string, hit: number): Revocation {
    const atMs = Math.floor(this.#clock.wallMs())
    const record: Revocation = { ...order, id: this.#takeId(), by, atMs, hit }
    this.#insert(record)
    this.#own.add(record.id)
    return record
  }

  /**
   * Puts a revocation of other gateways in force, or remembers it if it has ended. One of the same id is replaced. They may be more
   * than {@link MAX_REVOCATIONS}: what holds elsewhere holds here.
   *
   * @param isKnown There is one of its id.
   */
  adopt(record: Revocation, isKnown = this.get(record.id) !== undefined): void {
    if (isKnown) this.lift(record.id)
    this.passed(record.id)
    const endsAtMs = this.endOf(record)
    if ((endsAtMs ?? Infinity) > this.#clock.wallMs()) this.#insert(record, endsAtMs)
    else this.#ended.add(record)
  }

  /** An id was given by another gateway, which may have had the number that this one has now: it is not given again. */
  passed(id: number): void {
    this.#nextId = Math.max(this.#nextId, counterOf(id) + 1)
  }

  /**
   * Gives revocations ids of the number that this gateway has now. They survive a restart under their new ids once the promise has
   * settled; until then under the old ones.
   *
   * @returns The records as they are now, and a promise that settles once they are on disk.
   */
  renumber(ids: readonly number[]): {
    readonly records: readonly Revocation[]
    readonly written: Promise<boolean>
  } {
    const records: Revocation[] = []
    for (const id of ids) {
      const kept = this.#byId.get(id)
      const old = this.lift(id)
      if (!old) continue
      const record: Revocation = { ...old, id: this.#takeId() }
      records.push(record)
      if (!kept) {
        this.#ended.add(record)
        continue
      }
      this.#file({ ...kept, record })
      this.#own.add(record.id)
      if (kept.endsAtMs !== undefined) this.#endAt(record.id, Math.ceil(kept.endsAtMs / 1000))
    }
    const isWritten = records.length > 0 && !this.#isReadOnly
    return { records, written: (isWritten && this.#log?.rewrite()) || Promise.resolve(true) }
  }

  /** Takes a revocation out of force. @returns The record, if there was one. */
  lift(id: number): Revocation | undefined {
    const record = this.#byId.get(id)?.record
    if (!record) return this.#ended.delete(id)
    this.#byId.delete(id)
    this.#own.delete(id)
    this.#ofKeys.delete(id)
    if (record.kind === 'channel') this.channels.delete(record)
    for (const key of nameKeys(record)) {
      const left = this.#named(key).filter((each) => each !== record)
      if (left.length > 0) this.#byName.set(key, left)
      else this.#byName.delete(key)
    }
    return record
  }

  /**
   * Lets a revocation of keys hold against further ones. They survive a restart once {@link commit} of the record has settled.
   *
   * @param keys Thumbprints.
   * @returns The record as it is now; undefined if it is not in force, or holds against all of them already.
   */
  addKeys({ id }: Revocation, keys: readonly string[]): Revocation | undefined {
    const kept = this.#byId.get(id)
    const known = kept?.record.keys ?? []
    const added = keys.filter((key) => !known.includes(key))
    if (!kept || added.length === 0) return undefined
    const isOwn = this.#own.has(id)
    this.lift(id)
    const record: Revocation = { ...kept.record, keys: [...known, ...added] }
    this.#file({ ...kept, record })
    if (isOwn) this.#own.add(id)
    return record
  }

  /**
   * Waits until a change is on disk. Never rejects.
   *
   * @returns False where it could not be written.
   */
  async commit(change: Extract<LogEntry, { readonly op: 'revoke' | 'lift' }>): Promise<boolean> {
    // Gateways may have a register of it still: then it comes back when this one is with them again.
    if (change.op === 'lift') this.#journal.forget(change.id)
    return this.#write(encodeEntry(change), 1)
  }

  async #write(lines: Buffer, count: number): Promise<boolean> {
    if (this.#isReadOnly) return true
    return this.#log?.append(lines, count) ?? true
  }

  /** Stops the timer, and closes the log after the writes that are under way. */
  async close(): Promise<void> {
    this.#stop()
    this.#journal.stop()
    await this.#log?.close()
  }

  #takeId(): number {
    return this.#nodeNumber() * IDS_PER_NODE + this.#nextId++
  }

  #insert(record: Revocation, endsAtMs = this.endOf(record)): void {
    const leftMs = endsAtMs === undefined ? Infinity : endsAtMs - this.#clock.wallMs()
    this.#file({ record, endsAtMs, untilMs: this.#clock.monotonicMs() + leftMs })
    if (endsAtMs !== undefined) this.#endAt(record.id, Math.ceil(endsAtMs / 1000))
  }

  #file(kept: Kept): void {
    const { record } = kept
    this.#byId.set(record.id, kept)
    if (isOfKey(record.kind)) this.#ofKeys.add(record.id)
    if (record.kind === 'channel') this.channels.add(record)
    for (const key of nameKeys(record)) {
      const known = this.#byName.get(key)
      if (known === undefined) this.#byName.set(key, record)
      else if (Array.isArray(known)) known.push(record)
      else this.#byName.set(key, [known, record])
    }
  }

  #named(key: string): readonly Revocation[] {
    const known = this.#byName.get(key) ?? []
    return Array.isArray(known) ? known : [known]
  }

  #endAt(id: number, second: number): void {
    const ids = this.#ends.get(second)
    if (ids) ids.push(id)
    else this.#ends.set(second, [id])
    this.#nextEnd = Math.min(this.#nextEnd, second)
    this.#timer ??= this.#clock.every(LOOK_MS, () => this.#look())
  }

  #look(): void {
    const nowSecond = this.#clock.wallMs() / 1000
    if (nowSecond < this.#nextEnd) return
    const nowMs = this.#clock.monotonicMs()
    const ended: Revocation[] = []
    this.#nextEnd = Number.POSITIVE_INFINITY
    for (const [second, ids] of this.#ends) {
      const left = second > nowSecond ? ids : this.#end(ids, nowMs, ended)
      if (left.length === 0) {
        this.#ends.delete(second)
        continue
      }
      this.#ends.set(second, left)
      this.#nextEnd = Math.min(this.#nextEnd, second)
    }
    if (this.#ends.size === 0) this.#stop()
    for (const record of ended) this.onExpired(record)
  }

  /** Lifts the records whose time is over, and adds them to `ended`. @returns The ids that the monotonic clock still holds. */
  #end(ids: readonly number[], nowMs: number, ended: Revocation[]): number[] {
    const left: number[] = []
    for (const id of ids) {
      const kept = this.#byId.get(id)
      if (!kept) continue
      if (kept.untilMs > nowMs) {
        left.push(id)
        continue
      }
      this.lift(id)
      this.#ended.add(kept.record)
      ended.push(kept.record)
    }
    return left
  }

  #stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** A record that gateways share is counted once, if it is in force here. */
  #liveCountNearly(): number {
    return 2 + Math.max(this.#journal.size, this.size + this.#ended.size)
  }

  #liveCount(): number {
    let count = 1 + this.size + this.#ended.size
    for (const _ of this.#journal.entries(() => count--)) count++
    return count
  }

  /** Everything in force or remembered: the content of a log that is written anew. */
  *#live(): IterableIterator<LogEntry> {
    yield { op: 'next', id: this.#nextId }
    const held = new Set<Revocation>()
    yield* this.#journal.entries((record) => held.add(record))
    // After the registers: a record may know of more keys than its register.
    for (const record of this.#ended.list()) {
      if (!held.has(record)) yield { op: 'revoke', record }
    }
    for (const record of this.list()) if (!held.has(record)) yield { op: 'revoke', record }
  }
}

/** The part of an id that its gateway counts up. */
function counterOf(id: number): number {
  return id % IDS_PER_NODE
}

function nextIdOf(entry: LogEntry): number {
  switch (entry.op) {
    case 'next':
      return entry.id
    case 'revoke':
      return counterOf(entry.record.id) + 1
    case 'lift':
      return counterOf(entry.id) + 1
    case 'register':
      return counterOf(idOf(entry.key) ?? 0) + 1
    case 'at':
      return 1
  }
}
