import { keySlot, SLOT_COUNT } from '../../../shared/key-slot.ts'
import type { RespValue } from '../../../shared/resp/types.ts'
import { freePort } from '../free-port.ts'
import { textOf, waitUntil } from './ask-node.ts'
import { Node, startTogether, type NodeOptions } from './node.ts'
import type { Topology } from './topology.ts'

/** A cluster of three masters with a replica each, which holds a node for dead after two seconds. */
export interface Cluster extends Topology {
  /** The node that owns a slot now, by the map of a node that lives. */
  ownerOf(slot: number): Promise<Node>
  /** The ports of the owners of all slots, by the map of a node that lives. */
  owners(): Promise<readonly (number | undefined)[]>
  /** The nodes that own slots. */
  masters(): Promise<readonly Node[]>
  /** Makes a replica take over the slots of a master that lives, and waits until all nodes know. */
  failOver(master: Node): Promise<void>
  /** Moves one slot, which has no keys, and waits until all nodes know. */
  moveSlot(slot: number, to: Node): Promise<void>
  /** Waits until all nodes that live see all slots served, and every master has a replica. */
  settled(): Promise<void>
}

/** Longest time until a cluster is whole again after a fault, on a busy machine. */
const SETTLE_MS = 60_000

const MASTERS = 3
const NODES = 6

/** A node's own map of the masters: ranges of slots by port. */
async function slotMap(node: Node): Promise<(readonly [from: number, to: number, port: number])[]> {
  const rows = (await node.ask('CLUSTER', 'SLOTS')) as readonly (readonly RespValue[])[]
  return rows.map(([from, to, owner]) => [
    from as number,
    to as number,
    (owner as readonly RespValue[])[1] as number,
  ])
}

async function idOf(node: Node): Promise<string> {
  return textOf(await node.ask('CLUSTER', 'MYID'))
}

