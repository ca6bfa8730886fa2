import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RespValue } from '../../../shared/resp/types.ts'
import { connectWebSocket, type RawWebSocket } from '../../support/resp-client.ts'
import { findProgram } from '../../support/redis-servers.ts'
import { waitUntil, askNode, textOf } from '../../support/topologies/ask-node.ts'
import { GatewayProcess } from '../../support/topologies/gateway.ts'
import { Node, type Program } from '../../support/topologies/node.ts'

const PROGRAMS: readonly Program[] = ['valkey-server', 'redis-server']
const LEASE_SECONDS = 3
const PATIENCE_MS = 60_000

/** The upstream and three gateways, `a` to `c`. */
interface Fleet {
  readonly node: Node
  readonly gateways: readonly [GatewayProcess, GatewayProcess, GatewayProcess]
}

async function startFleet(program: Program): Promise<Fleet> {
  const node = await Node.start({ program })
  const start = (name: string): Promise<GatewayProcess> =>
    GatewayProcess.start({
      upstream: `redis://${node.host}:${node.port}`,
      directives: ['--node-name', name, '--upstream-lease', `${LEASE_SECONDS}`],
    })
  return { node, gateways: [await start('a'), await start('b'), await start('c')] }
}

/** A WebSocket that is logged in and subscribed; what it is sent is collected. */
async function listener(gateway: GatewayProcess, sub: string, channel: string) {
  const token = await gateway.mint(sub)
  const socket: RawWebSocket = await connectWebSocket(gateway.wsUrl, { token })
  await socket.takeAccepted(`jwt:${sub}`)
  await socket.subscribe(channel, 1, 3)
  return socket
}

/** Values of a map by name. */
function fieldsOf(value: RespValue): Map<string, RespValue> {
  const items = value as readonly RespValue[]
  const fields = new Map<string, RespValue>()
  for (let at = 0; at < items.length; at += 2) fields.set(textOf(items[at]), items[at + 1] ?? null)
  return fields
}

/** The answer, or the line of the error. */
async function answerOf(gateway: GatewayProcess, ...args: string[]): Promise<RespValue> {
  return askNode(gateway, ...args).catch((error: Error) => error.message)
}

