import type { WebSocketLike } from '../client/options.ts'

/** Listeners by event, with what the event brings. */
interface SocketEvents {
  open: undefined
  error: undefined
  message: { readonly data: unknown }
  close: { readonly code: number; readonly reason: string }
}

type Listener = (event: never) => void

/** The client's end of a connection in memory. Events come in microtasks, in the order in which they were caused. */
export class TestSocket implements WebSocketLike {
  binaryType = 'blob'
  readonly protocols: readonly string[]
  readonly url: string
  /** Takes what the client sends, until either side closes. */
  received: (bytes: Uint8Array) => void = () => undefined
  /** The client closes. */
  closing: () => void = () => undefined
  readonly #listeners = new Map<keyof SocketEvents, Listener[]>()
  #isEnded = false

  constructor(url: string, protocols: readonly string[]) {
    this.url = url
    this.protocols = protocols
  }

  addEventListener<Name extends keyof SocketEvents>(
    name: Name,
    listener: (event: SocketEvents[Name]) => void,
  ): void {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener])
  }

  send(bytes: Uint8Array<ArrayBuffer>): void {
    const copy = bytes.slice()
    this.#later(() => this.received(copy))
  }

  close(code = 1005, reason = ''): void {
    this.#later(() => {
      this.closing()
      this.end(code, reason)
    })
  }

  /** The server has accepted it. @param after Called once the client has heard of it, and what it sent at once has arrived. */
  open(after: () => void): void {
    this.#later(() => {
      this.#emit('open', undefined)
      this.#later(after)
    })
  }

  /** The server sends. */
  deliver(bytes: Uint8Array): void {
    this.#later(() => this.#emit('message', { data: bytes.slice().buffer }))
  }

  /** The server closes, or the network breaks (1006). Nothing follows. */
  end(code: number, reason: string): void {
    this.#later(() => {
      this.#isEnded = true
      this.#emit('close', { code, reason })
    })
  }

  #later(callback: () => void): void {
    queueMicrotask(() => {
      if (!this.#isEnded) callback()
    })
  }

  #emit<Name extends keyof SocketEvents>(name: Name, event: SocketEvents[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) listener(event as never)
  }
}
