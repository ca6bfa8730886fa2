import { Socket, type SocketConstructorOpts } from 'node:net'

/** All sockets read into this; what is still needed of it is copied out before the next read. */
const READ_BUFFER = Buffer.allocUnsafeSlow(65_536)

/** The part of it that was read into last; peers with a steady pipeline fill as much each time. */
let part = READ_BUFFER

/** What of a socket the runtime does not show: the handle that it reads from. */
interface Handled {
  _handle?: unknown
}

/** The runtime reads into a buffer that it is given (documented as `onread` of `net.createConnection`). */
interface DirectOptions extends SocketConstructorOpts {
  readonly handle: unknown
  readonly onread: {
    readonly buffer: Uint8Array
    readonly callback: (this: DirectSocket, bytes: number) => boolean
  }
}

/** Who is handed what a socket reads. */
export interface ByteReader {
  /** The bytes are the callee's own. */
  receive(chunk: Buffer): void
  /** The bytes are the callee's until it returns. */
  receiveLent(chunk: Buffer): void
  /** Nothing more will come. */
  peerEnded(): void
  /** The socket is gone. */
  peerClosed(): void
}

const ON_READ: DirectOptions['onread'] = {
  buffer: READ_BUFFER,
  callback(bytes) {
    if (part.length !== bytes) part = READ_BUFFER.subarray(0, bytes)
    this.reader?.receiveLent(part)
    return true
  },
}

/**
 * A socket that reads without a stream.
 *
 * An ordinary socket allocates 64 kB for each read and passes it through a stream: 44 µs of CPU for a read of 1 kB and the
 * answer to it, against 33 µs this way (medians of 60,000 with Node 20.20).
 */
class DirectSocket extends Socket {
  reader: ByteReader | undefined

  constructor(handle: unknown) {
    const options: DirectOptions = {
      handle,
      allowHalfOpen: true,
      readable: true,
      writable: true,
      onread: ON_READ,
    }
    super(options)
  }
}

function onEnd(this: DirectSocket): void {
  this.reader?.peerEnded()
}

function onClose(this: DirectSocket): void {
  this.reader?.peerClosed()
}

/** A socket, and what starts reading from it. */
export interface Readable {
  readonly socket: Socket
  readonly start: (reader: ByteReader) => void
}

/** Reads a socket as the runtime does. */
export function readAsStream(accepted: Socket): Readable {
  return {
    socket: accepted,
    start: (reader) => {
      accepted.on('end', () => reader.peerEnded())
      accepted.on('close', () => reader.peerClosed())
      accepted.on('data', (chunk: Buffer) => reader.receive(chunk))
      accepted.resume()
    },
  }
}

/**
 * Takes over an accepted socket that has not been read from (`pauseOnConnect`).
 *
 * The option for direct reads exists for outgoing connections only; for accepted ones the socket's handle is taken, which
 * is the runtime's own. Where there is none, the socket is read as a stream.
 */
export function readDirectly(accepted: Socket): Readable {
  const { _handle: handle } = accepted as Socket & Handled
  if (handle === undefined || handle === null) return readAsStream(accepted)
  ;(accepted as Socket & Handled)._handle = null
  const socket = new DirectSocket(handle)
  return {
    socket,
    start: (reader) => {
      socket.reader = reader
      socket.on('end', onEnd).on('close', onClose)
      socket.read(0)
    },
  }
}
