import type { Identity } from '../acl/authorize.ts'
import type { Timer } from '../clock.ts'
import type { BufferClass } from '../config/values.ts'
import type { Transaction } from '../command/transaction.ts'
import {
  type Encoding,
  type Overlay,
  type Subscriber,
  Subscriptions,
} from '../pubsub/subscriber.ts'
import type { Protocol } from '../resp/reply-writer.ts'
import { CLOSES, type CloseCause } from './close.ts'
import type { PublishesInFlight } from './in-flight.ts'
import type { ClientLimits } from './limits.ts'
import type { FailureRun } from './login-failures.ts'
import type { Flusher } from '../delivery/flusher.ts'
import { Output } from '../delivery/output.ts'
import type { Sink } from '../delivery/sink.ts'
import type { PendingNames } from '../upstream/backplane.ts'

/** Transport of a client: `sse` is a stream of events, `http` a publisher whose messages come in requests. */
export type TransportName = 'tcp' | 'tls' | 'unix' | 'websocket' | 'sse' | 'http'

/** Reports whether clients of a transport come by an HTTP listener. */
export function comesByHttp(transport: TransportName): boolean {
  return transport === 'websocket' || transport === 'sse' || transport === 'http'
}

/** Origin of a client: its connection and its addresses. */
export interface ClientOrigin {
  readonly id: number
  readonly transport: TransportName
  /** `ip:port`, `[ip]:port` or `path:0`. */
  readonly address: string
  readonly localAddress: string
  /** The listener that accepted it. */
  readonly listener: 'resp' | 'public' | 'admin'
  /** The browser's Origin header. */
  readonly origin: string | undefined
  /** Monotonic milliseconds. */
  readonly connectedMs: number
}

/** The clients of one address, of WebSockets or of the other transports: one object for all of them. */
export interface Place {
  readonly name: string
  clients: number
}

/** Keeps all clients. */
export interface ClientHost {
  /** The client has just been closed and has to be forgotten everywhere. */
  closed(client: Client, cause: CloseCause): void
  /** The socket of a closed client is gone. */
  gone(client: Client): void
  /** The client has logged in. */
  loggedIn(client: Client): void
  /** The client has to log in: it was just made, or has sent RESET. */
  loggedOut(client: Client): void
}

/**
 * The options of CLIENT TRACKING. They are kept and shown, and have no effect, since there are no keys whose
 * changes could be reported. Replaced as a whole by each CLIENT TRACKING ON.
 */
export interface Tracking {
  readonly broadcast: boolean
  readonly mode: 'optin' | 'optout' | undefined
  readonly noLoop: boolean
  /** Id of the client that would get the invalidations; 0 is this one. */
  readonly redirect: number
  /** Byte strings, in byte order. */
  readonly prefixes: readonly string[]
  /** The client's count of commands at its last CLIENT CACHING: that one holds for the next command. */
  cachingAt: number | undefined
  /** The client that {@link redirect} names is gone. */
  isBroken: boolean
}

/** The keys of WATCH. They are counted and shown: no key ever changes. */
export interface Watched {
  /** Byte strings, each after its database and a colon. */
  readonly keys: Set<string>
  /** Bytes of the keys. */
  bytes: number
}

/** CLIENT REPLY. */
type ReplyMode = 'on' | 'off' | 'skip-next' | 'skip-this'

/**
 * One connection's state, the same for TCP and WebSocket: its identity, its subscriptions, its output.
 *
 * Once `closed` is set nothing more is executed for it and nothing reaches it, even while its socket is still open.
 */
export class Client implements Subscriber {
  readonly origin: ClientOrigin
  readonly limits: ClientLimits
  readonly subscriptions = new Subscriptions()
  readonly output: Output
  /** Counts its address; undefined for a Unix socket. */
  place: Place | undefined

