import { setTimeout as wait } from 'node:timers/promises'
import { Dice } from '../fuzz/dice.ts'
import { rateOf, type Rate } from '../history/rate.ts'
import { check, type Verdict, type Violation } from '../history/checker.ts'
import { NATIVE, type History, type Span } from '../history/history.ts'
import {
  nativePlace,
  RecordedClient,
  Recorder,
  type Place,
  type Transport,
} from '../history/recorder.ts'
import type { Tape } from '../history/tape.ts'
import { cpuSeconds } from '../support/topologies/cpu-time.ts'
import type { Program } from '../support/topologies/node.ts'
import {
  churner,
  publisher,
  startActor,
  subscriber,
  type Actor,
  type Names,
  type Play,
} from './actors.ts'
import { startWide, type Wide } from './lanes.ts'
import { FAULTS, strike } from './faults.ts'
import { ReadinessWatch } from './readiness.ts'
import { startStage, type Stage, type StageOptions } from './stage.ts'

/** Longest time until `/readyz` says that the upstream is gone, and that it is back, in ms. */
const UNREADY_MS = 3_000
const READY_MS = 2_000

/** A poll of `/readyz`, and a machine that has other work. */
const SLACK_MS = 500

/** After so long without an upstream `/readyz` is late, in ms. */
export const LATE_UNREADY_MS = UNREADY_MS + SLACK_MS

/** Connections over TCP are closed over two seconds after a gap, and come back. */
const SETTLE_MS = 2_500

/** Names with bytes that are not UTF-8, that look like patterns, and with separators. */
const CHANNELS = ['news', 'a\xff\xfe', 'sport:1', 'sport:2', 'x*[y]', 'sport:\x80']
const PATTERNS = ['sport:*', 'a\xff*', '*s', 'x\\*\\[?\\]', 'spo?t:[12]']
/** A channel for one subscriber of each gateway, and the messages of a flood, 24 MB. */
const FLOODED = 'flood'
const FLOOD = 400
const FLOOD_BYTES = 60_000

const SHARDS = ['{s}1', '\xe4\xf6', 'orders']
const CHURNED: Names = {
  channel: ['news', 'a\xff\xfe', 'sport:1'],
  pattern: ['n*', 'sport:*', '[a-n]*'],
  shard: ['orders', '\xe4\xf6'],
}

export interface ChaosOptions {
  readonly topology: StageOptions['topology']
  readonly program: Program
  readonly gateways: number
  /** Messages a second, of all publishers together. Each is delivered more than twenty times. */
  readonly rate: number
  /** A second load, beside that. */
  readonly wide?: Wide
  readonly seed: number
  /** Names of {@link FAULTS} that strike one after another; none: nothing goes wrong. */
  readonly faults: readonly string[]
  /** Ends after so many faults, or seconds. */
  readonly rounds: number
  readonly seconds: number
  /** Every so many faults, one lasts long enough for `/readyz` to have to say so. */
  readonly longEvery: number
  readonly dist?: string
  /** See {@link StageOptions}. */
  readonly hasNetwork?: boolean
  readonly tell?: (text: string) => void
}

/** CPU time for each second of the load; without faults, since a process that starts again begins at 0. */
export interface Cores {
  readonly gateways: number
  readonly upstream: number
  readonly clients: number
}

/** CPU time so far, in seconds. */
function cpuOf({ gateways, upstream }: Stage): Cores {
  const sum = (processes: readonly { readonly isAlive: boolean; readonly pid: number }[]): number =>
    processes.reduce((total, one) => total + (one.isAlive ? cpuSeconds(one.pid) : 0), 0)
  const { user, system } = process.cpuUsage()
  return {
    gateways: sum(gateways),
    upstream: sum(upstream.servers.nodes),
    clients: (user + system) / 1e6,
  }
}

