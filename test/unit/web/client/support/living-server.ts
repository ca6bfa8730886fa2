import type { ClientTimer, Environment, OpenSocket } from '../../../../../web/client/environment.ts'
import { FakeClock } from '../../../../support/fake-clock.ts'
import { FakeSocket } from './fake-server.ts'

/** Lifetime of a token, in milliseconds. */
const TOKEN_MS = 1_200_000
const GRACE_MS = 25_000

/** One connection, as the server sees it. */
export interface Connection {
  readonly socket: FakeSocket
  /** Names that are subscribed. */
  readonly names: Set<string>
  /** Neither side hears the other any more, and neither knows. */
  isDead: boolean
  isClosed: boolean
  token: string
  /** When the last answer is due: answers keep their order. */
  dueMs: number
  /** Timers of the token. */
  timers: ClientTimer[]
}

/**
 * A server that answers by itself, slowly, and breaks on demand. It keeps what a real one would: who is subscribed to what, which
 * tokens are good, which names are forbidden.
 */
export class LivingServer {
  readonly clock = new FakeClock()
  readonly forbidden = new Set<string>()
  /** Every connection there ever was. */
  readonly connections: Connection[] = []
  isUp = true
  /** Nothing gets through. */
  isSilent = false
  isOffline = false
  providerFails = false
  /** Timers of the client that are pending. */
  clientTimers = 0
  /** Whoever wants to hear of wake-ups. */
  readonly wakeListeners = new Set<() => void>()
  readonly random: () => number
  #tokens = 0
  readonly #revoked = new Set<string>()
  readonly #sequence = new Map<string, number>()

  constructor(random: () => number) {
    this.random = random
  }

