import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Dice } from '../../fuzz/dice.ts'
import { check, type Violation } from '../../history/checker.ts'
import { checkControl, type ControlVerdict } from '../../history/control-checker.ts'
import { readCommit } from '../../history/control-commit.ts'
import type {
  ControlHistory,
  CutOff,
  FinalState,
  TokenIdentity,
} from '../../history/control-history.ts'
import { NATIVE, type Span } from '../../history/history.ts'
import {
  nativePlace,
  RecordedClient,
  Recorder,
  type Place,
  type Transport,
} from '../../history/recorder.ts'
import { shownPlain, type PlainMap } from '../../support/ask.ts'
import type { GatewayProcess } from '../../support/topologies/gateway.ts'
import { publisher, startActor, subscriber, type Actor, type Names } from '../actors.ts'
import { Pressure } from '../pressure.ts'
import { ReadinessWatch } from '../readiness.ts'
import { startStage, type Stage, type StageOptions } from '../stage.ts'
import { CONTROL_FAULTS, type Clogged } from './faults.ts'
import { KEYS, NAMESPACE } from './keys.ts'
import { KEY, revokeUnheard, signatureOf, upstreamState, type Address } from './namespace.ts'
import { Operator } from './operator.ts'
import { ALL_KINDS, Orders, roleWords, startOperator, type Realm } from './orders.ts'

/** Longest time until `/readyz` says that the upstream is gone, and that all is well again, in ms. */
const UNREADY_MS = 3_000
const READY_MS = 2_000

/** A poll of `/readyz`, and a machine that has other work. */
const SLACK_MS = 500

/** Longest time until gateways agree in the end, in ms. */
const AGREED_MS = 20_000

/** Times that somebody tries what a busy gateway refuses. */
const MOST_TRIES = 10

/** What the upstream keeps for a gateway that does not read: more than a message of a flood. */
const OUTPUT_LIMIT_KB = 2_048

/** A channel of messages that are larger than a write of a gateway, and what of them waits in kernels and gateway. */
const FLOOD = { channel: 'flood', bytes: 300_000, messages: 30 } as const

/** Logins of a crowd that are under way. */
const AT_ONCE = 25

/** Sessions of one subject at a gateway, whose end takes several turns of its event loop; and messages to them meanwhile. */
const CROWD = { channel: 'square', sessions: 1_500, messages: 150, restMs: 2 } as const

const CHANNELS = ['news', 'room:1', 'room:2', 'sport']
const PATTERNS = ['room:*']
const ROLES = ['r1', 'r2']

export interface ControlChaosOptions extends Pick<
  StageOptions,
  'topology' | 'program' | 'gateways' | 'dist' | 'hasNetwork'
> {
  /** Messages a second, of all publishers together. */
  readonly rate: number
  /** Time between two orders at a gateway, in ms. */
  readonly restMs: number
  readonly seed: number
  /** Names of {@link CONTROL_FAULTS} that strike one after another. */
  readonly faults: readonly string[]
  readonly rounds: number
  readonly seconds: number
  /** Every so many faults, one lasts longer than a lease. */
  readonly longEvery: number
  /** Entries are signed. */
  readonly hasKey: boolean
  readonly leaseSeconds: number
  /** What operators order; everything by default. */
  readonly kinds?: Realm['kinds']
  readonly tell?: (text: string) => void
}

/** Outcome of a run. */
export interface ControlReport extends ControlVerdict {
  readonly rounds: number
  readonly history: ControlHistory
  readonly readiness: {
    readonly slowestUnready: number
    readonly slowestReady: number
    readonly late: readonly string[]
    /** Late as well, on a machine whose processors others had. */
    readonly lateOfBusy: readonly string[]
  }
  /** What operators were answered, and clients, and how often. */
  readonly replies: ReadonlyMap<string, number>
  readonly errors: ReadonlyMap<string, number>
  /** Entries that gateways did not take, by reason. */
  readonly rejected: ReadonlyMap<string, number>
  readonly seconds: number
}

