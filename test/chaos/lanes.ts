import type { Dice } from '../fuzz/dice.ts'
import { NATIVE } from '../history/history.ts'
import type { Place, Recorder, Transport } from '../history/recorder.ts'
import { Tape, TapedClient, type Lane } from '../history/tape.ts'
import { startActor, subscribeAll, type Actor, type Names, type Play } from './actors.ts'

/** A load of many channels with few subscribers each, which publishers send in batches. */
export interface Wide {
  /** Messages a second, of all publishers together. */
  readonly perSecond: number
  /** Channels: as many plain ones as are subscribed to by pattern, and as many shard channels. */
  readonly lanes: number
  /** Most messages of one write; the fewest are a quarter of that. */
  readonly batch: number
}

/** A pattern has so many channels. */
const PER_PATTERN = 4

/** Bytes of a payload beside its serial number, at most. */
const MOST_BYTES = 64

/** The hash tag of shard channels that clients of the upstream itself use: in a cluster, one node has them. */
const NATIVE_TAG = '{s}'

/** Names with bytes that are not UTF-8, and with separators. None is matched by a pattern of the other load. */
function lanesOf(count: number): Lane[] {
  const lanes: Lane[] = []
  for (let at = 0; lanes.length < count; at++) {
    const odd = at % 2 === 0 ? '' : '\xff\xfe'
    const group = Math.floor(at / PER_PATTERN)
    lanes.push({ space: 'channel', channel: `z${odd}${at}` })
    lanes.push({ space: 'channel', channel: `zp${odd}:${group}:${at}\x80` })
    lanes.push({ space: 'shard', channel: `${at % 4 === 0 ? NATIVE_TAG : ''}z\xe4${at}` })
  }
  return lanes.slice(0, count)
}

/** The name by which a lane is subscribed to. */
function nameOf({ space, channel }: Lane): { kind: keyof Names; name: string } {
  if (!channel.startsWith('zp')) return { kind: space, name: channel }
  return { kind: 'pattern', name: channel.replace(/[^:]*$/, '*') }
}

/** The names of some lanes, each once. */
function namesOf(lanes: readonly Lane[]): Names {
  const names: Record<keyof Names, Set<string>> = {
    channel: new Set(),
    pattern: new Set(),
    shard: new Set(),
  }
  for (const lane of lanes) {
    const { kind, name } = nameOf(lane)
    names[kind].add(name)
  }
  return {
    channel: [...names.channel],
    pattern: [...names.pattern],
    shard: [...names.shard],
  }
}

/** A subscriber whose connection begins anew if something is refused: it cannot tell what. */
function listener(names: Names): Play<TapedClient> {
  return {
    begin: (client) => subscribeAll(client, names),
    act: (client) => {
      if (client.errors > 0) client.close()
      return 100
    },
  }
}

/** Publishes in batches, at a rate on average. */
function batcher(
  dice: Dice,
  perSecond: number,
  batch: number,
  lanes: readonly number[],
  names: Names,
): Play<TapedClient> {
  let dueMs = performance.now()
  return {
    begin: (client) => {
      subscribeAll(client, names)
      dueMs = performance.now()
    },
    act: (client) => {
      const now = performance.now()
      // A publisher that waited for long does not make up for it.
      dueMs = Math.max(dueMs, now - 500)
      while (dueMs <= now) {
        const least = Math.ceil(batch / 4)
        const count = least + dice.below(batch - least + 1)
        const sizes = Array.from({ length: count }, () => dice.below(MOST_BYTES))
        client.publish(
          Uint16Array.from(sizes, () => dice.pick(lanes)),
          sizes,
        )
        dueMs += (count * 1_000) / perSecond
      }
      return Math.max(1, Math.ceil(dueMs - now))
    },
  }
}

/**
 * Starts the clients of a wide load: at each gateway subscribers over TCP in both protocols and over a WebSocket, a publisher over TCP,
 * and one over a WebSocket that is subscribed as well; at the upstream a subscriber and a publisher.
 *
 * @param native The place of clients of the upstream, at the node that owns a channel.
 */
export function startWide(
  recorder: Recorder,
  dice: Dice,
  wide: Wide,
  gateways: readonly Place[],
  native: (channel: string) => () => Promise<Place>,
): { readonly actors: readonly Actor[]; readonly tape: Tape } {
  const lanes = lanesOf(wide.lanes)
  const tape = new Tape(recorder, lanes)
  const actors: Actor[] = []
  const play = (
    place: () => Place | Promise<Place>,
    name: string,
    transport: Transport,
    role: Play<TapedClient>,
  ): void => {
    const connect = (where: Place, connection: string): Promise<TapedClient> =>
      TapedClient.connect(tape, where, transport, connection)
    actors.push(startActor(name, connect, place, role))
  }
  const perSecond = wide.perSecond / (gateways.length * 2 + 1)
  const all = lanes.map((_, at) => at)
  /** Lanes whose names belong to a gateway, or to one after it. Channels of one pattern belong together. */
  const ownLanes = (gateway: number): Lane[] =>
    lanes.filter((_, at) => Math.floor(at / (3 * PER_PATTERN)) % gateways.length === gateway)
  for (const [at, place] of gateways.entries()) {
    const own = ownLanes(at)
    const next = ownLanes((at + 1) % gateways.length)
    const [even, odd] = [0, 1].map((rest) => own.filter((_, index) => index % 2 === rest))
    play(() => place, `${place.name}-lanes3`, 'resp3', listener(namesOf(even ?? [])))
    play(() => place, `${place.name}-lanes2`, 'resp2', listener(namesOf(odd ?? [])))
    play(() => place, `${place.name}-lanes`, 'websocket', listener(namesOf(next)))
    play(() => place, `${place.name}-batch`, 'resp3', batcher(dice, perSecond, wide.batch, all, {}))
    const some = namesOf(lanes.filter((_, lane) => lane % (gateways.length * 2) === at))
    play(
      () => place,
      `${place.name}-own-batch`,
      'websocket',
      batcher(dice, perSecond, wide.batch, all, some),
    )
  }
  const isNative = ({ space, channel }: Lane): boolean =>
    space === 'channel' || channel.startsWith(NATIVE_TAG)
  const slot = native(NATIVE_TAG)
  const heard = lanes.filter((lane, at) => at % 3 === 0 && isNative(lane))
  const shards = lanes.filter((lane) => lane.space === 'shard' && isNative(lane))
  play(slot, `${NATIVE}-lanes`, 'resp3', listener(namesOf([...heard, ...shards])))
  const sent = all.filter((at) => isNative(lanes[at] as Lane))
  play(slot, `${NATIVE}-batch`, 'resp3', batcher(dice, perSecond, wide.batch, sent, {}))
  return { actors, tape }
}
