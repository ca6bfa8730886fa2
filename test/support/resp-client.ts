import { connect, type Socket } from 'node:net'
import { WebSocket } from 'ws'

/** How long a test waits for bytes that should come. */
const PATIENCE_MS = 5_000

/**
 * A raw RESP connection: sends bytes, and hands out the bytes that came back, over TCP or WebSocket.
 *
 * `received` grows; `take` answers it whole once it has at least so many bytes and empties it.
 */
export interface RawClient {
  /** Sends bytes as they are; a string as latin1. */
  send(bytes: string | Buffer): void
  /** Sends a command as an array of bulk strings. */
  command(...args: (string | Buffer)[]): void
  /** Waits until at least `bytes` bytes are there, and takes exactly those. */
  take(bytes: number): Promise<Buffer>
  /** Waits until what was received ends with `tail` (latin1), and takes it all. */
  takeUntil(tail: string): Promise<string>
  /** What is there now, taken. */
  takeAll(): string
  /** Settles when the other side has closed. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  readonly isClosed: boolean
  /** Ends the connection at once. */
  destroy(): void
}

/** A command as an array of bulk strings. */
export function encodeCommand(...args: (string | Buffer)[]): Buffer {
  const parts = args.map((arg) => (typeof arg === 'string' ? Buffer.from(arg, 'latin1') : arg))
  const pieces: Buffer[] = [Buffer.from(`*${parts.length}\r\n`)]
  for (const part of parts) {
    pieces.push(Buffer.from(`$${part.length}\r\n`), part, Buffer.from('\r\n'))
  }
  return Buffer.concat(pieces)
}

class Inbox {
  #chunks: Buffer[] = []
  #length = 0
  #waiting: (() => void)[] = []

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    this.wake()
  }

  wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #whole(): Buffer {
    const whole =
      this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks)
    this.#chunks = whole.length > 0 ? [whole] : []
    return whole
  }

  take(bytes: number): Buffer {
    const whole = this.#whole()
    const rest = whole.subarray(bytes)
    this.#chunks = rest.length > 0 ? [rest] : []
    this.#length = rest.length
    return whole.subarray(0, bytes)
  }

  async until(
    test: (inbox: Inbox) => boolean,
    what: string,
    isClosed: () => boolean,
  ): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS
    while (!test(this)) {
      const leftMs = deadline - performance.now()
      if (leftMs <= 0 || isClosed()) {
        const state = isClosed() ? 'connection closed' : 'timed out'
        throw new Error(`${state} waiting for ${what}; got ${JSON.stringify(this.text)}`)
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs)
        this.#waiting.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }

  get length(): number {
    return this.#length
  }

  endsWith(tail: string): boolean {
    if (this.#length < tail.length) return false
    return this.#whole().subarray(-tail.length).toString('latin1') === tail
  }

  get text(): string {
    return this.#whole().toString('latin1').slice(0, 2_000)
  }
}

interface Wire {
  write(bytes: Buffer): void
  destroy(): void
}

function rawClient(
  wire: Wire,
  inbox: Inbox,
  closed: Promise<{ code: number; reason: string }>,
): RawClient {
  let isClosed = false
  void closed.then(() => {
    isClosed = true
    inbox.wake()
  })
  const send = (bytes: string | Buffer): void => {
    wire.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  }
  return {
    send,
    command: (...args) => send(encodeCommand(...args)),
    take: async (bytes) => {
      await inbox.until(
        (box) => box.length >= bytes,
        `${bytes} bytes`,
        () => isClosed,
      )
      return inbox.take(bytes)
    },
    takeUntil: async (tail) => {
      await inbox.until(
        (box) => box.endsWith(tail),
        JSON.stringify(tail),
        () => isClosed,
      )
      return inbox.take(inbox.length).toString('latin1')
    },
    takeAll: () => inbox.take(inbox.length).toString('latin1'),
    closed,
    get isClosed() {
      return isClosed
    },
    destroy: () => wire.destroy(),
  }
}

/** Connects over TCP, or to a Unix socket by its path. */
export async function connectRaw(port: number | string, host = '127.0.0.1'): Promise<RawClient> {
  const socket: Socket =
    typeof port === 'string' ? connect(port) : connect({ port, host, noDelay: true })
  const inbox = new Inbox()
  socket.on('data', (chunk: Buffer) => inbox.add(chunk))
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', () => resolve({ code: 0, reason: '' }))
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  socket.on('error', () => {})
  const wire = {
    write: (bytes: Buffer) => void socket.write(bytes),
    destroy: () => socket.destroy(),
  }
  return rawClient(wire, inbox, closed)
}

/** How to open a WebSocket. */
export interface WebSocketOptions {
  /** Offered beside `resp3` as `bearer.<token>`. */
  readonly token?: string
  readonly protocols?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly origin?: string
}

/** Connects over WebSocket. @throws Error The upgrade was refused; the message holds the status. */
export async function connectWebSocket(
  url: string,
  options: WebSocketOptions = {},
): Promise<RawClient> {
  const protocols = [
    ...(options.protocols ?? ['resp3']),
    ...(options.token === undefined ? [] : [`bearer.${options.token}`]),
  ]
  const webSocket = new WebSocket(url, protocols, {
    headers: { ...options.headers },
    ...(options.origin === undefined ? {} : { origin: options.origin }),
  })
  const inbox = new Inbox()
  webSocket.on('message', (data) => inbox.add(data as Buffer))
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    webSocket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }))
  })
  await new Promise<void>((resolve, reject) => {
    webSocket.once('open', resolve)
    webSocket.once('error', reject)
  })
  webSocket.on('error', () => {})
  const wire = {
    write: (bytes: Buffer) => webSocket.send(bytes),
    destroy: () => webSocket.terminate(),
  }
  return rawClient(wire, inbox, closed)
}
