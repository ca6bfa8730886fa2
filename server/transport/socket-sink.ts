import type { Socket } from 'node:net'
import type { Sink, WebSocketClose } from '../client/sink.ts'

const NOTHING = Buffer.alloc(0)

/**
 * Hands buffers to a socket, in one system call.
 *
 * @param onTaken Called once the kernel has taken everything, if it did not do so at once.
 * @returns Whether it did.
 */
export function writeAll(socket: Socket, buffers: readonly Buffer[], onTaken: () => void): boolean {
  if (buffers.length === 1) {
    socket.write(buffers[0] as Buffer)
  } else {
    socket.cork()
    for (const buffer of buffers) socket.write(buffer)
    socket.uncork()
  }
  if (socket.writableLength === 0) return true
  // Behind everything else: its callback says that the rest is gone. A callback on each write would cost each write.
  socket.write(NOTHING, onTaken)
  return false
}

/** A client's bytes over TCP, TLS or a Unix socket. */
export class SocketSink implements Sink {
  readonly framed = false
  readonly #socket: Socket
  readonly #onTaken: () => void

  /** @param onWritable Called when a write that was not taken at once has been. */
  constructor(socket: Socket, onWritable: () => void) {
    this.#socket = socket
    this.#onTaken = onWritable
  }

  get pendingBytes(): number {
    return this.#socket.writableLength
  }

  write(buffers: readonly Buffer[]): boolean {
    return writeAll(this.#socket, buffers, this.#onTaken)
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
