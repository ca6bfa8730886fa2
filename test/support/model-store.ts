import { compileGlob } from '../../shared/glob.ts'
import type { CommandArgument } from '../../shared/resp/command.ts'
import {
  decodeNode,
  encodeEntry,
  encodeMessage,
  encodeNode,
  problemOfEntry,
  readRow,
  splitMessage,
  unsignedRow,
  type LogRow,
} from '../../server/control/codec.ts'
import type { NodeRecord } from '../../server/control/node.ts'
import { isNewer, type Register } from '../../server/control/register.ts'
import { NO_SIGNATURE } from '../../server/control/signature.ts'
import type {
  CommitAnswer,
  CommitOrder,
  ControlStore,
  Heartbeat,
  LoggedEntry,
  LogTail,
  SeenNode,
  StoreFailure,
} from '../../server/control/store.ts'
import type { Reply } from '../../server/upstream/link/command-link.ts'
import type { PublishSpace } from '../../server/pubsub/registry.ts'
import type {
  Asked,
  ControlLine,
  ControlUser,
  UpstreamSubscriptions,
} from '../../server/upstream/control-line.ts'
import type { FakeClock } from './fake-clock.ts'
import { FakeSubscriptions } from './fake-subscriptions.ts'

const NAMESPACE = 'model'
/** The channel of entries. */
export const ENTRIES = `{respcast:${NAMESPACE}}:ctl`
/** Registers that are read at a time. */
const STATE_PAGE = 3
/** Gateways that lapsed so long ago are forgotten. */
const FORGOTTEN_MS = 3_600_000

const LOST: StoreFailure = { state: 'failed', problem: undefined }

interface ModelNode {
  readonly number: number
  readonly leaseEndsMs: number
  readonly text: string
}

interface LogItem extends LogRow {
  readonly uuid: string
}

/** The keys of the namespace. */
interface Keys {
  epoch: string
  last: string
  lastUuid: string
  registers: Map<string, Register>
  log: LogItem[]
  nodes: Map<string, ModelNode>
}

function noKeys(): Keys {
  return { epoch: '', last: '', lastUuid: '', registers: new Map(), log: [], nodes: new Map() }
}

function copyOf(keys: Keys): Keys {
  return {
    ...keys,
    registers: new Map(keys.registers),
    log: [...keys.log],
    nodes: new Map(keys.nodes),
  }
}

/**
 * An upstream in memory, as far as the control plane sees it. Requests are carried out one after another, in a microtask of their own;
 * while it is stopped, or `isManual`, they wait. A request that has reached it is carried out even if its connection ends meanwhile, as
 * at a server whose process was stopped.
 */
export class ModelServer {
  readonly clock: FakeClock
  /** Requests wait for {@link step}. */
  isManual = false
  /** Its clock is so far ahead of that of the gateways, in ms. */
  skewMs = 0
  /** What is subscribed to there by clients of its own. */
  readonly natives = new FakeSubscriptions()
  #keys = noKeys()
  #isStopped = false
  #epochs = 0
  #sequence = 0
  #isDrainDue = false
  readonly #requests: (() => void)[] = []
  readonly #gateways: ModelGateway[] = []

  constructor(clock: FakeClock) {
    this.clock = clock
  }

  /** A gateway's connections, which are not made before {@link ModelGateway.connect}. */
  gateway(): ModelGateway {
    const gateway = new ModelGateway(this)
    this.#gateways.push(gateway)
    return gateway
  }

  /** `SIGSTOP`: nothing is carried out, and nobody is told. */
  stop(): void {
    this.#isStopped = true
  }

  resume(): void {
    this.#isStopped = false
    this.#drainSoon()
  }

