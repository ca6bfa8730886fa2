import type { Socket } from 'node:net'
import { WebSocket, type RawData } from 'ws'
import { CLOSES } from '../client/close.ts'
import type { Sink, WebSocketClose, Writer } from '../delivery/sink.ts'
import type { Connection } from './connection.ts'
import type { KeepAlive, Pingable } from './keep-alive.ts'
import { SocketWriter } from './socket-writer.ts'

/** RFC 6455 section 7.4.1. */
const NORMAL_CLOSURE = 1000

/** ws's code for a message over `ws-max-payload`. */
const TOO_LARGE = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'

/** Pings that a peer may send: a burst, and so many a second after it. */
const PING_BURST = 30
const PINGS_PER_SECOND = 10

/** A client's bytes over a WebSocket. */
export class WebSocketSink extends SocketWriter implements Sink {
  readonly framed = true
  readonly #webSocket: WebSocket

  /**
   * Without compression ws writes its own frames at once, so ours and ws's never mix, and frames can be shared between
   * clients and written to the socket directly.
   *
   * @param socket The socket that was upgraded.
   */
  constructor(webSocket: WebSocket, socket: Socket) {
    super(socket)
    this.#webSocket = webSocket
  }

  override write(buffers: readonly Buffer[]): boolean {
    // After a close frame nothing may follow (RFC 6455 section 5.5.1).
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return true
    return super.write(buffers)
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
  writer: Writer | undefined

  constructor(webSocket: WebSocket) {
    this.#webSocket = webSocket
  }

  get pendingBytes(): number {
    return this.#webSocket.bufferedAmount
  }

  write(buffers: readonly Buffer[]): boolean {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return true
    const message = buffers.length === 1 ? (buffers[0] as Buffer) : Buffer.concat(buffers)
    this.#webSocket.send(message, { binary: true }, () => this.writer?.onWritable())
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

/** What all WebSockets need of the server. */
export interface WebSocketHost {
  readonly keepAlive: KeepAlive
  /** Monotonic milliseconds. */
  readonly nowMs: () => number
}

/** A WebSocket that knows its peer, so that listeners need not be made for each. */
export class ServedWebSocket extends WebSocket {
  peer: WebSocketPeer | undefined
}

/**
 * Connects a WebSocket that was just accepted to its connection. Must run in the turn in which it was accepted, else its
 * first messages are lost.
 */
export function serveWebSocket(
  webSocket: ServedWebSocket,
  connection: Connection,
  host: WebSocketHost,
): void {
  webSocket.peer = new WebSocketPeer(webSocket, connection, host)
  webSocket.on('message', onMessage).on('pong', onPong).on('ping', onPing)
  webSocket.on('error', onError).on('close', onClose)
  host.keepAlive.add(webSocket.peer)
}

function onMessage(this: WebSocket, data: RawData): void {
  // ws is told to give buffers; fragments come joined.
  ;(this as ServedWebSocket).peer?.received(data as Buffer)
}

function onPong(this: WebSocket): void {
  ;(this as ServedWebSocket).peer?.answered()
}

function onPing(this: WebSocket): void {
  ;(this as ServedWebSocket).peer?.pinged()
}

function onError(this: WebSocket, error: NodeJS.ErrnoException): void {
  ;(this as ServedWebSocket).peer?.failed(error)
}

function onClose(this: WebSocket): void {
  ;(this as ServedWebSocket).peer?.closed()
}

/** The other end of a WebSocket: what it sends, whether it is there, and how often it pings us. */
class WebSocketPeer implements Pingable {
  dueMs = 0
  pingedMs = 0
  readonly #webSocket: WebSocket
  readonly #connection: Connection
  readonly #host: WebSocketHost
  #pings = PING_BURST
  #lastPingMs: number
  /** Only what comes from the peer counts: our own writes say nothing of whether it is there. */
  #heardMs: number

  constructor(webSocket: WebSocket, connection: Connection, host: WebSocketHost) {
    this.#webSocket = webSocket
    this.#connection = connection
    this.#host = host
    this.#lastPingMs = host.nowMs()
    this.#heardMs = this.#lastPingMs
  }

  ping(): void {
    if (this.#webSocket.readyState === this.#webSocket.OPEN) this.#webSocket.ping()
  }

  dead(): void {
    const { client } = this.#connection
    client.close(CLOSES.noPong)
    client.output.terminate()
  }

  lastHeardMs(): number {
    return this.#heardMs
  }

  received(message: Buffer): void {
    this.#heard()
    this.#connection.receive(message)
  }

  /** A pong: life, and an interaction as CLIENT LIST's `idle` means it. */
  answered(): void {
    this.#heard()
    this.#connection.client.lastInteractionMs = this.#heardMs
  }

  /** ws reports frames that break the protocol, and closes by itself with the code that says so; only the cause is noted. */
  failed({ code }: NodeJS.ErrnoException): void {
    if (code !== TOO_LARGE) return
    this.#connection.client.close(CLOSES.messageTooLarge)
  }

  /** Closes a peer that pings more often than anybody needs. */
  pinged(): void {
    this.answered()
    const nowMs = this.#heardMs
    const earned = ((nowMs - this.#lastPingMs) / 1000) * PINGS_PER_SECOND
    this.#pings = Math.min(PING_BURST, this.#pings + earned) - 1
    this.#lastPingMs = nowMs
    if (this.#pings >= 0) return
    this.#connection.client.close(CLOSES.pingFlood)
  }

  closed(): void {
    this.#host.keepAlive.remove(this)
    this.#connection.peerClosed()
  }

  #heard(): void {
    this.#heardMs = this.#host.nowMs()
  }
}
