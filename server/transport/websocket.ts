import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { closeCause } from '../client/close-cause.ts'
import type { Sink, WebSocketClose } from '../client/sink.ts'
import type { Connection } from './connection.ts'
import type { KeepAlive, Pingable } from './keep-alive.ts'
import { writeAll } from './socket-sink.ts'

/** RFC 6455 section 7.4.1. */
const NORMAL_CLOSURE = 1000
const POLICY_VIOLATION = 1008

/** Pings that a peer may send: a burst, and so many a second after it. */
const PING_BURST = 30
const PINGS_PER_SECOND = 10

/** A client's bytes over a WebSocket. */
export class WebSocketSink implements Sink {
  readonly framed = true
  readonly #webSocket: WebSocket
  readonly #socket: Socket
  readonly #onTaken: () => void

  /**
   * Without compression ws writes its own frames at once, so ours and ws's never mix, and frames can be shared between
   * clients and written to the socket directly.
   *
   * @param socket The socket that was upgraded.
   */
  constructor(webSocket: WebSocket, socket: Socket, onWritable: () => void) {
    this.#webSocket = webSocket
    this.#socket = socket
    this.#onTaken = onWritable
  }

  get pendingBytes(): number {
    return this.#socket.writableLength
  }

  write(buffers: readonly Buffer[]): boolean {
    // After a close frame nothing may follow (RFC 6455 section 5.5.1).
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return true
    return writeAll(this.#socket, buffers, this.#onTaken)
  }

  end(close: WebSocketClose | undefined): void {
    this.#webSocket.close(close?.code ?? NORMAL_CLOSURE, close?.reason ?? '')
  }

  terminate(): void {
    this.#webSocket.terminate()
  }

  pause(): void {
    this.#webSocket.pause()
  }

  resume(): void {
    this.#webSocket.resume()
  }
}

/**
 * A client's bytes over a WebSocket with permessage-deflate: ws compresses and frames each message itself, and in its own
 * time, so nothing is shared and nothing may pass it by.
 */
export class CompressingSink implements Sink {
  readonly framed = false
  readonly #webSocket: WebSocket
  readonly #onTaken: () => void

  constructor(webSocket: WebSocket, onWritable: () => void) {
    this.#webSocket = webSocket
    this.#onTaken = onWritable
  }

  get pendingBytes(): number {
    return this.#webSocket.bufferedAmount
  }

  write(buffers: readonly Buffer[]): boolean {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return true
    const message = buffers.length === 1 ? (buffers[0] as Buffer) : Buffer.concat(buffers)
    this.#webSocket.send(message, { binary: true }, () => this.#onTaken())
    return false
  }

  end(close: WebSocketClose | undefined): void {
    this.#webSocket.close(close?.code ?? NORMAL_CLOSURE, close?.reason ?? '')
  }

  terminate(): void {
    this.#webSocket.terminate()
  }

  pause(): void {
    this.#webSocket.pause()
  }

  resume(): void {
    this.#webSocket.resume()
  }
}

/** What a WebSocket needs of the server. */
export interface WebSocketHost {
  readonly keepAlive: KeepAlive
  /** Monotonic milliseconds. */
  readonly nowMs: () => number
}

/**
 * Connects a WebSocket that was just accepted to its connection. Must run in the turn in which it was accepted, else its
 * first messages are lost.
 */
export function serveWebSocket(
  webSocket: WebSocket,
  connection: Connection,
  host: WebSocketHost,
): void {
  const { client } = connection
  const peer: Pingable = {
    ping: () => {
      if (webSocket.readyState === webSocket.OPEN) webSocket.ping()
    },
    dead: () => {
      client.close(closeCause('slow-consumer', 'drop', 'no answer to a ping'))
      client.terminate()
    },
    lastHeardMs: () => client.lastInteractionMs,
  }
  let pings = PING_BURST
  let lastPingMs = host.nowMs()
  webSocket.on('message', (data) => {
    // ws is told to give buffers; fragments come joined.
    connection.receive(data as Buffer)
  })
  webSocket.on('pong', () => {
    client.lastInteractionMs = host.nowMs()
  })
  webSocket.on('ping', () => {
    const nowMs = host.nowMs()
    client.lastInteractionMs = nowMs
    pings = Math.min(PING_BURST, pings + ((nowMs - lastPingMs) / 1000) * PINGS_PER_SECOND) - 1
    lastPingMs = nowMs
    if (pings < 0) {
      const close = { code: POLICY_VIOLATION, reason: 'too many pings' }
      client.close({ name: 'ping-flood', output: 'drop', close })
    }
  })
  // ws reports frames that break the protocol here, and closes by itself with the code that says so.
  webSocket.on('error', () => {})
  webSocket.on('close', () => {
    host.keepAlive.remove(peer)
    connection.peerClosed()
  })
  host.keepAlive.add(peer)
}
