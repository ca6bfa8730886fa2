/**
 * Reads and writes of plain sockets that bypass the streams of Node.js.
 *
 * All reaching into the runtime's internals is in this file: the handle of an accepted socket, the fields behind the option
 * `onread` (which is for outgoing connections only), and `_write` and `_writev`, which a stream calls to write. Where
 * they are missing, and for TLS, sockets are read and written as streams: slower, with the same outcome. So is the parser of a
 * socket of an HTTP server; where it is missing, what {@link ignoreRequests} saves is not saved. And so are the addresses that a
 * socket remembers.
 */
import { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Sink, WebSocketClose, Writer } from '../delivery/sink.ts'
import type { Departures } from './departures.ts'

/** A socket with the property that the declarations of Node.js leave out: the handle that it reads from. */
interface Handled {
  _handle?: Handle | null
}

/** The handle of a connected socket, as far as it is used. */
interface Handle {
  useUserBuffer?: (buffer: Uint8Array) => void
}

/** A socket that reads into a buffer that it is given. Its constructor makes the fields, empty. */
type RawSocket = Socket & { reader?: ByteReader } & Record<symbol, Uint8Array | OnRead | null>

/** Called with the number of bytes that are in the buffer. */
type OnRead = (this: RawSocket, bytes: number) => boolean

const READ_BUFFER_BYTES = 65_536

const NOTHING = Buffer.alloc(0)

const ENCODING = 'buffer' as BufferEncoding

/** The fields behind the option `onread`: the buffer, and the function. */
const ON_READ = onReadFields()

function onReadFields(): { readonly buffer: symbol; readonly callback: symbol } | undefined {
  const symbols = Object.getOwnPropertySymbols(new Socket())
  const buffer = symbols.find(({ description }) => description === 'kBuffer')
  const callback = symbols.find(({ description }) => description === 'kBufferCb')
  return buffer && callback && { buffer, callback }
}

/** True if this runtime supports raw reads and writes. Checked once, when the server is loaded. */
const IS_CAPABLE = isCapable()

function isCapable(): boolean {
  const socket: Socket & Handled = new Socket()
  return (
    ON_READ !== undefined &&
    socket._handle === null &&
    typeof socket._write === 'function' &&
    typeof socket._writev === 'function'
  )
}

/** The addresses that the runtime keeps with a socket once they were asked for. */
interface Named {
  _peername?: unknown
  _sockname?: unknown
}

/**
 * Lets a plain socket forget its addresses, 180 bytes that the owner of its connection has in another form. Asked again it finds them
 * out.
 */
export function forgetAddresses(socket: Socket & Named): void {
  if (socket instanceof TLSSocket) return
  if (socket._peername !== undefined) socket._peername = undefined
  if (socket._sockname !== undefined) socket._sockname = undefined
}

/** The runtime's parser of requests: a function for each kind of event, by number. */
interface HttpParser {
  readonly constructor: { readonly kOnHeadersComplete?: number }
  [event: number]: () => number
}

/** A socket of an HTTP server. */
interface HttpSocket {
  readonly parser?: HttpParser | null
}

/**
 * Makes nothing of the requests that were read from a socket of an HTTP server together with the one that is being handled: the socket
 * was destroyed, but its parser would go on. 2,000 of them took 160 ms, and take 10.
 */
export function ignoreRequests(socket: Socket & HttpSocket): void {
  const { parser } = socket
  const event = parser?.constructor.kOnHeadersComplete
  if (!parser || event === undefined) return
  const handle = parser[event]
  if (handle === undefined) return
  parser[event] = () => 0
  // The runtime uses parsers again.
  socket.once('close', () => {
    parser[event] = handle
  })
}

/** Receiver of the bytes of a socket. */
export interface ByteReader {
  /** Takes bytes that stay as they are. */
  receive(chunk: Buffer): void
  /** Takes bytes that are overwritten as soon as it returns. */
  receiveLent(chunk: Buffer): void
  /** Nothing more will come. */
  peerEnded(): void
  /** The socket is gone. */
  peerClosed(): void
}

/** A socket, and the function that starts reading from it. Called again, it has another reader go on. */
export interface ReadableSocket {
  readonly socket: Socket
  readonly start: (reader: ByteReader) => void
}

/** The buffer that all sockets of a listener read into, in turn: bytes that are still needed are copied before the next read. */
export class SharedReadBuffer {
  readonly #bytes = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES)
  /** The part that was read into last: peers with a steady pipeline fill as much each time. */
  #part = this.#bytes
  readonly #onRead: OnRead

  constructor() {
    const partOf = (length: number): Buffer => this.#partOf(length)
    this.#onRead = function (length) {
      this.reader?.receiveLent(partOf(length))
      return true
    }
  }

  /**
   * Reads an accepted socket that has not been read from (`pauseOnConnect`) without a stream; where that cannot be, as a stream.
   *
   * An ordinary socket allocates 64 kB for each read and passes it through a stream: 44 µs of CPU for a read of 1 kB and the
   * answer to it, against 33 µs this way (medians of 60,000 with Node 20.20).
   *
   * @param isRaw False: read it as a stream in any case.
   */
  readInto(accepted: Socket, isRaw = IS_CAPABLE): ReadableSocket {
    const { _handle: handle }: Socket & Handled = accepted
    if (!isRaw || ON_READ === undefined || typeof handle?.useUserBuffer !== 'function') {
      return readAsStream(accepted)
    }
    // What the constructor does with the option `onread`, which a server cannot hand to it. Another socket for the same handle, made
    // with that option, took 2.3 kB more for each connection.
    const socket = accepted as RawSocket
    socket[ON_READ.buffer] = this.#bytes
    socket[ON_READ.callback] = this.#onRead
    handle.useUserBuffer(this.#bytes)
    return {
      socket,
      start: (reader) => {
        const isStarted = socket.reader !== undefined
        socket.reader = reader
        if (isStarted) return
        socket.on('end', onEnd).on('close', onClose)
        socket.read(0)
      },
    }
  }

  #partOf(length: number): Buffer {
    if (this.#part.length !== length) this.#part = this.#bytes.subarray(0, length)
    return this.#part
  }
}

