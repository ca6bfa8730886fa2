import { keySlot } from '../../../shared/key-slot.ts'
import { isError, isPush, type RespValue } from '../../../shared/resp/types.ts'
import type { Space } from '../../pubsub/subscriber.ts'
import type { ReadPayload } from './link-reader.ts'
import { Link, textOf, type DownCause, type LinkHost, type NodeFacts } from './link.ts'
import type { Source } from './source.ts'

/** Names of one command, and its bytes: a Redis that subscribes to very many names at once answers nobody meanwhile. */
const BATCH_NAMES = 512
const BATCH_BYTES = 65_536
/** Commands whose names are not all confirmed. */
const MOST_BATCHES = 8

const WORDS = {
  channel: ['SUBSCRIBE', 'UNSUBSCRIBE'],
  pattern: ['PSUBSCRIBE', 'PUNSUBSCRIBE'],
  shard: ['SSUBSCRIBE', 'SUNSUBSCRIBE'],
} as const

/** Confirmations: the space, and whether it was subscribed to. */
const CONFIRMATIONS: Readonly<Record<string, readonly [Space, boolean]>> = {
  subscribe: ['channel', true],
  unsubscribe: ['channel', false],
  psubscribe: ['pattern', true],
  punsubscribe: ['pattern', false],
  ssubscribe: ['shard', true],
  sunsubscribe: ['shard', false],
}

/** One command that was sent, and its names without a confirmation. */
export interface Batch {
  readonly isLeave: boolean
  readonly sources: Source[]
  left: number
}

/** Takes what a subscriber link reads, in the order of its stream. */
export interface SubscriberLinkUser {
  up(facts: NodeFacts): void
  /** See `LinkUser`. */
  readonly beforeRead?: (() => void) | undefined
  /** All sources of the link are `out` by now, and none is queued. */
  down(cause: DownCause): void
  message(space: Space, source: string, channel: string, payload: ReadPayload): void
  /** The source with this name, if there is one. */
  find(space: Space, name: string): Source | undefined
  confirmed(source: Source): void
  /** It is out, as was asked for. */
  left(source: Source): void
  /** It is out, and nobody asked for that. */
  lost(source: Source): void
  /** The upstream refuses it. @param line The error. */
  refused(source: Source, line: string): void
  /** A source has been queued, and nobody needs it any more. It was never asked for. */
  dropped(source: Source): void
  /** A command is about to be sent: from now on it is unknown whether a publish meets these sources. */
  changing(sources: readonly Source[]): void
  /** An answer that belongs to no subscription. */
  reply(value: RespValue): void
}

/** A connection that messages come on, and the sources that are subscribed to through it. */
export class SubscriberLink {
  readonly link: Link
  readonly #user: SubscriberLinkUser
  readonly #atEndOfTurn: LinkHost['atEndOfTurn']
  /** By {@link batchKind}: what one command can name. */
  readonly #queued = new Map<string, Set<Source>>()
  /** Sources that are asked for in commands of their own, since a command that named them was refused. */
  readonly #alone = new WeakSet<Source>()
  readonly #batches: Batch[] = []
  #isFlushDue = false

  constructor(host: LinkHost, user: SubscriberLinkUser) {
    this.#user = user
    this.#atEndOfTurn = host.atEndOfTurn
    this.link = new Link('subscriber', host, {
      up: (facts) => user.up(facts),
      beforeRead: user.beforeRead,
      flushed: () => {},
      down: (cause) => {
        this.#queued.clear()
        this.#batches.length = 0
        user.down(cause)
      },
      message: (space, source, channel, payload) => user.message(space, source, channel, payload),
      value: (value) => this.#value(value),
    })
  }

  /** Brings the state of a source upstream in line with whether it is needed, at the end of this turn. */
  update(source: Source): void {
    if (!this.link.isUp) return
    if (source.state === 'asked' || source.state === 'leaving') return
    const kind = this.#alone.has(source) ? `alone ${source.name}` : batchKind(source)
    const queue = this.#queued.get(kind)
    if (queue) queue.add(source)
    else this.#queued.set(kind, new Set([source]))
    this.#flushSoon()
  }

