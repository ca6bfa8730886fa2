import { fullJitter } from '../../shared/backoff.ts'
import { classifyClose, parseCloseReason } from '../../shared/close-codes.ts'
import type { RespValue } from '../../shared/resp/types.ts'
import { fitsSubprotocol, offerSubprotocols } from '../../shared/subprotocol.ts'
import type { ClientTimer, Environment, OpenSocket } from './environment.ts'
import { ReplyError, SignedOutError } from './errors.ts'
import { Link } from './link.ts'
import type { Settings } from './options.ts'
import { TokenSource } from './token-source.ts'
import type { TokenReason } from './token-source.ts'
import type { Cause, ConnectionState } from './types.ts'

/** Upper limit of a server's retry hint: an hour. Timers overflow at 24.8 days. */
const MAX_HINT_MS = 3_600_000

/** Number of tokens in a row that may be refused before the client stops: a provider that makes wrong ones makes more of them. */
const MAX_REFUSED_TOKENS = 3

/** The platform tells no reason. */
const NO_CONNECTION = 'no answer at this address, or it refuses this origin'

/** Events of a connection. */
interface ConnectionListener {
  state(state: ConnectionState): void
  online(): void
  /**
   * The link that was online has ended.
   *
   * @param complete Everything the server had to send was received.
   */
  offline(link: Link, complete: boolean): void
  pushed(kind: string, items: readonly RespValue[]): void
  failed(error: unknown): void
}

/**
 * Keeps one link alive: fetches tokens, connects, logs in, waits, and reconnects.
 *
 * There is one way to connect, whatever the reason. Each attempt has an epoch; results of an earlier epoch are dropped.
 */
export class Connection {
  readonly tokens: TokenSource
  readonly #url: string
  readonly #settings: Settings
  readonly #environment: Environment
  readonly #listener: ConnectionListener
  #state: ConnectionState = { status: 'connecting' }
  #epoch = 0
  #link: Link | undefined
  /** The token that the link logged in with, or tries to. */
  #token: string | undefined
  #attempt = 0
  #refusedTokens = 0
  /** The server asked for no attempt before this time of the wall clock. */
  #notBeforeMs = 0
  #timer: ClientTimer | undefined

  constructor(
    url: string,
    settings: Settings,
    environment: Environment,
    listener: ConnectionListener,
  ) {
    this.#url = url
    this.#settings = settings
    this.#environment = environment
    this.#listener = listener
    this.tokens = new TokenSource(settings.token, environment.clock)
  }

  get state(): ConnectionState {
    return this.#state
  }

  /** Changes with each attempt, and when the connection ends. */
  get epoch(): number {
    return this.#epoch
  }

  /** The link, while it is online. */
  get online(): Link | undefined {
    return this.#state.status === 'online' ? this.#link : undefined
  }

  /** Connects now. Does nothing unless the connection is waiting, was denied, or has not been started. */
  start(): void {
    const { status } = this.#state
    if (this.#epoch > 0 && status !== 'denied' && !this.#isWaiting) return
    if (status === 'denied') this.#refusedTokens = 0
    void this.#connect()
  }

  /** Time or the network may have changed: a wait ends, or becomes one for the network. The server's hint still holds. */
  wake(): void {
    if (!this.#isWaiting) return
    const { clock } = this.#environment
    if (this.#environment.isOffline()) {
      if (this.#state.status === 'waiting') this.#wait(this.#state.cause, undefined)
    } else if (clock.wallMs() >= this.#notBeforeMs) {
      this.start()
    }
  }

  /** The login was accepted: the connection is usable. Further calls change nothing. */
  accepted(): void {
    const link = this.#link
    if (!link || this.#state.status === 'online') return
    this.#arm(this.#settings.reconnect.resetAfterMs, () => {
      this.#attempt = 0
      this.#refusedTokens = 0
    })
    this.#enter({ status: 'online' })
    this.#listener.online()
  }

  /** Another token logged in on the live link. */
  swapped(token: string): void {
    this.#token = token
  }

  /** Drops a link that does not answer, and reconnects. */
  abandon(cause: Cause): void {
    const link = this.#link
    if (!link) return
    link.drop()
    this.#lost(false)
    this.#wait(cause, undefined)
  }

  /** Closes the connection. It cannot be started again. */
  close(): void {
    if (this.#state.status === 'closed') return
    this.#link?.drop(1000, '')
    this.#lost(true)
    this.tokens.close()
    this.#enter({ status: 'closed', cause: ownCause('closed', '', 1000) })
  }

  async #connect(): Promise<void> {
    this.#timer?.cancel()
    const epoch = ++this.#epoch
    this.#enter({ status: 'connecting' })
    const environment = this.#environment
    let token: string | undefined
    let openSocket: OpenSocket | undefined
    try {
      token = await this.tokens.current()
      const { fallsBack, shareTabs, tabsWorker } = this.#settings
      if (shareTabs) openSocket = await environment.shareTabs?.(this.#url, token, tabsWorker)
      else if (fallsBack) openSocket = await environment.fallBack?.(this.#url, environment)
    } catch (error) {
      if (epoch === this.#epoch) this.#withoutToken(error)
      return
    }
    if (epoch === this.#epoch) this.#open(token, openSocket ?? environment.openSocket)
  }

  get #isWaiting(): boolean {
    return this.#state.status === 'waiting' || this.#state.status === 'offline'
  }

  #withoutToken(error: unknown): void {
    const text = error instanceof Error ? error.message : String(error)
    if (error instanceof SignedOutError) {
      this.#deny(ownCause('signed-out', text))
      return
    }
    this.#listener.failed(error)
    this.#wait(ownCause('token-failed', text), undefined)
  }

  #open(token: string | undefined, openSocket: OpenSocket): void {
    this.#token = token
    const inBand =
      token !== undefined && (this.#settings.tokenInBand === true || !fitsSubprotocol(token))
    const protocols = offerSubprotocols(inBand ? undefined : token)
    try {
      this.#link = new Link(this.#environment.clock, openSocket, this.#url, protocols, {
        opened: () => this.#opened(inBand),
        pushed: (kind, items) => this.#listener.pushed(kind, items),
        closed: (code, reason) => this.#closed(code, reason),
        failed: (error) => {
          this.#link?.drop(4400, 'protocol-error')
          this.#listener.failed(error)
          this.#lost(false)
          this.#wait(ownCause('protocol-error', error, 4400), undefined)
        },
      })
    } catch (error) {
      this.#deny(ownCause('bad-address', error))
      return
    }
    this.#arm(this.#settings.handshakeTimeoutMs, () => {
      this.abandon(ownCause('timeout', 'no answer to the login'))
    })
  }

