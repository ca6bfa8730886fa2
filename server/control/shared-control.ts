import { randomBytes } from 'node:crypto'
import type { Clock, Timer } from '../clock.ts'
import type { Settings } from '../config/settings.ts'
import type { Logger } from '../log.ts'
import type { ControlLine, ControlUser } from '../upstream/control-line.ts'
import { Acknowledgements } from './acknowledgements.ts'
import { Confirmations, type Awaited, type Confirmed } from './confirmations.ts'
import type { CommitOutcome, CommitRequest, Control, ControlFigures } from './control.ts'
import type { Entry } from './entry.ts'
import { Follower, MARKS } from './follower.ts'
import type { Journal } from './journal.ts'
import { Lease } from './lease.ts'
import { Ledger } from './ledger.ts'
import type { ControlNames } from './names.ts'
import type { KnownNode, NodeRecord } from './node.ts'
import type { SharedPart } from './part.ts'
import { Questions, type LocalSubscriptions } from './questions.ts'
import { splitKey, type Register } from './register.ts'
import type { CommitAnswer, ControlStore, Heartbeat, LoggedEntry, SeenNode } from './store.ts'

/** What a gateway says of itself in the registry, but for what the control plane knows. */
export type NodeFacts = Omit<NodeRecord, 'id' | 'number' | 'applied' | 'parts'>

/** Everything that the control plane of a gateway with an upstream works with. */
interface SharedControlParts {
  readonly clock: Clock
  readonly log: Logger
  readonly settings: Settings
  readonly line: ControlLine
  readonly store: ControlStore
  readonly journal: Journal
  readonly names: ControlNames
  /** 16 hexadecimal digits: see {@link NodeRecord}. */
  readonly id: string
  readonly describe: () => NodeFacts
  /** What is subscribed to here. */
  readonly local: LocalSubscriptions
  /** 0 to 1. */
  readonly random: () => number
}

/** A heartbeat is sent so often, in ms. */
const BEAT_MS = 1_000

/** The lease is looked at so often, in ms, where nothing comes that would ask for it. */
const LOOK_MS = 200

/** Numbers of gateways that have not been given one. */
const FIRST_OWN_NUMBER = 2_048
const OWN_NUMBERS = 2_048

/** Registers that are looked at for each heartbeat. */
const SWEPT_REGISTERS = 200

/** Longest wait until an edit that came first is in force here, in ms. */
const CONFLICT_MS = 1_000

/** The upstream is asked to wait for replicas, or for its disk, for so long at once, in ms. */
const DURABILITY_MS = 500

const CUT_OFF =
  'TRYAGAIN this gateway is cut off from the upstream, and serves nobody until it knows what was revoked' as const

const NOT_YET = 'upstream: this gateway has not heard yet what is in force at the others'

/** A commit that is under way, or an entry that is in force here and not in the log. */
interface Work {
  readonly confirmations: Confirmations
  /** Settles when the sessions that it hits here have lost what it takes. */
  readonly enforced: Promise<number> | undefined
  /** The entry is in force here by its place in the log. */
  readonly finish: (sessions: number) => void
}

/**
 * The control plane of a gateway with an upstream: commits what is ordered here, applies what is ordered anywhere, and serves only while
 * it knows what is in force.
 */