export async function startCluster(options: NodeOptions = {}): Promise<Cluster> {
  const busPorts: number[] = []
  const starts: Promise<Node>[] = []
  for (let at = 0; at < NODES; at++) {
    const busPort = await freePort()
    busPorts.push(busPort)
    const directives = [
      ...['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'],
      ...['--cluster-port', `${busPort}`, '--repl-diskless-sync-delay', '0'],
      ...['--cluster-allow-replica-migration', 'no'],
      ...(options.directives ?? []),
    ]
    starts.push(Node.start({ ...options, directives }))
  }
  const nodes = await startTogether(starts)
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()))
  }
  const living = (): Node[] => nodes.filter(({ isAlive }) => isAlive)
  const byPort = (port: number): Node => {
    const found = nodes.find((node) => node.port === port)
    if (!found) throw new Error(`no node has port ${port}`)
    return found
  }
  const ownerBy = async (view: Node, slot: number): Promise<Node | undefined> => {
    const row = (await slotMap(view)).find(([from, to]) => from <= slot && slot <= to)
    return row && byPort(row[2])
  }
  /** Asks nodes that live, one after another, until one answers. */
  const anyView = async <T>(ask: (node: Node) => Promise<T>): Promise<T> => {
    let problem: unknown = new Error('no node lives')
    for (const node of living()) {
      try {
        return await ask(node)
      } catch (error) {
        problem = error
      }
    }
    throw problem
  }
  const allKnow = (what: string, slot: number, isOwner: (owner: Node) => boolean): Promise<void> =>
    waitUntil(what, async () => {
      for (const node of living()) {
        const owner = await ownerBy(node, slot)
        if (!owner || !isOwner(owner)) return false
      }
      return true
    })
  const cluster: Cluster = {
    kind: 'cluster',
    url: `redis+cluster://${nodes
      .slice(0, MASTERS)
      .map(({ port }) => `127.0.0.1:${port}`)
      .join(',')}`,
    nodes,
    ownerOf: (slot) =>
      anyView(async (node) => {
        const owner = await ownerBy(node, slot)
        if (!owner) throw new Error(`nobody owns slot ${slot}`)
        return owner
      }),
    owners: () =>
      anyView(async (node) => {
        const owners: number[] = []
        for (const [from, to, port] of await slotMap(node)) {
          for (let slot = from; slot <= to; slot++) owners[slot] = port
        }
        return owners
      }),
    masters: () =>
      anyView(async (node) => {
        const ports = new Set((await slotMap(node)).map(([, , port]) => port))
        return [...ports].map(byPort)
      }),
    failOver: async (master) => {
      const [first] = (await slotMap(master)).filter(([, , port]) => port === master.port)
      if (!first) throw new Error('that node owns no slots')
      const id = await idOf(master)
      const lines = await master.ask('CLUSTER', 'REPLICAS', id)
      const [line] = lines as readonly RespValue[]
      const [, replicaPort = ''] = /^\S+ [^:]*:(\d+)/.exec(textOf(line)) ?? []
      await byPort(Number(replicaPort)).ask('CLUSTER', 'FAILOVER')
      await allKnow('the replica has taken over', first[0], (owner) => owner !== master)
    },
    moveSlot: async (slot, to) => {
      const from = await cluster.ownerOf(slot)
      if (from === to) return
      const [fromId, toId] = [await idOf(from), await idOf(to)]
      await to.ask('CLUSTER', 'SETSLOT', `${slot}`, 'IMPORTING', fromId)
      await from.ask('CLUSTER', 'SETSLOT', `${slot}`, 'MIGRATING', toId)
      // A node waits for its replica first, and gives up where that has just come back.
      for (const node of [to, from]) {
        await waitUntil(
          `a node knows that slot ${slot} moves`,
          async () => {
            await node.ask('CLUSTER', 'SETSLOT', `${slot}`, 'NODE', toId)
            return true
          },
          SETTLE_MS,
        )
      }
      await allKnow(`slot ${slot} has moved`, slot, (owner) => owner === to)
    },
    settled: () =>
      waitUntil(
        'all slots are served',
        async () => {
          for (const node of living()) {
            const info = textOf(await node.ask('CLUSTER', 'INFO'))
            if (!info.includes('cluster_state:ok')) return false
            if (!info.includes(`cluster_known_nodes:${NODES}`)) return false
          }
          for (const master of await cluster.masters()) {
            const [, , replicas] = (await master.ask('ROLE')) as readonly RespValue[]
            if ((replicas as readonly RespValue[]).length === 0) return false
          }
          return true
        },
        SETTLE_MS,
      ),
    portFor: async (channel) => (await cluster.ownerOf(keySlot(channel))).port,
    stop,
  }
  try {
    await join(nodes, busPorts)
    await cluster.settled()
  } catch (error) {
    await stop()
    throw error
  }
  return cluster
}

/** Makes one cluster of nodes that know nobody: the first three become masters. */
async function join(nodes: readonly Node[], busPorts: readonly number[]): Promise<void> {
  for (const [at, node] of nodes.entries()) {
    await node.ask('CLUSTER', 'SET-CONFIG-EPOCH', `${at + 1}`)
    if (at >= MASTERS) continue
    const from = Math.floor((SLOT_COUNT * at) / MASTERS)
    const to = Math.floor((SLOT_COUNT * (at + 1)) / MASTERS) - 1
    await node.ask('CLUSTER', 'ADDSLOTSRANGE', `${from}`, `${to}`)
  }
  const [first, ...others] = nodes as [Node, ...Node[]]
  for (const node of others) {
    await node.ask('CLUSTER', 'MEET', '127.0.0.1', `${first.port}`, `${busPorts[0]}`)
  }
  const knows = async (node: Node, id: string): Promise<boolean> =>
    textOf(await node.ask('CLUSTER', 'NODES')).includes(id)
  const ids = await Promise.all(nodes.map(idOf))
  await waitUntil('everybody knows everybody', async () => {
    for (const node of nodes) for (const id of ids) if (!(await knows(node, id))) return false
    return true
  })
  for (let at = MASTERS; at < nodes.length; at++) {
    await (nodes[at] as Node).ask('CLUSTER', 'REPLICATE', ids[at - MASTERS] as string)
  }
}
