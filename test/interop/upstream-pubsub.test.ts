import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { RespValue } from '../../shared/resp/types.ts'
import { findProgram } from '../support/redis-servers.ts'
import { askNode, waitUntil } from '../support/topologies/ask-node.ts'
import { startCluster } from '../support/topologies/cluster.ts'
import { GatewayProcess } from '../support/topologies/gateway.ts'
import type { Node } from '../support/topologies/node.ts'
import { startSentinelTrio, type SentinelTrio } from '../support/topologies/sentinel.ts'
import { startStandalone } from '../support/topologies/standalone.ts'
import type { Topology } from '../support/topologies/topology.ts'
import { requireInCi } from './endpoint.ts'
import { PUBSUB_LIBRARIES, type PubSubClient, type PubSubLibrary } from './pubsub-clients.ts'

const hasServer = requireInCi(findProgram('valkey-server') !== undefined, 'valkey-server')

/** An upstream, and the nodes of it without which nothing goes on. */
interface Stage {
  readonly name: string
  start(): Promise<Topology>
  vital(topology: Topology): Promise<readonly Node[]>
}

const STAGES: readonly Stage[] = [
  {
    name: 'one server',
    start: startStandalone,
    vital: (topology) => Promise.resolve(topology.nodes),
  },
  {
    name: 'Sentinel',
    start: startSentinelTrio,
    vital: async (topology) => [await (topology as SentinelTrio).master()],
  },
  {
    name: 'a cluster',
    start: startCluster,
    vital: (topology) => Promise.resolve(topology.nodes),
  },
]

/** How many subscribers a server has of a channel. */
async function numSub(port: number, channel: string): Promise<number> {
  const reply = (await askNode({ port }, 'PUBSUB', 'NUMSUB', channel)) as readonly RespValue[]
  return reply[1] as number
}

