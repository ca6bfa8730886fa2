import type { Client } from '../client/client.ts'
import { CLOSES, closeWith } from '../client/close.ts'
import type { TransportLimits } from '../client/limits.ts'
import type { Login } from '../client/login.ts'
import type { Clock, Timer } from '../clock.ts'
import type { Counters } from '../command/counters.ts'
import type { Dispatcher } from '../command/dispatch.ts'
import type { Settings } from '../config/settings.ts'
import type { Flusher } from '../delivery/flusher.ts'
import { shown, type Logger, type PeerLog } from '../log.ts'
import { ProtocolError } from '../resp/protocol-error.ts'
import { RequestParser, type RequestLimits } from '../resp/request-parser.ts'
import { ClientRates } from './rates.ts'
import type { RoundRobin } from './round-robin.ts'

/** The parts of the core that all connections work with. */
export interface ConnectionHost {
  readonly clock: Clock
  readonly config: Settings
  readonly counters: Counters
  readonly dispatcher: Dispatcher
  readonly flusher: Pick<Flusher, 'hold' | 'answer'>
  readonly limits: TransportLimits
  readonly log: Logger
  readonly login: Login
  readonly peerLog: PeerLog
  readonly turns: RoundRobin
}

/** Unparsed bytes that a client may have before it has logged in (Redis 7.4: 1 MB). */
const UNAUTHENTICATED_QUERY_BYTES = 1_048_576

/** Commands of the largest size that a WebSocket may have waiting, mostly between MULTI and EXEC. */
const WEBSOCKET_WAITING_COMMANDS = 16

/** Bytes and commands that a WebSocket may send before it has logged in. */
const UNAUTHENTICATED_BYTES = 16_384
const UNAUTHENTICATED_COMMANDS = 8

/** Less than this part of a budget is counted on from turn to turn, so that a single command needs no end of a turn. */
const CARRIED_PART = 1 / 16

/** Part of its budget that a WebSocket has in a turn that is late. */
const LATE_PART = 1 / 16

/** Input of so many bytes, as a power of two, is as much work as a command is at least: it is copied. */
const INPUT_WORK_BITS = 12

/** Longest time that the rest of a command on a WebSocket may take to come, in ms: each message starts it anew. */
const UNFINISHED_MS = 10_000

/** Longest time that a client is throttled without a pause, in ms; then it is closed. */
const LONGEST_THROTTLE_MS = 10_000

/**
 * Passes the bytes of one client through the parser to the dispatcher, request by request, until the client is closed.
 *
 * A request whose answer has to wait holds the connection: nothing after it is executed, and nothing more is read. So does a
 * spent budget (`ws-turn-budget`, `tcp-turn-budget`), until the other connections have had their turn.
 */
export class Connection {
  readonly client: Client
  readonly #host: ConnectionHost
  readonly #limits: RequestLimits
  readonly #parser: RequestParser
  /** Its client waits for its next turn. */
  #hasYielded = false
  /** Its next turn is due. */
  #isListed = false
  /** The peer sends nothing more. */
  #hasEnded = false
  #bytesBeforeLogin = 0
  #commandsBeforeLogin = 0
  /** Made when a rate is set. */
  #rates: ClientRates | undefined
  #throttledSinceMs: number | undefined
  /** Ends a WebSocket whose command stays unfinished. */
  #unfinished: Timer | undefined

  /** @param login Of the upgrade: nothing is executed before it settles. */
  constructor(
    client: Client,
    limits: RequestLimits,
    host: ConnectionHost,
    login: Promise<void> | undefined,
  ) {
    this.client = client
    this.#host = host
    this.#limits = limits
    this.#parser = new RequestParser(limits)
    if (login) this.#holdFor(login)
  }

