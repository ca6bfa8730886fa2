import type { Timer } from '../clock.ts'
import type { Overlay, Subscriber, SubscriberSegment } from '../pubsub/subscriber.ts'
import { Subscriptions } from '../pubsub/subscriptions.ts'
import type { Protocol, ReplyWriter } from '../resp/reply-writer.ts'
import type { Request } from '../resp/request.ts'
import type { DropTest } from '../delivery/segment.ts'
import { PEER_CLOSED, type CloseCause } from './close-cause.ts'
import type { Identity } from './identity.ts'
import { OutputLimiter, type ClientLimits, type LimitClass } from './limits.ts'
import { OutputQueue } from '../delivery/output-queue.ts'
import type { Sink } from '../delivery/sink.ts'
import type { Tracking } from './tracking.ts'

/** How a client is connected. */
export type TransportName = 'tcp' | 'tls' | 'unix' | 'websocket'

/** A command waiting for EXEC. */
export interface QueuedCommand<Spec> {
  readonly spec: Spec
  readonly request: Request
}

/** The commands between MULTI and EXEC. */
export interface Transaction<Spec> {
  readonly queue: QueuedCommand<Spec>[]
  /** Bytes of the arguments in the queue. */
  bytes: number
  /** A command was refused: EXEC will fail. */
  dirty: boolean
}

/** Of which connection, from where. */
export interface ClientOrigin {
  readonly id: number
  readonly transport: TransportName
  /** `ip:port`, `[ip]:port` or `path:0`. */
  readonly address: string
  readonly localAddress: string
  /** Which listener accepted it. */
  readonly listener: 'resp' | 'public' | 'admin'
  /** The browser's Origin header. */
  readonly origin: string | undefined
  /** Monotonic milliseconds. */
  readonly connectedMs: number
}

/** What a client asks of those who keep all clients. */
export interface ClientHost {
  /**
   * The client has something to send: call {@link Client.flush} at the end of the turn.
   *
   * @param first It waits for a reply, and goes before those who are only sent messages.
   */
  wantsFlush(client: Client, first: boolean): void
  /** The client has just been closed and has to be forgotten everywhere. */
  closed(client: Client, cause: CloseCause): void
  /** The socket of a closed client is gone. */
  gone(client: Client): void
}

/** Bytes of one write; what is behind it can still be dropped. */
export const MOST_BYTES_IN_FLIGHT = 262_144

/** CLIENT REPLY. */
export type ReplyMode = 'on' | 'off' | 'skip-next' | 'skip-this'

/**
 * One connection's state, the same for TCP and WebSocket: who it is, what it listens to, what it has still to be sent.
 *
 * Once `closed` is set nothing more is executed for it and nothing reaches it, whatever its socket still does.
 */
export class Client implements Subscriber {
  readonly origin: ClientOrigin
  readonly limits: ClientLimits
  readonly subscriptions = new Subscriptions()

  protocol: Protocol
  identity: Identity
  /** Logged in, or the default user needed no password when the connection was made. */
  authenticated = false
  /** Counts logins: an answer that arrives for an older one is void. */
  authEpoch = 0
  /** When it has to have logged in; undefined once it has. */
  deadline: Timer | undefined
  name = ''
  libraryName = ''
  libraryVersion = ''
  database = 0
  replyMode: ReplyMode = 'on'
  transaction: Transaction<unknown> | undefined
  overlay: Overlay | undefined
  /** Full name of the last command. */
  lastCommand = ''
  /** Monotonic milliseconds of the last byte in or out. */
  lastInteractionMs: number
  bytesIn = 0
  bytesOut = 0
  /** Bytes received that are not part of a finished request. */
  queryBytes = 0
  commands = 0
  noEvict = false
  noTouch = false
  /** It watches all commands (MONITOR). */
  isMonitor = false
  /** Its command waits for the end of CLIENT PAUSE. */
  isHeld = false
  /** READONLY, in a cluster. */
  readOnly = false
  tracking: Tracking | undefined
  /** Writes to its socket. */
  writes = 0
  /** The soft clock of its output limit. */
  readonly limiter = new OutputLimiter()

  readonly #sink: Sink
  readonly #host: ClientHost
  readonly #output = new OutputQueue<Subscriber>()
  /** Pushes to itself while its own command runs: they follow the reply. */
  #ownPushes: OutputQueue<Subscriber> | undefined
  #executing = false
  #dirty = false
  #goesFirst = false
  #blocked = false
  #ended = false
  #cause: CloseCause | undefined

  constructor(
    origin: ClientOrigin,
    identity: Identity,
    protocol: Protocol,
    limits: ClientLimits,
    sink: Sink,
    host: ClientHost,
  ) {
    this.origin = origin
    this.identity = identity
    this.protocol = protocol
    this.limits = limits
    this.lastInteractionMs = origin.connectedMs
    this.#sink = sink
    this.#host = host
  }

  get id(): number {
    return this.origin.id
  }

  get isWebSocket(): boolean {
    return this.origin.transport === 'websocket'
  }

  get closed(): boolean {
    return this.#cause !== undefined
  }

  get closeCause(): CloseCause | undefined {
    return this.#cause
  }

  get maxMessageBytes(): number {
    return this.limits.maxMessageBytes
  }

  /** Whether the kernel has not taken the last write yet. */
  get isBlocked(): boolean {
    return this.#blocked
  }

