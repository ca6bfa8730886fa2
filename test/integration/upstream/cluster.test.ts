import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keySlot } from '../../../shared/key-slot.ts'
import { findProgram } from '../../support/redis-servers.ts'
import { opener } from '../../support/opened.ts'
import { connectRaw, connectWebSocket, push, type RawClient } from '../../support/resp-client.ts'
import { waitUntil } from '../../support/topologies/ask-node.ts'
import { startCluster, type Cluster } from '../../support/topologies/cluster.ts'
import { GatewayProcess } from '../../support/topologies/gateway.ts'

const open = opener()
const isMissing = findProgram('valkey-server', 'redis-server') === undefined

/** Channels of which each master owns one, found by trying. */
async function oneForEachMaster(cluster: Cluster): Promise<string[]> {
  const names = new Map<number, string>()
  for (let n = 0; names.size < 3; n++) {
    const owner = await cluster.ownerOf(keySlot(`room-${n}`))
    if (!names.has(owner.port)) names.set(owner.port, `room-${n}`)
  }
  return [...names.values()]
}

describe.skipIf(isMissing && process.env['CI'] !== 'true')('a cluster as upstream', () => {
  let cluster: Cluster
  let here: GatewayProcess
  let there: GatewayProcess

  beforeAll(async () => {
    cluster = await startCluster()
    here = await GatewayProcess.start({ upstream: cluster.url })
    there = await GatewayProcess.start({ upstream: cluster.url })
  }, 60_000)

  afterAll(async () => {
    await here?.stop()
    await there?.stop()
    await cluster?.stop()
  })

  async function connect(gateway: GatewayProcess, protocol: 2 | 3 = 3): Promise<RawClient> {
    const client = await connectRaw(gateway.port)
    open.onEnd(() => client.destroy())
    if (protocol === 3) {
      client.command('HELLO', '3')
      await client.takeUntil('*0\r\n')
    }
    return client
  }

  async function webSocketTo(gateway: GatewayProcess): Promise<RawClient> {
    const client = await connectWebSocket(gateway.wsUrl, { token: await gateway.mint('42') })
    open.onEnd(() => client.destroy())
    await heard(client, 'limits')
    return client
  }

  /** Waits until all of these texts have come, and takes what has come by then. */
  async function heard(client: RawClient, ...texts: readonly string[]): Promise<string> {
    let all = ''
    await waitUntil(`${texts.join(', ')} have come`, () => {
      all += client.takeAll()
      return Promise.resolve(texts.every((text) => all.includes(text)))
    })
    return all
  }

  /** Publishes until it is answered a number. */
  async function publish(client: RawClient, ...args: readonly string[]): Promise<number> {
    let answer = ''
    await waitUntil('a publish is accepted', async () => {
      client.command(...args)
      answer = await client.takeLine()
      return answer.startsWith(':')
    })
    return Number(answer.slice(1))
  }

  test('messages to channels, patterns and shard channels of every slot reach the other gateway', async () => {
    const names = await oneForEachMaster(cluster)
    const subscriber = await connect(there)
    subscriber.command('SUBSCRIBE', ...names)
    await heard(subscriber, push(3, 'subscribe', names[2] ?? '', 3).toString())
    subscriber.command('PSUBSCRIBE', 'room-*')
    await heard(subscriber, push(3, 'psubscribe', 'room-*', 4).toString())
    subscriber.command('SSUBSCRIBE', ...names)
    await heard(subscriber, push(3, 'ssubscribe', names[2] ?? '', 3).toString())
    const publisher = await connect(here)
    for (const name of names) {
      publisher.command('PUBLISH', name, 'global')
      await publisher.takeLine()
      const both = await heard(subscriber, push(3, 'pmessage', 'room-*', name, 'global').toString())
      expect(both).toContain(push(3, 'message', name, 'global').toString())
      publisher.command('SPUBLISH', name, 'shard')
      expect(await publisher.takeLine()).toBe(':1')
      await heard(subscriber, push(3, 'smessage', name, 'shard').toString())
    }
  })

  test('SPUBLISH counts the subscribers of its own gateway, and comes to the publisher after its reply', async () => {
    const one = await connect(here)
    const two = await connect(here, 2)
    two.command('SSUBSCRIBE', 'own')
    await two.takeUntil(push(2, 'ssubscribe', 'own', 1).toString())
    one.command('SSUBSCRIBE', 'own')
    await one.takeUntil(push(3, 'ssubscribe', 'own', 1).toString())
    one.command('SPUBLISH', 'own', 'm')
    const message = push(3, 'smessage', 'own', 'm').toString()
    expect(await heard(one, message)).toBe(`:2\r\n${message}`)
  })

  test('a transaction is published on each node that it concerns', async () => {
    const names = await oneForEachMaster(cluster)
    const subscriber = await connect(there)
    subscriber.command('SSUBSCRIBE', ...names)
    await heard(subscriber, push(3, 'ssubscribe', names[2] ?? '', 3).toString())
    const publisher = await connect(here)
    publisher.command('MULTI')
    for (const name of names) publisher.command('SPUBLISH', name, 'in EXEC')
    publisher.command('EXEC')
    await publisher.takeUntil('*3\r\n:1\r\n:1\r\n:1\r\n')
    await heard(subscriber, ...names.map((name) => push(3, 'smessage', name, 'in EXEC').toString()))
  })

  test('a shard channel whose slot moves goes on, and its holder is told of the gap', async () => {
    const slot = keySlot('moving')
    const holder = await webSocketTo(there)
    holder.command('SSUBSCRIBE', 'moving')
    await heard(holder, push(3, 'ssubscribe', 'moving', 1).toString())
    const owner = await cluster.ownerOf(slot)
    const target = (await cluster.masters()).find((master) => master !== owner)
    if (!target) throw new Error('there is one master only')
    await cluster.moveSlot(slot, target)
    await heard(holder, 'gap\r\n$6\r\nmoving')
    const publisher = await connect(here)
    expect(await publish(publisher, 'SPUBLISH', 'moving', 'after')).toBe(1)
    await heard(holder, push(3, 'smessage', 'moving', 'after').toString())
  })

  test('a failover costs a gap and no restart', async () => {
    const [name = ''] = await oneForEachMaster(cluster)
    const holder = await webSocketTo(there)
    holder.command('SSUBSCRIBE', name)
    await heard(holder, push(3, 'ssubscribe', name, 1).toString())
    await cluster.failOver(await cluster.ownerOf(keySlot(name)))
    expect(await heard(holder, 'gap\r\n')).toContain(`gap\r\n$${name.length}\r\n${name}\r\n`)
    const publisher = await connect(here)
    // A master that has become a replica takes messages until gateways know, and does not count its successor's subscribers.
    // What it counts may be part of the gap of its successor.
    const counted: string[] = []
    let all = ''
    let serial = 0
    await waitUntil('a message comes that counts its subscriber', async () => {
      const message = `after ${++serial}`
      if ((await publish(publisher, 'SPUBLISH', name, message)) === 1) counted.push(message)
      all += holder.takeAll()
      return counted.some((one) => all.includes(push(3, 'smessage', name, one).toString()))
    })
    await waitUntil(
      'both are ready',
      async () => (await here.readiness()).isReady && (await there.readiness()).isReady,
    )
  })
})
