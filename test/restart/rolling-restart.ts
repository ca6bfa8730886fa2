import type { RespcastClient } from '../../web/client/client.ts'
import { connectBrowser } from '../support/browser-client.ts'
import { connectRaw } from '../support/resp-client.ts'
import { waitUntil } from '../support/topologies/ask-node.ts'
import { GatewayProcess } from '../support/topologies/gateway.ts'
import { startStandalone } from '../support/topologies/standalone.ts'
import { Balancer, type Target } from './balancer.ts'

/** Time between two batches of messages, in ms. */
const BATCH_MS = 20

/** WebSockets that connect at once at the beginning. */
const BATCH_OF_CLIENTS = 50

/** Longest time until all clients of a gateway that has ended are back, on a busy machine, in ms. */
const PATIENCE_MS = 60_000

/** Load of a gateway may differ from the mean of all by this share. */
const SPREAD = 0.2

/** Size of a rolling restart. */
export interface RollingOptions {
  readonly gateways: number
  readonly webSockets: number
  /** Subscribers of each channel. */
  readonly perChannel: number
  readonly messagesPerSecond: number
  readonly graceSeconds: number
  readonly drainSeconds: number
  /** Time after the last restart until loads are compared. */
  readonly restSeconds: number
  /** Is told what is done now. */
  readonly tell?: (text: string) => void
}

/** What a rolling restart has done to the clients. */
export interface RollingReport {
  readonly published: number
  readonly received: number
  /** Times that a client was sent away by a gateway that drains. */
  readonly moves: number
  /** For each of them the time without a connection, in ms. */
  readonly awayMs: readonly number[]
  /** And the part of it after the wait that the hint and chance made. */
  readonly lateMs: readonly number[]
  /** Other ends of connections, and attempts that failed, by cause. */
  readonly otherCauses: ReadonlyMap<string, number>
  /** Clients that were refused for good. */
  readonly denied: number
  /** Gaps that clients were told of. */
  readonly gaps: number
  /** Messages that a client did not get, though it was told of no gap. */
  readonly unannounced: number
  /** Messages that came twice, or in another order. */
  readonly disordered: number
  /** Connections of each gateway at the end. */
  readonly loads: readonly number[]
  /** Gateways that did not end in good order. */
  readonly badEnds: number
}

/** Everything that must not happen in a rolling restart. */
export function faultsOf(report: RollingReport, options: RollingOptions): string[] {
  const faults: string[] = []
  const { otherCauses, denied, gaps, moves, unannounced, disordered, loads, badEnds } = report
  for (const [cause, count] of otherCauses) {
    faults.push(
      `${count} clients were not back at the first attempt, or lost their connection: ${cause}`,
    )
  }
  if (denied > 0) faults.push(`${denied} logins were refused though the token is good`)
  if (unannounced > 0) faults.push(`${unannounced} messages were lost without a word`)
  if (disordered > 0) faults.push(`${disordered} messages came twice or in another order`)
  if (gaps < moves) faults.push(`${moves} moves, but only ${gaps} gaps were announced`)
  if (moves < options.webSockets * 0.9) faults.push(`only ${moves} clients were moved`)
  if (badEnds > 0) faults.push(`${badEnds} gateways did not end in good order`)
  const mean = options.webSockets / options.gateways
  if (
    loads.length !== options.gateways ||
    loads.some((load) => Math.abs(load - mean) > mean * SPREAD)
  ) {
    faults.push(`the load is uneven: ${loads.join(', ')}`)
  }
  return faults
}

/** Counts for all clients. */
class Tally {
  readonly awayMs: number[] = []
  readonly lateMs: number[] = []
  readonly otherCauses = new Map<string, number>()
  received = 0
  moves = 0
  denied = 0
  gaps = 0
  unannounced = 0
  disordered = 0
}

/** A browser: subscribes to one channel, and holds the numbers that come against what it is told. */
class Browser {
  readonly client: RespcastClient
  readonly ready: Promise<void>
  readonly #tally: Tally
  /** The number of the last message. */
  #last: number | undefined
  #isGapKnown = false
  #awaySinceMs: number | undefined
  #waitMs = 0

  constructor(url: string, token: string, channel: string, tally: Tally) {
    this.#tally = tally
    this.client = connectBrowser(url, { token, handshakeTimeoutMs: 30_000 })
    this.#watch()
    const subscription = this.client.subscribe(channel, (message) => {
      this.#take(Number(message.text()))
    })
    subscription.addEventListener('gap', () => (this.#isGapKnown = true))
    this.ready = subscription.ready
  }

  #watch(): void {
    const tally = this.#tally
    this.client.on('gap', () => tally.gaps++)
    this.client.on('state', (state) => {
      if (state.status === 'denied') tally.denied++
      if (state.status === 'waiting') {
        const { name } = state.cause
        if (name === 'draining') tally.moves++
        else tally.otherCauses.set(name, (tally.otherCauses.get(name) ?? 0) + 1)
        this.#awaySinceMs ??= performance.now()
        this.#waitMs = state.retryInMs
      }
      if (state.status === 'online' && this.#awaySinceMs !== undefined) {
        const awayMs = performance.now() - this.#awaySinceMs
        tally.awayMs.push(awayMs)
        tally.lateMs.push(awayMs - this.#waitMs)
        this.#awaySinceMs = undefined
      }
    })
  }

  #take(number: number): void {
    const tally = this.#tally
    tally.received++
    const last = this.#last
    this.#last = number
    if (last !== undefined && number <= last) tally.disordered++
    if (last !== undefined && number > last + 1 && !this.#isGapKnown) {
      tally.unannounced += number - last - 1
    }
    this.#isGapKnown = false
  }
}

/** Publishes numbers at the upstream, for each channel from 1 on, until it is stopped. */
class Publisher {
  readonly #timer: NodeJS.Timeout
  readonly #close: () => void
  published = 0