describe.each(PROGRAMS.filter((program) => findProgram(program) !== undefined))(
  'commands at one of three gateways before %s',
  (program) => {
    let fleet: Fleet

    beforeAll(async () => {
      fleet = await startFleet(program)
    }, PATIENCE_MS)

    afterAll(async () => {
      await Promise.all(fleet.gateways.map((gateway) => gateway.stop()))
      await fleet.node.stop()
    })

    test('RESPCAST NODES lists all of them', async () => {
      const [a] = fleet.gateways
      await waitUntil('all are known', async () => {
        const known = (await askNode(a, 'RESPCAST', 'NODES')) as readonly RespValue[]
        return known.length === 3
      })
      const nodes = (await askNode(a, 'RESPCAST', 'NODES')) as readonly RespValue[]
      const names = nodes.map((node) => textOf(fieldsOf(node).get('name')))
      expect(names.toSorted()).toEqual(['a', 'b', 'c'])
    })

    test('TOKEN REVOKE counts the sessions of all, and ends them', async () => {
      const [a, b, c] = fleet.gateways
      const sessions = await Promise.all([a, b, c, c].map((each) => listener(each, 'ann', 'news')))
      expect(await askNode(a, 'TOKEN', 'REVOKE', 'SUB', 'ann')).toBe(4)
      for (const each of sessions) each.destroy()
      const map = await askNode(b, 'TOKEN', 'REVOKE', 'SUB', 'nobody', 'WAIT', 'ALL', '5000')
      const fields = fieldsOf(map)
      expect(fields.get('sessions')).toBe(0)
      const confirmed = fields.get('confirmed') as readonly RespValue[]
      expect(confirmed.map(textOf).toSorted()).toEqual(['a', 'c'])
      expect([fields.get('missing'), fields.get('fenced-by'), fields.get('durable')]).toEqual([
        [],
        0,
        1,
      ])
    })

    test('TOKEN UNREVOKE takes it back at all of them', async () => {
      const [a, b, c] = fleet.gateways
      await askNode(a, 'TOKEN', 'REVOKE', 'SUB', 'eve', 'HARD', 'PERSIST')
      const token = await c.mint('eve')
      expect(await answerOf(c, 'AUTH', 'jwt', token)).toMatch(/WRONGPASS token revoked/)
      const records = (await askNode(b, 'TOKEN', 'REVOCATIONS')) as readonly RespValue[]
      const last = fieldsOf(records.at(-1) ?? [])
      expect(textOf(last.get('target'))).toBe('eve')
      expect(textOf(await askNode(b, 'TOKEN', 'UNREVOKE', `${Number(last.get('id'))}`))).toBe('OK')
      expect(textOf(await askNode(c, 'AUTH', 'jwt', token))).toBe('OK')
    })

    test('edits of one user at all of them at once are all in force at each', async () => {
      const { gateways } = fleet
      const edits = [1, 2, 3, 4, 5, 6].map(async (n) => {
        const gateway = gateways[n % 3] as GatewayProcess
        return answerOf(gateway, 'ACL', 'SETUSER', 'role:busy', `&n${n}`)
      })
      const answers = await Promise.all(edits)
      const done = answers.flatMap((answer, at) =>
        typeof answer === 'string' && answer.includes('another edit') ? [] : [at + 1],
      )
      for (const gateway of gateways) {
        const fields = fieldsOf(await askNode(gateway, 'ACL', 'GETUSER', 'role:busy'))
        const channels = textOf(fields.get('channels')).split(' ').toSorted()
        expect(channels).toEqual(done.map((n) => `&n${n}`))
      }
      const [a, b] = gateways
      expect(await askNode(b, 'ACL', 'DELUSER', 'role:busy')).toBe(1)
      expect(await askNode(a, 'ACL', 'GETUSER', 'role:busy')).toBeNull()
    })

    test('CLIENT KILL closes the clients of others, by user and by id', async () => {
      const [a, , c] = fleet.gateways
      const first = await listener(c, 'kim', 'news')
      expect(await askNode(a, 'CLIENT', 'KILL', 'USER', 'jwt:kim')).toBe(1)
      first.destroy()
      const second = await listener(c, 'kim', 'news')
      second.command('CLIENT', 'ID')
      const id = (await second.takeLine()).slice(1)
      expect(Number(id)).toBeGreaterThan(2 ** 40)
      expect(await askNode(a, 'CLIENT', 'KILL', 'ID', id)).toBe(1)
      expect(await askNode(a, 'CLIENT', 'KILL', 'ID', id)).toBe(0)
      expect(await answerOf(a, 'CLIENT', 'KILL', '10.0.0.1:1')).toMatch(/ERR No such client/)
      second.destroy()
    })

    test(
      'a gateway that is stopped is named with its bound, and delivers nothing to whom it has missed the revocation of',
      async () => {
        const [a, , c] = fleet.gateways
        const victim = await listener(c, 'zoe', 'room')
        await askNode(a, 'PUBLISH', 'room', 'before')
        await victim.takeUntil('before\r\n')
        c.pause()
        const stoppedMs = performance.now()
        const answer = await answerOf(a, 'TOKEN', 'REVOKE', 'SUB', 'zoe')
        const [, ms = ''] = /NOREPLICAS durable, not confirmed by c, fenced within (\d+) ms/.exec(
          textOf(answer),
        ) ?? [undefined]
        expect(Number(ms)).toBeGreaterThan(0)
        expect(Number(ms)).toBeLessThanOrEqual(LEASE_SECONDS * 1_000)
        for (let n = 0; n < 20; n++) await askNode(a, 'PUBLISH', 'room', `after ${n}`)
        const edit = await answerOf(a, 'ACL', 'SETUSER', 'late', 'on')
        expect(textOf(edit)).toMatch(
          /OK|NOREPLICAS in force in the log and here, not confirmed by c/,
        )
        // Nothing can be shown about a process that does not run before its bound is over.
        await sleep(LEASE_SECONDS * 1_000 + 500 - (performance.now() - stoppedMs))
        expect(textOf(await askNode(a, 'ACL', 'SETUSER', 'late', 'off'))).toBe('OK')
        c.resume()
        await waitUntil('it has caught up', async () => (await c.readiness()).isReady)
        const rest = victim.takeAll()
        expect(rest).not.toContain('after')
        expect(await answerOf(c, 'AUTH', 'jwt', await c.mint('late-login'))).toBe('OK')
        victim.destroy()
      },
      PATIENCE_MS,
    )

    test(
      'while the upstream is away a revocation is in force here, and an edit is not made',
      async () => {
        const [a, b] = fleet.gateways
        await fleet.node.kill()
        await waitUntil('it is missed', async () => !(await a.readiness()).isReady)
        expect(await answerOf(a, 'TOKEN', 'REVOKE', 'SUB', 'ida', 'HARD', 'PERSIST')).toMatch(
          /NOREPLICAS in force and on disk here, committed to the other gateways when the upstream/,
        )
        expect(await answerOf(a, 'ACL', 'SETUSER', 'later', 'on')).toMatch(/TRYAGAIN not committed/)
        expect(await askNode(a, 'ACL', 'GETUSER', 'later')).toBeNull()
        await fleet.node.start()
        await waitUntil('it is committed', async () => {
          const records = (await askNode(b, 'TOKEN', 'REVOCATIONS')) as readonly RespValue[]
          return records.some((record) => textOf(fieldsOf(record).get('target')) === 'ida')
        })
      },
      PATIENCE_MS,
    )
  },
)
