import { setTimeout as wait } from 'node:timers/promises'
import { systemClock, type Clock } from '../../server/clock.ts'
import { Dice } from '../fuzz/dice.ts'
import { check, type Verdict } from '../history/checker.ts'
import {
  nativePlace,
  RecordedClient,
  Recorder,
  type Place,
  type Transport,
} from '../history/recorder.ts'
import { connectTcp } from '../history/wire.ts'
import { encodeCommand } from '../support/resp-client.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/topologies/ask-node.ts'
import type { Program } from '../support/topologies/node.ts'
import { startStandalone } from '../support/topologies/standalone.ts'
import { TcpProxy, type Cut, type Direction } from '../support/topologies/tcp-proxy.ts'
import { publisher, startActor, subscriber, type Actor, type Names, type Play } from './actors.ts'

/** The gateway waits so many times shorter than it says, so that it is connected again soon. */
const HASTE = 20

/** Longest wait for a position, in ms: what a link does not send in that time it does not send. */
const PATIENCE_MS = 2_000

/** The reply to INFO has not always the same length. */
const MARGIN_BYTES = 64

const CHANNELS = ['news', 'a\xff\xfe', 'sport:1', 'x*[y]']
const SHARDS = ['orders', '\xe4\xf6']
const NAMES: Names = { channel: CHANNELS, pattern: ['sport:*', 'a\xff*'], shard: SHARDS }

/** A link of the gateway, as what it sends shows; before it has shown that, both do the same. */
export type LinkRole = 'handshake' | 'subscriber' | 'command'

const ALL: readonly LinkRole[] = ['handshake', 'subscriber', 'command']

export interface CutOptions {
  readonly program: Program
  /** Bytes beyond the handshake that are looked at, in both directions. */
  readonly steadyBytes: number
  /** Messages a second. */
  readonly rate: number
  readonly seed: number
  readonly tell?: (text: string) => void
}

export interface CutReport extends Verdict {
  /** Positions at which a link really was cut, by direction and link: `up command`. */
  readonly positions: ReadonlyMap<string, ReadonlySet<number>>
  /** Positions at which nothing was cut, or after which the links did not come back. */
  readonly missed: readonly string[]
  /** Length of the handshake in each direction. */
  readonly handshake: Readonly<Record<Direction, number>>
}