  private constructor(timer: NodeJS.Timeout, close: () => void) {
    this.#timer = timer
    this.#close = close
  }

  static async start(port: number, channels: number, perSecond: number): Promise<Publisher> {
    const upstream = await connectRaw(port)
    const numbers = Array<number>(channels).fill(0)
    const startMs = performance.now()
    const publisher = new Publisher(
      setInterval(() => {
        const due = Math.floor(((performance.now() - startMs) / 1000) * perSecond)
        for (; publisher.published < due; publisher.published++) {
          const channel = publisher.published % channels
          const number = (numbers[channel] ?? 0) + 1
          numbers[channel] = number
          upstream.command('PUBLISH', channelNamed(channel), String(number))
        }
        upstream.takeAll()
      }, BATCH_MS),
      () => upstream.destroy(),
    )
    return publisher
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#close()
  }
}

function channelNamed(at: number): string {
  return `room:${at}`
}

function targetOf(gateway: GatewayProcess): Target {
  return {
    port: Number(new URL(gateway.wsUrl).port),
    isReady: async () => (await gateway.readiness()).isReady,
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms))

/**
 * Restarts gateways behind a load balancer, and before one Valkey, one after another, while browsers listen: for each one that is to go a new
 * one is started first.
 */
export async function rollingRestart(options: RollingOptions): Promise<RollingReport> {
  const { tell = () => {} } = options
  const upstream = await startStandalone()
  const balancer = await Balancer.start()
  const running = new Map<GatewayProcess, Target>()
  const browsers: Browser[] = []
  const tally = new Tally()
  let publisher: Publisher | undefined
  let badEnds = 0

  const startGateway = async (): Promise<void> => {
    const gateway = await GatewayProcess.start({
      upstream: upstream.url,
      directives: [
        ...['--drain-grace-seconds', `${options.graceSeconds}`],
        ...['--drain-seconds', `${options.drainSeconds}`],
      ],
    })
    const target = targetOf(gateway)
    running.set(gateway, target)
    balancer.add(target)
  }

  try {
    for (let count = 0; count < options.gateways; count++) await startGateway()
    const [first] = running.keys() as IterableIterator<GatewayProcess>
    if (first === undefined) throw new Error('no gateway')
    const url = `ws://127.0.0.1:${balancer.port}/ws`
    const channels = Math.ceil(options.webSockets / options.perChannel)
    while (browsers.length < options.webSockets) {
      const batch: Browser[] = []
      while (batch.length < BATCH_OF_CLIENTS && browsers.length < options.webSockets) {
        const at = browsers.length
        const token = await first.mint(`user${at}`)
        const browser = new Browser(url, token, channelNamed(at % channels), tally)
        browsers.push(browser)
        batch.push(browser)
      }
      await Promise.all(batch.map(({ ready }) => ready))
    }
    tell(`${browsers.length} WebSockets: ${balancer.loads.join(', ')}`)
    publisher = await Publisher.start(upstream.node.port, channels, options.messagesPerSecond)
    await sleep(1_000)
    for (const [gateway, target] of [...running]) {
      await startGateway()
      tell(`one more is ready: ${balancer.loads.join(', ')}`)
      await gateway.kill('SIGTERM')
      if (!gateway.log.includes('"msg":"stopped"')) badEnds++
      balancer.remove(target)
      running.delete(gateway)
      await gateway.stop()
      await waitUntil(
        'everybody is back',
        () => browsers.every(({ client }) => client.state.status === 'online'),
        PATIENCE_MS,
      )
      tell(`one has ended: ${balancer.loads.join(', ')}`)
    }
    await sleep(options.restSeconds * 1000)
    return {
      published: publisher.published,
      received: tally.received,
      moves: tally.moves,
      awayMs: [...tally.awayMs],
      lateMs: [...tally.lateMs],
      otherCauses: new Map(tally.otherCauses),
      denied: tally.denied,
      gaps: tally.gaps,
      unannounced: tally.unannounced,
      disordered: tally.disordered,
      loads: balancer.loads,
      badEnds,
    }
  } finally {
    publisher?.stop()
    for (const { client } of browsers) client.close()
    for (const gateway of running.keys()) await gateway.stop()
    await balancer.stop()
    await upstream.stop()
  }
}
