/** A pending timer. */
export interface ClientTimer {
  cancel(): void
}

/** Opens a WebSocket. @throws {Error} If the address is not one that a WebSocket can be opened to. */
export type OpenSocket = (
  url: string,
  protocols: readonly string[],
  listener: SocketListener,
) => ClientSocket

/** The clock of the client. */
export interface ClientClock {
  /** Milliseconds since 1970. */
  wallMs(): number
  /** Milliseconds of a clock that never goes back. */
  monotonicMs(): number
  /** Calls `callback` once after `delayMs`. */
  after(delayMs: number, callback: () => void): ClientTimer
}

/** Events of a socket. Nothing follows `closed`. */
export interface SocketListener {
  opened(): void
  received(bytes: Uint8Array): void
  /** @param code 1006 where the connection broke without a close. */
  closed(code: number, reason: string): void
}

/** The part of a WebSocket that the client uses. */
export interface ClientSocket {
  /** @param bytes Not of shared memory, which browsers refuse to send. */
  send(bytes: Uint8Array<ArrayBuffer>): void
  /** May be called at any time, also before the socket is open. */
  close(code?: number, reason?: string): void
}

/** Time, chance and sockets of the client. Tests bring their own. */
export interface Environment {
  readonly clock: ClientClock
  /** A number from 0 up to, but not including, 1. */
  random(): number
  readonly openSocket: OpenSocket
  /** @throws {SetupError} Where no socket can be opened to this address. */
  checkAddress?(url: string): void
  /**
   * Gets a socket that other tabs share; undefined where that is not possible. Never rejects.
   *
   * @param token Names the subject: tabs of one subject share.
   * @param script The worker's script; undefined: the library's own.
   */
  shareTabs?(
    url: string,
    token: string | undefined,
    script: string | URL | undefined,
  ): Promise<OpenSocket | undefined>
  /**
   * Gets the socket to use where WebSockets may be broken; undefined where that is not possible. Never rejects.
   *
   * @param environment Its sockets are used while they work.
   */
  fallBack?(
    url: string,
    environment: Pick<Environment, 'clock' | 'openSocket'>,
  ): Promise<OpenSocket | undefined>
  /** The device reports no network. The report may be wrong. */
  isOffline(): boolean
  /**
   * Calls `callback` whenever the page may have slept, or the network may have come or gone.
   *
   * @returns A function that ends it.
   */
  onWake(callback: () => void): () => void
}
