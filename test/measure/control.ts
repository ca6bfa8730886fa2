/**
 * Prints the figures of docs/performance.md about what gateways agree on, on real servers of this machine: `npm run measure:control
 * [-- TEXT]`, those whose name has TEXT. Everything runs on loopback, and shares the cores.
 */
import { asciiJson } from '../../server/ascii-json.ts'
import { controlNames } from '../../server/control/names.ts'
import { encodeRegister } from '../../server/control/codec.ts'
import { NO_SIGNATURE } from '../../server/control/signature.ts'
import type { Revocation } from '../../server/token/revoke/revocation.ts'
import { connectRaw, type RawClient } from '../support/resp-client.ts'
import { waitUntil } from '../support/topologies/ask-node.ts'
import { GatewayProcess } from '../support/topologies/gateway.ts'
import { startStandalone } from '../support/topologies/standalone.ts'
import { nowMs, sleep, spread } from './figures.ts'
import { DirectLine } from '../support/direct-line.ts'

const only = process.argv[2] ?? ''
const NAMES = controlNames('default')

/** So many token sessions of a subject, each subscribed to one channel. @returns Their clients. */
async function sessions(gateway: GatewayProcess, sub: string, count: number): Promise<RawClient[]> {
  const token = await gateway.mint(sub)
  return Promise.all(
    Array.from({ length: count }, async () => {
      const client = await connectRaw(gateway.port)
      client.command('HELLO', '3', 'AUTH', 'jwt', token)
      await client.takeUntil('*0\r\n')
      client.command('SUBSCRIBE', 'news')
      await client.takeUntil('news\r\n:1\r\n')
      return client
    }),
  )
}

async function ended(client: RawClient): Promise<number> {
  await client.closed
  return nowMs()
}

/** TOKEN REVOKE … WAIT ALL at one of three gateways, with 100 sessions on all of them. */
async function revoke(): Promise<void> {
  const upstream = await startStandalone()
  const gateways = [
    await GatewayProcess.start({ upstream: upstream.url }),
    await GatewayProcess.start({ upstream: upstream.url }),
    await GatewayProcess.start({ upstream: upstream.url }),
  ] as const
  const operator = await connectRaw(gateways[0].port)
  const answers: number[] = []
  const cuts: number[] = []
  const line = new DirectLine(upstream.nodes[0]?.port ?? 0)
  await line.listen('SUBSCRIBE', NAMES.entries)
  for (let round = 0; round < 100; round++) {
    const sub = `subject-${round}`
    const [here, there, elsewhere] = await Promise.all([
      sessions(gateways[0], sub, 34),
      sessions(gateways[1], sub, 33),
      sessions(gateways[2], sub, 33),
    ])
    const seen = line.pushes.length
    const committed = waitForPush(line, seen)
    const cut = Promise.all([...there, ...elsewhere].map(ended))
    const beganMs = nowMs()
    operator.command('TOKEN', 'REVOKE', 'SUB', sub, 'WAIT', 'ALL', '1000')
    const answer = await operator.takeUntil('durable\r\n:1\r\n')
    answers.push(nowMs() - beganMs)
    if (!answer.includes(':100\r\n')) throw new Error(`not all sessions were hit: ${answer}`)
    const committedMs = await committed
    for (const cutMs of await cut) cuts.push(cutMs - committedMs)
    await Promise.all(here.map(ended))
  }
  console.log(`TOKEN REVOKE … WAIT ALL, 3 gateways, 100 sessions hit: ${spread(answers)}`)
  console.log(`a session at another gateway is cut, after the commit was seen: ${spread(cuts)}`)
  line.close()
  operator.destroy()
  for (const gateway of gateways) await gateway.stop()
  await upstream.stop()
}

/** When the next message of the channel of entries is seen natively. */
async function waitForPush(line: DirectLine, seen: number): Promise<number> {
  while (line.pushes.length <= seen) await new Promise((resolve) => setImmediate(resolve))
  return nowMs()
}

/** A gateway that starts where 250,000 revocations are in force. */
async function records(): Promise<void> {
  const count = 250_000
  const upstream = await startStandalone()
  const first = await GatewayProcess.start({ upstream: upstream.url })
  const line = new DirectLine(upstream.nodes[0]?.port ?? 0)
  const expiresAtMs = Date.now() + 86_400_000
  for (let from = 0; from < count; from += 5_000) {
    const fields: string[] = []
    for (let at = from; at < from + 5_000; at++) {
      const id = 7 * 2 ** 40 + at + 1
      const record: Revocation = {
        kind: 'jti',
        target: `token-${at}`,
        issuer: undefined,
        scope: undefined,
        only: undefined,
        beforeMs: undefined,
        hard: false,
        expiresAtMs,
        reason: '',
        message: '',
        id,
        by: 'default',
        atMs: Date.now(),
        hit: 0,
      }
      const { stamp, content } = encodeRegister('default', NO_SIGNATURE, {
        key: `r:${id}`,
        version: 1,
        uuid: at.toString(16).padStart(16, '0'),
        value: asciiJson(record),
      })
      fields.push(`r:${id}`, `${stamp} 1-1 ${content}`)
    }
    await line.answer('HSET', NAMES.state, ...fields)
  }
  const times: number[] = []
  for (let round = 0; round < 3; round++) {
    const beganMs = nowMs()
    const gateway = await GatewayProcess.start({ upstream: upstream.url })
    times.push(nowMs() - beganMs)
    const client = await connectRaw(gateway.port)
    client.command('TOKEN', 'REVOCATIONS')
    if ((await client.takeLine()) !== `*${count}`) throw new Error('revocations are missing')
    client.destroy()
    await gateway.stop()
  }
  console.log(`from the start of the process to ready, ${count} revocations: ${spread(times)}`)
  line.close()
  await first.stop()
  await upstream.stop()
}

/** 500 edits of roles a second for 20 seconds, each confirmed by three gateways. */
async function edits(): Promise<void> {
  const perSecond = 500
  const upstream = await startStandalone()
  const gateways = [
    await GatewayProcess.start({ upstream: upstream.url }),
    await GatewayProcess.start({ upstream: upstream.url }),
    await GatewayProcess.start({ upstream: upstream.url }),
  ] as const
  const operators = await Promise.all(
    Array.from({ length: 50 }, () => connectRaw(gateways[0].port)),
  )
  const times: number[] = []
  const beganMs = nowMs()
  const endMs = beganMs + 20_000
  await Promise.all(
    operators.map(async (operator, own) => {
      for (let round = 0; nowMs() < endMs; round++) {
        const dueMs = beganMs + ((round * operators.length + own) * 1_000) / perSecond
        if (dueMs > nowMs()) await sleep(dueMs - nowMs())
        operator.command('ACL', 'SETUSER', `role:${own}`, 'resetchannels', `&room:${round}`)
        const answer = await operator.takeLine()
        if (answer !== '+OK') throw new Error(answer)
        times.push(nowMs() - dueMs)
      }
    }),
  )
  const seconds = (nowMs() - beganMs) / 1_000
  console.log(
    `${(times.length / seconds).toFixed(0)} edits of roles a second, from due to confirmed by all: ${spread(times)}`,
  )
  for (const operator of operators) operator.destroy()
  for (const gateway of gateways) await gateway.stop()
  await upstream.stop()
}

const FIGURES = { revoke, records, edits }

for (const [name, measure] of Object.entries(FIGURES)) if (name.includes(only)) await measure()
await waitUntil('the output is written', () => process.stdout.writableLength === 0)
process.exit(0)