  /** Executes nothing until `done` is settled. */
  #holdFor(done: Promise<void>): void {
    this.#hold()
    done.then(
      () => this.#release(),
      (error: unknown) => this.#failed(error),
    )
  }

  /**
   * Takes bytes from the peer, cut anywhere. They are never changed afterwards.
   *
   * @param isText A text message of a WebSocket, whose end also ends an inline command.
   */
  receive(chunk: Buffer, isText = false): void {
    if (!this.#admits(chunk)) return
    this.#saveIfLate()
    if (isText) this.#parser.feedText(chunk)
    else this.#parser.feed(chunk)
    if (!this.client.isWaiting) this.#process()
    if (this.client.closed) return
    // What has come may hold no whole command.
    if (this.#rates && !this.client.isWaiting) this.#throttle(this.client.lastHeardMs)
    if (this.client.closed) return
    this.#settle()
    this.#watchUnfinished()
  }

  /**
   * Takes bytes from the peer, cut anywhere, that may be overwritten as soon as this returns. They are all that can be read
   * from it now, so it is answered at once.
   */
  receiveLent(chunk: Buffer): void {
    if (!this.#admits(chunk)) return
    const { flusher } = this.#host
    flusher.hold()
    try {
      this.#parser.lend(chunk)
      if (!this.client.isWaiting) this.#process()
      this.#parser.keep(this.client.isWaiting && !this.#hasYielded)
      if (!this.client.closed) this.#settle()
    } finally {
      flusher.answer(this.client.lastHeardMs)
    }
  }

  /** Hundreds of WebSockets that are read in one turn, each with its whole budget, would keep a single command waiting. */
  #saveIfLate(): void {
    const { client } = this
    const { turnBudget } = client.limits
    if (this.#host.turns.isLate(client.lastHeardMs) && turnBudget !== Infinity)
      client.work = Math.max(client.work, turnBudget * (1 - LATE_PART))
  }

  /** Goes on with the input that waited, if any did, after the other connections. */
  takeTurn(): void {
    this.#isListed = false
    this.client.work = 0
    if (!this.#hasYielded) return
    this.#hasYielded = false
    const { clock, flusher } = this.#host
    flusher.hold()
    try {
      this.#release()
      if (!this.client.closed) this.#settle()
    } finally {
      flusher.answer(clock.monotonicMs())
    }
  }

  /** Counts received bytes. @returns False if it is not to be parsed. */
  #admits(chunk: Buffer): boolean {
    const { client } = this
    if (client.closed) return false
    client.bytesIn += chunk.length
    client.work += 1 + (chunk.length >> INPUT_WORK_BITS)
    this.#host.counters.bytesIn += chunk.length
    this.#host.counters.reads++
    const nowMs = this.#host.clock.monotonicMs()
    client.lastHeardMs = nowMs
    if (client.isWebSocket && this.#host.limits.connections.anyRate) {
      this.#ratesAt(nowMs).countInput(chunk.length, nowMs)
    }
    this.#host.dispatcher.startBatch(nowMs)
    if (client.isWebSocket && !client.authenticated) {
      this.#bytesBeforeLogin += chunk.length
      if (this.#bytesBeforeLogin > UNAUTHENTICATED_BYTES) {
        this.#refuseUnauthenticated()
        return false
      }
    }
    // An argument that is larger than the query buffer must not become a command by its last bytes.
    const large = this.#parser.argumentBytesAfter(chunk.length)
    return large === 0 || this.#fits(large)
  }

  /** The peer sends nothing more. Its requests are still answered. */
  peerEnded(): void {
    this.#hasEnded = true
    if (!this.client.isWaiting) this.#endInput()
  }

  /** Closes the client, once the upstream has answered the messages that it sent. */
  #endInput(): void {
    const { inFlight } = this.client
    if (inFlight !== undefined && inFlight.count > 0) this.#holdFor(inFlight.none())
    else this.client.close(CLOSES.peerEnded)
  }

  /** The connection is gone. */
  peerClosed(): void {
    this.#unfinished?.cancel()
    this.client.peerClosed()
  }

  #process(): void {
    const { client } = this
    const { dispatcher, login } = this.#host
    const parser = this.#parser
    while (!client.closed) {
      if (client.work >= client.limits.turnBudget) {
        this.#yield()
        return
      }
      parser.unauthenticated = !client.authenticated && login.isRequired(client)
      let found: boolean
      try {
        found = parser.next()
      } catch (error) {
        this.#refuseBytes(error)
        return
      }
      if (!found) return
      if (parser.unauthenticated && client.isWebSocket && this.#isOneTooMany()) return
      let waiting: Promise<void> | undefined
      try {
        waiting = dispatcher.execute(client, parser)
      } catch (error) {
        this.#failed(error)
        return
      }
      if (client.isWebSocket && this.#host.limits.connections.anyRate) {
        const nowMs = this.#host.clock.monotonicMs()
        this.#ratesAt(nowMs).countCommand(client.lastCommand, parser.count, nowMs)
        if (!waiting && this.#throttle(nowMs)) return
      }
      if (waiting) {
        this.#holdFor(waiting)
        return
      }
    }
  }

  #ratesAt(nowMs: number): ClientRates {
    return (this.#rates ??= new ClientRates(this.#host.limits.connections, nowMs))
  }

  /**
   * Throttles a WebSocket that is above one of its rates, and closes one that does not slow down.
   *
   * @returns False if it keeps to them.
   */
  #throttle(nowMs: number): boolean {
    const { client } = this
    const rates = this.#ratesAt(nowMs)
    const waitMs = rates.waitMs(nowMs)
    if (waitMs === 0) {
      this.#throttledSinceMs = undefined
      return false
    }
    this.#throttledSinceMs ??= nowMs
    const throttledMs = nowMs - this.#throttledSinceMs
    if (throttledMs > LONGEST_THROTTLE_MS) {
      const text = `too many ${rates.worst(nowMs)}`
      client.close(closeWith(CLOSES.tooFast, { text, retryMs: LONGEST_THROTTLE_MS }))
      return true
    }
    this.#hold()
    const restMs = Math.min(waitMs, LONGEST_THROTTLE_MS - throttledMs + 1)
    this.#host.clock.after(restMs, () => this.#endThrottle())
    return true
  }

  #endThrottle(): void {
    const nowMs = this.#host.clock.monotonicMs()
    const isOver = this.client.closed || this.#ratesAt(nowMs).waitMs(nowMs) === 0
    if (isOver) this.#release()
    else this.#throttle(nowMs)
  }

  #isOneTooMany(): boolean {
    this.#commandsBeforeLogin++
    if (this.#commandsBeforeLogin <= UNAUTHENTICATED_COMMANDS) return false
    this.#refuseUnauthenticated()
    return true
  }

  #refuseUnauthenticated(): void {
    this.client.close(CLOSES.notLoggedIn)
  }

  /** Lets the other connections go first. */
  #yield(): void {
    this.#hasYielded = true
    this.#host.counters.turnsYielded++
    this.#hold()
    this.#list()
  }

  #list(): void {
    if (this.#isListed) return
    this.#isListed = true
    this.#host.turns.add(this)
  }

  /** Has the budget renewed if some of it is spent, and closes a client that has too much waiting. */
  #settle(): void {
    const { work, limits } = this.client
    if (work >= limits.turnBudget * CARRIED_PART) this.#list()
    this.#checkQueryBuffer()
  }

  #hold(): void {
    this.client.isWaiting = true
    this.client.output.sink.pause()
  }

  #release(): void {
    this.client.isWaiting = false
    if (this.client.closed) return
    this.#host.dispatcher.startBatch(this.#host.clock.monotonicMs())
    if (this.client.authenticated) this.#bytesBeforeLogin = this.#commandsBeforeLogin = 0
    this.#process()
    if (this.client.isWaiting || this.client.closed) return
    this.#checkQueryBuffer()
    if (this.client.closed) return
    if (this.#hasEnded) this.#endInput()
    else this.client.output.sink.resume()
    this.#watchUnfinished()
  }

  /** Gives a WebSocket with an unfinished command ten seconds for the rest of it. What is held has all the time it needs. */
  #watchUnfinished(): void {
    if (this.#unfinished !== undefined) {
      this.#unfinished.cancel()
      this.#unfinished = undefined
    }
    if (!this.#parser.isUnfinished || this.client.isWaiting || !this.client.isWebSocket) return
    this.#unfinished = this.#host.clock.after(UNFINISHED_MS, () => {
      this.#unfinished = undefined
      if (this.client.closed) return
      this.#refuseBytes(new ProtocolError('unfinished command: its last line needs an end (CR LF)'))
    })
  }

  #checkQueryBuffer(): void {
    const pending = this.#parser.pendingBytes
    this.client.queryBytes = pending
    // As in Redis, whose query buffer an argument leaves when it is whole. What a command has so far is limited apart.
    const finished = this.#parser.finishedBytes
    if (this.#fits(pending - finished)) this.#fits(finished, 0)
  }

  /**
   * Closes a client that has more waiting than it may.
   *
   * @param queued Bytes of commands that wait for EXEC, which count as in Redis.
   */
  #fits(bytes: number, queued = this.client.transaction?.bytes ?? 0): boolean {
    const { client } = this
    const limit = this.#parser.unauthenticated
      ? UNAUTHENTICATED_QUERY_BYTES
      : this.#host.limits.connections.queryBufferBytes
    const most = client.isWebSocket
      ? Math.min(limit, this.#limits.maxCommandBytes * WEBSOCKET_WAITING_COMMANDS)
      : limit
    if (bytes + queued <= most) return true
    this.#host.counters.queryBufferDisconnections++
    client.close(client.isWebSocket ? CLOSES.backlogTooLarge : CLOSES.queryBuffer)
    return false
  }

  /** Ends the connection after a command has thrown, which none may. No other connection is affected. */
  #failed(error: unknown): void {
    const { id, lastCommand: command } = this.client
    this.#host.log.error({ err: error, id, command }, 'a command failed')
    this.client.close(CLOSES.serverError)
    this.client.output.terminate()
  }

  /** Answers bytes that are not RESP, and ends the connection. */
  #refuseBytes(error: unknown): void {
    const { client } = this
    if (!(error instanceof ProtocolError)) throw error
    const { config, peerLog } = this.#host
    const isCrossProtocol = error.kind === 'cross-protocol'
    peerLog.write(isCrossProtocol ? 'crossProtocol' : 'protocolError', () => ({
      id: client.id,
      address: client.origin.address,
      reason: shown(error.message, config.boolean('hide-user-data-from-log')),
    }))
    if (isCrossProtocol) {
      client.close(CLOSES.crossProtocol)
      return
    }
    this.#host.dispatcher.fail(client, `ERR Protocol error: ${error.message}`)
    const cause = error.kind === 'too-large' ? CLOSES.requestTooLarge : CLOSES.protocolError
    client.close(closeWith(cause, { text: error.message }))
  }
}
