import { byteString, utf8Text } from '../../shared/bytes.ts'
import { bytesOf } from './arguments.ts'
import { DeniedError, RespcastError } from './errors.ts'
import type { Link } from './link.ts'
import type { AnyCodec, CodecName } from './codec.ts'
import { Subscriber } from './subscriber.ts'
import type { SubscribeOptions } from './subscriber.ts'
import { COMMANDS, KINDS } from './pushes.ts'
import type { Bytes, Denial, Gap, Message, MessageHandler, SubscriptionKind } from './types.ts'

/** A server accepts 128 arguments and 64 KiB in one command of a browser; batches use half of that. */
const MAX_BATCH_NAMES = 64
const MAX_BATCH_BYTES = 32 * 1024

/** Events of the registry. */
interface SubscriptionsListener {
  /** At least one subscription was told of a gap: the longest, once names that were asked for together are answered. */
  gap(gap: Gap): void
  denied(denial: Denial): void
  /** A handler or a codec threw. */
  failed(error: unknown): void
}

/** One name with all its subscribers. */
interface Entry {
  readonly kind: SubscriptionKind
  readonly bytes: Uint8Array
  /** Byte string. */
  readonly key: string
  readonly subscribers: Set<Subscriber>
  /** `idle`: no connection. `asked`: sent, not confirmed. Messages are handed on in `live` only. */
  state: 'idle' | 'asked' | 'live' | 'denied'
  /** Start of the gap in which messages may have been missed, in milliseconds of the monotonic clock. */
  gapSinceMs: number | undefined
}

/** Names of one kind that fit into one command. */
interface Batch {
  readonly kind: SubscriptionKind
  readonly entries: readonly Entry[]
}

/**
 * Registry of the subscriptions of the application. They survive reconnects.
 *
 * A name is live only once the current connection confirmed it. Subscriptions to one name share one on the server.
 */
