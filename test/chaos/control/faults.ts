import { setTimeout as wait } from 'node:timers/promises'
import type { Dice } from '../../fuzz/dice.ts'
import type { CutOff } from '../../history/control-history.ts'
import type { Span } from '../../history/history.ts'
import type { Direction } from '../../support/topologies/tcp-proxy.ts'
import { FAULTS, mainNode, type Fault } from '../faults.ts'
import type { Stage } from '../stage.ts'
import { forge, replay } from './forger.ts'
import { KEYS } from './keys.ts'

/** Where and how a fault of the control plane strikes. */
export interface ControlScene {
  readonly stage: Stage
  readonly dice: Dice
  readonly leaseMs: number
  /** Longer than a lease; otherwise short. */
  readonly isLong: boolean
  /** Entries that were published so far, as a native client got them. */
  readonly entries: () => readonly string[]
  /** Commits a revocation of which gateways get no message. */
  readonly revokeUnheard: () => Promise<void>
  /** Lets very much wait at a gateway for a session whose client does not read, until it is told to. */
  readonly clog: (at: number) => Promise<Clogged>
  /** Revokes very many sessions of a gateway at another one, while messages go on. */
  readonly revokeCrowd: (at: number) => Promise<void>
  /** Gateways that were not heard. */
  readonly cutOffs: CutOff[]
  /** When the upstream forgot something. */
  readonly forgetful: Span[]
}

/** A session that something waits for. */
export interface Clogged {
  readonly name: string
  resume(): void
}

/** Something that goes wrong, and is well again when the promise settles. */
export interface ControlFault {
  readonly topologies: Fault['topologies']
  /** No gateway can use the upstream while it lasts. */
  readonly isOutage?: boolean
  /** Works with a network namespace alone, or with proxies alone. */
  readonly needs?: 'network' | 'proxies'
  run(scene: ControlScene): Promise<void>
}

const EVERYWHERE = ['standalone', 'sentinel', 'cluster'] as const
const ALONE = ['standalone'] as const

/** The node with the keys of the namespace. */
async function keeper({ upstream }: Stage) {
  const port = await upstream.servers.portFor(KEYS.log)
  const node = upstream.servers.nodes.find((one) => one.port === port)
  if (!node) throw new Error('nobody has the keys')
  return node
}

/** A fault of the upstream alone, during which it may forget. */
function ofUpstream(name: string, isForgetful: boolean): ControlFault {
  const fault = FAULTS[name] as Fault
  return {
    topologies: fault.topologies,
    isOutage: fault.isOutage,
    run: async ({ stage, dice, isLong, leaseMs, forgetful }) => {
      const fromMs = Date.now()
      const longMs = isLong ? leaseMs + 1_500 : 0
      const shardChannels = [KEYS.log]
      await fault.run({
        ...{ stage, dice, longMs, shardChannels, round: 1 },
        flood: () => Promise.resolve(),
      })
      if (isForgetful) forgetful.push({ fromMs, toMs: Date.now() + 10_000 })
    },
  }
}

/** Something is done at the upstream that takes keys away. */
function losing(lose: (scene: ControlScene) => Promise<void>): ControlFault {
  return {
    topologies: EVERYWHERE,
    run: async (scene) => {
      const fromMs = Date.now()
      await lose(scene)
      scene.forgetful.push({ fromMs, toMs: Date.now() + 10_000 })
    },
  }
}

/** Some of the gateways, at least one. */
function someOf({ gateways }: Stage, dice: Dice): number[] {
  const some = [...gateways.keys()].filter(() => dice.oneIn(2))
  return some.length > 0 ? some : [dice.below(gateways.length)]
}

/** The network between some gateways and the upstream loses what goes in one direction: a proxy holds it. */
function partition(direction: Direction): ControlFault {
  return {
    topologies: ALONE,
    needs: 'proxies',
    run: async ({ stage, dice, leaseMs, isLong, cutOffs }) => {
      const cut = someOf(stage, dice)
      for (const at of cut) stage.proxies[at]?.hold(direction)
      const fromMs = Date.now()
      await wait(isLong ? leaseMs + 2_500 : dice.below(leaseMs))
      const toMs = Date.now()
      for (const at of cut) {
        const proxy = stage.proxies[at]
        proxy?.cutAll()
        proxy?.release()
        cutOffs.push({ place: `g${at}`, fromMs, toMs })
      }
    },
  }
}

/** The kernel loses every packet between some gateways and the upstream in one direction. */
function loss(direction: Direction): ControlFault {
  return {
    topologies: ALONE,
    needs: 'network',
    run: async ({ stage, dice, leaseMs, isLong, cutOffs }) => {
      const { network } = stage
      const cut = someOf(stage, dice)
      const fromMs = Date.now()
      network?.lose(direction, cut)
      await wait(isLong ? leaseMs + 2_500 : dice.below(leaseMs))
      const toMs = Date.now()
      network?.heal(direction, cut)
      for (const at of cut) cutOffs.push({ place: `g${at}`, fromMs, toMs })
    },
  }
}