  /** Its memory as it is now: a replica that gets nothing more. */
  copy(): () => void {
    const copy = copyOf(this.#keys)
    return () => (this.#keys = copyOf(copy))
  }

  /** A replica takes over whose copy is older: connections end and are made again, to another node. */
  failOver(copy: () => void): void {
    copy()
    for (const gateway of this.#gateways) {
      if (!gateway.line.isUp) continue
      gateway.cut()
      gateway.connect(true)
    }
  }

  /** `FLUSHALL` */
  flush(): void {
    this.#keys = noKeys()
  }

  /** `XTRIM … MAXLEN` */
  trim(kept: number): void {
    this.#keys.log = kept === 0 ? [] : this.#keys.log.slice(-kept)
  }

  /** The registers by key, tombstones included. */
  get registers(): ReadonlyMap<string, Register> {
    return this.#keys.registers
  }

  /** The log, without what was trimmed. */
  get log(): readonly LoggedEntry[] {
    return this.#keys.log.map(loggedOf)
  }

  get last(): string {
    return this.#keys.last
  }

  /** Ids of the gateways in the registry, with their numbers. */
  get numbers(): ReadonlyMap<string, number> {
    return new Map([...this.#keys.nodes].map(([id, { number }]) => [id, number]))
  }

  /** Carries out the request that waits for the longest time. @returns False if there is none, or it is stopped. */
  step(): boolean {
    if (this.#isStopped) return false
    const request = this.#requests.shift()
    request?.()
    return request !== undefined
  }

  /** Settles when everything has happened that can happen without time. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < 20; quiet++) {
      if (!this.isManual && this.step()) quiet = 0
      await Promise.resolve()
    }
  }

  /** A request of a connection has arrived. */
  enqueue(request: () => void): void {
    this.#requests.push(request)
    this.#drainSoon()
  }

  /** The subscriptions of the links of all gateways. */
  *links(): IterableIterator<ModelLinks> {
    for (const { line } of this.#gateways) yield line.subscriptions
  }

  /** A message, as somebody publishes it: to those who listen to the channel, in one order. */
  publish(channel: string, payload: Buffer): number {
    const listeners = this.#gateways.filter(({ line }) => line.hears(channel))
    for (const { line } of listeners) line.arrive(channel, payload)
    return listeners.length
  }

  /** The script of commits. @param isRetry An attempt to commit this entry has not been answered. */
  commit({ entry, mode }: CommitOrder, isRetry: boolean): CommitAnswer {
    const body = encodeEntry(entry)
    const problem = problemOfEntry(entry, body)
    if (problem !== undefined) return { state: 'refused', problem }
    this.#found()
    const keys = this.#keys
    const nodes = this.#seen()
    const { registers, uuid, order } = entry
    const logged = isRetry ? keys.log.findLast((item) => item.uuid === uuid) : undefined
    if (logged !== undefined) return { state: 'committed', id: logged.id, nodes }
    const stored = (register: Register): Register | undefined => keys.registers.get(register.key)
    const isThere = (register: Register): boolean =>
      stored(register)?.uuid === register.uuid && stored(register)?.version === register.version
    if (mode === 'edit') {
      if (registers.length > 0 && registers.every(isThere)) {
        const id = keys.log.findLast((item) => item.uuid === uuid)?.id ?? ''
        return { state: 'committed', id, nodes }
      }
      const conflicts = registers.filter(
        (register) => (stored(register)?.version ?? 0) !== register.version - 1,
      )
      if (conflicts.length > 0) {
        return { state: 'conflict', keys: conflicts.map(({ key }) => key) }
      }
    }
    const newer = registers.filter((register) => isNewer(register, stored(register)))
    if (mode === 'merge' && newer.length === 0 && order === undefined) {
      return { state: 'committed', id: '', nodes }
    }
    const id = `${this.#timeMs()}-${this.#sequence++}`
    const row = unsignedRow(id, keys.last, body)
    keys.log.push({ ...row, uuid })
    for (const register of newer) keys.registers.set(register.key, register)
    keys.last = id
    keys.lastUuid = uuid
    this.publish(ENTRIES, Buffer.from(encodeMessage(row), 'latin1'))
    return { state: 'committed', id, nodes }
  }

  /** The script of heartbeats. */
  heartbeat(record: NodeRecord, leaseMs: number): Heartbeat {
    this.#found()
    const { nodes, last, epoch } = this.#keys
    const timeMs = this.#timeMs()
    for (const [id, node] of nodes) {
      if (node.leaseEndsMs < timeMs - FORGOTTEN_MS) nodes.delete(id)
    }
    const others = [...nodes].filter(([id]) => id !== record.id)
    const taken = new Set(others.map(([, node]) => node.number))
    const wanted = nodes.get(record.id)?.number ?? record.number
    let number = wanted < 2_048 && !taken.has(wanted) ? wanted : 1
    while (number < 1 || taken.has(number)) number++
    nodes.set(record.id, { number, leaseEndsMs: timeMs + leaseMs, text: encodeNode(record) })
    return { number, timeMs, last, epoch, nodes: this.#seen() }
  }

  forget(keys: readonly string[]): void {
    for (const key of keys) this.#keys.registers.delete(key)
  }

  leave(id: string): void {
    this.#keys.nodes.delete(id)
  }

  readLog(after: string, uuid: string): LogTail {
    const { log } = this.#keys
    const at = log.findIndex((item) => item.id === after && item.uuid === uuid)
    if (at < 0) return { state: 'gone' }
    const { id: last, uuid: lastUuid } = log.at(-1) as LogItem
    return { state: 'whole', entries: log.slice(at + 1).map(loggedOf), last, lastUuid }
  }

  readState(): Exclude<Awaited<ReturnType<ControlStore['readState']>>, StoreFailure> & {
    readonly registers: readonly Register[]
  } {
    const { epoch, last, lastUuid, registers } = this.#keys
    return { state: 'read', epoch, last, lastUuid, registers: [...registers.values()] }
  }

  #timeMs(): number {
    return this.clock.wallMs() + this.skewMs
  }

  #seen(): SeenNode[] {
    const timeMs = this.#timeMs()
    return [...this.#keys.nodes].map(([id, { number, leaseEndsMs, text }]) => ({
      record: decodeNode(id, number, text),
      leaseLeftMs: leaseEndsMs - timeMs,
    }))
  }

  #found(): void {
    if (this.#keys.epoch === '') this.#keys.epoch = `epoch-${++this.#epochs}`
  }

  #drainSoon(): void {
    if (this.#isDrainDue || this.isManual) return
    this.#isDrainDue = true
    queueMicrotask(() => {
      this.#isDrainDue = false
      if (!this.isManual) while (this.step());
    })
  }
}

function loggedOf(row: LogRow): LoggedEntry {
  const logged = readRow(NAMESPACE, NO_SIGNATURE, { ...row, previous: row.previous || '-' })
  if (typeof logged === 'string') throw new Error(`the model wrote an entry that is ${logged}`)
  return logged
}

/** What the links of a gateway are subscribed to, and what the server answers about all. */
export class ModelLinks implements UpstreamSubscriptions {
  /** Names of channels and shard channels, and patterns. */
  readonly held = {
    channel: new Set<string>(),
    shard: new Set<string>(),
    pattern: new Set<string>(),
  }
  /** It does not answer about subscriptions, or answers for a part of its nodes. */
  state: 'whole' | 'partial' | 'silent' = 'whole'
  readonly #server: ModelServer

  constructor(server: ModelServer) {
    this.#server = server
  }

  holds(space: PublishSpace, name: string): boolean {
    return this.held[space].has(name)
  }

  covers(): string[] {
    return [...this.held.pattern].map((cover) => `node:1 ${cover}`)
  }

  counts(space: PublishSpace, names: readonly string[]): Promise<Asked<readonly number[]>> {
    const countOf = (name: string): number => {
      const links = [...this.#server.links()].filter((link) => link.holds(space, name)).length
      return links + this.#server.natives.countOf(space, name)
    }
    return this.#answer(names.map(countOf))
  }

  names(space: PublishSpace, pattern: string | undefined): Promise<Asked<readonly string[]>> {
    const glob = compileGlob(pattern ?? '*')
    const all = new Set(this.#server.natives.channelNames(space))
    for (const { held } of this.#server.links()) for (const name of held[space]) all.add(name)
    return this.#answer([...all].filter((name) => glob.matches(name)))
  }

  patterns(): Promise<Asked<number>> {
    const all = new Set([...this.#server.natives.patterns()].map(({ name }) => name))
    for (const { held } of this.#server.links()) for (const cover of held.pattern) all.add(cover)
    return this.#answer(all.size)
  }

  #answer<Value>(value: Value): Promise<Asked<Value>> {
    if (this.state === 'silent') return new Promise(() => {})
    return Promise.resolve({ value, isWhole: this.state === 'whole' })
  }
}

/** The connections of one gateway to a {@link ModelServer}. */
export class ModelGateway {
  readonly store: ModelStore
  readonly line: ModelLine

  constructor(server: ModelServer) {
    this.line = new ModelLine(server)
    this.store = new ModelStore(server, this.line)
  }

  /** The connections are made. @param isOther To another node than before. */
  connect(isOther = false): void {
    this.line.connect(isOther)
  }

  /** As {@link connect}; the channels are confirmed before commands can be sent. */
  async connectForCommandsLast(): Promise<void> {
    await this.line.connectForCommandsLast()
  }

  /** The connections end: answers that are missing will not come, and messages until the next {@link connect} are missed. */
  cut(): void {
    this.line.cut()
  }
}

/** A {@link ControlStore} whose upstream is a {@link ModelServer}. */
export class ModelStore implements ControlStore {
  /** Of so many requests that come now the answer is lost, though they are carried out; their connection stays. */
  losesAnswers = 0
  /** Answers of {@link makeDurable}. */
  isDurable = true
  durabilityProblem: string | undefined
  /** Why requests are refused; undefined if they are not. */
  refusal: string | undefined
  readonly rejected = new Map<string, number>()
  readonly #server: ModelServer
  readonly #line: ModelLine
  /** Entries whose commit was not answered. */
  readonly #unknown = new Set<string>()

  constructor(server: ModelServer, line: ModelLine) {
    this.#server = server
    this.#line = line
  }

  async commit(order: CommitOrder): Promise<CommitAnswer> {
    if (this.refusal !== undefined) return { state: 'refused', problem: this.refusal }
    const { uuid } = order.entry
    const isRetry = this.#unknown.has(uuid)
    const unknown: CommitAnswer = { state: 'unknown' }
    const answer = await this.#request(() => this.#server.commit(order, isRetry), unknown)
    if (answer.state === 'unknown') this.#unknown.add(uuid)
    else this.#unknown.delete(uuid)
    return answer
  }

  async heartbeat(record: NodeRecord, leaseMs: number): Promise<Heartbeat | StoreFailure> {
    return (
      this.#failure() ??
      this.#request<Heartbeat | StoreFailure>(() => this.#server.heartbeat(record, leaseMs), LOST)
    )
  }

  forget(keys: readonly string[]): Promise<void> {
    return this.#request(() => this.#server.forget(keys), undefined)
  }

  leave(id: string): Promise<void> {
    return this.#request(() => this.#server.leave(id), undefined)
  }

  async readLog(after: string, uuid: string): Promise<LogTail | StoreFailure> {
    return (
      this.#failure() ??
      this.#request<LogTail | StoreFailure>(() => this.#server.readLog(after, uuid), LOST)
    )
  }

  async readState(
    take: Parameters<ControlStore['readState']>[0],
  ): ReturnType<ControlStore['readState']> {
    const answer =
      this.#failure() ??
      (await this.#request<ReturnType<ModelServer['readState']> | StoreFailure>(
        () => this.#server.readState(),
        LOST,
      ))
    if (answer.state === 'failed') return answer
    const { registers, ...state } = answer
    for (let from = 0; from < registers.length; from += STATE_PAGE) {
      await take(registers.slice(from, from + STATE_PAGE))
    }
    return state
  }

  makeDurable(): Promise<boolean> {
    return this.#request(() => this.isDurable, false)
  }

  readMessage(payload: Buffer): LoggedEntry | undefined {
    const row = splitMessage(payload)
    const read = row === undefined ? 'broken' : readRow(NAMESPACE, NO_SIGNATURE, row)
    if (typeof read !== 'string') return read
    this.rejected.set(read, (this.rejected.get(read) ?? 0) + 1)
    return undefined
  }

  #failure(): StoreFailure | undefined {
    return this.refusal === undefined ? undefined : { state: 'failed', problem: this.refusal }
  }

  #request<Answer>(carryOut: () => Answer, lost: Answer): Promise<Answer> {
    if (!this.#line.isUp) return Promise.resolve(lost)
    const isLost = this.losesAnswers > 0
    if (isLost) this.losesAnswers--
    return new Promise((resolve) => {
      const forget = this.#line.onCut(() => resolve(lost))
      this.#server.enqueue(() => {
        const answer = carryOut()
        forget()
        resolve(isLost ? lost : answer)
      })
    })
  }
}

/** A {@link ControlLine} to a {@link ModelServer}. Messages are handed over as they come, unless it is paused or held by the test. */
export class ModelLine implements ControlLine {
  readonly publishCommand = 'PUBLISH'
  readonly subscriptions: ModelLinks
  isUp = false
  isAdmitted = false
  /** The problems of {@link cutOff}. */
  readonly cutOffs: string[] = []
  readonly #server: ModelServer
  #user: ControlUser | undefined
  #isListening = false
  #pauses = 0
  #isHeld = false
  #isHandingOver = false
  #inbox: (readonly [channel: string, payload: Buffer])[] = []
  #onCut = new Set<() => void>()

  constructor(server: ModelServer) {
    this.#server = server
    this.subscriptions = new ModelLinks(server)
  }

  attach(user: ControlUser): void {
    this.#user = user
  }

  /** Reports whether nothing is handed over now by the will of the user. */
  get isPaused(): boolean {
    return this.#pauses > 0
  }

  /** Messages that have come and not been handed over. */
  get waiting(): number {
    return this.#inbox.length
  }

  connect(isOther: boolean): void {
    if (this.isUp) return
    this.isUp = true
    this.#user?.up(isOther)
    this.#listen()
  }

  async connectForCommandsLast(): Promise<void> {
    this.#isListening = true
    this.#user?.listening()
    await this.#server.settled()
    this.isUp = true
    this.#user?.up(false)
  }

  cut(): void {
    if (!this.isUp) return
    this.isUp = false
    this.#deafen()
    this.#user?.down()
    const callbacks = [...this.#onCut]
    this.#onCut.clear()
    for (const callback of callbacks) callback()
  }

  /** Keeps messages back, as a slow network does. */
  hold(): void {
    this.#isHeld = true
  }

  /** Lets so many of them through, or all and what comes later. */
  release(count = Infinity): void {
    if (count === Infinity) this.#isHeld = false
    this.#handOver(count)
  }

  hears(channel: string): boolean {
    return this.#isListening && this.#user?.channels.includes(channel) === true
  }

  arrive(channel: string, payload: Buffer): void {
    this.#inbox.push([channel, payload])
    if (!this.#isHeld) this.#handOver(Infinity)
  }

  /** Calls back once if the connection ends before. @returns Takes that back. */
  onCut(callback: () => void): () => void {
    this.#onCut.add(callback)
    return () => void this.#onCut.delete(callback)
  }

  ask(reply: Reply, ...args: readonly CommandArgument[]): void {
    if (!this.isUp) {
      reply.lost(false)
      return
    }
    const [command, channel = '', payload = ''] = args.map((arg) => Buffer.from(arg))
    let isLost = false
    const forget = this.onCut(() => {
      isLost = true
      reply.lost(true)
    })
    this.#server.enqueue(() => {
      const isPublish = command?.toString() === this.publishCommand
      const receivers = isPublish
        ? this.#server.publish(channel.toString('latin1'), Buffer.from(payload))
        : 0
      forget()
      if (isLost) return
      const message = `ERR unknown command '${command?.toString()}'`
      reply.answered(isPublish ? receivers : { type: 'error', message })
    })
  }

  admit(): void {
    this.isAdmitted = this.#isListening
  }

  pause(): void {
    this.#pauses++
  }

  resume(): void {
    if (this.#pauses === 0) throw new Error('resumed more often than paused')
    this.#pauses--
    if (!this.#isHeld) this.#handOver(Infinity)
  }

  cutOff(problem: string): void {
    this.cutOffs.push(problem)
    this.#deafen()
    if (this.isUp) queueMicrotask(() => this.#listen())
  }

  #listen(): void {
    if (!this.isUp || this.#isListening) return
    this.#isListening = true
    this.#user?.listening()
  }

  #deafen(): void {
    if (!this.#isListening) return
    this.#isListening = false
    this.isAdmitted = false
    this.#inbox = []
    this.#user?.deaf()
  }

  #handOver(count: number): void {
    if (this.#isHandingOver) return
    this.#isHandingOver = true
    for (let left = count; left > 0 && this.#pauses === 0; left--) {
      const message = this.#inbox.shift()
      if (message === undefined) break
      this.#user?.beforeRead()
      this.#user?.message(...message)
    }
    this.#isHandingOver = false
  }
}
