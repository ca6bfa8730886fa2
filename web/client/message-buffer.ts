import type { RespcastError } from './errors.ts'
import type { Message } from './types.ts'

/**
 * Policy for a message that does not fit: drop the oldest ones (`drop-oldest`), drop the new one
 * (`drop-newest`), or end the subscription with an `OverflowError` (`end`).
 */
export type OverflowPolicy = 'drop-oldest' | 'drop-newest' | 'end'

/** Limits of the buffer of an iterator. */
export interface BufferOptions {
  /** Default 1000. */
  readonly messages?: number
  /** Bytes of payload; default 8 MiB. One message always fits. */
  readonly bytes?: number
  /** Default `drop-oldest`. */
  readonly overflow?: OverflowPolicy
}

type Result<Data> = IteratorResult<Message<Data>, undefined>

interface Waiting<Data> {
  resolve(result: Result<Data>): void
  reject(error: RespcastError): void
}

/** Bounded queue between arriving messages and an iterator. */
export class MessageBuffer<Data> {
  readonly #limits: Required<BufferOptions>
  #messages: Message<Data>[] = []
  #bytes = 0
  /** Iterators that found nothing. */
  readonly #waiting: Waiting<Data>[] = []
  #ended = false
  #error: RespcastError | undefined

  constructor(options: BufferOptions = {}) {
    this.#limits = { messages: 1000, bytes: 8_388_608, overflow: 'drop-oldest', ...options }
  }

  /**
   * Hands a message to a waiting iterator, or buffers it.
   *
   * @returns How many messages were dropped; undefined if the policy is to end.
   */
  push(message: Message<Data>): number | undefined {
    const waiting = this.#waiting.shift()
    if (waiting) {
      waiting.resolve({ done: false, value: message })
      return 0
    }
    const { overflow } = this.#limits
    let dropped = 0
    while (this.#messages.length > 0 && !this.#fits(message)) {
      if (overflow === 'end') return undefined
      dropped++
      if (overflow === 'drop-newest') return dropped
      this.#shift()
    }
    this.#messages.push(message)
    this.#bytes += message.payload.length
    return dropped
  }

  /** The next message, as soon as there is one. @throws {RespcastError} What `end` was given. */
  next(): Promise<Result<Data>> {
    const value = this.#shift()
    if (value) return Promise.resolve({ done: false, value })
    if (this.#error) return Promise.reject(this.#error)
    if (this.#ended) return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  /** Drops the buffered messages. */
  clear(): void {
    this.#messages = []
    this.#bytes = 0
  }

  /** Ends iterators, or makes them throw the error. With an error, buffered messages are still delivered first. */
  end(error?: RespcastError): void {
    this.#ended = true
    this.#error = error
    if (!error) this.clear()
    for (const waiting of this.#waiting.splice(0)) {
      if (error) waiting.reject(error)
      else waiting.resolve({ done: true, value: undefined })
    }
  }

  #fits({ payload }: Message<Data>): boolean {
    const { messages, bytes } = this.#limits
    return this.#messages.length < messages && this.#bytes + payload.length <= bytes
  }

  #shift(): Message<Data> | undefined {
    const message = this.#messages.shift()
    if (message) this.#bytes -= message.payload.length
    return message
  }
}
