import { setTimeout as wait } from 'node:timers/promises'
import { keySlot } from '../../shared/key-slot.ts'
import type { Dice } from '../fuzz/dice.ts'
import type { Node } from '../support/topologies/node.ts'
import type { Direction } from '../support/topologies/tcp-proxy.ts'
import type { Stage } from './stage.ts'

/** Something that goes wrong, and is well again when the promise settles. */
export interface Fault {
  /** Where it is possible. */
  readonly topologies: readonly Stage['upstream']['kind'][]
  /** The upstream cannot be used while it lasts; if that is long, gateways have to say so. */
  readonly isOutage: boolean
  /** Needs a network namespace. */
  readonly needsNetwork?: boolean
  run(scene: Scene): Promise<void>
}

/** Where and how a fault strikes. */
export interface Scene {
  readonly stage: Stage
  readonly dice: Dice
  /** Shard channels that are in use. */
  readonly shardChannels: readonly string[]
  /** Length of what lasts; 0 lets it be short. */
  readonly longMs: number
  /** Publishes more than sockets and the upstream's output limit take, to a channel that few are subscribed to. */
  readonly flood: () => Promise<void>
  /** The number of faults so far, this one included. */
  readonly round: number
}

/** The node that everything depends on: the server, the master, or one of the masters. */
export async function mainNode({ upstream }: Stage, dice: Dice): Promise<Node> {
  switch (upstream.kind) {
    case 'standalone':
      return upstream.servers.node
    case 'sentinel':
      return upstream.servers.master()
    case 'cluster':
      return dice.pick(await upstream.servers.masters())
  }
}

/** Waits until another node has taken over. */
async function replaced({ upstream }: Stage, node: Node): Promise<void> {
  if (upstream.kind === 'standalone') return
  for (;;) {
    try {
      const { servers } = upstream
      const masters = 'master' in servers ? [await servers.master()] : await servers.masters()
      if (!masters.includes(node)) return
    } catch {
      // They do not agree yet.
    }
    await wait(50)
  }
}

async function settled({ upstream }: Stage): Promise<void> {
  if (upstream.kind !== 'standalone') await upstream.servers.settled()
}

const EVERYWHERE = ['standalone', 'sentinel', 'cluster'] as const

/** The network loses what goes in one direction. */
function oneWay(direction: Direction): Fault {
  return {
    topologies: ['standalone'],
    isOutage: true,
    run: async ({ stage, dice, longMs }) => {
      const { proxies } = stage
      for (const proxy of proxies) proxy.hold(direction)
      await wait(longMs || dice.below(4_000))
      // What was held is gone, as it is when a network comes back after its connections have timed out.
      for (const proxy of proxies) proxy.cutAll()
      for (const proxy of proxies) proxy.release()
    },
  }
}

/** The kernel loses every packet in one direction. */
function loss(direction: Direction): Fault {
  return {
    topologies: ['standalone'],
    isOutage: true,
    needsNetwork: true,
    run: async ({ stage: { network }, dice, longMs }) => {
      network?.lose(direction)
      await wait(longMs || dice.below(4_000))
      network?.heal(direction)
    },
  }
}

/** Bytes of a connection that one round of `cut-each` looks at. */
const CUTS = 12

