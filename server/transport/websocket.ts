import type { Socket } from 'node:net'
import { WebSocket, type RawData } from 'ws'
import { CLOSES } from '../client/close.ts'
import type { WebSocketClose } from '../delivery/sink.ts'
import type { Connection } from './connection.ts'
import type { KeepAlive, Pingable } from './keep-alive.ts'
import { SocketSink } from './raw-socket.ts'

/** RFC 6455 section 7.4.1. */
const NORMAL_CLOSURE = 1000

/** ws's codes for a message over `ws-max-payload`, and for one over 2^53 bytes. */
const TOO_LARGE: readonly string[] = [
  'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH',
  'WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH',
]

/** ws's codes for frames that it does not take begin so; those of sockets do not. */
const FRAME_ERROR = 'WS_ERR_'

/** Pings and pongs that a peer may send: a burst, and so many a second after it. */
const CONTROL_BURST = 30
const CONTROLS_PER_SECOND = 10

/**
 * Sink of a WebSocket. ws writes its own frames at once, so ours never mix with them, and frames can be shared between
 * clients and written to the socket.
 */
export class WebSocketSink extends SocketSink {
  override readonly framed: boolean = true
  protected readonly webSocket: WebSocket

  /** @param socket The socket that was upgraded. */
  constructor(webSocket: WebSocket, socket: Socket) {
    super(socket)
    this.webSocket = webSocket
  }

  override write(buffers: readonly Buffer[]): boolean {
    // No frame may follow a close frame (RFC 6455 section 5.5.1).
    if (this.webSocket.readyState !== this.webSocket.OPEN) return true
    return super.write(buffers)
  }

  override end(close: WebSocketClose | undefined): void {
    this.webSocket.close(close?.code ?? NORMAL_CLOSURE, close?.reason ?? '')
  }

  override terminate(): void {
    this.webSocket.terminate()
  }

  override pause(): void {
    this.webSocket.pause()
  }

  override resume(): void {
    this.webSocket.resume()
  }
}

/**
 * Sink of a WebSocket with permessage-deflate: ws compresses and frames each message itself, in its own time. Nothing is
 * shared, and nothing may overtake it.
 */
export class CompressingSink extends WebSocketSink {
  override readonly framed = false

  override get pendingBytes(): number {
    return this.webSocket.bufferedAmount
  }

  override write(buffers: readonly Buffer[]): boolean {
    if (this.webSocket.readyState !== this.webSocket.OPEN) return true
    const message = buffers.length === 1 ? (buffers[0] as Buffer) : Buffer.concat(buffers)
    this.webSocket.send(message, { binary: true }, () => this.writer?.onWritable())
    return false
  }
}

/** Environment that all WebSockets share. */
export interface WebSocketHost {
  readonly keepAlive: KeepAlive
  /** Monotonic milliseconds. */
  readonly nowMs: () => number
}

interface Linked {
  link?: WebSocketLink | undefined
}

/** A WebSocket with its link, so that listeners need not be made for each. */
export class ServedWebSocket extends WebSocket implements Linked {
  link: WebSocketLink | undefined
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
  webSocket.link = new WebSocketLink(webSocket, connection, host)
  webSocket.on('message', onMessage).on('pong', onControl).on('ping', onControl)
  webSocket.on('error', onError).on('close', onClose)
  host.keepAlive.add(webSocket.link)
}

function onMessage(this: WebSocket & Linked, data: RawData, isBinary: boolean): void {
  // ws is configured to give buffers, with fragments joined.
  this.link?.received(data as Buffer, !isBinary)
}

function onControl(this: WebSocket & Linked): void {
  this.link?.controlled()
}

function onError(this: WebSocket & Linked, error: NodeJS.ErrnoException): void {
  this.link?.failed(error)
}

function onClose(this: WebSocket & Linked): void {
  this.link?.closed()
}

/** Passes messages of a WebSocket to its connection, and watches the peer for signs of life and for too many control frames. */
class WebSocketLink implements Pingable {
  dueMs = 0
  pingedMs = 0
  readonly #webSocket: WebSocket
  readonly #connection: Connection
  readonly #host: WebSocketHost
  #controls = CONTROL_BURST
  #lastControlMs: number
  /** Time at which the peer last sent something: own writes are no sign of life. */
  #heardMs: number

  constructor(webSocket: WebSocket, connection: Connection, host: WebSocketHost) {
    this.#webSocket = webSocket
    this.#connection = connection
    this.#host = host
    this.#lastControlMs = host.nowMs()
    this.#heardMs = this.#lastControlMs
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

  received(message: Buffer, isText: boolean): void {
    this.#heard()
    this.#connection.receive(message, isText)
  }

  /**
   * A ping or a pong: a sign of life. Closes a peer that sends too many, asked
   * for or not.
   */
  controlled(): void {
    this.#heard()
    const nowMs = this.#heardMs
    const { client } = this.#connection
    client.lastHeardMs = nowMs
    const earned = ((nowMs - this.#lastControlMs) / 1000) * CONTROLS_PER_SECOND
    this.#controls = Math.min(CONTROL_BURST, this.#controls + earned) - 1
    this.#lastControlMs = nowMs
    if (this.#controls < 0) client.close(CLOSES.pingFlood)
  }

  /**
   * ws has closed by itself, with the code of RFC 6455, because of a frame that breaks the protocol. The client is closed in
   * the same turn: nothing that it still has waiting is executed, and nobody publishes to it.
   */
  failed({ code = '' }: NodeJS.ErrnoException): void {
    if (!code.startsWith(FRAME_ERROR)) return
    const cause = TOO_LARGE.includes(code) ? CLOSES.messageTooLarge : CLOSES.badFrame
    this.#connection.client.close(cause)
  }

  closed(): void {
    this.#host.keepAlive.remove(this)
    this.#connection.peerClosed()
  }

  #heard(): void {
    this.#heardMs = this.#host.nowMs()
  }
}