export class SharedControl implements Control, ControlUser {
  readonly isAlone = false
  readonly channels: readonly string[]
  readonly questions: Questions
  readonly #parts: SharedControlParts
  readonly #id: string
  readonly #shared = new Map<string, SharedPart>()
  readonly #ledger = new Ledger()
  readonly #follower: Follower
  readonly #lease: Lease
  /** Asked at each publish and each read. */
  readonly #loss: { readonly isClosed: boolean }
  readonly #acknowledgements: Acknowledgements
  /** By uuid of the entry. */
  readonly #works = new Map<string, Work>()
  /** Entries that are in force here and may not be in the log, in their order. */
  readonly #pending = new Map<string, Entry>()
  readonly #listeners: ((isFenced: boolean) => void)[] = []
  #number: number
  #nodes = new Map<string, KnownNode>()
  /** Digests of the others that the log has named as different. */
  readonly #differing = new Set<string>()
  #isStarted = false
  #isBeating = false
  #isFlushing = false
  #isFenced = true
  #wasServing = false
  #fencedMs = 0
  #fences = 0
  #fencedSeconds = 0
  /** What the store says is wrong: a sentence. */
  #problem: string | undefined
  /** Time of the upstream minus the monotonic time. */
  #offsetMs: number | undefined
  #lag = 0
  #acks = 0
  #ackSeconds = Number.NaN
  #ackSecondsTotal = 0
  #beatTimer: Timer | undefined
  #lookTimer: Timer | undefined

