import { Socket, type SocketConstructorOpts } from 'node:net'

/** All sockets read into this; what was read is copied out before the next read. */
const READ_BUFFER = Buffer.allocUnsafeSlow(65_536)

/** What of a socket the runtime does not show: the handle that it reads from. */
interface Handled {
  _handle?: unknown
}

/** The runtime reads into a buffer that it is given (documented as `onread` of `net.createConnection`). */
interface DirectOptions extends SocketConstructorOpts {
  readonly handle: unknown
  readonly onread: {
    readonly buffer: Uint8Array
    readonly callback: (bytes: number) => boolean
  }
}

/**
 * Takes over an accepted socket that has not been read from (`pauseOnConnect`), and reads from it without a stream.
 *
 * An ordinary socket allocates 64 kB for each read and passes it through a stream: 44 µs of CPU for a read of 1 kB and the
 * answer to it, against 33 µs this way (medians of 60,000 with Node 20.20). The option exists for outgoing connections
 * only; for accepted ones it takes the socket's handle, which is the runtime's own. Without one the socket is left as
 * it is.
 *
 * @param onBytes Called with each read; the bytes are the callee's own.
 * @returns The socket to use from now on.
 */
export function readDirectly(accepted: Socket, onBytes: (chunk: Buffer) => void): Socket {
  const { _handle: handle } = accepted as Socket & Handled
  if (handle === undefined || handle === null) {
    accepted.on('data', onBytes)
    accepted.resume()
    return accepted
  }
  ;(accepted as Socket & Handled)._handle = null
  const options: DirectOptions = {
    handle,
    allowHalfOpen: true,
    readable: true,
    writable: true,
    onread: {
      buffer: READ_BUFFER,
      callback: (bytes) => {
        const chunk = Buffer.allocUnsafe(bytes)
        READ_BUFFER.copy(chunk, 0, 0, bytes)
        onBytes(chunk)
        return true
      },
    },
  }
  const socket = new Socket(options)
  socket.read(0)
  return socket
}
