import type { RespValue } from '../../../shared/resp/types.ts'
import { textOf, waitUntil } from './ask-node.ts'
import { Node, startTogether, type NodeOptions } from './node.ts'
import type { Topology } from './topology.ts'

const MASTER = 'main'

/** Longest time until an old master has become a replica, on a busy machine. */
const SETTLE_MS = 60_000

/** A master and a replica under three sentinels, which hold a master for dead after one second. */
export interface SentinelTrio extends Topology {
  readonly sentinels: readonly Node[]
  /** The node that a majority of the sentinels names as the master. */
  master(): Promise<Node>
  /**
   * Makes the sentinels promote the replica while the master lives, and waits until they name it. The old master becomes a
   * replica about ten seconds later; until then it takes what is published to it.
   */
  failOver(): Promise<void>
  /** `FAILOVER` of the master itself, of which no sentinel knows: waits until the roles have changed. */
  failOverUnseen(): Promise<void>
  /** Waits until the sentinels agree on a master that lives and has its replica. */
  settled(): Promise<void>
}

export async function startSentinelTrio(options: NodeOptions = {}): Promise<SentinelTrio> {
  const directives = ['--repl-diskless-sync-delay', '0', ...(options.directives ?? [])]
  // A failover writes it down: a node that starts again is what it was told to be.
  const first = await Node.start({ ...options, directives, configuration: '\n' })
  const nodes = [first]
  const sentinels: Node[] = []
  const stop = async (): Promise<void> => {
    await Promise.all([...sentinels, ...nodes].map((node) => node.stop()))
  }
  const named = async (sentinel: Node): Promise<number> => {
    const reply = await sentinel.ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER)
    return Number(textOf((reply as readonly RespValue[])[1]))
  }
  const master = async (): Promise<Node> => {
    const answers = await Promise.allSettled(sentinels.map(named))
    const ports = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    const chosen = nodes.find(({ port }) => ports.filter((other) => other === port).length >= 2)
    if (!chosen) throw new Error(`the sentinels do not agree: ${ports.join(', ')}`)
    return chosen
  }
  const settled = (): Promise<void> =>
    waitUntil(
      'a master with its replica',
      async () => {
        const now = await master()
        const [role, , replicas] = (await now.ask('ROLE')) as readonly RespValue[]
        if (textOf(role) !== 'master' || (replicas as readonly RespValue[]).length === 0)
          return false
        for (const sentinel of sentinels) {
          if ((await named(sentinel)) !== now.port) return false
          // A sentinel elects nobody before it knows of the replica.
          const known = await sentinel.ask('SENTINEL', 'REPLICAS', MASTER)
          if ((known as readonly RespValue[]).length === 0) return false
          await sentinel.ask('SENTINEL', 'CKQUORUM', MASTER)
        }
        return true
      },
      SETTLE_MS,
    )
  try {
    nodes.push(
      await Node.start({
        ...options,
        directives,
        configuration: `replicaof 127.0.0.1 ${first.port}\n`,
      }),
    )
    const configuration = [
      `sentinel monitor ${MASTER} 127.0.0.1 ${first.port} 2`,
      `sentinel down-after-milliseconds ${MASTER} 1000`,
      `sentinel failover-timeout ${MASTER} 5000`,
      '',
    ].join('\n')
    const { program = 'valkey-server' } = options
    const start = (): Promise<Node> => Node.start({ program, isSentinel: true, configuration })
    sentinels.push(...(await startTogether([start(), start(), start()])))
    await settled()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    kind: 'sentinel',
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${MASTER}`,
    nodes,
    sentinels,
    master,
    settled,
    failOver: async () => {
      const from = await master()
      // A failover may be given up, or refused while another is not over: it is asked for until it is done.
      await waitUntil(
        'another master',
        async () => {
          if ((await master()) !== from) return true
          const [asked] = sentinels as [Node]
          if ((await named(asked)) === from.port) await asked.ask('SENTINEL', 'FAILOVER', MASTER)
          await new Promise((resolve) => setTimeout(resolve, 200))
          return false
        },
        SETTLE_MS,
      )
    },
    failOverUnseen: async () => {
      const from = await master()
      await from.ask('FAILOVER')
      await waitUntil('the old master is a replica', async () => (await from.role()) === 'slave')
    },
    portFor: async () => (await master()).port,
    stop,
  }
}
