/**
 * A server made of one array, for tests of the client. What a test does, from most to least often:
 *
 * - `const server = new FakeServer()`, then `const client = server.client({ token: 'a.b.c' })`.
 * - `await server.online()`: opens the newest socket and accepts its token. `server.socket` is that socket then.
 * - `server.socket.commands()`: what the client sent since the last call, as arrays of text.
 * - `server.socket.receive('+OK\r\n')`: bytes to the client, as a byte string. `push('message', 'news', 'hi')` is shorter.
 * - `server.socket.confirm('subscribe', 'news')`: one confirmation per name.
 * - `await server.socket.end(4503, 'draining|1000|')`: the server closes. Without arguments the connection breaks (1006).
 * - `await server.pass(ms)`: time goes by. Nothing waits in real time.
 * - `server.randomValue = 0.5`: what the client draws. At 0 there is no jitter.
 * - `await settle()`: lets promises run, where none of the above did.
 */
import type { RespValue } from '../../../../../shared/resp/types.ts'
import { RespReader } from '../../../../../shared/resp/reader.ts'
import { RespcastClient } from '../../../../../web/client/client.ts'
import type {
  ClientSocket,
  Environment,
  OpenSocket,
  SocketListener,
} from '../../../../../web/client/environment.ts'
import { settingsOf } from '../../../../../web/client/options.ts'
import type { ConnectOptions } from '../../../../../web/client/options.ts'
import type { ClientEvents } from '../../../../../web/client/types.ts'
import { FakeClock } from '../../../../support/fake-clock.ts'

/** Lets every promise that can settle do so. */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

/** A bulk string on the wire. */
export function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`
}

export class FakeSocket implements ClientSocket {
  readonly url: string
  readonly protocols: readonly string[]
  /** Code and reason of the client's own close. */
  closed: readonly [code: number | undefined, reason: string | undefined] | undefined
  /** Called after each `send`. */
  sent: () => void = () => undefined
  readonly #listener: SocketListener
  readonly #reader = new RespReader()

  constructor(url: string, protocols: readonly string[], listener: SocketListener) {
    this.url = url
    this.protocols = protocols
    this.#listener = listener
  }

  send(bytes: Uint8Array): void {
    if (this.closed) throw new Error('The client sent on a socket that it had closed')
    this.#reader.push(bytes)
    this.sent()
  }

  close(code?: number, reason?: string): void {
    this.closed = [code, reason]
  }

  /** Commands sent since the last call; arguments as byte strings. */
  commands(): string[][] {
    const commands: string[][] = []
    for (let value = this.#reader.next(); value !== undefined; value = this.#reader.next()) {
      commands.push(
        (value as RespValue[]).map((arg) => Buffer.from(arg as Uint8Array).toString('latin1')),
      )
    }
    return commands
  }

  open(): void {
    this.#listener.opened()
  }

  receive(wire: string): void {
    this.#listener.received(Uint8Array.from(Buffer.from(wire, 'latin1')))
  }

  push(...items: readonly (string | number)[]): void {
    const parts = items.map((item) => (typeof item === 'number' ? `:${item}\r\n` : bulk(item)))
    this.receive(`>${items.length}\r\n${parts.join('')}`)
  }

  confirm(kind: string, ...names: readonly string[]): void {
    for (const name of names) this.push(kind, name, 1)
  }

  /** The server closes, or, by default, the network breaks. */
  async end(code = 1006, reason = ''): Promise<void> {
    this.#listener.closed(code, reason)
    await settle()
  }
}

export class FakeServer {
  readonly clock = new FakeClock()
  readonly sockets: FakeSocket[] = []
  /** Fires the wake-up events of the page. */
  wake: () => void = () => undefined
  /** The device says that it has no network. */
  isOffline = false
  randomValue = 0
  /** Shared by the tabs; undefined where they cannot share. */
  shared: OpenSocket | undefined

  /** Opens sockets to this server. */
  readonly openSocket: OpenSocket = (url, protocols, listener) => {
    if (url === '') throw new SyntaxError('not a URL')
    const socket = new FakeSocket(url, protocols, listener)
    this.sockets.push(socket)
    return socket
  }

  readonly #environment: Environment = {
    clock: this.clock,
    random: () => this.randomValue,
    openSocket: this.openSocket,
    shareTabs: () => Promise.resolve(this.shared),
    isOffline: () => this.isOffline,
    onWake: (callback) => {
      this.wake = callback
      return () => {
        this.wake = () => undefined
      }
    },
  }

  client(options: ConnectOptions = { token: 'a.b.c' }, url = 'ws://fake/ws'): RespcastClient {
    // Where a test is not about heartbeats none is due.
    const settings = settingsOf({ heartbeatMs: Infinity, ...options })
    return new RespcastClient(url, settings, this.#environment)
  }

  /** The newest socket. */
  get socket(): FakeSocket {
    const socket = this.sockets.at(-1)
    if (!socket) throw new Error('The client has opened no socket')
    return socket
  }

  /** Opens the newest socket and accepts its token. */
  async online(user = 'jwt:42', leftMs = 3_600_000): Promise<void> {
    await settle()
    this.socket.open()
    this.socket.push('token', 'accepted', user, leftMs)
    await settle()
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms)
    await settle()
  }
}

/** Collects the arguments of one event. */
export function record<Name extends keyof ClientEvents>(
  client: RespcastClient,
  name: Name,
): ClientEvents[Name][] {
  const seen: ClientEvents[Name][] = []
  client.on(name, (argument) => void seen.push(argument))
  return seen
}
