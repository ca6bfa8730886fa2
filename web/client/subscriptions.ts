import { byteString, utf8Bytes, utf8Text } from '../../shared/bytes.ts'
import { RespcastError } from './errors.ts'
import type { Link } from './link.ts'
import type {
  Bytes,
  Denial,
  Message,
  MessageHandler,
  Subscription,
  SubscriptionKind,
} from './types.ts'
import { batches, COMMANDS } from './subscription-commands.ts'

/** What the registry tells its owner. */
export interface SubscriptionsListener {
  denied(denial: Denial): void
  /** A handler threw. */
  failed(error: unknown): void
}

/** One name, however many handlers it has. */
interface Entry {
  readonly kind: SubscriptionKind
  readonly bytes: Uint8Array
  /** Byte string. */
  readonly key: string
  readonly handlers: Set<Handler>
  /** `idle`: no connection. `asked`: sent, not confirmed. Messages are handed on in `live` only. */
  state: 'idle' | 'asked' | 'live' | 'denied'
}

interface Handler {
  readonly call: MessageHandler
  /** Settle `ready`; later calls change nothing. */
  readonly resolve: () => void
  readonly reject: (error: RespcastError) => void
  /** `ready` was resolved once: a later refusal is reported, and does not end the subscription. */
  wasReady: boolean
}

/**
 * What the application wants to hear, kept over connections.
 *
 * A name is live only once the connection of now confirmed it. Handlers of one name share one subscription of the server.
 */