export class Subscriptions {
  readonly #entries: Record<SubscriptionKind, Map<string, Entry>> = {
    channel: new Map(),
    pattern: new Map(),
    shard: new Map(),
  }
  readonly #codec: CodecName | AnyCodec
  readonly #nowMs: () => number
  readonly #listener: SubscriptionsListener
  #link: Link | undefined
  /** The longest gap that subscriptions were told of since the listener was, in milliseconds. */
  #gapMs: number | undefined

  /** @param nowMs The monotonic clock. */
  constructor(codec: CodecName | AnyCodec, nowMs: () => number, listener: SubscriptionsListener) {
    this.#codec = codec
    this.#nowMs = nowMs
    this.#listener = listener
  }

  /** Adds a subscription, and subscribes if the name is new and a connection is there. */
  add(
    kind: SubscriptionKind,
    name: Bytes,
    handler: MessageHandler<unknown> | undefined,
    options: SubscribeOptions,
  ): Subscriber {
    const bytes = bytesOf(name, kind === 'pattern' ? 'A pattern' : 'A channel')
    const key = byteString(bytes)
    let entry = this.#entries[kind].get(key)
    if (!entry) {
      entry = { kind, bytes, key, subscribers: new Set(), state: 'idle', gapSinceMs: undefined }
      this.#entries[kind].set(key, entry)
    }
    const owner = entry
    const subscriber: Subscriber = new Subscriber({
      kind,
      name: utf8Text(bytes),
      handler,
      options,
      codec: this.#codec,
      leave: (error) => this.#remove(owner, subscriber, error),
      failed: (error) => this.#listener.failed(error),
    })
    owner.subscribers.add(subscriber)
    if (owner.state === 'live') subscriber.enter('live')
    // An aborted signal has removed the subscriber again: then nothing is sent.
    subscriber.listen()
    const isWanted = owner.subscribers.size > 0 && owner.state !== 'live' && owner.state !== 'asked'
    if (this.#link && isWanted) void this.#askAll(this.#link, [{ kind, entries: [owner] }])
    return subscriber
  }

  /**
   * Subscribes to all names that are not live, in batches.
   *
   * @returns Resolves when every name was confirmed or refused, or the link has ended.
   */
  async online(link: Link): Promise<void> {
    this.#link = link
    const asked: Batch[] = []
    for (const kind of KINDS) {
      const wanted = [...this.#entries[kind].values()].filter(
        (entry) => entry.state === 'idle' || entry.state === 'denied',
      )
      for (const entries of batches(wanted)) asked.push({ kind, entries })
    }
    await this.#askAll(link, asked)
  }

  /**
   * The connection ended: no name is live.
   *
   * @param sinceMs Time up to which everything was received, in milliseconds of the monotonic clock.
   */
  offline(sinceMs: number): void {
    this.#link = undefined
    for (const entry of this.#all()) {
      if (entry.state === 'live') entry.gapSinceMs ??= sinceMs
      entry.state = 'idle'
      for (const subscriber of entry.subscribers) subscriber.enter('pending')
    }
  }

  /** Ends the subscriptions that were never ready, or all. */
  reject(which: 'unready' | 'all', error: RespcastError): void {
    for (const entry of this.#all()) {
      for (const subscriber of entry.subscribers) {
        if (which === 'all' || !subscriber.wasReady) this.#drop(entry, subscriber, error)
      }
    }
  }

  /** Delivers a message to the subscribers of a name. Byte string. */
  dispatch(kind: SubscriptionKind, key: string, message: Message): void {
    const entry = this.#entries[kind].get(key)
    if (entry?.state !== 'live') return
    for (const subscriber of entry.subscribers) subscriber.deliver(message)
  }

  /** The server took a subscription away without being asked. */
  taken(kind: SubscriptionKind, key: string): void {
    const entry = this.#entries[kind].get(key)
    if (entry?.state !== 'live') return
    entry.gapSinceMs = this.#nowMs()
    this.#deny(entry, 'LOST', 'the server ended the subscription')
  }

  /**
   * The server itself may have missed messages.
   *
   * @param key Channel or pattern, as a byte string; empty: all names.
   */
  missed(key: string, spanMs: number): void {
    for (const entry of this.#all()) {
      if (entry.state !== 'live' || (key !== '' && key !== entry.key)) continue
      for (const subscriber of entry.subscribers) this.#missed(subscriber, spanMs)
    }
    // Of several names, which the server tells one by one, the listener is told once.
    void this.#report([])
  }

  /** Asks for names, and reports the gap once all are answered, or the link has ended. */
  #askAll(link: Link, asked: readonly Batch[]): Promise<void> {
    return this.#report(asked.map(({ kind, entries }) => this.#ask(link, kind, entries)))
  }

  /** Reports the longest gap that subscriptions were told of, once all answers are there. */
  async #report(answers: readonly Promise<void>[]): Promise<void> {
    await Promise.all(answers)
    const spanMs = this.#gapMs
    this.#gapMs = undefined
    if (spanMs !== undefined) this.#listener.gap({ spanMs })
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
    const { gapSinceMs } = entry
    entry.gapSinceMs = undefined
    for (const subscriber of entry.subscribers) {
      // A subscriber added in between has missed nothing.
      const missed = gapSinceMs !== undefined && subscriber.wasReady
      subscriber.enter('live')
      if (missed) this.#missed(subscriber, Math.round(this.#nowMs() - gapSinceMs))
    }
  }

  #missed(subscriber: Subscriber, spanMs: number): void {
    this.#gapMs = Math.max(this.#gapMs ?? 0, spanMs)
    subscriber.gap({ spanMs })
  }

  /** An error names no channel: the names of a batch are retried one by one. */
  async #refused(
    link: Link,
    kind: SubscriptionKind,
    entries: readonly Entry[],
    error: RespcastError,
  ): Promise<void> {
    const wanted = entries.filter((entry) => entry.subscribers.size > 0 && entry.state === 'asked')
    if (entries.length > 1) {
      await Promise.all(wanted.map((entry) => this.#ask(link, kind, [entry])))
      return
    }
    for (const entry of wanted) this.#deny(entry, error.prefix ?? 'ERR', error.message)
  }

  /** Reports a refusal. Subscriptions that were never ready end; the others are retried later. */
  #deny(entry: Entry, code: string, message: string): void {
    entry.state = 'denied'
    const { kind, bytes } = entry
    const denial = { kind, name: utf8Text(bytes), nameBytes: bytes, code, message }
    const error = new DeniedError('ERR_DENIED', `${denial.name}: ${message}`, code)
    for (const subscriber of entry.subscribers) {
      subscriber.enter('denied')
      subscriber.denied(denial)
      if (!subscriber.wasReady) this.#drop(entry, subscriber, error)
    }
    this.#listener.denied(denial)
  }

  async #remove(entry: Entry, subscriber: Subscriber, error: RespcastError): Promise<void> {
    if (!entry.subscribers.has(subscriber)) return
    const { state } = entry
    this.#drop(entry, subscriber, error)
    const link = this.#link
    if (!link || entry.subscribers.size > 0 || (state !== 'live' && state !== 'asked')) return
    try {
      await link.request(COMMANDS[entry.kind].unsubscribe, [entry.bytes], () => undefined)
    } catch {
      // The connection went, and the subscription with it.
    }
  }

  #drop(entry: Entry, subscriber: Subscriber, error: RespcastError): void {
    entry.subscribers.delete(subscriber)
    const entries = this.#entries[entry.kind]
    if (entry.subscribers.size === 0 && entries.get(entry.key) === entry) entries.delete(entry.key)
    subscriber.end(error)
  }

  #all(): Entry[] {
    return Object.values(this.#entries).flatMap((entries) => [...entries.values()])
  }
}

/** Splits names into lists that fit into one command each. */
function batches<Item extends { readonly bytes: Uint8Array }>(items: readonly Item[]): Item[][] {
  const result: Item[][] = []
  let batchBytes = Infinity
  for (const item of items) {
    const current = result.at(-1)
    batchBytes += item.bytes.length
    if (!current || current.length === MAX_BATCH_NAMES || batchBytes > MAX_BATCH_BYTES) {
      result.push([item])
      batchBytes = item.bytes.length
    } else {
      current.push(item)
    }
  }
  return result
}
