import type { Clock, Timer } from '../clock.ts'
import type { Logger } from '../log.ts'
import { Slices } from '../slices.ts'
import type { Journal, Position } from './journal.ts'
import type { Ledger } from './ledger.ts'
import type { Change, SharedPart } from './part.ts'
import { isNewer, splitKey, type Register } from './register.ts'
import type { ControlStore, Heartbeat, LoggedEntry } from './store.ts'

/** Prefix of the registers that say which parts have been shared: by the first gateway of a namespace. */
export const MARKS = 's'

/** Everything that a follower works with. */
export interface FollowerHost {
  readonly clock: Clock
  readonly log: Logger
  readonly store: ControlStore
  readonly parts: ReadonlyMap<string, SharedPart>
  readonly ledger: Ledger
  readonly journal: Journal
  /** See `ControlLine`. */
  readonly pause: () => void
  readonly resume: () => void
  /** Sends a heartbeat. @returns Undefined where there is no answer. */
  readonly beat: () => Promise<Heartbeat | undefined>
  /** The work that an entry of this gateway has begun before it was committed; undefined for others. */
  readonly begun: (uuid: string) => number | Promise<number> | undefined
  /** An entry is in force here: every session has lost what it takes. */
  readonly applied: (logged: LoggedEntry, sessions: number, isDurable: Promise<boolean>) => void
  /** The last entry is another. */
  readonly moved: (id: string) => void
  /** Everything in the log is in force here. */
  readonly caughtUp: () => void
  /** Commits what the upstream lacks, or a first gateway brings. @returns False where it has to be tried again. */
  readonly supply: (registers: readonly Register[], mode: 'edit' | 'merge') => Promise<boolean>
}

/** Entries of which it is remembered that they were applied. */
const MOST_RECENT = 4_096

/** The wait after a failure, in ms. */
const RETRY_MS = 500

/** Registers of one entry where many are committed anew. */
const SUPPLY_BATCH = 250

/** Rounds of one catching up: the log may be trimmed meanwhile. */
const MOST_ROUNDS = 5

const GONE = { state: 'gone' } as const

const LATE = { origin: undefined, isLate: true } as const

/**
 * Applies the log of the namespace, entry by entry and in its order, and finds back into it after anything.
 *
 * Entries are a chain: each names the one before. Ids are compared for equality alone, since another upstream may give lower ones. Where
 * the chain is broken the log is read; where the last entry is not in it any more, or the upstream is another one, all registers are, and
 * what the upstream lacks is committed anew.
 */
export class Follower {
  readonly #host: FollowerHost
  #position: Position | undefined
  /** Their places in the log by uuid. */
  readonly #recent = new Map<string, string>()
  #isListening = false
  #isCurrent = false
  #isCatching = false
  #isAgain = false
  /**
   * The registers have to be read: the upstream may lack some, or this gateway may. So it is at the start: what was ordered while the
   * upstream was away is on the disk, and not in the log.
   */
  #needsState = true
  /** What this gateway has brought along has been settled. */
  #isSettled = false
  /** One for each time of listening: what was begun in another is given up. */
  #era = 0
  #retry: Timer | undefined
  /** Nothing of the upstream is taken until this gateway has caught up. */
  #isHeld = false
  /** An entry that this version cannot apply: a sentence. Nothing is followed any more. */
  #problem: string | undefined

  /** Entries that were not applied, by reason. */
  readonly rejected = new Map<'replayed' | 'unknown', number>()

  constructor(host: FollowerHost) {
    this.#host = host
    this.#position = host.journal.kept.position
  }

  /** Everything that was in the log at some time since the channels are in force has been applied, and the chain is whole. */
  get isCurrent(): boolean {
    return this.#isCurrent
  }

  /** The last entry that has been applied. */
  get position(): Position {
    return this.#position ?? { id: '', uuid: '', epoch: '' }
  }

  get problem(): string | undefined {
    return this.#problem
  }

