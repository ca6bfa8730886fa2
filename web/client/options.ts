import type { AnyCodec, CodecName } from './codec.ts'
import type { TokenProvider } from './token-source.ts'

/** Waits before a reconnect. Milliseconds. */
export interface ReconnectOptions {
  /** Maximum wait before the first attempt; it doubles with each attempt. Default 500. */
  readonly baseMs?: number
  /** Upper limit of the waits, unless the server asks for more. Default 20,000. */
  readonly maxMs?: number
  /** Time online after which a connection counts as good and the waits start over. Default 10,000. */
  readonly resetAfterMs?: number
}

/** The part of a WebSocket that the client uses. Browsers have it, Node.js from version 22 on, and the package `ws`. */
export interface WebSocketLike {
  binaryType: string
  send(bytes: Uint8Array<ArrayBuffer>): void
  close(code?: number, reason?: string): void
  addEventListener(name: 'open' | 'error', listener: () => void): void
  addEventListener(name: 'message', listener: (event: { data: unknown }) => void): void
  addEventListener(name: 'close', listener: (event: { code: number; reason: string }) => void): void
}

/** Constructor of WebSockets. */
export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike

/** An ACL user and its password. */
export interface Login {
  readonly user: string
  readonly password: string
}

/** Options of a client that logs in with a token, or by a cookie. */
export interface TokenOptions {
  /**
   * The token to log in with, or a function that fetches one. With a plain string the client stops when that token has
   * ended. Undefined: a cookie logs in, where the server is set up for it.
   */
  readonly token?: string | TokenProvider
  /**
   * Sends the token by `AUTH` on the open connection instead of in the request's subprotocol list. Default: for tokens over
   * 4 KB, and those that a subprotocol cannot hold. It never goes into the URL.
   */
  readonly tokenInBand?: boolean
  /**
   * `tabs`: all tabs with the same address and the same subject of the token share one connection, through a SharedWorker.
   * Where that is not possible each has its own. Default: each has its own.
   */
  readonly share?: 'tabs'
  /**
   * Address of `tabs-worker.js`, of the page's origin: for bundlers that do not emit the worker by themselves. Default: beside the
   * library.
   */
  readonly tabsWorker?: string | URL
  readonly login?: undefined
}

/** Options of a client that logs in by password. */
export interface LoginOptions {
  /**
   * Sent by `AUTH` on each connection. The server must allow it: its administrators' listener does, the public one with
   * `ws-password-auth yes`.
   */
  readonly login: Login
  readonly token?: undefined
  readonly tokenInBand?: undefined
  readonly share?: undefined
  readonly tabsWorker?: undefined
}

/** Options that every client takes. */
export interface CommonOptions {
  /** Conversion between payloads and the `data` of messages. Default `bytes`. */
  readonly codec?: CodecName | AnyCodec
  /** Closes the client when it is aborted. */
  readonly signal?: AbortSignal
  /** Default: the global one. Node.js 20 has none: pass that of the package `ws`. */
  readonly WebSocket?: WebSocketConstructor
  readonly reconnect?: ReconnectOptions
  /**
   * `['websocket', 'sse']`: server-sent events, and requests to publish, where two WebSockets in a row fail without one ever having
   * been open. With `share: 'tabs'` it has no effect. Default: WebSockets only.
   */
  readonly transports?: readonly ('websocket' | 'sse')[]
  /** Time without received data after which the connection is probed. Milliseconds; default 25,000. */
  readonly heartbeatMs?: number
  /** Time limit for connecting and logging in. Milliseconds; default 10,000. */
  readonly handshakeTimeoutMs?: number
  /** Time limit for the answer to a probe. Milliseconds; default 3,000. */
  readonly probeTimeoutMs?: number
  /** Time limit for the reply to a command. Milliseconds; default 30,000; `Infinity`: none. */
  readonly replyTimeoutMs?: number
}

/** Options of `connect`: a token or a login, not both. */
export type ConnectOptions = CommonOptions & (TokenOptions | LoginOptions)

/** {@link ConnectOptions} with every default filled in. */
export interface Settings {
  readonly login: Login | undefined
  readonly token: string | TokenProvider | undefined
  readonly tokenInBand: boolean | undefined
  readonly codec: CodecName | AnyCodec
  readonly signal: AbortSignal | undefined
  readonly shareTabs: boolean
  readonly fallsBack: boolean | undefined
  readonly tabsWorker: string | URL | undefined
  readonly heartbeatMs: number
  readonly reconnect: Required<ReconnectOptions>
  readonly handshakeTimeoutMs: number
  readonly probeTimeoutMs: number
  readonly replyTimeoutMs: number
}

/**
 * Fills in the defaults.
 *
 * @throws {TypeError} For a login that is incomplete, or combined with options of tokens; for a time that is none.
 */
export function settingsOf(options: ConnectOptions): Settings {
  if (options.login) checkLogin(options.login, options)
  return {
    login: options.login,
    token: options.token,
    tokenInBand: options.tokenInBand,
    codec: options.codec ?? 'bytes',
    signal: options.signal,
    shareTabs: options.share === 'tabs',
    fallsBack: options.transports?.includes('sse'),
    tabsWorker: options.tabsWorker,
    heartbeatMs: duration(options, 'heartbeatMs', 25_000),
    reconnect: { baseMs: 500, maxMs: 20_000, resetAfterMs: 10_000, ...options.reconnect },
    handshakeTimeoutMs: duration(options, 'handshakeTimeoutMs', 10_000),
    probeTimeoutMs: duration(options, 'probeTimeoutMs', 3_000),
    replyTimeoutMs: duration(options, 'replyTimeoutMs', 30_000),
  }
}

/** Callers may be plain JavaScript. @returns Milliseconds. */
function duration(
  options: CommonOptions,
  name: 'heartbeatMs' | 'handshakeTimeoutMs' | 'probeTimeoutMs' | 'replyTimeoutMs',
  byDefault: number,
): number {
  const { [name]: value = byDefault } = options
  if (typeof value !== 'number' || !(value > 0))
    throw new TypeError(`${name} must be a positive number of milliseconds`)
  return value
}

/** Callers may be plain JavaScript. */
function checkLogin(login: Partial<Login>, options: Partial<TokenOptions | LoginOptions>): void {
  const { token, tokenInBand, share } = options
  if (token !== undefined || tokenInBand !== undefined || share !== undefined)
    throw new TypeError('login cannot be combined with token, tokenInBand or share')
  if (typeof login.user !== 'string' || typeof login.password !== 'string')
    throw new TypeError('login needs a user and a password')
}