  #opened(inBand: boolean): void {
    const { login } = this.#settings
    this.#enter({ status: 'authenticating' })
    if (login) void this.#logIn(this.#epoch, login.user, login.password)
    else if (inBand) void this.#logIn(this.#epoch, 'jwt', this.#token ?? '')
  }

  async #logIn(epoch: number, user: string, secret: string): Promise<void> {
    try {
      await this.#link?.call(['AUTH', user, secret])
      if (epoch === this.#epoch) this.accepted()
    } catch (error) {
      // A token that is refused brings a close with the reason, and a connection that is lost its own.
      if (epoch === this.#epoch && this.#settings.login && error instanceof ReplyError) {
        this.#refused(error)
      }
    }
  }

  /** User and password were refused: they would be again. */
  #refused({ message, prefix }: ReplyError): void {
    this.#link?.drop(1000, '')
    this.#lost(false)
    const name = prefix === 'WRONGPASS' ? 'wrong-password' : 'login-refused'
    this.#deny({ ...ownCause(name, message), prefix })
  }

  #closed(code: number, reason: string): void {
    const parsed = parseCloseReason(reason)
    const close = classifyClose(code, parsed?.name)
    const { status } = this.#state
    const wasOnline = status === 'online'
    const text = parsed?.text ?? (reason || (status === 'connecting' ? NO_CONNECTION : ''))
    const cause: Cause = { code, name: close.name, text }
    const token = this.#token
    this.#lost(close.complete)

    if (close.action === 'stop') {
      this.#deny(cause)
    } else if (close.action === 'reconnect') {
      // The rest of its permissions is intact: it returns as fast as for the first time.
      if (close.name === 'permissions-changed') this.#attempt = 0
      this.#wait(cause, parsed?.retryMs)
    } else {
      const isRevoked = close.name === 'revoked'
      if (!wasOnline) this.#refusedTokens++
      const why: TokenReason = isRevoked ? 'revoked' : wasOnline ? 'expired' : 'refused'
      const hasOther = this.tokens.refuse(token, why)
      if (!hasOther || this.#refusedTokens >= MAX_REFUSED_TOKENS) this.#deny(cause)
      else this.#wait(cause, parsed?.retryMs)
    }
  }

  /** Ends the epoch: its link, timers and promises have no further effect. */
  #lost(complete: boolean): void {
    const link = this.#link
    const wasOnline = this.#state.status === 'online'
    this.#epoch++
    this.#timer?.cancel()
    this.#link = undefined
    this.#token = undefined
    if (link && wasOnline) this.#listener.offline(link, complete)
  }

  /**
   * Waits at least as long as the server asks for, plus a random time: up to the ceiling of the backoff, and at least up to the
   * hint, so that clients with the same hint do not return together. Without a network the wait is the longest one.
   */
  #wait(cause: Cause, hintMs: number | undefined): void {
    const { baseMs, maxMs } = this.#settings.reconnect
    const { clock } = this.#environment
    const isOffline = this.#environment.isOffline()
    const hint = Math.min(hintMs ?? Math.max(this.#notBeforeMs - clock.wallMs(), 0), MAX_HINT_MS)
    const spread = { baseMs: Math.max(baseMs, hint), maxMs: Math.max(maxMs, hint) }
    const jitterMs = fullJitter(this.#attempt, spread, () => this.#environment.random())
    const retryInMs = hint + (isOffline ? maxMs : jitterMs)
    if (!isOffline) this.#attempt++
    this.#notBeforeMs = clock.wallMs() + hint
    this.#arm(retryInMs, () => void this.#connect())
    this.#enter({ status: isOffline ? 'offline' : 'waiting', retryInMs, cause })
  }

  #deny(cause: Cause): void {
    this.#enter({ status: 'denied', cause })
  }

  /** One timer is enough: login deadline, stability check and wait exclude each other. */
  #arm(delayMs: number, callback: () => void): void {
    this.#timer?.cancel()
    this.#timer = this.#environment.clock.after(delayMs, callback)
  }

  #enter(state: ConnectionState): void {
    this.#state = state
    this.#listener.state(state)
  }
}

/** A cause found by the client itself. */
export function ownCause(name: string, text: unknown, code?: number): Cause {
  return { code, name, text: String(text) }
}