  constructor(parts: SharedControlParts) {
    const { clock, log, settings, line, store, journal, names, id, random } = parts
    this.#parts = parts
    this.#id = id
    this.#number = FIRST_OWN_NUMBER + Math.floor(random() * OWN_NUMBERS)
    this.#loss = settings.cached((now) => ({
      isClosed: now.choice('upstream-control-loss') === 'closed',
    }))
    this.#lease = new Lease(settings.seconds('upstream-lease') * 1_000)
    this.channels = [names.entries, names.acknowledgementsOf(id), names.questions]
    this.questions = new Questions({
      clock,
      line,
      names,
      id,
      local: parts.local,
      others: () => {
        const nowMs = clock.monotonicMs()
        const live = this.nodes.filter(({ leaseEndsMs }) => leaseEndsMs > nowMs)
        return live.map((node) => node.id)
      },
    })
    this.#acknowledgements = new Acknowledgements({ line, names, id })
    this.#follower = new Follower({
      clock,
      log,
      store,
      parts: this.#shared,
      ledger: this.#ledger,
      journal,
      pause: () => line.pause(),
      resume: () => line.resume(),
      beat: () => this.#beat(),
      begun: (uuid) => this.#works.get(uuid)?.enforced,
      applied: (logged, sessions, isDurable) => void this.#applied(logged, sessions, isDurable),
      moved: (position) => {
        this.#lease.applied(position)
        this.#judge()
      },
      caughtUp: () => this.#caughtUp(),
      supply: (registers, mode) => this.#supply(registers, mode),
    })
    this.share(marks())
    line.attach(this)
  }

  get number(): number {
    return this.#number
  }

  share(part: SharedPart): void {
    this.#shared.set(part.prefix, part)
  }

  /** Puts in force what the journal has, and begins to send heartbeats. The upstream is started after it. */
  start(): void {
    const { clock, journal } = this.#parts
    const byPart = new Map<SharedPart, Register[]>()
    for (const kept of journal.kept.registers) {
      if (!this.#ledger.take(kept)) continue
      const { key, version, uuid, value } = kept
      const [prefix, name] = splitKey(key)
      const part = this.#shared.get(prefix)
      if (part === undefined || part.restoresItself === true) continue
      if (value !== undefined && !part.accepts(name, value)) continue
      const group = byPart.get(part)
      if (group) group.push({ key, version, uuid, value })
      else byPart.set(part, [{ key, version, uuid, value }])
    }
    const change = { origin: undefined, atMs: clock.wallMs(), isLate: true }
    for (const [part, registers] of byPart) void part.apply(newestOf(registers), change)
    this.#isStarted = true
    this.#beatTimer = clock.every(BEAT_MS, () => void this.#tick())
    this.#lookTimer = clock.every(LOOK_MS, () => this.checkLease())
  }

  async stop(): Promise<void> {
    this.#beatTimer?.cancel()
    this.#lookTimer?.cancel()
    this.#isStarted = false
    if (this.#parts.line.isUp) await this.#parts.store.leave(this.#id)
  }

  get self(): NodeRecord {
    return {
      ...this.#parts.describe(),
      id: this.#id,
      number: this.#number,
      applied: this.#follower.position.id,
      parts: [...this.#shared.keys()],
    }
  }

  get nodes(): readonly KnownNode[] {
    return [...this.#nodes.values()].filter(({ id }) => id !== this.#id)
  }

  get upstreamMs(): number {
    const { clock } = this.#parts
    return this.#offsetMs === undefined ? clock.wallMs() : clock.monotonicMs() + this.#offsetMs
  }

  get refusal(): typeof CUT_OFF | undefined {
    this.checkLease()
    return this.#isFenced ? CUT_OFF : undefined
  }

  get problems(): readonly string[] {
    const problems = [this.#problem, this.#follower.problem].filter((one) => one !== undefined)
    if (problems.length === 0 && this.#isFenced) problems.push(NOT_YET)
    return problems
  }

  get figures(): ControlFigures {
    const nowMs = this.#parts.clock.monotonicMs()
    const fencedNowMs = this.#isFenced && this.#wasServing ? nowMs - this.#fencedMs : 0
    return {
      lag: this.#lag,
      ackSeconds: this.#ackSeconds,
      ackSecondsTotal: this.#ackSecondsTotal,
      acks: this.#acks,
      rejected: new Map<string, number>([
        ...this.#parts.store.rejected,
        ...this.#follower.rejected,
      ]),
      leaseSeconds: Math.max(0, this.#lease.endsMs - nowMs) / 1_000,
      isFenced: this.#isFenced,
      fences: this.#fences,
      fencedSeconds: this.#fencedSeconds + fencedNowMs / 1_000,
      pending: this.#pending.size,
      questions: this.questions.outcomes,
    }
  }

  onFence(listener: (isFenced: boolean) => void): void {
    this.#listeners.push(listener)
  }

  checkLease(): void {
    if (this.#isFenced || !this.#loss.isClosed) return
    if (this.#parts.clock.monotonicMs() >= this.#lease.servesUntilMs) this.#fence()
  }

  async commit(request: CommitRequest): Promise<CommitOutcome> {
    const { clock, journal, line } = this.#parts
    const { changes, order, actor, enforced, wait } = request
    const uuid = newId()
    const registers = changes.map(({ key, value }) => {
      return { key, value, uuid, version: (this.#ledger.stampOf(key)?.version ?? 0) + 1 }
    })
    const entry: Entry = {
      uuid,
      origin: { node: this.#id, user: actor.user, address: actor.address },
      atMs: Math.floor(this.upstreamMs),
      registers,
      order,
    }
    const isLocalFirst = enforced !== undefined
    let isKept = Promise.resolve(true)
    if (isLocalFirst) {
      for (const register of registers) this.#ledger.take(register)
      isKept = journal.append(registers, this.#follower.position)
      // A kill is over when it has been carried out here: what the others do is not known.
      if (order === undefined) this.#pending.set(uuid, entry)
    }
    const sentMs = clock.monotonicMs()
    const { applied, confirmations } = this.#begin(uuid, enforced)
    try {
      const mode = isLocalFirst ? 'merge' : 'edit'
      const isSent = line.isUp
      const answer: CommitAnswer = isSent
        ? await this.#parts.store.commit({ entry, mode })
        : { state: 'unknown' }
      switch (answer.state) {
        case 'unknown':
          return { state: 'unreachable', isDurable: await isKept, isSent }
        case 'refused':
          this.#problem = answer.problem
          return { state: 'refused', problem: answer.problem }
        case 'conflict':
          await this.#overtaken(registers, answer.keys)
          return { state: 'conflict' }
        case 'committed':
      }
      this.#pending.delete(uuid)
      const [hit, confirmed, isDurable] = await Promise.all([
        within(clock, applied, wait.ms),
        confirmations.wait(this.#awaited(answer.nodes), wait.count, wait.ms),
        this.#isDurable(isKept, wait.ms),
      ])
      this.#countAck(confirmed, sentMs)
      return {
        ...confirmed,
        state: 'committed',
        sessions: confirmed.sessions + ((await enforced) ?? hit ?? 0),
        isDurable,
        isHere: isLocalFirst || hit !== undefined,
      }
    } finally {
      this.#works.delete(uuid)
    }
  }

  up(isOther: boolean): void {
    if (isOther) {
      this.#lease.dropWaiting()
      this.#follower.suspect()
    } else this.#follower.hurry()
    void this.#tick()
  }

  down(): void {
    // What the follower waits for is lost; the subscriber link says when it has to begin anew.
  }

  listening(): void {
    this.#follower.listening()
  }

  deaf(): void {
    this.#lease.dropWaiting()
    this.#follower.deaf()
  }

  message(channel: string, payload: Buffer): void {
    const { names, store } = this.#parts
    if (channel === names.entries) {
      const logged = store.readMessage(payload)
      if (logged !== undefined) this.#follower.message(logged)
      return
    }
    if (channel === names.questions) {
      this.questions.asked(payload)
      return
    }
    if (this.questions.answered(payload)) return
    for (const { node, uuid, sessions } of this.#acknowledgements.read(payload)) {
      this.#works.get(uuid)?.confirmations.came(node, sessions)
    }
  }

  beforeRead(): void {
    this.checkLease()
  }

  #begin(
    uuid: string,
    enforced: Promise<number> | undefined,
  ): { readonly applied: Promise<number>; readonly confirmations: Confirmations } {
    const confirmations = new Confirmations(this.#parts.clock)
    const applied = new Promise<number>((resolve) => {
      this.#works.set(uuid, { confirmations, enforced, finish: resolve })
    })
    return { applied, confirmations }
  }

  /** An entry is in force here, by its place in the log. */
  async #applied(
    { id, entry }: LoggedEntry,
    sessions: number,
    isDurable: Promise<boolean>,
  ): Promise<void> {
    const { uuid, origin } = entry
    this.#pending.delete(uuid)
    if (origin.node === this.#id) {
      this.#works.get(uuid)?.finish(sessions)
      return
    }
    await isDurable
    this.#acknowledgements.send(origin.node, { id, uuid, sessions })
  }

  /** The gateways that may serve without the entry: those that the upstream knows, and those that the one before knew. */
  #awaited(seen: readonly SeenNode[]): Awaited[] {
    this.#noteNodes(seen)
    const nowMs = this.#parts.clock.monotonicMs()
    return this.nodes.filter(({ leaseEndsMs }) => leaseEndsMs > nowMs)
  }

  #noteNodes(seen: readonly SeenNode[]): void {
    const nowMs = this.#parts.clock.monotonicMs()
    const nodes = new Map<string, KnownNode>()
    for (const { record, leaseLeftMs } of seen) {
      nodes.set(record.id, { ...record, leaseEndsMs: nowMs + leaseLeftMs })
    }
    // A failover loses registrations. Their gateways may serve until their leases end.
    for (const [id, node] of this.#nodes) {
      const known = nodes.get(id)
      if (known === undefined) {
        if (node.leaseEndsMs > nowMs) nodes.set(id, node)
      } else if (known.leaseEndsMs < node.leaseEndsMs && known.applied === node.applied) {
        nodes.set(id, { ...known, leaseEndsMs: node.leaseEndsMs })
      }
    }
    this.#nodes = nodes
    this.#compareDigests()
  }

  #compareDigests(): void {
    const own = this.#parts.describe().digests
    for (const { id, name, digests } of this.nodes) {
      for (const what of ['issuers', 'acl'] as const) {
        const key = `${id} ${what} ${digests[what]} ${own[what]}`
        if (digests[what] === own[what] || this.#differing.has(key)) continue
        this.#differing.add(key)
        this.#parts.log.warn(
          { node: name, what },
          'another gateway has other settings: the same token may be another user there',
        )
      }
    }
  }

  async #isDurable(isKept: Promise<boolean>, waitMs: number): Promise<boolean> {
    const wanted = this.#parts.settings.text('upstream-durability')
    const atUpstream = wanted === '' || (await this.#isDurableUpstream(wanted, waitMs))
    return (await isKept) && atUpstream
  }

  async #isDurableUpstream(wanted: string, waitMs: number): Promise<boolean> {
    const { clock, store } = this.#parts
    const kind = wanted === 'aof' ? 'aof' : { replicas: Number(wanted.slice('replicas '.length)) }
    const endMs = clock.monotonicMs() + waitMs
    // The upstream answers no heartbeat meanwhile.
    while (true) {
      const askedMs = clock.monotonicMs()
      if (await store.makeDurable(kind, Math.min(endMs - askedMs, DURABILITY_MS))) return true
      const nowMs = clock.monotonicMs()
      // It was refused, or its answer was lost, if it comes early.
      if (nowMs >= endMs || nowMs - askedMs < DURABILITY_MS / 2) return false
    }
  }

  #countAck({ missing }: Confirmed, sentMs: number): void {
    if (missing.length > 0) return
    this.#acks++
    this.#ackSeconds = (this.#parts.clock.monotonicMs() - sentMs) / 1_000
    this.#ackSecondsTotal += this.#ackSeconds
  }

  /** Waits until what came first is in force here, so that the edit can be made again on top of it. */
  async #overtaken(registers: readonly Register[], keys: readonly string[]): Promise<void> {
    const { clock } = this.#parts
    const endMs = clock.monotonicMs() + CONFLICT_MS
    const isThere = (): boolean =>
      registers
        .filter(({ key }) => keys.includes(key))
        .every(({ key, version }) => (this.#ledger.stampOf(key)?.version ?? 0) >= version)
    while (!isThere() && clock.monotonicMs() < endMs) {
      await new Promise<void>((resolve) => void clock.after(2, resolve))
    }
  }

  /** Commits registers that the upstream lacks. Those without a uuid are new. */
  async #supply(registers: readonly Register[], mode: 'edit' | 'merge'): Promise<boolean> {
    const uuid = newId()
    const complete = registers.map((each) => (each.uuid === '' ? { ...each, uuid } : each))
    const entry: Entry = {
      uuid,
      origin: { node: this.#id, user: '', address: '' },
      atMs: Math.floor(this.upstreamMs),
      registers: complete,
      order: undefined,
    }
    const answer = await this.#parts.store.commit({ entry, mode })
    if (answer.state === 'refused') this.#problem = answer.problem
    if (answer.state !== 'committed') return false
    for (const register of complete) {
      const [prefix] = splitKey(register.key)
      if (this.#ledger.take(register) && prefix === MARKS) {
        void this.#shared
          .get(prefix)
          ?.apply([register], { origin: undefined, atMs: 0, isLate: true })
      }
    }
    return true
  }

  async #tick(): Promise<void> {
    if (!this.#isStarted || this.#isBeating) return
    const wasWaiting = this.#lease.isWaiting
    const beat = await this.#beat()
    if (beat === undefined) return
    const { epoch } = this.#follower.position
    if (!this.#follower.isCurrent) return
    // Keys that are gone, or an entry whose message did not come.
    if (beat.epoch !== epoch || (wasWaiting && this.#lease.isWaiting)) this.#follower.catchUp()
    else {
      await this.#commitPending()
      await this.#forgetSome()
    }
  }

  /** Forgets what has ended; the first of the gateways takes it out of the upstream. */
  async #forgetSome(): Promise<void> {
    const forgotten = this.#ledger.forgetSome(SWEPT_REGISTERS, (prefix, name) => {
      const part = this.#shared.get(prefix)
      return part?.forgets !== true || part.valueOf(name) !== undefined
    })
    const nowMs = this.#parts.clock.monotonicMs()
    const live = this.nodes.filter(({ leaseEndsMs }) => leaseEndsMs > nowMs)
    const isFirst = live.every(({ number }) => number > this.#number)
    if (forgotten.length > 0 && isFirst) await this.#parts.store.forget(forgotten)
  }

  async #beat(): Promise<Heartbeat | undefined> {
    const { clock, line, store, settings } = this.#parts
    if (!line.isUp) return undefined
    this.#isBeating = true
    const sentMs = clock.monotonicMs()
    const leaseMs = settings.seconds('upstream-lease') * 1_000
    const answer = await store.heartbeat(this.self, leaseMs)
    this.#isBeating = false
    if ('state' in answer) {
      this.#problem = answer.problem
      return undefined
    }
    const nowMs = clock.monotonicMs()
    this.#problem = undefined
    this.#number = answer.number
    this.#offsetMs = answer.timeMs - (sentMs + nowMs) / 2
    this.#noteNodes(answer.nodes)
    this.#lease.accepted(sentMs, answer.last, this.#follower.position.id)
    this.#lag = answer.last === this.#follower.position.id ? 0 : 1
    this.#judge()
    return answer
  }

  #caughtUp(): void {
    this.#lag = 0
    const nowMs = this.#parts.clock.monotonicMs()
    if (!this.#isFenced) this.#parts.line.admit()
    else if (nowMs < this.#lease.servesUntilMs || !this.#loss.isClosed) this.#serve()
    else void this.#beat()
    void this.#commitPending()
  }

  /** Looks whether this gateway may serve now. */
  #judge(): void {
    if (!this.#isFenced || !this.#follower.isCurrent) return
    if (this.#parts.clock.monotonicMs() < this.#lease.servesUntilMs) this.#serve()
  }

  #serve(): void {
    const { clock, line, log } = this.#parts
    this.#isFenced = false
    if (this.#wasServing) {
      this.#fencedSeconds += (clock.monotonicMs() - this.#fencedMs) / 1_000
      log.info('this gateway knows again what is in force, and serves')
    }
    this.#wasServing = true
    line.admit()
    for (const listener of this.#listeners) listener(false)
  }

  #fence(): void {
    const { clock, line, log } = this.#parts
    this.#isFenced = true
    this.#fences++
    this.#fencedMs = clock.monotonicMs()
    log.error(
      'the lease of this gateway has lapsed: it serves nobody until it knows what was revoked',
    )
    line.cutOff('upstream: the lease of this gateway has lapsed')
    for (const listener of this.#listeners) listener(true)
  }

  /** Commits what was ordered while the upstream was away. */
  async #commitPending(): Promise<void> {
    if (this.#isFlushing) return
    this.#isFlushing = true
    for (const [uuid, entry] of [...this.#pending]) {
      // A commit that is under way answers by itself.
      if (this.#works.has(uuid)) continue
      const answer = await this.#parts.store.commit({ entry, mode: 'merge' })
      if (answer.state !== 'committed') break
      this.#pending.delete(uuid)
    }
    this.#isFlushing = false
  }
}

/** The last of each key: what came later in a journal is newer. */
function newestOf(registers: readonly Register[]): Register[] {
  return [...new Map(registers.map((register) => [register.key, register])).values()]
}

/** The parts that have been shared once: see {@link MARKS}. */
function marks(): SharedPart {
  const marked = new Map<string, string>()
  return {
    prefix: MARKS,
    names: () => marked.keys(),
    valueOf: (name) => marked.get(name),
    strays: () => [],
    accepts: () => true,
    apply: (registers) => {
      for (const { key, value = '' } of registers) marked.set(splitKey(key)[1], value)
      return 0
    },
  }
}

/** 16 hexadecimal digits, random: the id of a gateway or of an entry. */
export function newId(): string {
  return randomBytes(8).toString('hex')
}

/** The value of a promise; undefined if it takes longer. */
async function within<T>(clock: Clock, promise: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = clock.after(ms, () => resolve(undefined))
    void promise.then((value) => {
      timer.cancel()
      resolve(value)
    })
  })
}
