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
  /**
   * @param shardChannels Shard channels that are in use.
   * @param longMs Length of what lasts; 0 lets it be short.
   */
  run(stage: Stage, dice: Dice, shardChannels: readonly string[], longMs: number): Promise<void>
}

/** The node that everything depends on: the server, the master, or one of the masters. */
async function mainNode({ upstream }: Stage, dice: Dice): Promise<Node> {
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
    run: async ({ proxies }, dice, _shardChannels, longMs) => {
      for (const proxy of proxies) proxy.hold(direction)
      await wait(longMs || dice.below(4_000))
      // What was held is gone, as it is when a network comes back after its connections have timed out.
      for (const proxy of proxies) proxy.cutAll()
      for (const proxy of proxies) proxy.release()
    },
  }
}

/** All faults by name. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  kill: {
    topologies: EVERYWHERE,
    isOutage: true,
    run: async (stage, dice, _shardChannels, longMs) => {
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
    run: async (stage, dice, _shardChannels, longMs) => {
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
    run: async (stage, dice) => {
      const node = await mainNode(stage, dice)
      await node.killSubscribers()
    },
  },
  'stop-gateway': {
    topologies: EVERYWHERE,
    isOutage: false,
    // The upstream cuts what a gateway leaves unread.
    run: async ({ gateways }, dice, _shardChannels, longMs) => {
      const gateway = dice.pick(gateways)
      gateway.pause()
      try {
        await wait(longMs || 1_000 + dice.below(2_000))
      } finally {
        gateway.resume()
      }
    },
  },
  'kill-gateway': {
    topologies: EVERYWHERE,
    isOutage: false,
    run: async ({ gateways }, dice) => {
      const gateway = dice.pick(gateways)
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
    run: async ({ proxies }, dice) => {
      const proxy = dice.pick(proxies)
      for (let times = 0; times < 10; times++) {
        proxy.cutAfter(dice.oneIn(2) ? 'up' : 'down', 1 + dice.below(dice.pick([40, 400, 4_000])))
        proxy.cutAll()
        await wait(50 + dice.below(250))
      }
      proxy.cutAfter('up', undefined)
      proxy.cutAll()
    },
  },
  failover: {
    topologies: ['sentinel', 'cluster'],
    isOutage: false,
    run: async (stage, dice) => {
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
    run: async ({ upstream }) => {
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
    run: async ({ upstream }, dice, shardChannels) => {
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
export async function strike(
  fault: Fault,
  stage: Stage,
  dice: Dice,
  shardChannels: readonly string[],
  longMs: number,
): Promise<void> {
  await fault.run(stage, dice, shardChannels, longMs)
  await settled(stage)
}
