import { compileGlob, escapeGlob } from '../../../shared/glob.ts'
import type { Space } from '../../pubsub/subscriber.ts'
import type { SubscriberLink, Batch } from './subscriber-link.ts'

/** Waits until several sources are in force. */
export interface Waiter {
  /** Of its sources those that are not in force. */
  missing: number
  readonly sources: ReadonlySet<Source>
  /** Called once. */
  readonly finish: (failure: 'timeout' | 'refused' | undefined) => void
}

/**
 * One subscription at the upstream, from which local subscriptions get their messages: a channel or a shard channel for the
 * subscriptions to it, a {@link Cover} for patterns. Every local subscription has exactly one source.
 */
export class Source {
  readonly space: Space
  /** The name upstream, a byte string. */
  readonly name: string
  /**
   * On its link: `out`, not subscribed to; `asked` and `leaving`, the command was sent; `in`, confirmed, as of what has been read.
   */
  state: 'out' | 'asked' | 'in' | 'leaving' = 'out'
  /** Local subscriptions exist. */
  isOccupied = false
  /** Waiters that need it. */
  pins = 0
  waiters: Waiter[] | undefined
  /** It stays subscribed until then, in monotonic milliseconds, though nobody needs it. */
  lingersUntilMs: number | undefined
  link: SubscriberLink | undefined
  batch: Batch | undefined

  constructor(space: Space, name: string) {
    this.space = space
    this.name = name
  }

  /** It is to be subscribed to. */
  get isNeeded(): boolean {
    return this.isOccupied || this.pins > 0 || this.lingersUntilMs !== undefined
  }
}

/** A pattern upstream that matches whatever the local patterns under it match: their common literal head and `*`. */
export class Cover extends Source {
  readonly head: string
  /** The local patterns that get their messages from it. */
  readonly patterns = new Set<string>()

  constructor(head: string) {
    super('pattern', `${escapeGlob(head)}*`)
    this.head = head
  }

  /** Reports whether the upstream sends messages to a channel through it. A Redis has no pattern match an empty name. */
  matches(channel: string): boolean {
    return channel.startsWith(this.head) && channel !== ''
  }
}

/** The end of the first part of a name. */
const SEPARATOR = /[:./]/

/** The literal head of a pattern: every channel that it matches begins so. */
export function headOf(pattern: string): string {
  return compileGlob(pattern).literalHead
}

/** The first part of a head, its separator included; empty where it has none. */
export function shortened(head: string): string {
  const at = head.search(SEPARATOR)
  return at < 0 ? '' : head.slice(0, at + 1)
}