  protocol: Protocol
  identity: Identity
  /** Logged in, or the default user needed no password when the connection was made. */
  authenticated = false
  /** Counts logins: an answer that arrives for an older one is void. */
  authEpoch = 0
  /** Logins that failed lately; made by the first. */
  failedLogins: FailureRun | undefined
  /** When it has to have logged in; undefined once it has. */
  deadline: Timer | undefined
  name = ''
  libraryName = ''
  libraryVersion = ''
  database = 0
  replyMode: ReplyMode = 'on'
  transaction: Transaction | undefined
  /** Made by the first message that the upstream answers later. */
  inFlight: PublishesInFlight | undefined
  /** Names that its command waits for. */
  pendingNames: PendingNames | undefined
  /** Made by the first WATCH, until the next transaction ends. */
  watched: Watched | undefined
  overlay: Overlay | undefined
  /** Full name of the last command. */
  lastCommand = ''
  /** Monotonic milliseconds of the last byte received. */
  lastHeardMs: number
  bytesIn = 0
  /** Bytes received that are not part of a finished request. */
  queryBytes = 0
  commands = 0
  /**
   * Work since its last turn, in microseconds: the time of its commands, and at least 1 for each. See `ws-turn-budget` and
   * `tcp-turn-budget`.
   */
  work = 0
  noEvict = false
  noTouch = false
  /** It watches all commands (MONITOR). */
  isMonitor = false
  /** Its command waits for the end of CLIENT PAUSE, or for the upstream. */
  isHeld = false
  /** What it has sent waits: for the answer to a command, the end of a throttle, or its next turn. */
  isWaiting = false
  /** READONLY, in a cluster. */
  readOnly = false
  tracking: Tracking | undefined

  readonly #host: ClientHost
  #cause: CloseCause | undefined

  constructor(
    origin: ClientOrigin,
    identity: Identity,
    protocol: Protocol,
    limits: ClientLimits,
    sink: Sink,
    flusher: Pick<Flusher, 'add'>,
    host: ClientHost,
  ) {
    this.origin = origin
    this.identity = identity
    this.protocol = protocol
    this.limits = limits
    this.lastHeardMs = origin.connectedMs
    this.output = new Output(this, sink, flusher)
    this.#host = host
  }

  get id(): number {
    return this.origin.id
  }

  get isWebSocket(): boolean {
    return this.origin.transport === 'websocket'
  }

  /** It came by an HTTP listener, whatever it speaks: strangers do, and the limits for them hold. */
  get isWeb(): boolean {
    return comesByHttp(this.origin.transport)
  }

  /** A stream of events has messages in its own encoding, and all else as RESP3 that its sink translates. */
  get encoding(): Encoding {
    return this.origin.transport === 'sse' ? 'events' : this.protocol
  }

  get closed(): boolean {
    return this.#cause !== undefined
  }

  get closeCause(): CloseCause | undefined {
    return this.#cause
  }

  /** Monotonic milliseconds of the last byte in or out. */
  get lastInteractionMs(): number {
    return Math.max(this.lastHeardMs, this.output.lastWriteMs)
  }

  /** Strangers' connections are. */
  get isMetered(): boolean {
    return this.isWeb
  }

  get maxMessageBytes(): number {
    return this.limits.maxMessageBytes
  }

  /** It has logged in. */
  authenticate(): void {
    this.authenticated = true
    this.#endDeadline()
    this.#host.loggedIn(this)
  }

  /** It has to log in, first of all or again. */
  requireLogin(): void {
    this.authenticated = false
    this.#host.loggedOut(this)
  }

  /** The class of `client-output-buffer-limit` that holds now. */
  get limitClass(): BufferClass {
    if (this.isWeb) return 'websocket'
    return this.subscriptions.any ? 'pubsub' : 'normal'
  }

  /** CLIENT REPLY drops the reply of the command that runs; `skip-next` means the command after it. */
  get isSilent(): boolean {
    return this.replyMode === 'off' || this.replyMode === 'skip-this'
  }

  /** Ends the transaction, executed or not, and with it what WATCH began. */
  endTransaction(): void {
    this.transaction = undefined
    this.watched = undefined
  }

  /**
   * Ends the connection. From now on nothing is executed for it and nothing is delivered to it.
   *
   * A client that ends itself by its own command still gets that command's reply, and those before it.
   *
   * @param lastPush A frame that a WebSocket is still sent even if all else is dropped.
   */
  close(cause: CloseCause, lastPush?: Buffer): void {
    if (this.#cause) return
    this.#cause = cause
    this.#endDeadline()
    this.endTransaction()
    if (cause === CLOSES.peerClosed) this.output.terminate()
    else this.output.end(cause, lastPush)
    this.#host.closed(this, cause)
  }

  /** The socket is gone. */
  peerClosed(): void {
    this.close(CLOSES.peerClosed)
    this.#host.gone(this)
  }

  #endDeadline(): void {
    this.deadline?.cancel()
    this.deadline = undefined
  }
}
