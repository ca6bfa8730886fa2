import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keySlot } from '../../../shared/key-slot.ts'
import type { RespValue } from '../../../shared/resp/types.ts'
import { atEndOfTurn, systemClock } from '../../../server/clock.ts'
import { PeerLog, silentLog } from '../../../server/log.ts'
import type { Backplane } from '../../../server/upstream/backplane.ts'
import type { ControlLine } from '../../../server/upstream/control-line.ts'
import { createBackplane } from '../../../server/upstream/upstream.ts'
import { ControlRecorder } from '../../support/control-recorder.ts'
import { messagesOf } from '../../support/model-upstream.ts'
import { opener } from '../../support/opened.ts'
import { findProgram } from '../../support/redis-servers.ts'
import { settingsOf } from '../../support/settings.ts'
import { TestCore, type TestClient } from '../../support/test-core.ts'
import { askNode, textOf, waitUntil } from '../../support/topologies/ask-node.ts'
import { startCluster, type Cluster } from '../../support/topologies/cluster.ts'
import { startSentinelTrio, type SentinelTrio } from '../../support/topologies/sentinel.ts'
import { startStandalone } from '../../support/topologies/standalone.ts'
import type { Topology } from '../../support/topologies/topology.ts'

const open = opener()
const isMissing = findProgram('valkey-server') === undefined

const CTL = '{respcast:test}:ctl'
const CHANNELS = [CTL, '{respcast:test}:ask']
const KEY = '{respcast:test}:state'
const SLOT = keySlot(KEY)
/** A name for clients, of the same slot. */
const NAME = 'x{respcast:test}'

const KINDS: readonly (readonly [string, () => Promise<Topology>])[] = [
  ['one server', startStandalone],
  ['sentinels', startSentinelTrio],
  ['a cluster', startCluster],
]

/** The links of a gateway to an upstream, without the gateway, and the user of its line. */
class Linked {
  readonly core = new TestCore()
  readonly user = new ControlRecorder(CHANNELS)
  readonly upstream: Backplane
  readonly line: ControlLine

  constructor(url: string) {
    const log = silentLog()
    this.upstream = createBackplane({
      settings: settingsOf({ upstream: url, 'upstream-control': 'yes' }),
      clock: systemClock,
      log,
      peerLog: new PeerLog(log, systemClock),
      registry: this.core.registry,
      random: Math.random,
      atEndOfTurn,
      subscribers: () => this.core.clients.all(),
    })
    if (this.upstream.control === undefined) throw new Error('there is no line')
    this.line = this.upstream.control
    this.line.attach(this.user)
    this.upstream.start()
    open.onEnd(() => this.upstream.stop())
  }

  /** Waits until the user has been told this, and forgets what it was told until then. */
  async isTold(text: string): Promise<void> {
    await waitUntil(`the control plane is told: ${text}`, () => this.user.told.includes(text))
    this.user.take()
  }

  async isReady(): Promise<void> {
    await waitUntil('no problem is left', () => this.upstream.problems.length === 0)
  }

  ask(...args: readonly string[]): Promise<RespValue> {
    return new Promise((resolve) => {
      this.line.ask({ answered: resolve, lost: () => resolve('lost') }, ...args)
    })
  }

  /** Subscribes a client of its own to a channel, as soon as the upstream has it. */
  subscribe(space: 'channel' | 'shard', name: string): { client: TestClient; isIn: () => boolean } {
    const client = this.core.connect({ protocol: 3 })
    let isIn = false
    const tryOnce = (): void => {
      const done = (failure: string | undefined): void => {
        if (failure?.startsWith('TRYAGAIN') === true) {
          tryOnce()
          return
        }
        this.core.registry.subscribe(space, client.client, name, 'default')
        isIn = true
      }
      const pending = this.upstream.want(space, [name], done)
      if (pending === undefined || typeof pending === 'string') done(pending)
    }
    tryOnce()
    return { client, isIn: () => isIn }
  }
}