/** Lets operators revoke, lift, edit and kill at gateways while faults strike, and checks what clients and operators saw. */
export async function controlChaos(options: ControlChaosOptions): Promise<ControlReport> {
  const { topology, leaseSeconds, tell = () => {} } = options
  const beginMs = performance.now()
  const dir = mkdtempSync(join(tmpdir(), 'respcast-control-'))
  const keyFile = join(dir, 'key')
  writeFileSync(keyFile, `${KEY}\n`, { mode: 0o600 })
  const stage = await startStage({
    ...options,
    outputLimitKb: OUTPUT_LIMIT_KB,
    directives: [
      ...['--upstream-control', 'yes', '--upstream-lease', `${leaseSeconds}`],
      ...['--auth-failure-delay', '0'],
      ...(options.hasKey ? ['--upstream-control-key-file', keyFile] : []),
    ],
  })
  const run = new Run(stage, options)
  try {
    await run.play(tell)
  } finally {
    await run.stop()
    await stage.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  const { recorder, orders, violations, readiness } = run
  const signature = signatureOf(options.hasKey)
  const history: ControlHistory = {
    history: recorder.history(topology),
    identities: run.identities,
    orders: orders.all,
    cutOffs: run.cutOffs,
    leaseMs: leaseSeconds * 1_000,
    forgetful: run.forgetful,
    finals: run.finals,
    read: (payload) => readCommit(NAMESPACE, signature, payload),
  }
  tell(`checking ${history.history.messages.length} messages`)
  const verdict = checkControl(history)
  // Sessions lose names here, and numbers of receivers with them.
  const others = check(history.history).violations.filter(
    ({ promise }) => promise === 'P1' || promise === 'P2' || promise === 'P5' || promise === 'RESP',
  )
  return {
    violations: [...violations, ...verdict.violations, ...others],
    figures: verdict.figures,
    rounds: run.rounds,
    history,
    readiness,
    replies: orders.replies,
    errors: recorder.errors,
    rejected: run.rejected,
    seconds: (performance.now() - beginMs) / 1_000,
  }
}

/** The parts of one run. */
class Run {
  readonly recorder = new Recorder()
  readonly orders: Orders
  readonly identities = new Map<string, TokenIdentity>()
  readonly cutOffs: CutOff[] = []
  readonly forgetful: Span[] = []
  readonly finals: FinalState[] = []
  readonly violations: Violation[] = []
  readonly rejected = new Map<string, number>()
  readonly readiness = {
    slowestUnready: 0,
    slowestReady: 0,
    late: [] as string[],
    lateOfBusy: [] as string[],
  }
  rounds = 0
  readonly #stage: Stage
  readonly #options: ControlChaosOptions
  readonly #dice: Dice
  readonly #realm: Realm
  readonly #places: readonly Place[]
  readonly #watches: readonly ReadinessWatch[]
  readonly #actors: Actor[] = []

  constructor(stage: Stage, options: ControlChaosOptions) {
    this.#stage = stage
    this.#options = options
    this.#dice = new Dice(options.seed)
    this.#places = stage.gateways.map(({ port, wsUrl }, at) => ({ name: `g${at}`, port, wsUrl }))
    const subs = stage.gateways.flatMap((_, at) => SESSIONS.map((letter) => `g${at}${letter}`))
    this.#realm = {
      subs,
      roles: ROLES,
      channels: CHANNELS,
      patterns: PATTERNS,
      kinds: options.kinds ?? ALL_KINDS,
    }
    this.orders = new Orders(this.recorder, this.#dice, this.#realm)
    this.#watches = stage.gateways.map((gateway) => new ReadinessWatch(gateway))
  }

  async play(tell: (text: string) => void): Promise<void> {
    const { faults, rounds, seconds, longEvery, leaseSeconds } = this.#options
    const dice = this.#dice
    await this.#becomesReady(performance.now())
    this.readiness.slowestReady = 0
    await this.#begin()
    await wait(1_500)
    const endMs = performance.now() + seconds * 1_000
    while (performance.now() < endMs && this.rounds < rounds) {
      const name = faults[this.rounds % faults.length]
      if (name === undefined) {
        await wait(Math.max(0, endMs - performance.now()))
        break
      }
      this.rounds++
      await this.#strike(name, this.rounds % longEvery === 0, tell)
      await wait(500 + dice.below(1_000))
    }
    tell('the end: waiting for what is on its way')
    for (const actor of this.#actors) actor.rest()
    await Promise.all(this.#actors.map((actor) => actor.idle()))
    await wait(leaseSeconds * 1_000)
    await this.#agree()
    for (const [at, gateway] of this.#stage.gateways.entries()) {
      const fault = gateway.log
        .split('\n')
        .find((line) => /unhandled|uncaught|"level":60/i.test(line))
      if (!gateway.isAlive || fault !== undefined) {
        const text = `gateway ${at}: ${fault ?? gateway.log.slice(-1_000)}`
        this.violations.push({ promise: 'life', text })
      }
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#actors, ...this.#watches].map((one) => one.stop()))
  }

  async #strike(name: string, isLong: boolean, tell: (text: string) => void): Promise<void> {
    const { topology, leaseSeconds } = this.#options
    const fault = CONTROL_FAULTS[name]
    if (!fault?.topologies.includes(topology)) throw new Error(`no fault '${name}' for ${topology}`)
    const [fromMs, startMs] = [Date.now() - 20, performance.now()]
    const duringFault = new Pressure()
    tell(`${name}${isLong ? ', long' : ''}`)
    const entries = (): string[] => this.#entries()
    await fault.run({
      ...{
        stage: this.#stage,
        dice: this.#dice,
        leaseMs: leaseSeconds * 1_000,
        isLong,
        entries,
      },
      ...{ cutOffs: this.cutOffs, forgetful: this.forgetful },
      revokeUnheard: () => this.#revokeUnheard(),
      clog: (at) => this.#clog(at),
      revokeCrowd: (at) => this.#revokeCrowd(at),
    })
    if (this.#stage.upstream.kind !== 'standalone') await this.#stage.upstream.servers.settled()
    const healedMs = performance.now()
    const afterIt = new Pressure()
    if (isLong && fault.isOutage === true && topology === 'standalone' && name !== 'kill-all') {
      for (const [at, watch] of this.#watches.entries()) {
        const tookMs = (watch.firstUnready(startMs) ?? Number.POSITIVE_INFINITY) - startMs
        this.readiness.slowestUnready = Math.max(this.readiness.slowestUnready, tookMs)
        if (tookMs > UNREADY_MS + SLACK_MS)
          this.#isLate(`g${at} is ready ${Math.round(tookMs)} ms after ${name}`, duringFault)
      }
    }
    // `/readyz` may not have noticed yet that anything happened.
    await wait(100)
    await this.#becomesReady(healedMs)
    const tookMs = performance.now() - healedMs
    if (tookMs > READY_MS + SLACK_MS) {
      const reasons = this.#watches.map(({ lastProblem }) => lastProblem).join(' | ')
      this.#isLate(`not ready ${Math.round(tookMs)} ms after ${name}: ${reasons}`, afterIt)
    }
    tell(`ready within ${Math.round(tookMs)} ms`)
    this.recorder.disturbed.push({ fromMs, toMs: Date.now() })
  }

  #isLate(text: string, pressure: Pressure): void {
    const { late, lateOfBusy } = this.readiness
    if (pressure.isBusy) lateOfBusy.push(`${Math.round(pressure.share * 100)} % busy, ${text}`)
    else late.push(text)
  }

  /** Another gateway commits a revocation, and its message to these is lost. */
  async #revokeUnheard(): Promise<void> {
    const { kind } = this.#stage.upstream
    const [sent, label] = [this.recorder.moment(), `unheard-${this.rounds}`]
    const sub = `ghost-${label}`
    const { hasKey } = this.#options
    if (!(await revokeUnheard(await this.#keeper(), kind === 'cluster', hasKey, { sub, label })))
      return
    this.orders.all.push({
      ...{ label, place: NATIVE, kind: { type: 'revoke-sub', sub } },
      ...{ sent, answered: this.recorder.moment() },
      outcome: {
        ...{ state: 'partly', missing: this.#places.map(({ name }) => name) },
        fencedInMs: Number.POSITIVE_INFINITY,
      },
    })
  }

  async #clog(at: number): Promise<Clogged> {
    const name = `slow#${this.rounds}`
    const connect = await this.#guest(at, 'slow', 'slow', FLOOD.channel)
    const client = await connect(name)
    client.subscribe('channel', FLOOD.channel)
    await client.idle()
    client.pause()
    const flooder = await this.#nativeClient('flooder')
    for (let count = 0; count < FLOOD.messages; count++) {
      flooder.publish('channel', FLOOD.channel, FLOOD.bytes)
      await flooder.idle()
    }
    flooder.close()
    // The gateway reads the last of it.
    await wait(500)
    return { name: client.name, resume: () => client.resume() }
  }

  async #revokeCrowd(at: number): Promise<void> {
    const { channel, sessions, messages, restMs } = CROWD
    const sub = `crowd-${this.rounds}`
    const connect = await this.#guest(at, sub, 'crowd', channel)
    const crowd: RecordedClient[] = []
    for (let from = 0; from < sessions; from += AT_ONCE) {
      const names = Array.from({ length: AT_ONCE }, (_, one) => `crowd${from + one}#${this.rounds}`)
      crowd.push(...(await Promise.all(names.map(connect))))
    }
    for (const client of crowd) client.subscribe('channel', channel)
    await Promise.all(crowd.map((client) => client.idle()))
    const publishing = await this.#nativeClient('crier')
    const other = this.#places[(at + 1) % this.#places.length] as Place
    const operator = await Operator.connect(other.port)
    let revoked = Promise.resolve()
    for (let count = 0; count < messages; count++) {
      publishing.publish('channel', channel, 0)
      if (count === 20)
        revoked = this.orders.order(operator, other.name, { type: 'revoke-sub', sub })
      await wait(restMs)
    }
    await publishing.idle()
    await revoked
    publishing.close()
    operator.close()
    for (const client of crowd) client.close()
  }

  /** Lets sessions of a subject, with a role that has a channel, log in at a gateway. */
  async #guest(
    at: number,
    sub: string,
    role: string,
    channel: string,
  ): Promise<(name: string) => Promise<RecordedClient>> {
    const place = this.#places[at] as Place
    await setRole(place.port, role, [channel])
    const gateway = this.#stage.gateways[at] as GatewayProcess
    const token = await gateway.mint(sub, { roles: [role] })
    return async (name) => {
      // On a busy machine a gateway may be fenced for a while.
      for (let tries = 1; ; tries++) {
        try {
          const connection = tries === 1 ? name : `${name}.${tries}`
          const client = await RecordedClient.logIn(this.recorder, place, connection, token)
          this.identities.set(connection, { sub, role, openedMs: Date.now() })
          return client
        } catch (error) {
          if (tries === MOST_TRIES) throw error
          await wait(1_000)
        }
      }
    }
  }

  /** Entries that a native client got. */
  #entries(): string[] {
    const { sessions } = this.recorder.history(this.#options.topology)
    return sessions.flatMap(({ place, events }) =>
      place === NATIVE
        ? events.flatMap((event) => (event.type === 'control' ? [event.payload] : []))
        : [],
    )
  }

  async #becomesReady(sinceMs: number): Promise<void> {
    const isReady = (): boolean => this.#watches.every((watch) => watch.isReady)
    const deadlineMs = performance.now() + 30_000
    while (!isReady() && performance.now() < deadlineMs) await wait(20)
    if (!isReady()) {
      const bodies = this.#watches.map(({ changes }) => changes.at(-1)?.body ?? '').join(' | ')
      this.violations.push({ promise: 'C5', text: `not ready after 30 s: ${bodies}` })
    }
    for (const { readySince = performance.now() } of this.#watches) {
      const { slowestReady } = this.readiness
      this.readiness.slowestReady = Math.max(slowestReady, readySince - sinceMs)
    }
  }

  /** Makes the roles, and lets everybody begin. */
  async #begin(): Promise<void> {
    const { rate, restMs } = this.#options
    const dice = this.#dice
    for (const { port } of this.#places)
      for (const role of ROLES) await setRole(port, role, [...CHANNELS, ...PATTERNS])
    const native = (): Promise<Place> => this.#native()
    const cluster = this.#options.topology === 'cluster'
    const names: Names = cluster
      ? { shard: [KEYS.entries], channel: CHANNELS }
      : { channel: [KEYS.entries, CROWD.channel, ...CHANNELS] }
    this.#play('native', native, 'resp3', subscriber(names))
    const load = {
      perSecond: rate / (this.#places.length + 1),
      channels: CHANNELS,
      shardChannels: [],
      transactions: 0,
    }
    this.#play('native-pub', native, 'resp3', publisher(dice, load))
    for (const [at, place] of this.#places.entries()) {
      this.#play(`${place.name}-pub`, () => place, 'resp3', publisher(dice, load))
      for (const [serial, letter] of SESSIONS.entries()) {
        const sub = `${place.name}${letter}`
        const role = ROLES[serial % 2] as string
        const transport = serial < SESSIONS.length / 2 ? 'websocket' : 'resp3'
        const wanted =
          serial % 3 === 2 ? { pattern: PATTERNS } : { channel: CHANNELS, pattern: PATTERNS }
        const connect = this.#login(
          this.#stage.gateways[at] as GatewayProcess,
          transport,
          sub,
          role,
        )
        this.#actors.push(startActor(sub, connect, () => place, subscriber(wanted)))
      }
      this.#actors.push(startOperator(this.orders, place, dice, restMs))
    }
  }

  async #nativeClient(name: string): Promise<RecordedClient> {
    const connection = `${name}#${this.rounds}`
    return RecordedClient.connect(this.recorder, await this.#native(), 'resp3', connection)
  }

  async #native(): Promise<Place> {
    const { host, port } = await this.#keeper()
    return nativePlace(port, host)
  }

  /** The node that has the keys and the channels of the namespace. */
  async #keeper(): Promise<Address> {
    const { servers } = this.#stage.upstream
    return { host: servers.nodes[0]?.host ?? '', port: await servers.portFor(KEYS.log) }
  }

  #play(
    name: string,
    place: () => Place | Promise<Place>,
    transport: Transport,
    play: Parameters<typeof startActor>[3],
  ): void {
    const connect = (where: Place, connection: string): Promise<RecordedClient> =>
      RecordedClient.connect(this.recorder, where, transport, connection)
    this.#actors.push(startActor(name, connect, place, play))
  }

  /** Connects with a token, anew each time. */
  #login(gateway: GatewayProcess, transport: Transport, sub: string, role: string) {
    const mint = (): Promise<string> => gateway.mint(sub, { roles: [role] })
    return async (place: Place, name: string): Promise<RecordedClient> => {
      // Until then nobody can say that it is older than an order.
      this.identities.set(name, { sub, role, openedMs: Number.POSITIVE_INFINITY })
      const client =
        transport === 'websocket'
          ? await RecordedClient.connect(this.recorder, { ...place, mint }, transport, name)
          : await RecordedClient.logIn(this.recorder, place, name, await mint())
      this.identities.set(name, { sub, role, openedMs: Date.now() })
      return client
    }
  }

  /** Waits until all gateways say the same, and notes what they say. */
  async #agree(): Promise<void> {
    const deadlineMs = performance.now() + AGREED_MS
    for (;;) {
      const states = await Promise.all(this.#stage.gateways.map((_, at) => this.#stateOf(at)))
      const kept = await upstreamState(
        await this.#keeper(),
        this.#options.hasKey,
        states[0]?.nodes ?? [],
      )
      const texts = [...states, kept].map(({ users, revocations, nodes }) =>
        JSON.stringify([users, revocations, nodes].map((list) => list.toSorted())),
      )
      if (texts.every((text) => text === texts[0]) || performance.now() > deadlineMs) {
        for (const [at, state] of states.entries())
          this.finals.push({ ...state, refused: await this.#refusedBy(at) })
        this.finals.push(kept)
        return
      }
      await wait(500)
    }
  }

  async #stateOf(at: number): Promise<FinalState> {
    const gateway = this.#stage.gateways[at] as GatewayProcess
    const { name } = this.#places[at] as Place
    const operator = await Operator.connect(gateway.port)
    const users = (await operator.ask('ACL', 'LIST')) as readonly string[]
    const revocations = [...(await operator.revocations()).keys()]
    const nodes = (await operator.ask('RESPCAST', 'NODES')) as readonly PlainMap[]
    const info = shownPlain(await operator.ask('INFO', 'control'))
    const [, rejected = ''] = /^control_rejected:(.*)$/m.exec(info) ?? []
    for (const [, reason = '', count] of rejected.matchAll(/([a-z]+)=(\d+)/g))
      this.rejected.set(`${name} ${reason}`, Number(count))
    operator.close()
    const living = nodes
      .filter(({ fenced }) => fenced === 0)
      .map(({ id }) => shownPlain(id ?? null))
    return { place: name, users, revocations, nodes: living, refused: [] }
  }

  /** Subjects that a revocation has named, and that are refused. */
  async #refusedBy(at: number): Promise<string[]> {
    const gateway = this.#stage.gateways[at] as GatewayProcess
    const subs = this.orders.all.flatMap(({ kind }) =>
      kind.type === 'revoke-sub' ? [kind.sub] : [],
    )
    const refused: string[] = []
    for (const sub of new Set(subs)) {
      const client = await Operator.connect(gateway.port)
      const reply = await client.ask('AUTH', 'jwt', await gateway.mint(sub, { roles: [...ROLES] }))
      client.close()
      if (reply !== 'OK') refused.push(sub)
    }
    return refused
  }
}

/** Lets a role have these channels and no others, everywhere. @throws Error That is not possible. */
async function setRole(port: number, role: string, channels: readonly string[]): Promise<void> {
  const operator = await Operator.connect(port)
  // On a busy machine some gateway may not confirm in time.
  for (let tries = 1; ; tries++) {
    const reply = await operator.ask(...roleWords(role, channels))
    if (reply === 'OK') break
    if (tries === MOST_TRIES) throw new Error(`ACL SETUSER: ${shownPlain(reply)}`)
  }
  operator.close()
}

/** Token sessions at each gateway: half of them WebSockets. */
const SESSIONS = ['a', 'b', 'c', 'd', 'e', 'f']
