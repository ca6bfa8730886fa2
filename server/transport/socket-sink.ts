import type { Sink, WebSocketClose } from '../delivery/sink.ts'
import { SocketWriter } from './socket-writer.ts'

/** A client's bytes over TCP, TLS or a Unix socket. */
export class SocketSink extends SocketWriter implements Sink {
  readonly framed = false

  end(_close: WebSocketClose | undefined): void {
    this.socket.end()
  }

  terminate(): void {
    this.socket.destroy()
  }

  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }
}