/** Outcome of a run. */
export interface ChaosReport extends Verdict {
  readonly rounds: number
  /** Connections that a server ended, by place. */
  readonly ends: ReadonlyMap<string, number>
  readonly history: History
  /** How late `/readyz` was, in ms. */
  readonly readiness: {
    readonly slowestUnready: number
    readonly slowestReady: number
    /** In all long outages and recoveries. */
    readonly late: readonly string[]
  }
  /** Error replies by place and text. */
  readonly errors: ReadonlyMap<string, number>
  readonly rate: Rate
  readonly cores: Cores
  /** Messages of the wide load that were not sent since too many of their publishers' were unanswered. */
  readonly heldBack: number
  readonly seconds: number
}

/** Lets clients of an upstream and its gateways publish and subscribe while faults strike, and checks what they saw. */
export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  const { topology, seed, rate, wide, tell = () => {} } = options
  const dice = new Dice(seed)
  const stage = await startStage({ ...options, ...(wide ? { outputLimitKb: 65_536 } : {}) })
  const recorder = new Recorder()
  const watches = stage.gateways.map((gateway) => new ReadinessWatch(gateway))
  const violations: Violation[] = []
  const late: string[] = []
  let [slowestUnready, slowestReady, rounds] = [0, 0, 0]
  const beginMs = performance.now()
  let load: Span = { fromMs: 0, toMs: 0 }
  let cores: Cores = { gateways: 0, upstream: 0, clients: 0 }
  const actors = startActors(stage, recorder, dice, rate)
  let tape: Tape | undefined
  if (wide) {
    const more = startWide(recorder, dice, wide, placesOf(stage), nativeOf(stage))
    actors.push(...more.actors)
    tape = more.tape
  }
  const flood = async (): Promise<void> => {
    const port = await stage.upstream.servers.portFor(FLOODED)
    const place = nativePlace(port, stage.upstream.servers.nodes[0]?.host ?? '')
    const client = await RecordedClient.connect(recorder, place, 'resp3', `flood#${rounds}`)
    for (let count = 0; count < FLOOD; count++) {
      client.publish('channel', FLOODED, FLOOD_BYTES)
      if (count % 20 === 0) await client.idle()
    }
    await client.idle()
    client.close()
  }
  const isReady = (): boolean => watches.every((watch) => watch.isReady)
  const becomesReady = async (sinceMs: number): Promise<void> => {
    const deadlineMs = performance.now() + 30_000
    while (!isReady() && performance.now() < deadlineMs) await wait(20)
    if (!isReady()) {
      const bodies = watches.map(({ changes }) => changes.at(-1)?.body ?? '')
      violations.push({ promise: 'readyz', text: `not ready after 30 s: ${bodies.join(' | ')}` })
    }
    for (const { readySince = performance.now() } of watches)
      slowestReady = Math.max(slowestReady, readySince - sinceMs)
  }
  try {
    await becomesReady(performance.now())
    slowestReady = 0
    await wait(1_000)
    const loadFromMs = Date.now()
    const before = cpuOf(stage)
    const endMs = beginMs + options.seconds * 1_000
    while (performance.now() < endMs && rounds < options.rounds) {
      const name = options.faults[rounds % options.faults.length]
      const fault = name === undefined ? undefined : FAULTS[name]
      if (!fault || !fault.topologies.includes(topology)) {
        if (name !== undefined) throw new Error(`no fault '${name}' for ${topology}`)
        await wait(Math.max(0, endMs - performance.now()))
        break
      }
      rounds++
      const isLong = fault.isOutage && rounds % options.longEvery === 0
      const owners = await ownersOf(stage)
      const [fromMs, startMs] = [Date.now() - 20, performance.now()]
      tell(`${name}${isLong ? ', long' : ''}`)
      const longMs = isLong ? UNREADY_MS + 1_500 : 0
      await strike(fault, { stage, dice, shardChannels: SHARDS, longMs, flood, round: rounds })
      const healedMs = performance.now()
      if (isLong && topology === 'standalone') {
        for (const [at, watch] of watches.entries()) {
          const tookMs = (watch.firstUnready(startMs) ?? Number.POSITIVE_INFINITY) - startMs
          slowestUnready = Math.max(slowestUnready, tookMs)
          if (tookMs === Number.POSITIVE_INFINITY)
            violations.push({
              promise: 'readyz',
              text: `gateway ${at} is ready throughout ${name}`,
            })
          else if (tookMs > LATE_UNREADY_MS)
            late.push(`gateway ${at} is ready ${Math.round(tookMs)} ms after ${name}`)
        }
      }
      // `/readyz` may not have noticed yet that anything happened.
      await wait(100)
      await becomesReady(healedMs)
      const tookMs = performance.now() - healedMs
      tell(`ready within ${Math.round(tookMs)} ms${slowReasons(watches, healedMs)}`)
      if (tookMs > READY_MS + SLACK_MS)
        late.push(`not ready ${Math.round(tookMs)} ms after the end of ${name}`)
      await wait(SETTLE_MS)
      const span = { fromMs, toMs: Date.now() }
      recorder.disturbed.push(span)
      const slots = new Set<number>()
      for (const [slot, port] of (await ownersOf(stage)).entries())
        if (port !== owners[slot]) slots.add(slot)
      if (slots.size > 0) recorder.replaced.push({ ...span, slots })
      await wait(500 + dice.below(500))
    }
    load = { fromMs: loadFromMs, toMs: Date.now() }
    const [after, loadSeconds] = [cpuOf(stage), (load.toMs - loadFromMs) / 1_000]
    cores = {
      gateways: (after.gateways - before.gateways) / loadSeconds,
      upstream: (after.upstream - before.upstream) / loadSeconds,
      clients: (after.clients - before.clients) / loadSeconds,
    }
    tell('the end: waiting for what is on its way')
    for (const actor of actors) actor.rest()
    await Promise.all(actors.map((actor) => actor.idle()))
    await quiet(recorder)
    for (const [at, gateway] of stage.gateways.entries()) {
      if (!gateway.isAlive)
        violations.push({
          promise: 'life',
          text: `gateway ${at} ended: ${gateway.log.slice(-1_000)}`,
        })
      else if (/unhandled|uncaught|"level":(50|60)/i.test(gateway.log))
        violations.push({ promise: 'life', text: `gateway ${at} says: ${faultyLine(gateway.log)}` })
    }
    await Promise.all(actors.map((actor) => actor.stop()))
  } finally {
    await Promise.all(watches.map((watch) => watch.stop()))
    await stage.stop()
    await Promise.all(actors.map((actor) => actor.stop()))
  }
  tell('decoding')
  tape?.play()
  for (const [error, count] of recorder.errors) {
    const isAllowed = error.startsWith(`${NATIVE}: `) || /^[^:]*: TRYAGAIN /.test(error)
    if (!isAllowed) violations.push({ promise: 'errors', text: `${error} (${count} times)` })
  }
  const history = recorder.history(topology)
  tell(`checking ${history.messages.length} messages`)
  const verdict = check(history)
  tell('checked')
  const ends = new Map<string, number>()
  for (const { place, transport, events } of history.sessions) {
    const last = events.at(-1)
    if (last?.type !== 'closed' || last.by === 'client') continue
    const what = `${place}, ${transport} ${last.reason ?? ''}`.trim()
    ends.set(what, (ends.get(what) ?? 0) + 1)
  }
  return {
    ends,
    history,
    violations: [...violations, ...verdict.violations],
    figures: verdict.figures,
    rounds,
    readiness: { slowestUnready, slowestReady, late },
    errors: recorder.errors,
    rate: rateOf(history, load),
    cores,
    heldBack: tape?.heldBack ?? 0,
    seconds: (performance.now() - beginMs) / 1_000,
  }
}