  /** The upstream is another one than before. */
  suspect(): void {
    this.#needsState = true
    if (this.#isListening) this.catchUp()
  }

  /** Commands reach the upstream again: what waits to be tried again is tried now. */
  hurry(): void {
    if (this.#isListening && !this.#isCurrent) this.catchUp()
  }

  /** The channel of entries is in force: from here on none is missed. */
  listening(): void {
    this.#era++
    this.#isListening = true
    this.catchUp()
  }

  /** It is not any more. */
  deaf(): void {
    this.#era++
    this.#isListening = this.#isCurrent = false
    this.#retry?.cancel()
    this.#release()
  }

  /** Takes an entry from the channel. */
  message(logged: LoggedEntry): void {
    if (!this.#isCurrent) return
    const known = this.#recent.get(logged.entry.uuid)
    if (known !== undefined) {
      // One that was read from the log comes on the channel as well.
      if (known !== logged.id) this.#count('replayed')
      return
    }
    if (logged.previous !== this.position.id) {
      this.catchUp()
      return
    }
    const result = this.#apply(logged, false)
    if (typeof result === 'number') {
      this.#advance(logged, result)
      return
    }
    const era = this.#era
    this.#host.pause()
    void result.then((sessions) => {
      if (era === this.#era) this.#advance(logged, sessions)
      this.#host.resume()
    })
  }

  /** Reads what is missing. Until it is there, nothing that the upstream sends is taken. */
  catchUp(): void {
    if (this.#problem !== undefined) return
    if (this.#isCatching) {
      this.#isAgain = true
      return
    }
    this.#isCatching = true
    this.#isCurrent = false
    this.#retry?.cancel()
    if (!this.#isHeld) this.#host.pause()
    this.#isHeld = true
    void this.#catchUp().then((isDone) => {
      const isAgain = this.#isAgain
      this.#isCatching = this.#isAgain = false
      if (isDone) this.#release()
      else if (this.#isListening && isAgain) this.catchUp()
      else if (this.#isListening)
        this.#retry = this.#host.clock.after(RETRY_MS, () => this.catchUp())
    })
  }

  #release(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#host.resume()
  }

  async #catchUp(): Promise<boolean> {
    const era = this.#era
    for (let round = 0; round < MOST_ROUNDS; round++) {
      if (!this.#isListening) return false
      const beat = await this.#host.beat()
      if (beat === undefined || era !== this.#era) return false
      if (this.#needsState || this.position.epoch !== beat.epoch) {
        this.#needsState = true
        if (!(await this.#readState(era))) return false
        // The log was empty a moment ago: its first entry comes on the channel.
        if (this.position.id === '') {
          this.#finish()
          return true
        }
      }
      if (!(await this.#readTail(era))) return false
      if (this.#needsState) continue
      this.#finish()
      return true
    }
    return false
  }

  #finish(): void {
    this.#isCurrent = true
    this.#host.caughtUp()
  }

  /** Applies the log behind the last entry, or finds that all registers are needed. @returns False after a failure. */
  async #readTail(era: number): Promise<boolean> {
    const { id, uuid, epoch } = this.position
    const tail = id === '' ? GONE : await this.#host.store.readLog(id, uuid)
    if (era !== this.#era || tail.state === 'failed') return false
    if (tail.state === 'gone') {
      this.#needsState = true
      return true
    }
    const slices = new Slices(this.#host.clock)
    for (const logged of tail.entries) {
      if (slices.isOver) await slices.next()
      if (era !== this.#era) return false
      const sessions = await this.#apply(logged, true)
      if (era !== this.#era || this.#problem !== undefined) return false
      this.#advance(logged, sessions)
    }
    if (tail.last !== this.position.id) {
      this.#position = { id: tail.last, uuid: tail.lastUuid, epoch }
      this.#host.moved(tail.last)
    }
    return true
  }

  /**
   * Takes over all registers of the upstream that are newer, and brings it those that it lacks. There may be very many: they are put in
   * force a page at a time, those that take something first, and all that may give something together.
   */
  async #readState(era: number): Promise<boolean> {
    const { store, ledger, journal, clock } = this.#host
    /** Keys of registers that are not newer here. */
    const there = new Set<string>()
    const marks = new Set<string>()
    let together: Register[] = []
    const change = { ...LATE, atMs: clock.wallMs() }
    const state = await store.readState(async (page) => {
      if (era !== this.#era || this.#problem !== undefined) return
      const newer: Register[] = []
      for (const register of page) {
        const { key } = register
        const known = ledger.stampOf(key)
        if (known === undefined || !isNewer(known, register)) there.add(key)
        if (key.startsWith(`${MARKS}:`)) marks.add(key)
        if (isNewer(register, known)) newer.push(register)
      }
      if (!this.#isUsable(newer, 'the registers')) return
      const taking: Register[] = []
      for (const register of newer) {
        if (this.#onlyTakes(register)) taking.push(register)
        else together.push(register)
      }
      if (taking.length === 0) return
      await this.#putInForce(taking, change)
      journal.note(taking)
    })
    if (era !== this.#era || state.state === 'failed' || this.#problem !== undefined) return false
    together = ledger.newer(together)
    await this.#putInForce(together, change)
    const position = { id: state.last, uuid: state.lastUuid, epoch: state.epoch }
    void journal.append(together, position)
    if (!(await this.#supplyLacking(era, there))) return false
    if (!this.#isSettled && !(await this.#settle(era, marks))) return false
    if (era !== this.#era) return false
    this.#isSettled = true
    this.#needsState = false
    this.#position = position
    this.#host.moved(position.id)
    return true
  }

  /** Reports whether a register gives nothing to anybody: its value takes, or it was deleted, and nothing of it is in force here. */
  #onlyTakes({ key, value }: Register): boolean {
    const { parts, ledger } = this.#host
    const [prefix] = splitKey(key)
    if (parts.get(prefix)?.onlyTakes !== true) return false
    return value !== undefined || ledger.stampOf(key) === undefined
  }

  /** Commits anew what the upstream lacks. @param there Keys of what it has. */
  async #supplyLacking(era: number, there: ReadonlySet<string>): Promise<boolean> {
    const { ledger, parts, clock, log } = this.#host
    // Everything that is there is known here by now.
    if (ledger.size === there.size) return true
    const slices = new Slices(clock)
    const lacking: Register[] = []
    const valueOf = (prefix: string, name: string): string | undefined =>
      parts.get(prefix)?.valueOf(name)
    for (const register of ledger.lacking(there, valueOf)) {
      if (register !== undefined) lacking.push(register)
      if (slices.isOver) await slices.next()
    }
    if (lacking.length > 0) {
      log.warn(
        { registers: lacking.length },
        'the upstream lacks users or revocations that this gateway knows: they are committed anew',
      )
    }
    return this.#supplyAll(era, lacking, 'merge')
  }

  async #supplyAll(
    era: number,
    registers: readonly Register[],
    mode: 'edit' | 'merge',
  ): Promise<boolean> {
    for (let from = 0; from < registers.length; from += SUPPLY_BATCH) {
      if (era !== this.#era) return false
      if (!(await this.#host.supply(registers.slice(from, from + SUPPLY_BATCH), mode))) return false
    }
    return era === this.#era
  }

  /** Commits what this gateway has and nobody has shared. @param marks Keys of the marks that the upstream has. */
  async #settle(era: number, marks: ReadonlySet<string>): Promise<boolean> {
    const { parts, clock, ledger } = this.#host
    const slices = new Slices(clock)
    for (const [prefix, part] of parts) {
      if (prefix === MARKS) continue
      const mark = markOf(prefix)
      const isNew = !marks.has(mark.key)
      const isKnown = (name: string): boolean => ledger.stampOf(`${prefix}:${name}`) !== undefined
      // Of several first gateways one alone sets the mark, and brings its users.
      const strays: Register[] = isNew ? [mark] : []
      for (const stray of part.strays(isKnown, isNew)) {
        if (stray !== undefined) {
          const { name, value } = stray
          strays.push({ key: `${prefix}:${name}`, version: 1, uuid: '', value })
        }
        if (slices.isOver) await slices.next()
      }
      if (!(await this.#supplyAll(era, strays, 'edit'))) return false
    }
    return true
  }

  /** Puts an entry in force, but for those of its registers that are older than what is. */
  #apply({ id, entry }: LoggedEntry, isLate: boolean): number | Promise<number> {
    const { parts, ledger, begun } = this.#host
    const { origin, atMs, order, registers, uuid } = entry
    const change = { origin, atMs, isLate }
    if (!this.#isUsable(registers, `entry ${id}`)) return 0
    const obeying = order === undefined ? undefined : parts.get(order.part)
    if (order !== undefined && obeying?.understands?.(order.value) !== true) {
      this.#give(`entry ${id}`)
      return 0
    }
    const own = begun(uuid)
    const applied = this.#putInForce(ledger.newer(registers), change)
    const obeyed = order && own === undefined ? (obeying?.obey?.(order.value, change) ?? 0) : 0
    return sum([applied, obeyed, own ?? 0])
  }

  #putInForce(registers: readonly Register[], change: Change): number | Promise<number> {
    const { parts, ledger } = this.#host
    const byPart = new Map<string, Register[]>()
    for (const register of registers) {
      ledger.take(register)
      const [prefix] = splitKey(register.key)
      const group = byPart.get(prefix)
      if (group) group.push(register)
      else byPart.set(prefix, [register])
    }
    return sum([...byPart].map(([prefix, group]) => parts.get(prefix)?.apply(group, change) ?? 0))
  }

  /** Reports whether all registers can be put in force; otherwise this gateway stops to follow. */
  #isUsable(registers: readonly Register[], what: string): boolean {
    const { parts } = this.#host
    for (const { key, value } of registers) {
      const [prefix, name] = splitKey(key)
      const part = parts.get(prefix)
      if (part === undefined || (value !== undefined && !part.accepts(name, value))) {
        this.#give(`${what} (${key})`)
        return false
      }
    }
    return true
  }

  #count(reason: 'replayed' | 'unknown'): void {
    this.rejected.set(reason, (this.rejected.get(reason) ?? 0) + 1)
  }

  #give(what: string): void {
    this.#count('unknown')
    this.#problem = `upstream-namespace: ${what} cannot be applied by this version: upgrade this gateway`
    this.#isCurrent = false
    this.#host.log.error(this.#problem)
  }

  #advance(logged: LoggedEntry, sessions: number): void {
    if (this.#problem !== undefined) return
    const { journal, moved, applied } = this.#host
    const { id, entry } = logged
    const position = { id, uuid: entry.uuid, epoch: this.position.epoch }
    this.#position = position
    this.#recent.set(entry.uuid, id)
    if (this.#recent.size > MOST_RECENT) {
      const [oldest] = this.#recent.keys()
      if (oldest !== undefined) this.#recent.delete(oldest)
    }
    const isDurable = journal.append(entry.registers, position)
    moved(id)
    applied(logged, sessions, isDurable)
  }
}

/** The register that says that a part has been shared. */
function markOf(prefix: string): Register {
  return { key: `${MARKS}:${prefix}`, version: 1, uuid: '', value: 'shared' }
}

/** Adds numbers of sessions, in this turn if all are there. */
function sum(counts: readonly (number | Promise<number>)[]): number | Promise<number> {
  let total = 0
  for (const count of counts) {
    if (typeof count !== 'number') {
      const all = Promise.all(counts.map((each) => Promise.resolve(each)))
      return all.then((numbers) => numbers.reduce((sumSoFar, each) => sumSoFar + each, 0))
    }
    total += count
  }
  return total
}