export class Subscriptions {
  readonly #entries: Record<SubscriptionKind, Map<string, Entry>> = {
    channel: new Map(),
    pattern: new Map(),
    shard: new Map(),
  }
  readonly #listener: SubscriptionsListener
  #link: Link | undefined

  constructor(listener: SubscriptionsListener) {
    this.#listener = listener
  }

  /** Number of names wanted. */
  get size(): number {
    return this.#all().length
  }

  /** Messages can arrive: at least one name is live. */
  get anyLive(): boolean {
    return this.#all().some((entry) => entry.state === 'live')
  }

  /** Adds a handler, and subscribes if the name is new and a connection is there. */
  add(kind: SubscriptionKind, name: Bytes, call: MessageHandler): Subscription {
    const bytes = typeof name === 'string' ? utf8Bytes(name) : name.slice()
    const key = byteString(bytes)
    let entry = this.#entries[kind].get(key)
    if (!entry) {
      entry = { kind, bytes, key, handlers: new Set(), state: 'idle' }
      this.#entries[kind].set(key, entry)
    }
    const owner = entry
    let handler!: Handler
    const ready = new Promise<void>((resolve, reject) => {
      handler = { call, resolve, reject, wasReady: false }
    })
    // A page that does not look at `ready` hears of a refusal by the `denied` event.
    ready.catch(() => undefined)
    owner.handlers.add(handler)

    if (owner.state === 'live') settleReady(handler)
    else if (this.#link && owner.state !== 'asked') void this.#ask(this.#link, kind, [owner])
    return { kind, name: utf8Text(bytes), ready, unsubscribe: () => this.#remove(owner, handler) }
  }

  /**
   * Subscribes to everything that is wanted and not live, in batches.
   *
   * @returns Resolves when every name was confirmed or refused, or the link has ended.
   */
  async online(link: Link): Promise<void> {
    this.#link = link
    const asked: Promise<void>[] = []
    for (const kind of ['channel', 'pattern', 'shard'] as const) {
      const wanted = [...this.#entries[kind].values()].filter(
        (entry) => entry.state === 'idle' || entry.state === 'denied',
      )
      for (const batch of batches(wanted)) asked.push(this.#ask(link, kind, batch))
    }
    await Promise.all(asked)
  }

  /** The connection is gone: nothing is live. */
  offline(): void {
    this.#link = undefined
    for (const entry of this.#all()) entry.state = 'idle'
  }

  /** Ends what is not ready yet, or everything. */
  reject(which: 'unready' | 'all', error: RespcastError): void {
    for (const entry of this.#all()) {
      for (const handler of entry.handlers) {
        if (which === 'all' || !handler.wasReady) this.#drop(entry, handler, error)
      }
    }
  }

  /** Hands a message to the handlers of a name. Byte string. */
  dispatch(kind: SubscriptionKind, key: string, message: Message): void {
    const entry = this.#entries[kind].get(key)
    if (entry?.state !== 'live') return
    for (const handler of entry.handlers) {
      try {
        handler.call(message)
      } catch (error) {
        this.#listener.failed(error)
      }
    }
  }

  /** The server took a subscription away without being asked. */
  taken(kind: SubscriptionKind, key: string): void {
    const entry = this.#entries[kind].get(key)
    if (entry?.state === 'live') this.#deny(entry, 'LOST', 'the server ended the subscription')
  }

  async #ask(link: Link, kind: SubscriptionKind, entries: readonly Entry[]): Promise<void> {
    const asked = new Map(entries.map((entry) => [entry.key, entry]))
    for (const entry of entries) entry.state = 'asked'
    try {
      await link.request(
        COMMANDS[kind].subscribe,
        entries.map((entry) => entry.bytes),
        (key) => this.#confirm(link, asked.get(key)),
      )
    } catch (error) {
      if (link !== this.#link || !(error instanceof RespcastError)) return
      await this.#refused(link, kind, entries, error)
    }
  }

  #confirm(link: Link, entry: Entry | undefined): void {
    if (!entry || link !== this.#link) return
    entry.state = 'live'
    for (const handler of entry.handlers) settleReady(handler)
  }

  /** An error names no channel: a batch is asked for again name by name. */
  async #refused(
    link: Link,
    kind: SubscriptionKind,
    entries: readonly Entry[],
    error: RespcastError,
  ): Promise<void> {
    const wanted = entries.filter((entry) => entry.handlers.size > 0 && entry.state === 'asked')
    if (entries.length > 1) {
      await Promise.all(wanted.map((entry) => this.#ask(link, kind, [entry])))
      return
    }
    for (const entry of wanted) this.#deny(entry, error.prefix ?? 'ERR', error.message)
  }

  /** Reports a refusal. Handlers that were never ready end; the others keep the name wanted. */
  #deny(entry: Entry, code: string, message: string): void {
    entry.state = 'denied'
    const name = utf8Text(entry.bytes)
    const error = new RespcastError('ERR_DENIED', `${name}: ${message}`, code)
    for (const handler of entry.handlers) {
      if (!handler.wasReady) this.#drop(entry, handler, error)
    }
    this.#listener.denied({ kind: entry.kind, name, nameBytes: entry.bytes, code, message })
  }

  async #remove(entry: Entry, handler: Handler): Promise<void> {
    if (!entry.handlers.has(handler)) return
    const { state } = entry
    this.#drop(entry, handler, new RespcastError('ERR_CLOSED', 'The subscription was ended'))
    const link = this.#link
    if (!link || entry.handlers.size > 0 || (state !== 'live' && state !== 'asked')) return
    try {
      await link.request(COMMANDS[entry.kind].unsubscribe, [entry.bytes], () => undefined)
    } catch {
      // The connection went, and the subscription with it.
    }
  }

  #drop(entry: Entry, handler: Handler, error: RespcastError): void {
    handler.reject(error)
    entry.handlers.delete(handler)
    const entries = this.#entries[entry.kind]
    if (entry.handlers.size === 0 && entries.get(entry.key) === entry) entries.delete(entry.key)
  }

  #all(): Entry[] {
    return Object.values(this.#entries).flatMap((entries) => [...entries.values()])
  }
}

function settleReady(handler: Handler): void {
  handler.wasReady = true
  handler.resolve()
}
