/**
 * Prints the figures of docs/performance.md about an upstream, on real servers of this machine: `npm run measure:upstream [-- TEXT]`, those whose
 * name has TEXT. Everything runs on loopback, and shares the cores.
 */
import { keySlot } from '../../shared/key-slot.ts'
import { connectRaw, type RawClient } from '../support/resp-client.ts'
import { waitUntil } from '../support/topologies/ask-node.ts'
import { startCluster } from '../support/topologies/cluster.ts'
import { GatewayProcess } from '../support/topologies/gateway.ts'
import { startSentinelTrio } from '../support/topologies/sentinel.ts'
import { nowMs, sleep, spread } from './figures.ts'
import { startStandalone } from '../support/topologies/standalone.ts'

const only = process.argv[2] ?? ''

/** Its TCP clients stay, whatever they miss. */
function startGateway(upstream: string): Promise<GatewayProcess> {
  return GatewayProcess.start({ upstream, directives: ['--upstream-gap-tcp', 'ignore'] })
}

async function resp3(port: number): Promise<RawClient> {
  const client = await connectRaw(port)
  client.command('HELLO', '3')
  await client.takeUntil('*0\r\n')
  return client
}

/** Times from a PUBLISH at one port to its message at another, one after another. */
async function latencies(from: number, to: number, count: number): Promise<number[]> {
  const subscriber = await resp3(to)
  await subscriber.subscribe('timed')
  const publisher = await resp3(from)
  const times: number[] = []
  for (let at = 0; at < count; at++) {
    const beganMs = nowMs()
    publisher.command('PUBLISH', 'timed', 'm'.repeat(100))
    await subscriber.takeUntil('m\r\n')
    times.push(nowMs() - beganMs)
    await publisher.takeLine()
  }
  subscriber.destroy()
  publisher.destroy()
  return times.slice(count / 10)
}

async function latency(): Promise<void> {
  const upstream = await startStandalone()
  const [one, two] = [
    await GatewayProcess.start({ upstream: upstream.url }),
    await GatewayProcess.start({ upstream: upstream.url }),
  ]
  const [node] = upstream.nodes
  const direct = await latencies(node?.port ?? 0, node?.port ?? 0, 5_000)
  const through = await latencies(one.port, two.port, 5_000)
  console.log(`latency, at the upstream itself: ${spread(direct)}`)
  console.log(`latency, from gateway to gateway: ${spread(through)}`)
  await one.stop()
  await two.stop()
  await upstream.stop()
}

/** Waits until all wanted names are confirmed and the gateway is ready. @returns Milliseconds. */
async function untilReady(gateway: GatewayProcess): Promise<number> {
  const beganMs = nowMs()
  await waitUntil('it is ready again', async () => (await gateway.readiness()).isReady)
  return nowMs() - beganMs
}

async function names(): Promise<void> {
  const upstream = await startStandalone({
    directives: ['--client-output-buffer-limit', 'pubsub 0 0 0'],
  })
  const gateway = await startGateway(upstream.url)
  const client = await resp3(gateway.port)
  for (let at = 0; at < 100; at++) {
    const some = Array.from({ length: 1_000 }, (_, n) => `name-${at}-${n}`)
    client.command('SUBSCRIBE', ...some)
    await client.takeUntil(`:${(at + 1) * 1_000}\r\n`)
  }
  const times: number[] = []
  for (let round = 0; round < 5; round++) {
    await upstream.nodes[0]?.killSubscribers()
    await waitUntil('the link is lost', async () => !(await gateway.readiness()).isReady)
    times.push(await untilReady(gateway))
    await sleep(500)
  }
  console.log(`100,000 names back after a reconnect: ${spread(times)}`)
  client.destroy()
  await gateway.stop()
  await upstream.stop()
}

async function restart(): Promise<void> {
  const upstream = await startStandalone()
  const gateway = await startGateway(upstream.url)
  const client = await resp3(gateway.port)
  await client.subscribe('name')
  const [node] = upstream.nodes
  const times: number[] = []
  for (let round = 0; round < 10; round++) {
    await node?.kill()
    await waitUntil('the link is lost', async () => !(await gateway.readiness()).isReady)
    await node?.start()
    times.push(await untilReady(gateway))
    await sleep(1_500)
  }
  console.log(`from an upstream that answers again to ready: ${spread(times)}`)
  await gateway.stop()
  await upstream.stop()
}

async function failover(): Promise<void> {
  const upstream = await startSentinelTrio()
  const gateway = await startGateway(upstream.url)
  const times: number[] = []
  for (let round = 0; round < 5; round++) {
    await upstream.failOver()
    await sleep(50)
    times.push(await untilReady(gateway))
    await upstream.settled()
  }
  console.log(`from a failover that all sentinels know to ready: ${spread(times)}`)
  await gateway.stop()
  await upstream.stop()
}

async function move(): Promise<void> {
  const upstream = await startCluster()
  const gateway = await startGateway(upstream.url)
  const client = await resp3(gateway.port)
  client.command('SSUBSCRIBE', 'moving')
  await client.takeUntil(':1\r\n')
  const publisher = await resp3(gateway.port)
  const slot = keySlot('moving')
  const silences: number[] = []
  for (let round = 0; round < 20; round++) {
    const owner = await upstream.ownerOf(slot)
    const target = (await upstream.masters()).find((master) => master !== owner)
    if (target === undefined) throw new Error('one master only')
    const untilMs = nowMs() + 500
    let lastMs = nowMs()
    let worst = 0
    const publishing = (async (): Promise<void> => {
      while (nowMs() < untilMs) {
        publisher.command('SPUBLISH', 'moving', 'm')
        const answer = await publisher.takeLine()
        if (answer === ':1') {
          worst = Math.max(worst, nowMs() - lastMs)
          lastMs = nowMs()
        }
        client.takeAll()
      }
    })()
    await sleep(100)
    await upstream.moveSlot(slot, target)
    await publishing
    silences.push(worst)
  }
  console.log(`a slot moves, longest time without a delivery: ${spread(silences)}`)
  await gateway.stop()
  await upstream.stop()
}

const FIGURES = { latency, names, restart, failover, move }

for (const [name, measure] of Object.entries(FIGURES)) if (name.includes(only)) await measure()
process.exit(0)
