import { connect, type Socket } from 'node:net'
import { WebSocket } from 'ws'

/** Longest wait for bytes that should arrive. */
const PATIENCE_MS = 15_000

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
  /** Takes as many bytes as `bytes` has, and fails where they are others. A string stands for latin1. */
  takeExactly(bytes: string | Buffer): Promise<void>
  /** Takes what is there now. */
  takeAll(): string
  /** Takes bytes up to the next line end, and returns them without it. */
  takeLine(): Promise<string>
  /** Takes one bulk or verbatim string, and returns what it holds. */
  takeBulk(): Promise<string>
  /** Takes the push with which a token session begins. @returns The milliseconds that the token has left. */
  takeAccepted(user: string): Promise<number>
  /** Sends a command whose reply is one bulk string. */
  askBulk(...command: string[]): Promise<string>
  /** Sends a command and takes the reply that it must have. */
  assertReply(command: readonly string[], reply: string | Buffer): Promise<void>
  /** Proves that it is alive and that nothing else has come for it. */
  assertPong(): Promise<void>
  /** Subscribes to a channel (`a`), which makes `count` subscriptions (1), in RESP3 unless told otherwise. */
  subscribe(channel?: string, count?: number, protocol?: 2 | 3): Promise<void>
  /** Stops and starts reading from the socket, so that the other side has to keep what it sends. */
  pause(): void
  resume(): void
  /** Settles when the other side has closed. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  readonly isClosed: boolean
  /** Ends the connection at once. */
  destroy(): void
}

/** A {@link RawClient} over WebSocket, where messages have bounds. */
export interface RawWebSocket extends RawClient {
  /** The subprotocol that the server chose; empty is none. */
  readonly protocol: string
  /** Sends a text message. */
  sendText(text: string): void
  /** Messages since the last call, one buffer each. `take` and the like do not use them up. */
  takeMessages(): Buffer[]
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

/** A push as a subscriber gets it: `>` in RESP3, `*` in RESP2; all items but numbers are bulk strings. */
export function push(protocol: 2 | 3, ...items: (string | Buffer | number)[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`${protocol === 3 ? '>' : '*'}${items.length}\r\n`)]
  for (const item of items) {
    if (typeof item === 'number') {
      parts.push(Buffer.from(`:${item}\r\n`))
      continue
    }
    const bytes = typeof item === 'string' ? Buffer.from(item, 'latin1') : item
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'))
  }
  return Buffer.concat(parts)
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
  pause(): void
  resume(): void
}

/** Bytes for a message of a failed test: what is long is cut. */
function shown(bytes: Buffer): string {
  const text = JSON.stringify(bytes.toString('latin1', 0, 1_000))
  return bytes.length > 1_000 ? `${text}... (${bytes.length} bytes)` : text
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
  const take = async (bytes: number, what = `${bytes} bytes`): Promise<Buffer> => {
    await inbox.until(
      (box) => box.length >= bytes,
      what,
      () => isClosed,
    )
    return inbox.take(bytes)
  }
  const self: RawClient = {
    send,
    command: (...args) => send(encodeCommand(...args)),
    take,
    takeExactly: async (bytes) => {
      const expected = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes
      const got = await take(expected.length, shown(expected))
      if (got.equals(expected)) return
      throw new Error(`expected ${shown(expected)}; got ${shown(got)}${inbox.text && ', and more'}`)
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
    takeLine: async () => {
      let line = ''
      while (!line.endsWith('\r\n')) line += (await take(1)).toString('latin1')
      return line.slice(0, -2)
    },
    takeBulk: async () => {
      const header = await self.takeLine()
      if (!/^[$=]\d+$/.test(header)) throw new Error(`not a bulk string: ${header}`)
      const bytes = await take(Number(header.slice(1)) + 2)
      return bytes.toString('latin1', 0, bytes.length - 2)
    },
    takeAccepted: async (user) => {
      const length = Buffer.byteLength(user)
      await self.takeExactly('>4\r\n$5\r\ntoken\r\n$6\r\nlimits\r\n:')
      await self.takeLine()
      await self.takeExactly(':')
      await self.takeLine()
      await self.takeExactly(`>4\r\n$5\r\ntoken\r\n$8\r\naccepted\r\n$${length}\r\n${user}\r\n:`)
      return Number.parseInt(await self.takeLine(), 10)
    },
    askBulk: (...command) => {
      self.command(...command)
      return self.takeBulk()
    },
    assertReply: async (command, reply) => {
      self.command(...command)
      await self.takeExactly(reply)
    },
    assertPong: () => self.assertReply(['PING'], '+PONG\r\n'),
    subscribe: (channel = 'a', count = 1, protocol = 3) =>
      self.assertReply(['SUBSCRIBE', channel], push(protocol, 'subscribe', channel, count)),
    closed,
    get isClosed() {
      return isClosed
    },
    destroy: () => wire.destroy(),
    pause: () => wire.pause(),
    resume: () => wire.resume(),
  }
  return self
}

/**
 * Connects over TCP, or to a Unix socket by its path.
 *
 * @param localAddress The address of this machine to connect from.
 */
export async function connectRaw(
  port: number | string,
  host = '127.0.0.1',
  localAddress?: string,
): Promise<RawClient> {
  const from = localAddress === undefined ? {} : { localAddress }
  const socket: Socket =
    typeof port === 'string' ? connect(port) : connect({ port, host, noDelay: true, ...from })
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
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
  }
  return rawClient(wire, inbox, closed)
}

/** Options for opening a WebSocket. */
export interface WebSocketOptions {
  /** Offered beside `resp3` as `bearer.<token>`. */
  readonly token?: string
  readonly protocols?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly origin?: string
  /** Certificate of the authority of a server over TLS. */
  readonly ca?: Buffer
  /** The address of this machine to connect from. */
  readonly localAddress?: string
}

/** Connects over WebSocket. @throws Error The upgrade was refused; the message holds the status. */
export async function connectWebSocket(
  url: string,
  options: WebSocketOptions = {},
): Promise<RawWebSocket> {
  const protocols = [
    ...(options.protocols ?? ['resp3']),
    ...(options.token === undefined ? [] : [`bearer.${options.token}`]),
  ]
  const webSocket = new WebSocket(url, protocols, {
    headers: { ...options.headers },
    ...(options.origin === undefined ? {} : { origin: options.origin }),
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    ...(options.localAddress === undefined ? {} : { localAddress: options.localAddress }),
  })
  const inbox = new Inbox()
  let messages: Buffer[] = []
  webSocket.on('message', (data) => {
    messages.push(data as Buffer)
    inbox.add(data as Buffer)
  })
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
    pause: () => webSocket.pause(),
    resume: () => webSocket.resume(),
  }
  // One object: `isClosed` is a getter, which spreading would freeze.
  return Object.assign(rawClient(wire, inbox, closed), {
    protocol: webSocket.protocol,
    sendText: (text: string) => webSocket.send(text),
    takeMessages: () => {
      const taken = messages
      messages = []
      return taken
    },
  })
}
