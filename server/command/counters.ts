import type { LoginFailure } from '../client/login-failures.ts'

/** Reasons for rejecting a connection. */
export const REJECTIONS = [
  'maxclients',
  'address',
  'rate',
  'shutdown',
  'protected-mode',
  'proxy-protocol',
] as const

/** One of {@link REJECTIONS}. */
export type Rejection = (typeof REJECTIONS)[number]

/** Counters for INFO and the metrics: plain integers, read on demand. */
export class Counters {
  connectionsReceived = 0
  commandsProcessed = 0
  bytesIn = 0
  messagesPublished = 0
  messagesDelivered = 0
  outputLimitDisconnections = 0
  /** Clients closed for `maxmemory-clients`. */
  evictedClients = 0
  queryBufferDisconnections = 0
  /** Clients that had not logged in and gave way to newcomers. */
  unauthenticatedEvicted = 0
  /** Messages dropped for a WebSocket, being larger than `ws-max-message-out`. */
  messagesTooLargeForWebSocket = 0
  /** Commands that threw, which none may. */
  internalErrors = 0
  /** Times that a connection had spent its budget of a turn, and let the others go first. */
  turnsYielded = 0
  /** Patterns dropped for `ws-pattern-steps`. */
  patternsDropped = 0
  tokensAccepted = 0
  tokensRefused = 0
  originsRefused = 0
  /** Reads from sockets. */
  reads = 0
  /** Bytes sent to clients that are gone. */
  bytesOutClosed = 0
  writesClosed = 0
  /** Refused logins by reason. The set of reasons is fixed. */
  readonly loginFailures = new Map<LoginFailure, number>()
  /** Connections of the HTTP listeners that are no WebSockets. */
  readonly http = { public: { open: 0, evicted: 0 }, admin: { open: 0, evicted: 0 } }
  /** Rejected connections by reason. */
  readonly rejections = new Map<Rejection, number>()
  /** Error replies by code. */
  readonly errors = new Map<string, number>()
  /** Closed clients by cause. The set of causes is fixed. */
  readonly closes = new Map<string, number>()
  /** Requests over HTTP that failed, by the code of their answer. The set of codes is fixed. */
  readonly httpFailures = new Map<string, number>()
  errorReplies = 0
  #countsCodes = true

  /** Most distinct error codes that are counted, as in Redis; with one more, none is counted any longer. */
  static readonly MAX_ERROR_CODES = 128

  /** The only code in {@link errors} after there were too many. */
  static readonly CODES_DISABLED = 'ERRORSTATS_DISABLED'

  countHttpFailure(code: string): void {
    this.httpFailures.set(code, (this.httpFailures.get(code) ?? 0) + 1)
  }

  countError(code: string): void {
    this.errorReplies++
    if (!this.#countsCodes) return
    const known = this.errors.get(code)
    if (known !== undefined) {
      this.errors.set(code, known + 1)
    } else if (this.errors.size < Counters.MAX_ERROR_CODES) {
      this.errors.set(code, 1)
    } else {
      this.errors.clear()
      this.errors.set(Counters.CODES_DISABLED, 1)
      this.#countsCodes = false
    }
  }

  /** Rejected connections, for any reason. */
  get connectionsRejected(): number {
    let all = 0
    for (const count of this.rejections.values()) all += count
    return all
  }

  countRejection(reason: Rejection): void {
    this.rejections.set(reason, (this.rejections.get(reason) ?? 0) + 1)
  }

  countLoginFailure(reason: LoginFailure): void {
    this.loginFailures.set(reason, (this.loginFailures.get(reason) ?? 0) + 1)
  }

  countClose(cause: string): void {
    this.closes.set(cause, (this.closes.get(cause) ?? 0) + 1)
  }

  /** CONFIG RESETSTAT. */
  reset(): void {
    const fresh = new Counters()
    for (const [name, value] of Object.entries(fresh)) {
      if (typeof value === 'number') Object.assign(this, { [name]: value })
    }
    this.errors.clear()
    this.closes.clear()
    this.httpFailures.clear()
    this.loginFailures.clear()
    this.rejections.clear()
    this.http.public.evicted = this.http.admin.evicted = 0
    this.#countsCodes = true
  }
}
