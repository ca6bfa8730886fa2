import { createCluster, createSentinel } from '@redis/client'
import { Cluster as IOCluster, Redis as IORedis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { atEndOfTurn, systemClock } from '../../server/clock.ts'
import { silentLog } from '../../server/log.ts'
import { parseUpstream, type UpstreamAddress } from '../../server/upstream/address.ts'
import { nodeText } from '../../server/upstream/node.ts'
import { sentinelsOf } from '../../server/upstream/topology/sentinel.ts'
import { readSlots } from '../../server/upstream/topology/slot-map.ts'
import { keySlot, SLOT_COUNT } from '../../shared/key-slot.ts'
import { findProgram } from '../support/redis-servers.ts'
import { settingsOf } from '../support/settings.ts'
import { startCluster, type Cluster } from '../support/topologies/cluster.ts'
import type { Node } from '../support/topologies/node.ts'
import { startSentinelTrio, type SentinelTrio } from '../support/topologies/sentinel.ts'
import { requireInCi } from './endpoint.ts'

const hasServer = requireInCi(findProgram('valkey-server') !== undefined, 'valkey-server')

/** Longest time in which a client has to learn what the servers agree on. */
const PATIENCE = { timeout: 20_000, interval: 50 }

const addressOf = ({ port }: Node): { host: string; port: number } => ({ host: '127.0.0.1', port })

/** A reader of the same servers, by its name: what it holds for true now. */
type Readers = Readonly<Record<string, () => string[] | Promise<string[]>>>

/** Waits until a reader says the same as the servers. */
async function expectSame(readers: Readers, expected: readonly string[]): Promise<void> {
  for (const [name, read] of Object.entries(readers)) {
    await expect.poll(read, { ...PATIENCE, message: name }).toEqual(expected)
  }
}

/** All slots, as runs of neighbours with one owner, so that a difference can be read: `0-5460 127.0.0.1:7000`. */
function runsOf(ownerOf: (slot: number) => string | undefined): string[] {
  const runs: string[] = []
  let first = 0
  for (let slot = 0; slot < SLOT_COUNT; slot++) {
    if (slot + 1 < SLOT_COUNT && ownerOf(slot + 1) === ownerOf(slot)) continue
    runs.push(`${first}-${slot} ${ownerOf(slot) ?? 'nobody'}`)
    first = slot + 1
  }
  return runs
}

/** The owner of a slot by its runs. */
function ownerIn(runs: readonly string[], slot: number): string | undefined {
  const run = runs.find((line) => {
    const [first, last] = line.split(/[- ]/).map(Number) as [number, number]
    return first <= slot && slot <= last
  })
  return run?.split(' ')[1]
}

describe.skipIf(!hasServer)('every slot of a cluster has the same owner for others as here', () => {
  const KEY = 'moving'
  const SLOT = keySlot(KEY)
  let cluster: Cluster
  let nodeRedis: ReturnType<typeof createCluster>
  let ioredis: IOCluster

  beforeAll(async () => {
    cluster = await startCluster()
    const nodes = cluster.nodes.map(addressOf)
    nodeRedis = createCluster({ rootNodes: nodes.map((socket) => ({ socket })) })
    nodeRedis.on('error', () => {})
    await nodeRedis.connect()
    // Slots are asked for after MOVED, and at no other time.
    ioredis = new IOCluster(nodes, { lazyConnect: true, slotsRefreshInterval: 0 })
    ioredis.on('error', () => {})
    await ioredis.connect()
  }, 60_000)

  afterAll(async () => {
    nodeRedis?.destroy()
    ioredis?.disconnect()
    await cluster?.stop()
  })

  /** The map that a node answers, as it is read here. */
  async function readFrom(node: Node): Promise<string[]> {
    const map = readSlots(await node.ask('CLUSTER', 'SLOTS'), addressOf(node))
    return runsOf((slot) => {
      const owner = map?.ownerOf(slot)
      return owner && nodeText(owner)
    })
  }

  /**
   * Compares the maps of both libraries with ours of each of the six nodes, after each library has sent a command by which it
   * learns that its map is old.
   *
   * @returns The map.
   */
  async function expectOneMap(owner: Node): Promise<string[]> {
    await nodeRedis.get(KEY)
    await ioredis.get(KEY)
    const [first, ...others] = cluster.nodes as [Node, ...Node[]]
    await expect
      .poll(async () => ownerIn(await readFrom(first), SLOT), PATIENCE)
      .toBe(nodeText(addressOf(owner)))
    const map = await readFrom(first)
    expect(map.join()).not.toContain('nobody')
    const here = others.map((node) => [`here of ${node.port}`, () => readFrom(node)] as const)
    await expectSame(
      {
        ...Object.fromEntries(here),
        'node-redis': () =>
          runsOf((slot) => {
            const master = nodeRedis.slots[slot]?.master
            return master && nodeText(master)
          }),
        ioredis: () => runsOf((slot) => ioredis.slots[slot]?.[0]),
      },
      map,
    )
    return map
  }

  test('when it has been made', async () => {
    expect(await expectOneMap(await cluster.ownerOf(SLOT))).toHaveLength(3)
  })

  test('after a slot has moved', async () => {
    const from = await cluster.ownerOf(SLOT)
    const to = (await cluster.masters()).find((master) => master !== from) as Node
    const before = await expectOneMap(from)
    await cluster.moveSlot(SLOT, to)
    const after = await expectOneMap(to)
    expect(after).toHaveLength(before.length + 2)
    expect(after).toContain(`${SLOT}-${SLOT} ${nodeText(addressOf(to))}`)
  })

  test('after a failover', async () => {
    const from = await cluster.ownerOf(SLOT)
    const before = await expectOneMap(from)
    await cluster.failOver(from)
    const to = await cluster.ownerOf(SLOT)
    expect(to).not.toBe(from)
    const [old, now] = [nodeText(addressOf(from)), nodeText(addressOf(to))]
    expect(await expectOneMap(to)).toEqual(before.map((run) => run.replace(old, now)))
  })
})

describe.skipIf(!hasServer)('Sentinels name the same master to others as here', () => {
  let trio: SentinelTrio
  let readers: Readers
  const ends: (() => void | Promise<void>)[] = []

  beforeAll(async () => {
    trio = await startSentinelTrio()
    const { nodes, masterName = '' } = parseUpstream(trio.url) as UpstreamAddress
    const nodeRedis = createSentinel({ name: masterName, sentinelRootNodes: [...nodes] })
    nodeRedis.on('error', () => {})
    ends.push(() => nodeRedis.destroy())
    await nodeRedis.connect()
    const ioredis = new IORedis({
      sentinels: [...nodes],
      name: masterName,
      failoverDetector: true,
      lazyConnect: true,
    })
    ioredis.on('error', () => {})
    ends.push(() => ioredis.disconnect())
    await ioredis.connect()
    const authority = sentinelsOf(
      {
        settings: settingsOf({ upstream: trio.url }),
        clock: systemClock,
        log: silentLog(),
        random: Math.random,
        atEndOfTurn,
      },
      false,
      nodes,
      masterName,
    )
    let named = 'nobody'
    authority.onChange((node) => (named = node === undefined ? 'nobody' : nodeText(node)))
    ends.push(() => authority.stop())
    authority.start()
    readers = {
      'node-redis': () => {
        const master = nodeRedis.getMasterNode()
        return [master === undefined ? 'nobody' : nodeText(master)]
      },
      // The node itself is asked which one it is.
      ioredis: async () => {
        const [, port] = await ioredis.config('GET', 'port')
        return [nodeText({ host: '127.0.0.1', port: Number(port) })]
      },
      here: () => [named],
    }
  }, 60_000)

  afterAll(async () => {
    for (const end of ends) await end()
    await trio?.stop()
  })

  async function expectOneMaster(): Promise<Node> {
    const master = await trio.master()
    expect(await master.role()).toBe('master')
    await expectSame(readers, [nodeText(addressOf(master))])
    return master
  }

  test('before and after SENTINEL FAILOVER', async () => {
    const before = await expectOneMaster()
    await trio.failOver()
    expect(await expectOneMaster()).not.toBe(before)
  })
})