/** What the gateways that were ready last said before, if that was late. */
function slowReasons(watches: readonly ReadinessWatch[], healedMs: number): string {
  const slow = watches.filter(({ readySince = 0 }) => readySince - healedMs > READY_MS / 2)
  return slow.map(({ lastProblem }) => `, before: ${lastProblem}`).join('')
}

function faultyLine(log: string): string {
  return log.split('\n').find((line) => /unhandled|uncaught|"level":(50|60)/i.test(line)) ?? ''
}

/** Waits until nothing has been recorded for a second. */
async function quiet(recorder: Recorder): Promise<void> {
  const deadlineMs = Date.now() + 15_000
  while (Date.now() - recorder.lastMs < 1_000 && Date.now() < deadlineMs) await wait(50)
}

function placesOf({ gateways }: Stage): Place[] {
  return gateways.map((gateway, at) => {
    const { port, wsUrl } = gateway
    return { name: `g${at}`, port, wsUrl, mint: (sub) => gateway.mint(sub) }
  })
}

/** The owners of the slots of a cluster; of any other upstream, none. */
function ownersOf({ upstream }: Stage): Promise<readonly (number | undefined)[]> {
  return upstream.kind === 'cluster' ? upstream.servers.owners() : Promise.resolve([])
}

/** The place of clients of the upstream itself, at the node for a channel. */
function nativeOf({ upstream: { servers } }: Stage): (channel: string) => () => Promise<Place> {
  return (channel) => async () =>
    nativePlace(await servers.portFor(channel), servers.nodes[0]?.host ?? '')
}