  /** Bytes that wait for this client here and in its socket, the kernel's own buffer left out. */
  get heldBytes(): number {
    // What a socket has taken at once does not wait in it; asking it costs more than the rest.
    return this.#output.heldBytes + (this.#blocked ? this.#sink.pendingBytes : 0)
  }

  /** Number of pieces waiting: CLIENT LIST's `oll`. */
  get outputItems(): number {
    return this.#output.itemCount
  }

  /** It has logged in. */
  authenticate(): void {
    this.authenticated = true
    this.#endDeadline()
  }

  /** The class of `client-output-buffer-limit` that holds now. */
  get limitClass(): LimitClass {
    if (this.isWebSocket) return 'websocket'
    return this.subscriptions.any ? 'pubsub' : 'normal'
  }

  attach(segment: SubscriberSegment, start: number): void {
    if (this.#cause) return
    this.#pushTarget().attach(this, segment, start)
    this.#wantFlush()
  }

  deliver(segment: SubscriberSegment, start: number, end: number): void {
    if (this.#cause) return
    this.#pushTarget().deliver(this, segment, start, end)
    this.#wantFlush()
  }

  /** Sends a push of its own, in one whole frame. */
  push(frame: Buffer): void {
    if (this.#cause) return
    this.#pushTarget().append(this, frame, 0, frame.length)
    this.#wantFlush(true)
  }

  /**
   * Drops queued messages, whole frames each. What is handed to the socket already is past that: one write of at most 256 KB,
   * or of one larger message.
   */
  dropQueued(drops: DropTest): void {
    this.#output.drop(this, drops)
    this.#ownPushes?.drop(this, drops)
  }

  /** From here to {@link finishCommand} pushes to this client are held back behind its reply. */
  startCommand(): void {
    this.#executing = true
    this.#output.closeTail(this)
  }

  /** Sends the reply that `writer` holds, then the pushes that the command caused. */
  finishCommand(writer: ReplyWriter): void {
    this.#executing = false
    if (this.#cause === PEER_CLOSED) return
    if (writer.end > writer.start) {
      this.#output.append(this, writer.buffer, writer.start, writer.end)
      this.#wantFlush(true)
    }
    const own = this.#ownPushes
    if (own && !own.isEmpty) {
      this.#output.moveFrom(this, own)
      this.#wantFlush(true)
    }
  }

  /**
   * Writes what waits, as far as the kernel takes it. Called by the flusher at the end of a turn.
   *
   * @param nowMs Monotonic milliseconds.
   * @param first It is written among those who go first; its place among the others, if it has one, stays.
   */
  flush(nowMs: number, first: boolean): void {
    if (first) this.#goesFirst = false
    else this.#dirty = false
    while (!this.#blocked && !this.#output.isEmpty) {
      const write = this.#output.take(MOST_BYTES_IN_FLIGHT, this.#sink.framed, this)
      this.bytesOut += write.length
      this.writes++
      this.lastInteractionMs = nowMs
      if (this.#sink.write(write.buffers)) continue
      this.#blocked = true
      for (const memory of write.from) memory.pin()
    }
    if (this.#cause && this.#output.isEmpty && !this.#ended) {
      this.#ended = true
      this.#sink.end(this.#cause.close)
    }
  }

  /** The kernel took the last write: go on at the end of this turn. */
  onWritable(): void {
    this.#blocked = false
    if (!this.#output.isEmpty) this.#wantFlush()
  }

  /**
   * Ends the connection. From now on nothing is executed for it and nothing is delivered to it.
   *
   * A client that ends itself by its own command still gets that command's reply, and those before it.
   *
   * @param lastPush A frame that a WebSocket is still sent, whatever else is dropped.
   */
  close(cause: CloseCause, lastPush?: Buffer): void {
    if (this.#cause) return
    this.#cause = cause
    this.#endDeadline()
    this.transaction = undefined
    this.#ownPushes = undefined
    if (cause.output === 'drop' && !this.#executing) this.#output.clear()
    else this.#output.closeTail(this)
    if (lastPush && this.isWebSocket) {
      this.#pushTarget().append(this, lastPush, 0, lastPush.length)
    }
    this.#host.closed(this, cause)
    const atOnce = cause.output === 'drop' && !this.isWebSocket && !this.#executing
    if (atOnce || cause === PEER_CLOSED) {
      this.#sink.terminate()
    } else {
      // A client that was waiting for a login is paused, and its half of the closing handshake has to be read.
      this.#sink.resume()
      this.#wantFlush(true)
    }
  }

  /** The socket is gone. */
  peerClosed(): void {
    this.close(PEER_CLOSED)
    this.#host.gone(this)
  }

  /** Stops reading from the socket while a command waits for its answer. */
  pause(): void {
    this.#sink.pause()
  }

  resume(): void {
    this.#sink.resume()
  }

  /** Ends the socket without the closing handshake; for those that do not finish a {@link close}. */
  terminate(): void {
    this.#output.clear()
    this.#sink.terminate()
  }

  #endDeadline(): void {
    this.deadline?.cancel()
    this.deadline = undefined
  }

  #pushTarget(): OutputQueue<Subscriber> {
    if (!this.#executing) return this.#output
    this.#ownPushes ??= new OutputQueue<Subscriber>()
    return this.#ownPushes
  }

  #wantFlush(first = false): void {
    if (this.#goesFirst || (this.#dirty && !first)) return
    if (first) this.#goesFirst = true
    else this.#dirty = true
    this.#host.wantsFlush(this, first)
  }
}
