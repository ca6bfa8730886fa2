import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { check } from '../../history/checker.ts'
import { RecordedClient, Recorder, type Place } from '../../history/recorder.ts'
import { findProgram } from '../../support/redis-servers.ts'
import { opener } from '../../support/opened.ts'
import { textOf, waitUntil } from '../../support/topologies/ask-node.ts'
import { GatewayProcess } from '../../support/topologies/gateway.ts'
import type { Node } from '../../support/topologies/node.ts'
import { startSentinelTrio, type SentinelTrio } from '../../support/topologies/sentinel.ts'

const open = opener()
const isMissing = findProgram('valkey-server') === undefined

const CHANNEL = 'news'
/** Between two messages of a publisher. */
const PAUSE_MS = 10

describe.skipIf(isMissing && process.env['CI'] !== 'true')('two gateways behind sentinels', () => {
  let trio: SentinelTrio
  let gateways: readonly GatewayProcess[]

  beforeAll(async () => {
    trio = await startSentinelTrio()
    const start = (): Promise<GatewayProcess> => GatewayProcess.start({ upstream: trio.url })
    gateways = [await start(), await start()]
  }, 60_000)

  afterAll(async () => {
    for (const gateway of gateways ?? []) await gateway.stop()
    await trio?.stop()
  })

  beforeEach(async () => {
    await trio.settled()
    await allAre('ready')
  }, 60_000)

  async function allAre(state: 'ready' | 'not ready'): Promise<void> {
    await waitUntil(`all gateways are ${state}`, async () => {
      const readiness = await Promise.all(gateways.map((gateway) => gateway.readiness()))
      return readiness.every(({ isReady }) => isReady === (state === 'ready'))
    })
  }

  /** Waits until each gateway gives this reason in `/readyz`, and in its log. */
  async function expectAllToSay(problem: string): Promise<void> {
    await waitUntil(`all say: ${problem}`, async () => {
      const said = await Promise.all(gateways.map((gateway) => gateway.readiness()))
      return (
        said.every(({ body }) => body.includes(problem)) &&
        gateways.every(({ log }) => log.includes(problem))
      )
    })
  }

  /** Waits until a node has no connection of a gateway. */
  async function isLeft(node: Node): Promise<void> {
    await waitUntil('no gateway is connected', async () => {
      return !textOf(await node.ask('CLIENT', 'LIST')).includes('name=respcast:')
    })
  }

  /** A publisher and a WebSocket subscriber at each gateway, who go on until {@link Play.end}. */
  async function play(): Promise<Play> {
    const recorder = new Recorder()
    const places = gateways.map((gateway, at): Place => {
      const { port, wsUrl } = gateway
      return { name: `gateway-${at}`, port, wsUrl, mint: (sub) => gateway.mint(sub) }
    })
    const connect = async (place: Place, what: 'resp3' | 'websocket'): Promise<RecordedClient> => {
      const client = await RecordedClient.connect(recorder, place, what, `${what}-${place.name}`)
      open.onEnd(() => client.close())
      return client
    }
    const publishers = await Promise.all(places.map((place) => connect(place, 'resp3')))
    const subscribers = await Promise.all(places.map((place) => connect(place, 'websocket')))
    for (const subscriber of subscribers) {
      subscriber.subscribe('channel', CHANNEL)
      await subscriber.idle()
    }
    return new Play(recorder, publishers)
  }

  test('go on after SENTINEL FAILOVER, and leave the old master at once, which lives', async () => {
    const before = await trio.master()
    const played = await play()
    await trio.failOver()
    await isLeft(before)
    await allAre('ready')
    await played.end()
    expect(played.areAllToldOfGaps).toBe(true)
  }, 60_000)

  test('refuse to publish after kill -9 of the master, and go on with the next one', async () => {
    const before = await trio.master()
    const played = await play()
    await before.kill()
    await allAre('not ready')
    await allAre('ready')
    expect(await trio.master()).not.toBe(before)
    await played.end()
    expect([...played.recorder.errors.keys()].join()).toContain('TRYAGAIN not published')
    expect(played.areAllToldOfGaps).toBe(true)
    await before.start()
    await waitUntil('it is a replica', async () => (await before.role()) === 'slave')
    await isLeft(before)
  }, 60_000)

  test('do not return to a master that was thought dead, and comes back as a replica', async () => {
    const before = await trio.master()
    const played = await play()
    before.pause()
    await waitUntil('another master', async () => (await trio.master()) !== before)
    await allAre('ready')
    before.resume()
    await isLeft(before)
    await waitUntil('it is a replica', async () => (await before.role()) === 'slave')
    await isLeft(before)
    await played.end()
    expect(played.areAllToldOfGaps).toBe(true)
  }, 60_000)

  test('are not ready without a majority of the sentinels, say so, and come back with it', async () => {
    const played = await play()
    const [first, second] = trio.sentinels as [Node, Node]
    first.pause()
    await second.kill()
    await allAre('not ready')
    await expectAllToSay('no majority of the sentinels agrees on a master: 1 of 3 answers')
    first.resume()
    await allAre('ready')
    await played.end()
    expect(played.areAllToldOfGaps).toBe(true)
    await second.start()
  }, 60_000)

  test('notice FAILOVER of the master itself, of which no sentinel knows', async () => {
    await trio.failOverUnseen()
    await allAre('not ready')
    await expectAllToSay('as master, and it is a replica until now')
  }, 60_000)
})

/** What two publishers and two subscribers do and see until the end. */
class Play {
  readonly recorder: Recorder
  readonly #publishers: readonly RecordedClient[]
  readonly #loops: readonly Promise<void>[]
  readonly #fromMs = Date.now()
  #isOver = false

  constructor(recorder: Recorder, publishers: readonly RecordedClient[]) {
    this.recorder = recorder
    this.#publishers = publishers
    this.#loops = publishers.map((publisher) => this.#publish(publisher))
  }

  /** Each subscriber was told of a gap. */
  get areAllToldOfGaps(): boolean {
    return this.#subscribers.every(({ events }) => events.some((event) => event.type === 'gap'))
  }

  /** Has a last message of each publisher reach each subscriber, and checks that all promises were kept. */
  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#loops)
    this.recorder.disturbed.push({ fromMs: this.#fromMs, toMs: Date.now() })
    for (const publisher of this.#publishers) {
      const last = publisher.publish('channel', CHANNEL, 20)
      await publisher.idle()
      expect(last.outcome).toBe('published')
      await waitUntil('the last message has come everywhere', () =>
        this.#subscribers.every(({ events }) =>
          events.some((event) => event.type === 'message' && event.message === last),
        ),
      )
    }
    const { violations, figures } = check(this.recorder.history('sentinel'))
    expect(violations).toEqual([])
    expect(figures.published).toBeGreaterThan(0)
  }

  get #subscribers() {
    return this.recorder
      .history('sentinel')
      .sessions.filter(({ transport }) => transport === 'websocket')
  }

  async #publish(publisher: RecordedClient): Promise<void> {
    while (!this.#isOver) {
      publisher.publish('channel', CHANNEL, 20)
      await publisher.idle()
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
}
