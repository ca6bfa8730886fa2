import { connect } from 'node:net'
import { encodeWords, type TranscriptStep } from './transcript.ts'

/** One connection of a {@link Session}. */
export interface Peer {
  /** Bytes as a byte string or a Buffer. */
  send(bytes: string): void
  /** Returns what has arrived since the last call, as a byte string. */
  takeAll(): string
  readonly isClosed: boolean
  destroy(): void
}

/** Result of one step: the bytes of each connection, `<EOF>` after the last ones of a connection that was closed. */
export type Outcome = ReadonlyMap<string, string>

const EOF = '<EOF>'

/** Questions answered on the control connection before a server counts as quiet. */
const ROUNDS = 3

/** One more question for so many bytes: a server reads and writes large ones in several turns. */
const BYTES_PER_ROUND = 8_192

/** Connects over TCP; resolves once connected. */
export async function connectPeer(port: number, host: string): Promise<Peer> {
  const socket = connect({ port, host, noDelay: true })
  let received: Buffer[] = []
  let isClosed = false
  const waiting: (() => void)[] = []
  const end = (): void => {
    isClosed = true
    for (const resolve of waiting.splice(0)) resolve()
  }
  socket.on('data', (chunk: Buffer) => {
    received.push(chunk)
    for (const resolve of waiting.splice(0)) resolve()
  })
  socket.on('end', end)
  socket.on('close', end)
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  socket.on('error', end)
  return {
    send: (bytes) => void socket.write(Buffer.from(bytes, 'latin1')),
    takeAll: () => {
      const text = Buffer.concat(received).toString('latin1')
      received = []
      return text
    },
    get isClosed() {
      return isClosed
    },
    destroy: () => socket.destroy(),
  }
}

/** A control connection: one command, one answer. */
export class Control {
  readonly #peer: Peer
  #marks = 0

  constructor(peer: Peer) {
    this.#peer = peer
  }

  /** Sends a command. @returns Its answer's bytes. */
  async ask(...words: readonly string[]): Promise<string> {
    const mark = `mark-${++this.#marks}`
    this.#peer.send(encodeWords(words) + encodeWords(['ECHO', mark]))
    const tail = `$${mark.length}\r\n${mark}\r\n`
    let text = ''
    const deadline = performance.now() + 10_000
    while (!text.endsWith(tail)) {
      if (this.#peer.isClosed) throw new Error(`the server closed the control connection: ${text}`)
      if (performance.now() > deadline) throw new Error(`no answer to ${words.join(' ')}: ${text}`)
      await new Promise<void>((resolve) => setImmediate(resolve))
      text += this.#peer.takeAll()
    }
    return text.slice(0, -tail.length)
  }

  /** Waits until everything that was sent before, `bytes` long, has been answered. */
  async quiet(bytes = 0): Promise<void> {
    const rounds = ROUNDS + Math.ceil(bytes / BYTES_PER_ROUND)
    for (let i = 0; i < rounds; i++) await this.ask('PING')
  }

  close(): void {
    this.#peer.destroy()
  }
}

/** Several connections to one server, and one more to know when it is quiet. */
export class Session {
  readonly control: Control
  readonly #open: () => Promise<Peer>
  readonly #peers = new Map<string, Peer>()
  readonly #closed = new Set<string>()

  constructor(control: Control, open: () => Promise<Peer>) {
    this.control = control
    this.#open = open
  }

  /** Carries out a step, opening its connection where that is new. @returns What every connection received. */
  async run(step: Pick<TranscriptStep, 'peer' | 'action' | 'bytes'>): Promise<Outcome> {
    const peer = await this.#peer(step.peer)
    if (step.action === 'close') {
      peer.destroy()
      this.#peers.delete(step.peer)
    } else if (!peer.isClosed) {
      peer.send(step.bytes)
    }
    await this.control.quiet(step.bytes.length)
    return this.collect()
  }

  /** Opens a connection now. */
  async open(name: string): Promise<void> {
    await this.#peer(name)
  }

  /** True once the server has closed this connection. */
  isClosed(name: string): boolean {
    return this.#peers.get(name)?.isClosed ?? false
  }

  /** Ends a connection; a step that names it again opens a new one. */
  forget(name: string): void {
    this.#peers.get(name)?.destroy()
    this.#peers.delete(name)
  }

  /** Ends all connections but the control connection's, and waits until the server has noticed. */
  async end(): Promise<void> {
    for (const peer of this.#peers.values()) peer.destroy()
    this.#peers.clear()
    await this.control.quiet()
  }

  async #peer(name: string): Promise<Peer> {
    const known = this.#peers.get(name)
    if (known) return known
    const peer = await this.#open()
    this.#peers.set(name, peer)
    this.#closed.delete(name)
    return peer
  }

  /** Returns what each connection has received since the last call. */
  collect(): Outcome {
    const outcome = new Map<string, string>()
    for (const [name, peer] of this.#peers) {
      let text = peer.takeAll()
      if (peer.isClosed && !this.#closed.has(name)) {
        this.#closed.add(name)
        text += EOF
      }
      if (text !== '') outcome.set(name, text)
    }
    return outcome
  }
}

/** Opens a control connection over TCP. */
export async function connectControl(port: number, host = '127.0.0.1'): Promise<Control> {
  return new Control(await connectPeer(port, host))
}