  readonly openSocket: OpenSocket = (url, protocols, listener) => {
    const socket = new FakeSocket(url, protocols, listener)
    const connection: Connection = {
      socket,
      names: new Set(),
      isDead: this.isSilent || this.isOffline,
      isClosed: false,
      token: (protocols[1] ?? '').replace('bearer.', ''),
      dueMs: 0,
      timers: [],
    }
    this.connections.push(connection)
    socket.sent = () => this.#read(connection)
    this.#later(connection, () => {
      if (!this.isUp) this.close(connection, 1006, '')
      else this.#accept(connection)
    })
    return socket
  }

  /** Options of the client. */
  environment(shared?: OpenSocket): Environment {
    return {
      clock: {
        wallMs: () => this.clock.wallMs(),
        monotonicMs: () => this.clock.monotonicMs(),
        after: (delayMs, callback) => {
          this.clientTimers++
          let isPending = true
          const done = (): void => {
            if (isPending) this.clientTimers--
            isPending = false
          }
          const timer = this.clock.after(delayMs, () => {
            done()
            callback()
          })
          return {
            cancel: () => {
              done()
              timer.cancel()
            },
          }
        },
      },
      random: this.random,
      openSocket: this.openSocket,
      shareTabs: () => Promise.resolve(shared),
      isOffline: () => this.isOffline,
      onWake: (callback) => {
        const own = (): void => callback()
        this.wakeListeners.add(own)
        return () => void this.wakeListeners.delete(own)
      },
    }
  }

  readonly provider = (): string => {
    if (this.providerFails) throw new Error('the token endpoint is down')
    return `t${++this.#tokens}.${Math.round(this.clock.wallMs()) + TOKEN_MS}`
  }

  wake(): void {
    for (const listener of this.wakeListeners) listener()
  }

  /** Connections that neither side has closed. */
  get open(): Connection[] {
    return this.connections.filter(({ isClosed, socket }) => !isClosed && !socket.closed)
  }

  /** Publishes the next number of a channel. */
  publish(name: string): void {
    const number = (this.#sequence.get(name) ?? 0) + 1
    this.#sequence.set(name, number)
    for (const connection of this.open) {
      if (!connection.names.has(name)) continue
      this.#later(connection, () => connection.socket.push('message', name, String(number)))
    }
  }

  /** Forbids a name: whoever holds it is closed, or loses it. */
  forbid(name: string, closes: boolean): void {
    this.forbidden.add(name)
    for (const connection of this.open) {
      if (!connection.names.has(name)) continue
      if (closes) {
        this.close(connection, 4403, 'permissions-changed||')
      } else {
        connection.names.delete(name)
        this.#later(connection, () => connection.socket.push('unsubscribe', name, 0))
      }
    }
  }

  /** Ends the tokens in use. */
  revoke(): void {
    for (const connection of this.open) {
      this.#revoked.add(connection.token)
      this.close(connection, 4403, 'revoked|2000|')
    }
  }

  /** All connections are dead from now on, without a close. */
  cut(): void {
    for (const connection of this.open) connection.isDead = true
  }

  close(connection: Connection, code: number, reason: string): void {
    if (connection.isClosed) return
    this.#end(connection)
    // A dead connection hears of no close either.
    if (!connection.isDead && !connection.socket.closed) void connection.socket.end(code, reason)
  }

  #end(connection: Connection): void {
    connection.isClosed = true
    for (const timer of connection.timers) timer.cancel()
  }

  #accept(connection: Connection): void {
    connection.socket.open()
    this.#login(connection, (refusal) => this.close(connection, refusal, 'unauthorized||'))
  }

  #login(connection: Connection, refuse: (code: number) => void): void {
    for (const timer of connection.timers.splice(0)) timer.cancel()
    const { token } = connection
    const leftMs = Math.round(Number(token.split('.')[1]) - this.clock.wallMs())
    if (!(leftMs > 0)) {
      refuse(4401)
      return
    }
    if (this.#revoked.has(token)) {
      this.close(connection, 4403, 'revoked|2000|')
      return
    }
    connection.socket.push('token', 'accepted', 'jwt:42', leftMs)
    const at = (ms: number, callback: () => void): void => {
      connection.timers.push(this.clock.after(ms, () => this.#later(connection, callback)))
    }
    at(leftMs * 0.7, () => connection.socket.push('token', 'expiring', Math.round(leftMs * 0.3)))
    at(leftMs, () => connection.socket.push('token', 'expired', GRACE_MS))
    at(leftMs + GRACE_MS, () => this.close(connection, 4401, 'unauthorized||token expired'))
  }

  /** Does something to a connection after the time that a message takes, after everything before it. */
  #later(connection: Connection, callback: () => void): void {
    const nowMs = this.clock.monotonicMs()
    connection.dueMs = Math.max(connection.dueMs, nowMs + 5 + this.random() * 200)
    this.clock.after(connection.dueMs - nowMs, () => {
      if (connection.isClosed || connection.isDead) return
      if (connection.socket.closed) this.#end(connection)
      else callback()
    })
  }

  #read(connection: Connection): void {
    const commands = connection.socket.commands()
    if (connection.isDead || connection.isClosed) return
    for (const [command = '', ...args] of commands) {
      this.#later(connection, () => this.#run(connection, command, args))
    }
  }

  #run(connection: Connection, command: string, args: readonly string[]): void {
    const { socket, names } = connection
    if (command === 'SUBSCRIBE') {
      if (args.some((name) => this.forbidden.has(name))) {
        socket.receive('-NOPERM No permissions to access a channel\r\n')
        return
      }
      for (const name of args) {
        names.add(name)
        socket.confirm('subscribe', name)
      }
    } else if (command === 'UNSUBSCRIBE') {
      for (const name of args) {
        names.delete(name)
        socket.confirm('unsubscribe', name)
      }
    } else if (command === 'AUTH') {
      const before = connection.token
      connection.token = args[1] ?? ''
      this.#login(connection, () => {
        connection.token = before
        socket.receive('-WRONGPASS invalid token\r\n')
      })
      if (connection.token !== before) socket.receive('+OK\r\n')
    } else {
      socket.receive(command === 'PING' ? '+PONG\r\n' : ':1\r\n')
    }
  }
}
