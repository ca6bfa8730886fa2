import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RespValue } from '../../../shared/resp/types.ts'
import { opener } from '../../support/opened.ts'
import { findProgram } from '../../support/redis-servers.ts'
import { connectRaw, type RawClient } from '../../support/resp-client.ts'
import { askNode, textOf, waitUntil } from '../../support/topologies/ask-node.ts'
import { startCluster } from '../../support/topologies/cluster.ts'
import { GatewayProcess } from '../../support/topologies/gateway.ts'
import { startStandalone } from '../../support/topologies/standalone.ts'
import type { Topology } from '../../support/topologies/topology.ts'

const open = opener()
const isMissing = findProgram('valkey-server') === undefined

const KINDS: readonly (readonly [string, () => Promise<Topology>])[] = [
  ['one server', startStandalone],
  ['a cluster', startCluster],
]

describe.skipIf(isMissing && process.env['CI'] !== 'true').each(KINDS)(
  'PUBSUB of three gateways before %s',
  (_kind, startUpstream) => {
    let upstream: Topology
    const gateways: GatewayProcess[] = []

    beforeAll(async () => {
      upstream = await startUpstream()
      for (let n = 0; n < 3; n++) {
        const directives = ['--upstream-linger', '0']
        gateways.push(await GatewayProcess.start({ upstream: upstream.url, directives }))
      }
      // Each knows the others by its heartbeats.
      for (const gateway of gateways) {
        await waitUntil('the gateways know each other', async () =>
          textOf(await askNode(gateway, 'INFO', 'control')).includes('control_nodes:3'),
        )
      }
    }, 120_000)

    afterAll(async () => {
      for (const gateway of gateways) await gateway.stop()
      await upstream?.stop()
    })

    async function subscribed(port: number, command: string, name: string): Promise<RawClient> {
      const client = await connectRaw(port)
      open.onEnd(() => client.destroy())
      client.command(command, name)
      await client.takeUntil(':1\r\n')
      return client
    }

    /** Texts and numbers of an array. */
    function itemsOf(reply: RespValue): (string | number)[] {
      return (reply as readonly RespValue[]).map((item) =>
        typeof item === 'number' ? item : textOf(item),
      )
    }

    /** The answers of all gateways: as expected, or what they are after a while. */
    async function everywhere(
      args: readonly string[],
      expected: readonly (string | number)[],
    ): Promise<(string | number)[][]> {
      let found: (string | number)[][] = []
      await waitUntil('the gateways answer as expected', async () => {
        found = []
        for (const gateway of gateways) {
          const reply = await askNode(gateway, ...args)
          const items = Array.isArray(reply) ? itemsOf(reply) : itemsOf([reply])
          found.push(args[1]?.endsWith('CHANNELS') === true ? items.toSorted(byText) : items)
        }
        return found.every((items) => JSON.stringify(items) === JSON.stringify(expected))
      }).catch(() => {})
      return found
    }

    test('counts and lists clients of all gateways, and native ones', async () => {
      const [one, two, three] = gateways
      await subscribed(one!.port, 'SUBSCRIBE', 'news')
      await subscribed(one!.port, 'SUBSCRIBE', 'news')
      await subscribed(two!.port, 'SUBSCRIBE', 'news')
      await subscribed(three!.port, 'SUBSCRIBE', 'other')
      for (const node of upstream.nodes.slice(0, 2)) {
        await subscribed(node.port, 'SUBSCRIBE', 'news')
      }
      const natives = Math.min(2, upstream.nodes.length)
      const counts = ['news', 3 + natives, 'nobody', 0, 'other', 1]
      const counted = await everywhere(['PUBSUB', 'NUMSUB', 'news', 'nobody', 'other'], counts)
      expect(counted).toEqual([counts, counts, counts])
      const all = ['news', 'other']
      expect(await everywhere(['PUBSUB', 'CHANNELS'], all)).toEqual([all, all, all])
      const some = ['news']
      expect(await everywhere(['PUBSUB', 'CHANNELS', 'n*'], some)).toEqual([some, some, some])
    })

    test('tells shard channels of every slot', async () => {
      const [one, two] = gateways
      const names = ['s1', 's2', 's3', 's4']
      for (const name of names) {
        await subscribed(one!.port, 'SSUBSCRIBE', name)
        await subscribed(two!.port, 'SSUBSCRIBE', name)
        await subscribed(await upstream.portFor(name), 'SSUBSCRIBE', name)
      }
      const counts = names.flatMap((name) => [name, 3])
      const counted = await everywhere(['PUBSUB', 'SHARDNUMSUB', ...names], counts)
      expect(counted).toEqual([counts, counts, counts])
      const listed = await everywhere(['PUBSUB', 'SHARDCHANNELS'], names)
      expect(listed).toEqual([names, names, names])
    })

    test('counts distinct patterns, and not what gateways subscribe to for them', async () => {
      const [one, two, three] = gateways
      await subscribed(one!.port, 'PSUBSCRIBE', 'a:[12]')
      await subscribed(two!.port, 'PSUBSCRIBE', 'a:[12]')
      await subscribed(three!.port, 'PSUBSCRIBE', 'a:?')
      await subscribed(upstream.nodes[0]!.port, 'PSUBSCRIBE', 'native*')
      expect(await everywhere(['PUBSUB', 'NUMPAT'], [3])).toEqual([[3], [3], [3]])
    })

    test('is whole while all gateways answer, and partial while one does not', async () => {
      const [one, two, three] = gateways
      const partial = async (): Promise<number> => {
        const info = textOf(await askNode(one!, 'INFO', 'control'))
        return Number(/control_questions:.*partial=(\d+)/.exec(info)?.[1])
      }
      await subscribed(two!.port, 'SUBSCRIBE', 'paused')
      await subscribed(three!.port, 'SUBSCRIBE', 'paused')
      expect(itemsOf(await askNode(one!, 'PUBSUB', 'NUMSUB', 'paused'))).toEqual(['paused', 2])
      const before = await partial()
      three!.pause()
      try {
        await askNode(one!, 'PUBSUB', 'NUMSUB', 'paused')
        expect(await partial()).toBe(before + 1)
      } finally {
        three!.resume()
      }
    })
  },
)

function byText(one: string | number, other: string | number): number {
  return String(one) < String(other) ? -1 : 1
}