  #flushSoon(): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    this.#atEndOfTurn(() => {
      this.#isFlushDue = false
      if (this.link.isUp) this.#flush()
    })
  }

  #flush(): void {
    for (const [kind, queue] of this.#queued) {
      while (queue.size > 0) {
        if (this.#batches.length >= MOST_BATCHES) return
        const sources = this.#take(queue)
        if (sources.length > 0) this.#send(sources)
      }
      this.#queued.delete(kind)
    }
  }

  #send(sources: Source[]): void {
    const [first] = sources
    if (first === undefined) return
    const isLeave = !first.isNeeded
    const batch = { isLeave, sources, left: sources.length }
    this.#batches.push(batch)
    this.#user.changing(sources)
    for (const source of sources) {
      source.state = isLeave ? 'leaving' : 'asked'
      source.batch = batch
    }
    const names = sources.map(({ name }) => Buffer.from(name, 'latin1'))
    this.link.send(WORDS[first.space][isLeave ? 1 : 0], ...names)
  }

  /** Takes as many sources from a queue as one command may name. Some may no longer be what they were queued for. */
  #take(queue: Set<Source>): Source[] {
    const sources: Source[] = []
    const others: Source[] = []
    let bytes = 0
    for (const source of queue) {
      const [first] = sources
      if (first !== undefined) {
        if (sources.length >= BATCH_NAMES || bytes + source.name.length > BATCH_BYTES) break
      }
      queue.delete(source)
      // Its confirmation will say what it needs next.
      if (source.state === 'asked' || source.state === 'leaving') continue
      if (source.isNeeded === (source.state === 'in')) {
        if (!source.isNeeded) this.#user.dropped(source)
      } else if (first !== undefined && first.isNeeded !== source.isNeeded) {
        others.push(source)
      } else {
        sources.push(source)
        bytes += source.name.length
      }
    }
    for (const source of others) this.update(source)
    return sources
  }

  #value(value: RespValue): void {
    if (isPush(value)) {
      const [word, name] = value.items
      const confirmation = CONFIRMATIONS[textOf(word)]
      if (confirmation === undefined) return
      const source = this.#user.find(confirmation[0], textOf(name))
      if (source !== undefined) this.#confirmed(source, confirmation[1])
      return
    }
    if (isError(value) && this.#batches.length > 0) {
      this.#refused(value.message)
      return
    }
    this.#user.reply(value)
  }

  #confirmed(source: Source, isIn: boolean): void {
    const { batch } = source
    if (batch?.isLeave === isIn || batch === undefined) {
      // Nobody asked for it: the slot of a shard channel has moved, for a start.
      if (isIn || source.state !== 'in') return
      source.state = 'out'
      this.#user.lost(source)
      return
    }
    this.#settle(source, isIn ? 'in' : 'out')
    if (isIn) this.#user.confirmed(source)
    else this.#user.left(source)
    if (source.isNeeded !== isIn) this.update(source)
  }

  /** A command was refused as a whole: commands are answered in order, so it is the first that is not all confirmed. */
  #refused(line: string): void {
    const [batch] = this.#batches
    if (batch === undefined) return
    const open = batch.sources.filter((source) => source.batch === batch)
    for (const source of open) this.#settle(source, batch.isLeave ? 'in' : 'out')
    if (open.length === 1 || !line.startsWith('NOPERM')) {
      for (const source of open) this.#user.refused(source, line)
      return
    }
    // One of the names is not allowed: each is asked for by itself.
    for (const source of open) this.#alone.add(source)
    for (const source of open) this.update(source)
  }

  #settle(source: Source, state: 'in' | 'out'): void {
    const { batch } = source
    source.state = state
    source.batch = undefined
    if (state === 'in') this.#alone.delete(source)
    if (batch === undefined || --batch.left > 0) return
    this.#batches.splice(this.#batches.indexOf(batch), 1)
    if (this.#queued.size > 0) this.#flushSoon()
  }
}

/** What the sources of one command have in common: subscribing or not, the space, and for shard channels the slot. */
function batchKind(source: Source): string {
  const verb = source.isNeeded ? 'in' : 'out'
  return source.space === 'shard' ? `${verb} ${keySlot(source.name)}` : `${verb} ${source.space}`
}