describe.skipIf(isMissing && process.env['CI'] !== 'true').each(KINDS)(
  'The control line to %s',
  (_kind, start) => {
    let topology: Topology

    beforeAll(async () => {
      topology = await start()
    }, 60_000)

    afterAll(async () => {
      await topology?.stop()
    })

    /** A native client sends a command to the node that owns the slot of the channels. */
    async function native(...args: readonly string[]): Promise<RespValue> {
      return askNode({ port: await topology.portFor(CTL) }, ...args)
    }

    const isCluster = (): boolean => topology.kind === 'cluster'
    const space = (): 'channel' | 'shard' => (isCluster() ? 'shard' : 'channel')
    const subscribers = async (name: string): Promise<number> => {
      const reply = await native('PUBSUB', isCluster() ? 'SHARDNUMSUB' : 'NUMSUB', name)
      return (reply as readonly RespValue[])[1] as number
    }

    test('has its channels in force before any other name, and its commands answered', async () => {
      const linked = new Linked(topology.url)
      const { isIn } = linked.subscribe(space(), NAME)
      await linked.isTold('listening')
      await waitUntil('its connection is up', () => linked.line.isUp)
      expect([await subscribers(CTL), await subscribers(NAME), isIn()]).toEqual([1, 0, false])
      linked.line.admit()
      await waitUntil('the name is in force', isIn)
      expect(await subscribers(NAME)).toBe(1)
      expect(await linked.ask('HSET', KEY, 'a', '1')).toEqual(expect.any(Number))
      const { publishCommand } = linked.line
      expect(await linked.ask(publishCommand, CTL, 'entry')).toBe(1)
      await linked.isTold(`${CTL} entry`)
      await linked.isReady()
    }, 30_000)

    test('holds back what was published behind an entry, also in the same script', async () => {
      const linked = new Linked(topology.url)
      linked.user.admitting(linked.line)
      const { client, isIn } = linked.subscribe(space(), NAME)
      await waitUntil('the name is in force', isIn)
      linked.user.onMessage = () => linked.line.pause()
      const { publishCommand } = linked.line
      const script = ['1', 'CTL', '2'].map((text) =>
        text === 'CTL'
          ? `redis.call('${publishCommand}', KEYS[2], 'entry')`
          : `redis.call('${publishCommand}', KEYS[1], '${text}')`,
      )
      await native('EVAL', script.join('\n'), '2', NAME, CTL)
      await waitUntil('the entry has come', () => linked.user.told.includes(`${CTL} entry`))
      await native(publishCommand, NAME, '3')
      await linked.ask('PING')
      expect(messagesOf(client)).toEqual([`${NAME} 1`])
      linked.line.resume()
      const after: string[] = []
      await waitUntil('the rest has come', () => after.push(...messagesOf(client)) >= 2)
      expect(after).toEqual([`${NAME} 2`, `${NAME} 3`])
    }, 30_000)
  },
)

describe.skipIf(isMissing && process.env['CI'] !== 'true')('When sentinels fail over', () => {
  let trio: SentinelTrio

  beforeAll(async () => {
    trio = await startSentinelTrio()
  }, 60_000)

  afterAll(async () => {
    await trio?.stop()
  })

  test('the line follows the master, and names wait until they are admitted there', async () => {
    const linked = new Linked(trio.url)
    linked.user.admitting(linked.line)
    const { client, isIn } = linked.subscribe('channel', 'a')
    await waitUntil('the name is in force', isIn)
    linked.user.take()
    linked.user.onListening = () => {}
    await trio.failOver()
    await waitUntil('it is there', () => linked.user.told.includes('listening'))
    await waitUntil('its commands are, too', () => linked.user.told.includes('up elsewhere'))
    expect(linked.user.told).toEqual(expect.arrayContaining(['deaf', 'down']))
    const master = await trio.master()
    const count = async (name: string): Promise<RespValue | undefined> =>
      ((await master.ask('PUBSUB', 'NUMSUB', name)) as readonly RespValue[])[1]
    expect([await count(CTL), await count('a')]).toEqual([1, 0])
    expect(await linked.ask('HSET', KEY, 'b', '1')).toBe(1)
    linked.line.admit()
    await linked.isReady()
    await master.ask('PUBLISH', 'a', 'after')
    await waitUntil('messages go on', () => messagesOf(client).includes('a after'))
  }, 60_000)
})