/** Cuts the links of a gateway after each of their first bytes, one after another, while clients publish and subscribe. */
export async function cutEverywhere(options: CutOptions): Promise<CutReport> {
  const { program, seed, tell = () => {} } = options
  const standalone = await startStandalone({ program })
  const proxy = await TcpProxy.start(standalone.node.port)
  const upstream = `redis://127.0.0.1:${proxy.port}`
  const gateway = await startServer({ clock: hastyClock(), directives: { upstream } })
  const recorder = new Recorder()
  const place: Place = {
    name: 'g0',
    port: gateway.port,
    wsUrl: gateway.wsUrl,
    mint: (sub) => gateway.mint(sub, { channels: ['*'] }),
  }
  const native = nativePlace(standalone.node.port, standalone.node.host)
  const actors = startActors(recorder, place, native, new Dice(seed), options.rate)
  const positions = new Map<string, Set<number>>()
  const missed: string[] = []
  proxy.onCut = (cut) => {
    const what = `${cut.direction} ${roleOf(cut)}`
    const known = positions.get(what)
    if (known) known.add(cut.bytes)
    else positions.set(what, new Set([cut.bytes]))
  }
  const fromMs = Date.now()
  const cutAt = async (direction: Direction, bytes: number, roles: readonly LinkRole[]) => {
    const isCut = (role: LinkRole): boolean =>
      positions.get(`${direction} ${role}`)?.has(bytes) === true
    const isDone = (): boolean => (roles.length === 0 ? ALL.some(isCut) : roles.every(isCut))
    const deadlineMs = performance.now() + PATIENCE_MS
    proxy.cutAfter(direction, bytes)
    proxy.cutAll()
    while (!isDone() && performance.now() < deadlineMs) await wait(1)
    // Both links have to come back before the next cut, and messages with them.
    proxy.cutAfter(direction, undefined)
    while (gateway.core.backplane.problems.length > 0 && performance.now() < deadlineMs)
      await wait(1)
    if (gateway.core.backplane.problems.length > 0)
      missed.push(`${direction} ${bytes}: the links are not back after it`)
    if (!isDone()) missed.push(`${direction} ${bytes} ${roles.join(' and ')}`)
  }
  try {
    await waitUntil('links that work', () => gateway.core.backplane.problems.length === 0)
    await wait(500)
    const handshake = await handshakeOf(standalone.node.port)
    // The command link goes on, and the subscriber link says no more after its names.
    const askedBytes = Math.min(...proxy.passed('up'))
    tell(`the handshake has ${handshake.up} bytes up, and ${handshake.down} down`)
    const linksAt = (direction: Direction, bytes: number): readonly LinkRole[] => {
      if (bytes <= handshake[direction] + MARGIN_BYTES) return []
      return direction === 'down' || bytes < askedBytes ? ['subscriber', 'command'] : ['command']
    }
    for (const direction of ['up', 'down'] as const) {
      const last = handshake[direction] + options.steadyBytes
      for (let bytes = 1; bytes <= last; bytes++) {
        if (bytes % 500 === 0) tell(`${direction} ${bytes} of ${last}`)
        await cutAt(direction, bytes, linksAt(direction, bytes))
      }
    }
    proxy.cutAfter('up', undefined)
    proxy.cutAll()
    await waitUntil('links that work again', () => gateway.core.backplane.problems.length === 0)
    await wait(2_500)
    recorder.disturbed.push({ fromMs, toMs: Date.now() })
    await wait(500)
    for (const actor of actors) actor.rest()
    await Promise.all(actors.map((actor) => actor.idle()))
    await wait(1_000)
    await Promise.all(actors.map((actor) => actor.stop()))
    return { ...check(recorder.history('standalone')), positions, missed, handshake }
  } finally {
    await Promise.all(actors.map((actor) => actor.stop()))
    await gateway.stop()
    await proxy.stop()
    await standalone.stop()
  }
}

/** The clock of the machine, but for waits. */
function hastyClock(): Clock {
  return { ...systemClock, after: (ms, callback) => systemClock.after(ms / HASTE, callback) }
}

function roleOf({ head }: Cut): LinkRole {
  if (/SUBSCRIBE/.test(head)) return 'subscriber'
  return /PUBLISH|CONFIG|ROLE/.test(head) ? 'command' : 'handshake'
}

/** Bytes of a handshake as a link makes it. */
async function handshakeOf(port: number): Promise<Record<Direction, number>> {
  const wire = await connectTcp(port)
  const come = { bytes: 0 }
  wire.listen({ bytes: (chunk) => (come.bytes += chunk.length), closed: () => {} })
  const name = `respcast:${'0'.repeat(16)}`
  const commands = [
    encodeCommand('HELLO', '3', 'SETNAME', name),
    encodeCommand('CLIENT', 'SETINFO', 'LIB-NAME', 'respcast'),
    encodeCommand('INFO'),
  ]
  for (const command of commands) wire.send(command)
  for (let before = -1; come.bytes > before || come.bytes === 0; await wait(200))
    before = come.bytes
  wire.close()
  return { up: Buffer.concat(commands).length, down: come.bytes }
}

function startActors(
  recorder: Recorder,
  place: Place,
  native: Place,
  dice: Dice,
  rate: number,
): Actor[] {
  const play = (where: Place, name: string, transport: Transport, role: Play): Actor => {
    const connect = (to: Place, connection: string): Promise<RecordedClient> =>
      RecordedClient.connect(recorder, to, transport, connection)
    return startActor(name, connect, () => where, role)
  }
  const load = { perSecond: rate / 3, channels: CHANNELS, shardChannels: SHARDS, transactions: 10 }
  return [
    play(place, 'g0-ws', 'websocket', subscriber(NAMES)),
    play(place, 'g0-tcp', 'resp3', subscriber(NAMES)),
    play(place, 'g0-pub', 'resp3', publisher(dice, load)),
    play(place, 'g0-own', 'websocket', publisher(dice, load, NAMES)),
    play(native, 'native-all', 'resp3', subscriber(NAMES)),
    play(native, 'native-pub', 'resp3', publisher(dice, load)),
  ]
}