describe.skipIf(!hasServer).each(STAGES)('through a gateway before $name', (stage) => {
  let topology: Topology
  let gateway: GatewayProcess
  let clients: PubSubClient[] = []
  /** Each test has names of its own. */
  let serial = 0

  beforeAll(async () => {
    topology = await stage.start()
    gateway = await GatewayProcess.start({ upstream: topology.url })
  }, 60_000)

  afterEach(() => {
    for (const client of clients) client.close()
    clients = []
  })

  afterAll(async () => {
    await gateway?.stop()
    await topology?.stop()
  })

  async function connect(library: PubSubLibrary, port: number): Promise<PubSubClient> {
    const client = await library.connect(port)
    clients.push(client)
    return client
  }

  /** Names of one slot, so that they share an owner and an order. */
  function names(): { news: string; sport: string; pattern: string } {
    const tag = `{interop${serial++}}`
    return { news: `${tag}:news`, sport: `${tag}:sport`, pattern: `${tag}:n*` }
  }

  /**
   * How many subscriptions of this gateway PUBLISH counts. In a cluster they are at one node, and count where that owns the
   * channel.
   *
   * @param native Native subscribers of the channel.
   * @param own Subscriptions of the gateway that match the channel.
   */
  async function counted(channel: string, native: number, own: number): Promise<number> {
    return (await numSub(await topology.portFor(channel), channel)) > native ? own : 0
  }

  /** A subscriber and a publisher at the gateway, and the same at the upstream. */
  async function four(library: PubSubLibrary, channel: string) {
    const port = await topology.portFor(channel)
    return {
      subscriber: await connect(library, gateway.port),
      publisher: await connect(library, gateway.port),
      nativeSubscriber: await connect(library, port),
      nativePublisher: await connect(library, port),
    }
  }

  describe.each(PUBSUB_LIBRARIES)('$name', (library) => {
    test('messages to channels and patterns cross in both directions, and are counted', async () => {
      const { news, pattern } = names()
      const { subscriber, publisher, nativeSubscriber, nativePublisher } = await four(library, news)
      for (const one of [subscriber, nativeSubscriber]) {
        await one.subscribe([news])
        await one.pSubscribe(pattern)
      }
      const own = await counted(news, 1, 2)
      for (const [from, message] of [
        [publisher, 'from a client of the gateway'],
        [nativePublisher, 'from a client of the upstream'],
      ] as const) {
        expect(await from.publish(news, message)).toBe(2 + own)
        const expected = [`${news} ${message}`, `${pattern} ${news} ${message}`]
        expect((await subscriber.received.take(2)).toSorted()).toEqual(expected.toSorted())
        expect(await nativeSubscriber.received.take(2)).toEqual(expected)
      }
    })

    test('messages to shard channels cross in both directions, and are counted', async () => {
      const { news } = names()
      const { subscriber, publisher, nativeSubscriber, nativePublisher } = await four(library, news)
      await subscriber.sSubscribe(news)
      await nativeSubscriber.sSubscribe(news)
      for (const [from, message] of [
        [publisher, 'from a client of the gateway'],
        [nativePublisher, 'from a client of the upstream'],
      ] as const) {
        expect(await from.sPublish(news, message)).toBe(2)
        expect(await subscriber.received.take(1)).toEqual([`shard ${news} ${message}`])
        expect(await nativeSubscriber.received.take(1)).toEqual([`shard ${news} ${message}`])
      }
      expect(await publisher.publish(news, 'to the channel of that name')).toBe(0)
    })

    test('nothing comes any more after unsubscribing', async () => {
      const { news, sport, pattern } = names()
      const { subscriber, publisher, nativePublisher } = await four(library, news)
      await subscriber.subscribe([news, sport])
      await subscriber.pSubscribe(pattern)
      await subscriber.sSubscribe(news)
      await subscriber.sSubscribe(sport)
      await subscriber.unsubscribe(news)
      await subscriber.pUnsubscribe(pattern)
      await subscriber.sUnsubscribe(news)
      // A cluster's owner also counts what the gateway has not left yet: the channel, and what the pattern begins with.
      const lingering = topology.kind === 'cluster' ? await counted(news, 0, 2) : 0
      expect(await publisher.publish(news, 'in vain')).toBe(lingering)
      expect(await publisher.sPublish(news, 'in vain')).toBe(0)
      await nativePublisher.publish(news, 'in vain')
      await nativePublisher.sPublish(news, 'in vain')
      await nativePublisher.publish(sport, 'as before')
      expect(await subscriber.received.take(1)).toEqual([`${sport} as before`])
      await nativePublisher.sPublish(sport, 'as before')
      expect(await subscriber.received.take(1)).toEqual([`shard ${sport} as before`])
    })

    test('the messages of a transaction cross in both directions, together and counted', async () => {
      const { news } = names()
      const { subscriber, publisher, nativeSubscriber, nativePublisher } = await four(library, news)
      await subscriber.subscribe([news])
      await nativeSubscriber.subscribe([news])
      const own = await counted(news, 1, 1)
      for (const from of [publisher, nativePublisher]) {
        const answers = await from.publishAll(news, ['one', 'two', 'three'])
        expect(answers).toEqual([1 + own, 1 + own, 1 + own])
        const expected = [`${news} one`, `${news} two`, `${news} three`]
        expect(await subscriber.received.take(3)).toEqual(expected)
        expect(await nativeSubscriber.received.take(3)).toEqual(expected)
      }
    })
  })

  test.each(PUBSUB_LIBRARIES.filter(({ protocol }) => protocol === 3))(
    '$name publishes on the connection that it is subscribed on',
    async (library) => {
      const { news } = names()
      const client = await connect(library, gateway.port)
      await client.subscribe([news])
      await client.sSubscribe(news)
      expect(await client.publish(news, 'own')).toBe(await counted(news, 0, 1))
      expect(await client.received.take(1)).toEqual([`${news} own`])
      expect(await client.sPublish(news, 'own')).toBe(1)
      expect(await client.received.take(1)).toEqual([`shard ${news} own`])
      const own = await counted(news, 0, 1)
      expect(await client.publishAll(news, ['one', 'two'])).toEqual([own, own])
      expect(await client.received.take(2)).toEqual([`${news} one`, `${news} two`])
    },
  )

  test('the libraries reconnect and subscribe again by themselves after a gap, and messages go on', async () => {
    const sessions = []
    for (const library of PUBSUB_LIBRARIES) {
      const { news, sport, pattern } = names()
      const session = await four(library, news)
      await session.subscriber.subscribe([news])
      await session.subscriber.pSubscribe(pattern)
      await session.subscriber.sSubscribe(sport)
      await session.nativeSubscriber.subscribe([news])
      sessions.push({ ...session, library, news, sport, pattern })
    }
    const vital = await stage.vital(topology)
    await Promise.all(vital.map((node) => node.kill()))
    await Promise.all(vital.map((node) => node.start()))
    for (const session of sessions) {
      const { library, subscriber, publisher, nativeSubscriber, news, sport, pattern } = session
      for (const one of [subscriber, nativeSubscriber])
        await waitUntil(`${library.name} reconnects`, () => one.reconnects > 0)
      // Who holds no subscription has missed nothing.
      expect(publisher.reconnects).toBe(0)
      // A failover may follow the restart, and close the connection again.
      const expectArrival = (message: string, at: PubSubClient, publish: () => Promise<unknown>) =>
        waitUntil(`${library.name}: ${message}`, async () => {
          await publish()
          return at.received.has(message)
        })
      /** Publishes at whichever node is the right one now. */
      const natively = async (publish: (native: PubSubClient) => Promise<unknown>) => {
        const native = await library.connect(await topology.portFor(news))
        await publish(native).finally(() => native.close())
      }
      const up = () => publisher.publish(news, 'up')
      await expectArrival(`${news} up`, subscriber, up)
      await expectArrival(`${pattern} ${news} up`, subscriber, up)
      await expectArrival(`${news} up`, nativeSubscriber, up)
      await expectArrival(`shard ${sport} up`, subscriber, () => publisher.sPublish(sport, 'up'))
      const down = () => natively((native) => native.publish(news, 'down'))
      await expectArrival(`${news} down`, subscriber, down)
      await expectArrival(`${pattern} ${news} down`, subscriber, down)
      await expectArrival(`shard ${sport} down`, subscriber, () =>
        natively((native) => native.sPublish(sport, 'down')),
      )
    }
  }, 90_000)
})