describe.skipIf(isMissing && process.env['CI'] !== 'true')('In a cluster the control line', () => {
  let cluster: Cluster

  beforeAll(async () => {
    cluster = await startCluster()
  }, 60_000)

  afterAll(async () => {
    await cluster?.stop()
  })

  async function serving(): Promise<Linked> {
    const linked = new Linked(cluster.url)
    linked.user.admitting(linked.line)
    await linked.isReady()
    linked.user.take()
    return linked
  }

  /** A master that does not own the slot of the namespace. */
  async function another(): Promise<Awaited<ReturnType<Cluster['ownerOf']>>> {
    const owner = await cluster.ownerOf(SLOT)
    const other = (await cluster.masters()).find((master) => master !== owner)
    if (other === undefined) throw new Error('there is one master only')
    return other
  }

  test('follows a slot that moves, and disturbs no other name', async () => {
    const linked = await serving()
    const { client, isIn } = linked.subscribe('channel', 'a')
    await waitUntil('the name is in force', isIn)
    const target = await another()
    await cluster.moveSlot(SLOT, target)
    await waitUntil('it listens again', () => linked.user.told.includes('listening'))
    expect(linked.user.told).toContain('deaf')
    let answer: RespValue = null
    await waitUntil('a command is answered there', async () => {
      answer = await linked.ask('HSET', KEY, `${performance.now()}`, '1')
      return answer === 1
    })
    await target.ask('SPUBLISH', CTL, 'there')
    await waitUntil('an entry comes', () => linked.user.told.includes(`${CTL} there`))
    await linked.isReady()
    expect([...(linked.upstream.figures?.gaps ?? [])]).toEqual([])
    await target.ask('PUBLISH', 'a', 'm')
    await waitUntil('global messages go on', () => messagesOf(client).includes('a m'))
    await target.ask('DEL', KEY)
  }, 60_000)

  test('asks the node that takes the slot over while keys are on their way', async () => {
    const linked = await serving()
    const from = await cluster.ownerOf(SLOT)
    const to = await another()
    await from.ask('DEL', KEY)
    const [fromId, toId] = [
      textOf(await from.ask('CLUSTER', 'MYID')),
      textOf(await to.ask('CLUSTER', 'MYID')),
    ]
    await to.ask('CLUSTER', 'SETSLOT', `${SLOT}`, 'IMPORTING', fromId)
    await from.ask('CLUSTER', 'SETSLOT', `${SLOT}`, 'MIGRATING', toId)
    const answer = await linked.ask('HSET', KEY, 'on its way', '1')
    expect(answer).toBe(1)
    expect(linked.upstream.links.filter(({ role }) => role === 'control')).toHaveLength(2)
    for (const node of [to, from]) {
      await node.ask('CLUSTER', 'SETSLOT', `${SLOT}`, 'NODE', toId)
    }
    await waitUntil('it listens at the new owner', () => linked.user.told.includes('listening'))
    expect(textOf(await to.ask('HGET', KEY, 'on its way'))).toBe('1')
    await to.ask('DEL', KEY)
  }, 60_000)

  test('follows a failover of its master', async () => {
    await cluster.settled()
    const linked = await serving()
    await cluster.failOver(await cluster.ownerOf(SLOT))
    await waitUntil('it listens again', () => linked.user.told.includes('listening'))
    await waitUntil('a command is answered', async () => {
      return typeof (await linked.ask('HSET', KEY, `${performance.now()}`, '1')) === 'number'
    })
    await linked.isReady()
    const owner = await cluster.ownerOf(SLOT)
    await owner.ask('SPUBLISH', CTL, 'after')
    await waitUntil('an entry comes', () => linked.user.told.includes(`${CTL} after`))
    expect(linked.user.told.indexOf('deaf')).toBeLessThan(linked.user.told.indexOf('listening'))
    expect(linked.user.told).toContain('deaf')
  }, 60_000)
})