/** All faults by name. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  kill: {
    topologies: EVERYWHERE,
    isOutage: true,
    run: async ({ stage, dice, longMs }) => {
      const node = await mainNode(stage, dice)
      await node.kill()
      await wait(longMs || dice.below(1_000))
      if (longMs > 0 || dice.oneIn(2)) await replaced(stage, node)
      await node.start()
    },
  },
  pause: {
    topologies: EVERYWHERE,
    isOutage: true,
    run: async ({ stage, dice, longMs }) => {
      const node = await mainNode(stage, dice)
      node.pause()
      try {
        await wait(longMs || dice.below(2_000))
        if (longMs > 0) await replaced(stage, node)
      } finally {
        node.resume()
      }
    },
  },
  'kill-subscribers': {
    topologies: EVERYWHERE,
    isOutage: false,
    run: async ({ stage, dice }) => {
      const node = await mainNode(stage, dice)
      await node.killSubscribers()
    },
  },
  'stop-gateway': {
    topologies: EVERYWHERE,
    isOutage: false,
    // The upstream cuts what a gateway leaves unread.
    run: async ({ stage, dice, longMs, flood }) => {
      const gateway = dice.pick(stage.gateways)
      gateway.pause()
      try {
        await flood()
        await wait(longMs || dice.below(1_000))
      } finally {
        gateway.resume()
      }
    },
  },
  'kill-subscribers-unseen': {
    topologies: EVERYWHERE,
    isOutage: false,
    // A gateway that does nothing at that moment notices later.
    run: async ({ stage, dice }) => {
      const gateway = dice.pick(stage.gateways)
      gateway.pause()
      try {
        await wait(dice.below(500))
        const node = await mainNode(stage, dice)
        await node.killSubscribers()
        await wait(500 + dice.below(1_000))
      } finally {
        gateway.resume()
      }
    },
  },
  'kill-gateway': {
    topologies: EVERYWHERE,
    isOutage: false,
    run: async ({ stage, dice }) => {
      const gateway = dice.pick(stage.gateways)
      await gateway.kill()
      await gateway.start()
    },
  },
  'one-way-up': oneWay('up'),
  'one-way-down': oneWay('down'),
  cut: {
    topologies: ['standalone'],
    isOutage: false,
    // Each new connection of one gateway ends after some bytes, for a while.
    run: async ({ stage, dice }) => {
      const proxy = dice.pick(stage.proxies)
      for (let times = 0; times < 10; times++) {
        proxy.cutAfter(dice.oneIn(2) ? 'up' : 'down', 1 + dice.below(dice.pick([40, 400, 4_000])))
        proxy.cutAll()
        await wait(50 + dice.below(250))
      }
      proxy.cutAfter('up', undefined)
      proxy.cutAll()
    },
  },
  'cut-each': {
    topologies: ['standalone'],
    isOutage: false,
    // Connections end at one byte after another: odd rounds go on with what gateways send, even ones with what they get.
    run: async ({ stage: { proxies }, round }) => {
      const direction = round % 2 === 1 ? 'up' : 'down'
      const first = Math.floor((round - 1) / 2) * CUTS * proxies.length + 1
      await Promise.all(
        proxies.map(async (proxy, at) => {
          for (let bytes = first + at * CUTS; bytes < first + (at + 1) * CUTS; bytes++) {
            const before = proxy.cuts
            proxy.cutAfter(direction, bytes)
            proxy.cutAll()
            while (proxy.cuts === before) await wait(5)
          }
          proxy.cutAfter(direction, undefined)
          proxy.cutAll()
        }),
      )
    },
  },
  'loss-up': loss('up'),
  'loss-down': loss('down'),
  failover: {
    topologies: ['sentinel', 'cluster'],
    isOutage: false,
    run: async ({ stage, dice }) => {
      const { upstream } = stage
      if (upstream.kind === 'sentinel') await upstream.servers.failOver()
      if (upstream.kind === 'cluster')
        await upstream.servers.failOver(dice.pick(await upstream.servers.masters()))
    },
  },
  'failover-unseen': {
    topologies: ['sentinel'],
    isOutage: false,
    // The sentinels notice after half a minute; until then the wrong node is the master that they name.
    run: async ({ stage }) => {
      const { upstream } = stage
      if (upstream.kind !== 'sentinel') return
      const before = await upstream.servers.master()
      await upstream.servers.failOverUnseen()
      for (;;) {
        const now = await upstream.servers.master().catch(() => before)
        if ((await now.role().catch(() => '')) === 'master') return
        await wait(100)
      }
    },
  },
  'move-slot': {
    topologies: ['cluster'],
    isOutage: false,
    run: async ({ stage, dice, shardChannels }) => {
      const { upstream } = stage
      if (upstream.kind !== 'cluster') return
      const { servers } = upstream
      for (let times = 0; times < 5; times++) {
        await servers.moveSlot(
          keySlot(dice.pick(shardChannels)),
          dice.pick(await servers.masters()),
        )
        await wait(dice.below(200))
      }
    },
  },
}

/** Runs a fault, and waits until the upstream is whole again. */
export async function strike(fault: Fault, scene: Scene): Promise<void> {
  await fault.run(scene)
  await settled(scene.stage)
}