function onEnd(this: Socket & { reader?: ByteReader }): void {
  this.reader?.peerEnded()
}

function onClose(this: Socket & { reader?: ByteReader }): void {
  this.reader?.peerClosed()
}

/** Reads a socket as the runtime does. */
export function readAsStream(socket: Socket): ReadableSocket {
  let current: ByteReader | undefined
  return {
    socket,
    start: (reader) => {
      const isStarted = current !== undefined
      current = reader
      if (isStarted) return
      socket.on('end', () => current?.peerEnded())
      socket.on('close', () => current?.peerClosed())
      socket.on('data', (chunk: Buffer) => current?.receive(chunk))
      socket.resume()
    },
  }
}

/** A socket whose first bytes are read, and that is given back as if they had never come. */
interface ReadableHead extends ReadableSocket {
  /** Stops reading. @param rest What was read too much. */
  readonly giveBack: (rest: Buffer) => void
}

/** Reads the first bytes of a socket that somebody else will read from, as a TLS server. */
export function readHead(socket: Socket): ReadableHead {
  let giveBack = (_rest: Buffer): void => {}
  return {
    socket,
    start: (reader) => {
      const onData = (chunk: Buffer): void => reader.receive(chunk)
      const onStop = (): void => reader.peerEnded()
      giveBack = (rest) => {
        socket.off('data', onData).off('end', onStop).off('close', onStop)
        socket.pause()
        if (rest.length > 0) socket.unshift(rest)
      }
      socket.on('data', onData).on('end', onStop).on('close', onStop)
      socket.resume()
    },
    giveBack: (rest) => giveBack(rest),
  }
}

/**
 * Hands a client's bytes to a TCP, TLS or Unix socket, each write in one system call. One write at a time is under way; the
 * next is given to it once the kernel has taken the last.
 *
 * A plain socket is written by the function that its stream would call: the stream keeps a queue and a tick for each write,
 * which an owner with its own queue does not need (1.5 µs of 12 µs for a write of 100 bytes, Node 20.20). Writes of others to
 * the stream stay whole, before or after. TLS takes one write at a time and is written by its stream.
 */
export class SocketSink implements Sink {
  readonly framed: boolean = false
  writer: Writer | undefined
  readonly #socket: Socket
  readonly #departures: Departures | undefined
  readonly #isRaw: boolean
  #pendingBytes = 0

  /**
   * @param departures Closes it where it is to be closed at once; undefined: in that very call.
   * @param isRaw False: write it as a stream in any case.
   */
  constructor(socket: Socket, departures?: Departures, isRaw = IS_CAPABLE) {
    this.#socket = socket
    this.#departures = departures
    this.#isRaw = isRaw && !(socket instanceof TLSSocket)
  }

  /** Bytes of the write that is under way. */
  get pendingBytes(): number {
    return this.#pendingBytes
  }

  write(buffers: readonly Buffer[]): boolean {
    if (this.#socket.destroyed) return true
    return this.#isRaw ? this.#writeRaw(buffers) : this.#writeStream(buffers)
  }

  end(_close: WebSocketClose | undefined): void {
    this.#socket.end()
  }

  terminate(): void {
    if (this.#departures === undefined) this.#socket.destroy()
    else this.#departures.leave(() => this.#socket.destroy())
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  #writeRaw(buffers: readonly Buffer[]): boolean {
    const socket = this.#socket
    outcome.isTaken = false
    outcome.error = undefined
    if (buffers.length === 1) socket._write(buffers[0], ENCODING, noteOutcome)
    else socket._writev?.(buffers.map(asChunk), noteOutcome)
    if (outcome.isTaken) {
      if (outcome.error) socket.destroy(outcome.error)
      return true
    }
    this.#pendingBytes = lengthOf(buffers)
    // Follows the rest: its callback reports that all is gone.
    let isOver = false
    let isLater = false
    socket._write(NOTHING, ENCODING, (error) => {
      isOver = true
      if (error) socket.destroy(error)
      else if (isLater) this.#taken()
    })
    isLater = true
    if (isOver as boolean) this.#pendingBytes = 0
    return isOver
  }

  #writeStream(buffers: readonly Buffer[]): boolean {
    const socket = this.#socket
    socket.cork()
    for (const buffer of buffers) socket.write(buffer)
    socket.uncork()
    if (socket.writableLength === 0) return true
    this.#pendingBytes = lengthOf(buffers)
    socket.write(NOTHING, () => this.#taken())
    return false
  }

  #taken(): void {
    this.#pendingBytes = 0
    // An unfinished write of a destroyed socket is reported as finished.
    if (!this.#socket.destroyed) this.writer?.onWritable()
  }
}

/**
 * Outcome of the raw write that is being made. Its callback runs within the call, or much later and to no end. All sockets share
 * it, so that a write of a fan-out allocates no callback.
 */
const outcome: { isTaken: boolean; error: Error | undefined } = { isTaken: false, error: undefined }

function noteOutcome(error?: Error | null): void {
  outcome.isTaken = true
  outcome.error = error ?? undefined
}

function asChunk(chunk: Buffer): { chunk: Buffer; encoding: BufferEncoding } {
  return { chunk, encoding: ENCODING }
}

function lengthOf(buffers: readonly Buffer[]): number {
  let length = 0
  for (const buffer of buffers) length += buffer.length
  return length
}
