import { setTimeout as wait } from 'node:timers/promises'
import type { MessageSpace, SubscriptionKind } from '../history/history.ts'
import type { Place, RecordedClient } from '../history/recorder.ts'
import type { Dice } from '../fuzz/dice.ts'

/** A client that connects again when its connection has ended, until it is told to stop. */
export interface Actor {
  /** Publishes and changes nothing more, and keeps its connection. */
  rest(): void
  /** Settles when no reply is due. */
  idle(): Promise<void>
  stop(): Promise<void>
}

/** Time between two attempts to connect, in ms. */
const RETRY_MS = 100

/** Publishes of one connection that may be unanswered. */
const MOST_DUE = 100

/** A connection, as far as an actor depends on its kind. */
interface Client {
  readonly isOpen: boolean
  /** See {@link Actor.idle}. */
  idle(): Promise<void>
  close(): void
}

/** What an actor does with a connection. */
export interface Play<C extends Client = RecordedClient> {
  /** Called once for each connection. */
  begin?(client: C): void
  /** Called again and again while it lasts, with a rest between. @returns Milliseconds to the next call. */
  act?(client: C): number
}

let connections = 0

/** Starts an actor. @param where Asked before each connection; a place that changes ends the connection. */
export function startActor<C extends Client>(
  name: string,
  connect: (place: Place, connection: string) => Promise<C>,
  where: () => Place | Promise<Place>,
  play: Play<C>,
): Actor {
  const state = { isResting: false, isStopped: false }
  let current: C | undefined
  const live = async (client: C, place: Place): Promise<void> => {
    play.begin?.(client)
    let lookMs = performance.now()
    while (client.isOpen && !state.isStopped) {
      const pauseMs = state.isResting ? 50 : (play.act?.(client) ?? 50)
      if (performance.now() - lookMs > 500) {
        lookMs = performance.now()
        const now = await Promise.resolve(where()).catch(() => undefined)
        if (now && now.port !== place.port) client.close()
      }
      await wait(pauseMs)
    }
  }
  const run = async (): Promise<void> => {
    while (!state.isStopped) {
      try {
        const place = await where()
        const connection = `${name}#${connections++}`
        const client = await connect(place, connection)
        current = client
        await live(client, place)
        client.close()
      } catch {
        // Nobody is there yet.
      }
      if (!state.isStopped) await wait(RETRY_MS)
    }
  }
  const ended = run()
  return {
    rest: () => (state.isResting = true),
    idle: async () => current?.idle(),
    stop: async () => {
      state.isStopped = true
      current?.close()
      await ended
    },
  }
}

/** Names of one kind. */
export type Names = Readonly<Partial<Record<SubscriptionKind, readonly string[]>>>

/** Subscribes to names, one command for each kind; in a cluster one for each shard channel. */
export function subscribeAll(client: Pick<RecordedClient, 'subscribe'>, names: Names): void {
  const { channel = [], pattern = [], shard = [] } = names
  if (channel.length > 0) client.subscribe('channel', ...channel)
  if (pattern.length > 0) client.subscribe('pattern', ...pattern)
  for (const name of shard) client.subscribe('shard', name)
}

/** Subscribes again to what was refused, or taken away. */
export function subscriber(names: Names): Play {
  const kinds: readonly SubscriptionKind[] = ['channel', 'pattern', 'shard']
  return {
    begin: (client) => subscribeAll(client, names),
    act: (client) => {
      for (const kind of kinds) {
        for (const name of names[kind] ?? []) {
          if (client.isRefused(kind, name)) client.subscribe(kind, name)
        }
      }
      return 100
    },
  }
}

/** Subscribes and unsubscribes at random, without a rest. */
export function churner(dice: Dice, names: Names): Play {
  const all = Object.entries(names).flatMap(([kind, list]) =>
    list.map((name) => ({ kind: kind as SubscriptionKind, name })),
  )
  const held = new Set<string>()
  return {
    begin: () => held.clear(),
    act: (client) => {
      if (client.dueCount < MOST_DUE) {
        const { kind, name } = dice.pick(all)
        const key = `${kind} ${name}`
        if (held.has(key)) client.unsubscribe(kind, name)
        else client.subscribe(kind, name)
        if (!held.delete(key)) held.add(key)
      }
      return dice.below(20)
    },
  }
}

/** What is published, and how much of it. */
export interface Load {
  readonly perSecond: number
  readonly channels: readonly string[]
  readonly shardChannels: readonly string[]
  /** Once in so many times several messages go as one transaction; 0 is never. */
  readonly transactions: number
}

/** Publishes at a rate; what it cannot get rid of, it leaves out. @param names It is subscribed to them itself. */
export function publisher(dice: Dice, load: Load, names: Names = {}): Play {
  let dueMs = performance.now()
  return {
    begin: (client) => {
      subscribeAll(client, names)
      dueMs = performance.now()
    },
    act: (client) => {
      const now = performance.now()
      // A publisher that waited for long does not make up for it.
      dueMs = Math.max(dueMs, now - 100)
      while (dueMs <= now) {
        dueMs += 1_000 / load.perSecond
        if (client.dueCount < MOST_DUE) publishOne(client, dice, load)
      }
      return 2
    },
  }
}

function publishOne(client: RecordedClient, dice: Dice, load: Load): void {
  const isShard = load.shardChannels.length > 0 && dice.oneIn(3)
  const space: MessageSpace = isShard ? 'shard' : 'channel'
  const channels = isShard ? load.shardChannels : load.channels
  const size = dice.oneIn(50) ? dice.below(40_000) : dice.below(120)
  if (load.transactions > 0 && dice.oneIn(load.transactions)) {
    // Shard channels of one slot alone may share a transaction.
    const one = dice.pick(channels)
    const several = isShard ? [one, one, one] : dice.several(1, 4, () => dice.pick(channels))
    client.publishTogether(space, several, Math.min(size, 5_000))
  } else client.publish(space, dice.pick(channels), size)
}
