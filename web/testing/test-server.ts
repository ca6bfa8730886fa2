import { byteString, utf8Bytes, utf8Text } from '../../shared/bytes.ts'
import { compileGlob, type Glob } from '../../shared/glob.ts'
import type { CommandArgument } from '../../shared/resp/command.ts'
import type { WebSocketConstructor } from '../client/options.ts'
import type { SubscriptionKind } from '../client/types.ts'
import { TestSocket } from './test-socket.ts'
import { TestSession } from './test-session.ts'

/** A message that a client has published. */
export interface PublishedMessage {
  readonly channel: string
  readonly payload: Uint8Array
  /** The payload read as UTF-8. */
  text(): string
}

/** Options of a {@link TestServer}. */
export interface TestServerOptions {
  /**
   * Judges a login. Default: users are who they say, everybody else is `jwt:test`.
   *
   * @param secret The token, or the password; undefined where a cookie would log in.
   * @param user Undefined with a token or a cookie.
   * @returns The ACL user, or undefined: the login is refused.
   */
  readonly login?: (secret: string | undefined, user: string | undefined) => string | undefined
  /** Life of a token, in milliseconds. Default: one hour. */
  readonly tokenMs?: number
}

/**
 * A Respcast server in memory, for tests of what uses the client: no network, no process, no timers. It knows subscriptions,
 * publishing, logins, denials, closes and gaps, as RESP3 in WebSocket messages; it has no rules but {@link deny}.
 *
 * Whatever it sends arrives in a microtask: `await client.publish(...)` or `await subscription.ready` is all the waiting there is.
 *
 * @example
 * const server = new TestServer()
 * const client = connect('ws://test/ws', { token: 'any', WebSocket: server.WebSocket })
 * const subscription = client.subscribe('news', show)
 * await subscription.ready
 * server.publish('news', 'hello')
 */
export class TestServer {
  /** The messages that clients have published, the oldest first. */
  readonly published: PublishedMessage[] = []
  /** Pass it to `connect`. */
  readonly WebSocket: WebSocketConstructor
  readonly #options: TestServerOptions
  readonly #sessions = new Set<TestSession>()
  readonly #denied = new Map<string, Glob>()
  #isUp = true

  constructor(options: TestServerOptions = {}) {
    this.#options = options
    const open = (socket: TestSocket): void => this.#open(socket)
    this.WebSocket = class extends TestSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols)
        queueMicrotask(() => open(this))
      }
    }
  }

  /** The users that are logged in, one for each connection. */
  get users(): string[] {
    return [...this.#sessions].flatMap(({ user }) => (user === undefined ? [] : [user]))
  }

  /** The number of subscriptions that would get a message of a channel. */
  subscribers(channel: string): number {
    const key = byteString(utf8Bytes(channel))
    return [...this.#sessions].reduce((sum, session) => sum + session.countOf(key), 0)
  }

  /** Publishes. @returns The number of subscriptions that got it. */
  publish(channel: CommandArgument, payload: CommandArgument): number {
    return this.#deliver('channel', bytesOf(channel), bytesOf(payload))
  }

  /** Publishes to a shard channel. @returns The number of subscriptions that got it. */
  spublish(channel: CommandArgument, payload: CommandArgument): number {
    return this.#deliver('shard', bytesOf(channel), bytesOf(payload))
  }

  /**
   * Denies the channels of a glob, to subscribe and to publish. Clients that hold a subscription to one are closed with 4403
   * `permissions-changed`, as after an `ACL SETUSER`.
   */
  deny(pattern: string): void {
    this.#denied.set(pattern, compileGlob(byteString(utf8Bytes(pattern))))
    for (const session of this.#sessions)
      if (session.holdsDenied()) session.close(4403, 'permissions-changed||')
  }

  /** Takes back what {@link deny} did, and tells the clients, who subscribe again. */
  allow(pattern: string): void {
    this.#denied.delete(pattern)
    for (const session of this.#sessions) session.push('token', 'granted')
  }

  /** Ends every session with 4403 `revoked`: clients ask for another token. */
  revoke(): void {
    this.closeAll(4403, 'revoked||')
  }

  /** Tells the clients that the server itself has missed messages of the last `spanMs`: of a channel, or of all. */
  gap(spanMs: number, channel = ''): void {
    for (const session of this.#sessions) session.push('gap', channel, 0, spanMs)
  }

  /** Closes every connection; by default it breaks, without a word. */
  closeAll(code = 1006, reason = ''): void {
    for (const session of [...this.#sessions]) session.close(code, reason)
  }

  /** Breaks every connection, and refuses others until {@link start}. */
  stop(): void {
    this.#isUp = false
    this.closeAll()
  }

  /** Takes connections again. */
  start(): void {
    this.#isUp = true
  }

  #open(socket: TestSocket): void {
    if (!this.#isUp) {
      socket.end(1006, '')
      return
    }
    const { login = (_secret, user) => user ?? 'jwt:test', tokenMs = 3_600_000 } = this.#options
    const session = new TestSession(socket, {
      login,
      tokenMs,
      isDenied: (name) => [...this.#denied.values()].some((glob) => glob.matches(name)),
      published: (kind, channel, payload) => {
        this.published.push({
          channel: utf8Text(channel),
          payload,
          text: () => utf8Text(payload),
        })
        return this.#deliver(kind, channel, payload)
      },
      closed: () => void this.#sessions.delete(session),
    })
    this.#sessions.add(session)
    session.open()
  }

  #deliver(kind: SubscriptionKind, channel: Uint8Array, payload: Uint8Array): number {
    let count = 0
    for (const session of this.#sessions) count += session.deliver(kind, channel, payload)
    return count
  }
}

function bytesOf(value: CommandArgument): Uint8Array {
  return typeof value === 'string' ? utf8Bytes(value) : value
}