/** Subscribers of every kind, publishers and restless clients at each gateway, and clients of the upstream itself. */
function startActors(stage: Stage, recorder: Recorder, dice: Dice, rate: number): Actor[] {
  const { upstream, gateways } = stage
  const isCluster = upstream.kind === 'cluster'
  const places = placesOf(stage)
  const actors: Actor[] = []
  const play = (
    place: () => Place | Promise<Place>,
    name: string,
    transport: Transport,
    role: Play,
  ): void => {
    const connect = (where: Place, connection: string): Promise<RecordedClient> =>
      RecordedClient.connect(recorder, where, transport, connection)
    actors.push(startActor(name, connect, place, role))
  }
  const load = {
    perSecond: rate / (gateways.length * 2 + 1),
    channels: CHANNELS,
    shardChannels: SHARDS,
    transactions: 10,
  }
  for (const at of gateways.keys()) {
    const place = (): Place => places[at] as Place
    const name = `g${at}`
    const everything = { channel: CHANNELS, pattern: PATTERNS, shard: SHARDS }
    const all = { ...everything, channel: [...CHANNELS, FLOODED] }
    play(place, `${name}-all`, 'websocket', subscriber(all))
    play(place, `${name}-ws`, 'websocket', subscriber({ channel: CHANNELS.slice(at) }))
    play(place, `${name}-patterns`, 'resp3', subscriber({ pattern: PATTERNS }))
    play(place, `${name}-resp2`, 'resp2', subscriber({ channel: CHANNELS, shard: SHARDS }))
    play(place, `${name}-churn`, at % 2 === 0 ? 'resp3' : 'websocket', churner(dice, CHURNED))
    play(place, `${name}-pub`, 'resp3', publisher(dice, load))
    play(place, `${name}-own`, 'websocket', publisher(dice, load, everything))
  }
  const native = nativeOf(stage)
  const shard = SHARDS[0] as string
  play(
    native(shard),
    'native-resp3',
    'resp3',
    subscriber({ channel: CHANNELS, pattern: PATTERNS, shard: [shard] }),
  )
  play(native(''), 'native-resp2', 'resp2', subscriber({ channel: CHANNELS }))
  play(
    native(shard),
    'native-pub',
    'resp3',
    publisher(dice, {
      ...load,
      shardChannels: isCluster ? [shard] : SHARDS,
      transactions: 10,
    }),
  )
  return actors
}