/** All faults by name. */
export const CONTROL_FAULTS: Readonly<Record<string, ControlFault>> = {
  /** Without a replica the upstream comes back empty. */
  kill: ofUpstream('kill', true),
  pause: ofUpstream('pause', true),
  failover: ofUpstream('failover', true),
  'failover-unseen': ofUpstream('failover-unseen', true),
  'kill-subscribers': ofUpstream('kill-subscribers', false),
  'move-slot': ofUpstream('move-slot', false),
  'kill-gateway': {
    topologies: EVERYWHERE,
    run: async ({ stage, dice }) => {
      const gateway = dice.pick(stage.gateways)
      await gateway.kill()
      await wait(dice.below(500))
      await gateway.start()
    },
  },
  'kill-all': {
    topologies: EVERYWHERE,
    isOutage: true,
    // One gateway after another, and the upstream in between.
    run: async ({ stage, dice, forgetful }) => {
      const fromMs = Date.now()
      const node = await mainNode(stage, dice)
      const gateways = [...stage.gateways].sort(() => dice.unit() - 0.5)
      const killed = [...gateways, node].sort(() => dice.unit() - 0.5)
      for (const one of killed) {
        await one.kill()
        await wait(dice.below(200))
      }
      await node.start()
      await Promise.all(gateways.map((gateway) => gateway.start()))
      forgetful.push({ fromMs, toMs: Date.now() + 10_000 })
    },
  },
  flush: losing(async ({ stage }) => {
    await (await keeper(stage)).ask('FLUSHALL')
  }),
  trim: losing(async ({ stage }) => {
    await (await keeper(stage)).ask('XTRIM', KEYS.log, 'MAXLEN', '0')
  }),
  /** A gateway is away while the log is trimmed: the registers alone say what it missed. */
  'trim-unseen': losing(async ({ stage, dice, leaseMs, cutOffs }) => {
    const at = dice.below(stage.gateways.length)
    const gateway = stage.gateways[at]
    gateway?.pause()
    const fromMs = Date.now()
    try {
      await wait(1_000)
      const node = await keeper(stage)
      await node.killSubscribers()
      await node.ask('XTRIM', KEYS.log, 'MAXLEN', '0')
      await wait(leaseMs)
    } finally {
      cutOffs.push({ place: `g${at}`, fromMs, toMs: Date.now() })
      gateway?.resume()
    }
  }),
  'stop-gateway': {
    topologies: EVERYWHERE,
    run: async ({ stage, dice, leaseMs, isLong, cutOffs }) => {
      const at = dice.below(stage.gateways.length)
      const gateway = stage.gateways[at]
      gateway?.pause()
      const fromMs = Date.now()
      try {
        await wait(isLong ? leaseMs + 2_500 : dice.below(leaseMs))
      } finally {
        cutOffs.push({ place: `g${at}`, fromMs, toMs: Date.now() })
        gateway?.resume()
      }
    },
  },
  /** Messages come, and no lease is renewed. */
  'refuse-scripts': {
    topologies: ALONE,
    run: async ({ stage, dice, leaseMs, isLong, cutOffs }) => {
      const node = await keeper(stage)
      await node.ask('ACL', 'SETUSER', 'default', '-eval', '-evalsha')
      const fromMs = Date.now()
      await wait(isLong ? leaseMs + 2_500 : dice.below(leaseMs))
      for (const at of stage.gateways.keys())
        cutOffs.push({ place: `g${at}`, fromMs, toMs: Date.now() })
      await node.ask('ACL', 'SETUSER', 'default', '+@all')
    },
  },
  'one-way-up': partition('up'),
  'one-way-down': partition('down'),
  'loss-up': loss('up'),
  'loss-down': loss('down'),
  /**
   * A gateway stops while very much waits for a session, and wakes up past its lease, when the upstream cannot be reached: what the
   * kernel had is read before.
   */
  'stop-clogged': {
    topologies: ALONE,
    needs: 'proxies',
    run: async ({ stage, dice, leaseMs, clog, cutOffs }) => {
      const at = dice.below(stage.gateways.length)
      const [gateway, proxy] = [stage.gateways[at], stage.proxies[at]]
      const session = await clog(at)
      for (const direction of ['up', 'down'] as const) proxy?.hold(direction)
      gateway?.pause()
      const fromMs = Date.now()
      session.resume()
      await wait(leaseMs + 1_500)
      gateway?.resume()
      await wait(1_500)
      cutOffs.push({ place: `g${at}`, fromMs, toMs: Date.now(), slow: session.name })
      proxy?.cutAll()
      proxy?.release()
    },
  },
  /** A gateway takes more than a turn of its event loop to end all sessions of a revocation. */
  crowd: {
    topologies: ['standalone', 'sentinel'],
    run: ({ stage, dice, revokeCrowd }) => revokeCrowd(dice.below(stage.gateways.length)),
  },
  unheard: {
    topologies: EVERYWHERE,
    run: async ({ revokeUnheard }) => {
      await revokeUnheard()
      await wait(3_000)
    },
  },
  /** A gateway that has just started has applied nothing yet that it would remember. */
  'replay-kills': {
    topologies: EVERYWHERE,
    run: async ({ stage, dice, entries }) => {
      const gateway = dice.pick(stage.gateways)
      await gateway.kill()
      await gateway.start()
      await wait(2_000)
      const kills = entries().filter((payload) => payload.includes('"order":["k"'))
      for (const payload of kills.slice(-8)) {
        await replay(await keeper(stage), stage.upstream.kind === 'cluster', payload)
        await wait(300)
      }
    },
  },
  forge: {
    topologies: EVERYWHERE,
    run: async ({ stage, dice, entries }) => {
      for (let times = 0; times < 30; times++) {
        await forge(await keeper(stage), stage.upstream.kind === 'cluster', dice, entries())
        await wait(dice.below(50))
      }
    },
  },
}
