import { codecOf } from './codec.ts'
import type { AnyCodec, Codec, CodecName } from './codec.ts'
import { ClosedError, DecodeError, OverflowError } from './errors.ts'
import type { RespcastError } from './errors.ts'
import { MessageBuffer } from './message-buffer.ts'
import type { BufferOptions } from './message-buffer.ts'
import type {
  Denial,
  Gap,
  Message,
  MessageHandler,
  Subscription,
  SubscriptionEvents,
  SubscriptionKind,
  SubscriptionStatus,
} from './types.ts'

/** Options of one subscription. */
export interface SubscribeOptions {
  /** Instead of the client's codec. */
  readonly codec?: CodecName | AnyCodec
  /** Limits of the buffer for `for await`. */
  readonly buffer?: BufferOptions
  /** Ends the subscription when it is aborted. */
  readonly signal?: AbortSignal
}

/** Parts of a subscriber. */
interface SubscriberParts {
  readonly kind: SubscriptionKind
  readonly name: string
  readonly handler: MessageHandler<unknown> | undefined
  readonly options: SubscribeOptions
  readonly codec: CodecName | AnyCodec
  /** Removes it from the registry. @returns Resolves when the server has confirmed. */
  leave(error: RespcastError): Promise<void>
  /** Takes errors of handlers and codecs. */
  failed(error: unknown): void
}

/** A subscription but for the types of its events, which `EventTarget` does not know. */
type Untyped = Omit<Subscription<unknown>, 'addEventListener' | 'removeEventListener'>

/** Some platforms have no events: then handlers and loops work, and there is nothing to add a listener to. */
const HAS_EVENTS = typeof EventTarget === 'function' && typeof CustomEvent === 'function'
const Target = HAS_EVENTS ? EventTarget : (Object as unknown as typeof EventTarget)

/** A {@link Subscription}, with the methods that the registry calls. */
export class Subscriber extends Target implements Untyped {
  readonly kind: SubscriptionKind
  readonly name: string
  readonly ready: Promise<void>
  /** `ready` was resolved once: a later refusal is reported, and does not end the subscription. */
  wasReady = false
  readonly #parts: SubscriberParts
  readonly #codec: Codec<unknown>
  readonly #buffer: MessageBuffer<unknown>
  readonly #abort = (): void => void this.unsubscribe()
  #resolve!: () => void
  #reject!: (error: RespcastError) => void
  /** Messages are buffered for an iterator: no handler or listener takes them. */
  #keeps: boolean
  #hasListener = false
  #status: SubscriptionStatus = 'pending'
  #dropped = 0

  constructor(parts: SubscriberParts) {
    super()
    this.#parts = parts
    this.kind = parts.kind
    this.name = parts.name
    this.#codec = codecOf(parts.options.codec ?? parts.codec)
    this.#buffer = new MessageBuffer(parts.options.buffer)
    this.#keeps = !parts.handler
    this.ready = new Promise<void>((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // A page that ignores `ready` learns of a refusal by the `denied` event.
    this.ready.catch(() => undefined)
  }

  get status(): SubscriptionStatus {
    return this.#status
  }

  get dropped(): number {
    return this.#dropped
  }

  unsubscribe(): Promise<void> {
    return this.#parts.leave(new ClosedError('ERR_CLOSED', 'The subscription was ended'))
  }

  override addEventListener(...args: Parameters<EventTarget['addEventListener']>): void {
    if (args[0] === 'message' && !this.#hasListener) {
      this.#hasListener = true
      this.#keeps = false
      this.#buffer.clear()
    }
    super.addEventListener(...args)
  }

  [Symbol.asyncIterator](): AsyncIterator<Message<unknown>, undefined> {
    this.#keeps = true
    return {
      next: () => this.#buffer.next(),
      // Leaving a loop does not wait for the server.
      return: () => {
        void this.unsubscribe()
        return Promise.resolve({ done: true, value: undefined })
      },
    }
  }

  // On a platform without the symbol this is a method named `undefined`, which nobody calls.
  [Symbol.asyncDispose](): Promise<void> {
    return this.unsubscribe()
  }

  /** Starts to follow the abort signal. */
  listen(): void {
    const { signal } = this.#parts.options
    if (signal?.aborted) this.#abort()
    else signal?.addEventListener('abort', this.#abort)
  }

  /** Delivers a message: to the handler, the listeners, then the buffer. */
  deliver(raw: Message): void {
    let message: Message<unknown>
    try {
      message = { ...raw, data: this.#codec.decode(raw.payload) }
    } catch (error) {
      this.#parts.failed(new DecodeError(raw.channel, error))
      return
    }
    try {
      this.#parts.handler?.(message)
    } catch (error) {
      this.#parts.failed(error)
    }
    if (this.#hasListener) this.#tell('message', message)
    if (this.#keeps) this.#keep(message)
  }

  /** Changes the status. */
  enter(status: SubscriptionStatus): void {
    if (this.#status === status || this.#status === 'ended') return
    this.#status = status
    if (status === 'live') {
      this.wasReady = true
      this.#resolve()
    }
    this.#tell('status', status)
  }

  gap(gap: Gap): void {
    this.#tell('gap', gap)
  }

  denied(denial: Denial): void {
    this.#tell('denied', denial)
  }

  /** Ends the subscription: `ready` rejects if it is pending, and iterators end. After a refusal they throw the error. */
  end(error: RespcastError): void {
    this.#reject(error)
    this.#parts.options.signal?.removeEventListener('abort', this.#abort)
    this.#buffer.end(error instanceof ClosedError ? undefined : error)
    this.enter('ended')
  }

  #keep(message: Message<unknown>): void {
    const dropped = this.#buffer.push(message)
    if (dropped === undefined) {
      void this.#parts.leave(new OverflowError('ERR_OVERFLOW', `${this.name} is read too slowly`))
    } else if (dropped > 0) {
      this.#dropped += dropped
      this.#tell('drop', this.#dropped)
    }
  }

  #tell<Name extends keyof SubscriptionEvents>(
    name: Name,
    detail: SubscriptionEvents<unknown>[Name],
  ): void {
    if (HAS_EVENTS) this.dispatchEvent(new CustomEvent(name, { detail }))
  }
}
