import type { Socket } from 'node:net'
import type { Sink, WebSocketClose } from '../client/sink.ts'

const NOTHING = Buffer.alloc(0)

/** Who is told that a socket has taken what it had not taken at once. */
export interface Writer {
  onWritable(): void
}

/**
 * Hands buffers to a socket, in one system call.
 *
 * @param writer Told once the kernel has taken everything, if it did not do so at once.
 * @returns Whether it did.
 */
export function writeAll(
  socket: Socket,
  buffers: readonly Buffer[],
  writer: Writer | undefined,
): boolean {
  if (buffers.length === 1) {
    socket.write(buffers[0] as Buffer)
  } else {
    socket.cork()
    for (const buffer of buffers) socket.write(buffer)
    socket.uncork()
  }
  if (socket.writableLength === 0) return true
  // Behind everything else: its callback says that the rest is gone. A callback on each write would cost each write.
  socket.write(NOTHING, () => writer?.onWritable())
  return false
}

/** A client's bytes over TCP, TLS or a Unix socket. */
export class SocketSink implements Sink {
  readonly framed = false
  /** Set once there is one: the client is made with its sink. */
  writer: Writer | undefined
  readonly #socket: Socket

  constructor(socket: Socket) {
    this.#socket = socket
  }

  get pendingBytes(): number {
    return this.#socket.writableLength
  }

  write(buffers: readonly Buffer[]): boolean {
    return writeAll(this.#socket, buffers, this.writer)
  }

  end(_close: WebSocketClose | undefined): void {
    this.#socket.end()
  }

  terminate(): void {
    this.#socket.destroy()
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }
}
