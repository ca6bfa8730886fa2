import type { Identity } from '../acl/authorize.ts'
import { newUser } from '../acl/rules.ts'
import type { UserTable } from '../acl/users.ts'
import { Client, type ClientOrigin } from '../client/client.ts'
import type { ClientTable } from '../client/clients.ts'
import { CLOSES, closeWith } from '../client/close.ts'
import type { ClientLimits } from '../client/limits.ts'
import type { Flusher } from '../delivery/flusher.ts'
import type { Sink } from '../delivery/sink.ts'
import type { Clock } from '../clock.ts'
import type { CommandTable } from '../command/table.ts'
import type { Config } from '../config/store.ts'
import type { Protocol } from '../resp/reply-writer.ts'
import type { TokenSessions } from '../token/session/sessions.ts'
import { Connection, type ConnectionHost } from './connection.ts'
import { liveLimits, type LiveLimits } from '../client/live-limits.ts'

/** What a reception is built with. */
export interface ReceptionParts {
  readonly config: Config
  readonly clock: Clock
  readonly clients: ClientTable
  readonly flusher: Flusher
  readonly users: UserTable
  readonly tokens: TokenSessions
  readonly table: CommandTable
  /** What all connections share. */
  readonly connections: ConnectionHost
  /** A token that came with an upgrade was refused. */
  readonly onRefused?: (client: Client) => void
}

/** What a RESP listener knows of a peer. */
export type RespPeer = Omit<ClientOrigin, 'id' | 'connectedMs' | 'listener' | 'origin'>

/** What an HTTP listener knows of a peer. */
export type WebSocketPeer = Omit<ClientOrigin, 'id' | 'connectedMs' | 'transport'>

/** Receives connections: makes clients of them, and decides who they are until they log in. */
export class Reception {
  readonly #parts: ReceptionParts
  readonly #limits: LiveLimits
  /** Nobody: what a WebSocket is before its login. It never is the default user. */
  readonly #nobody: Identity

  constructor(parts: ReceptionParts) {
    this.#parts = parts
    this.#limits = liveLimits(parts.config)
    const user = newUser(parts.table.catalog, '', { pubsubDefault: 'resetchannels' })
    this.#nobody = { user, ceilings: [], token: undefined }
  }

  /** Makes a client of a RESP connection: the default user, logged in if that needs no password. */
  connectTcp(peer: RespPeer, sink: Sink): Connection {
    const client = this.#newClient(
      { ...peer, listener: 'resp', origin: undefined },
      sink,
      this.#defaultIdentity(),
      2,
      this.#limits.tcpClients,
    )
    client.authenticated = this.#parts.users.defaultIsOpen
    const seconds = this.#parts.config.seconds('tcp-auth-timeout')
    if (seconds > 0 && !client.authenticated) this.#armDeadline(client, seconds)
    return new Connection(client, this.#limits.tcpRequests, this.#parts.connections)
  }

  /**
   * Makes a client of a WebSocket: nobody, in RESP3, until it logs in.
   *
   * @param token One that came with the upgrade: nothing is executed before it is verified.
   */
  connectWebSocket(peer: WebSocketPeer, sink: Sink, token: string | undefined): Connection {
    const client = this.#newClient(
      { ...peer, transport: 'websocket' },
      sink,
      this.#nobody,
      3,
      this.#limits.webSocketClients,
    )
    this.#armDeadline(client, this.#parts.config.seconds('auth-timeout'))
    const host = this.#parts.connections
    const connection = new Connection(client, this.#limits.webSocketRequests, host)
    if (token !== undefined) connection.holdFor(this.#loginAtUpgrade(client, token))
    return connection
  }

  /** RESET: makes a client what it was when it connected. A WebSocket has to log in again, in time. */
  becomeAnonymous(client: Client): void {
    const { clients, config } = this.#parts
    if (client.isWebSocket) {
      clients.setIdentity(client, this.#nobody)
      client.authenticated = false
      this.#armDeadline(client, config.seconds('auth-timeout'))
    } else {
      clients.setIdentity(client, this.#defaultIdentity())
      client.authenticated = this.#parts.users.defaultIsOpen
    }
  }

  #newClient(
    origin: Omit<ClientOrigin, 'id' | 'connectedMs'>,
    sink: Sink,
    identity: Identity,
    protocol: Protocol,
    limits: ClientLimits,
  ): Client {
    const { clients, clock, flusher } = this.#parts
    const whole = { ...origin, id: clients.takeId(), connectedMs: clock.monotonicMs() }
    const client = new Client(whole, identity, protocol, limits, sink, flusher, clients)
    clients.add(client)
    return client
  }

  async #loginAtUpgrade(client: Client, token: string): Promise<void> {
    const { tokens } = this.#parts
    const result = await tokens.verify(client, token)
    if (client.closed) return
    if ('error' in result) {
      this.#parts.onRefused?.(client)
      client.close(result.cause)
    } else {
      tokens.login(client, result.ok)
    }
  }

  /** Closes a client that has not logged in by then. A later deadline makes this one void. */
  #armDeadline(client: Client, seconds: number): void {
    client.deadline?.cancel()
    client.deadline = this.#parts.clock.after(seconds * 1000, () => {
      if (client.authenticated) return
      client.close(closeWith(CLOSES.authTimeout, { text: `no login within ${seconds} s` }))
    })
  }

  #defaultIdentity(): Identity {
    return { user: this.#parts.users.default, ceilings: [], token: undefined }
  }
}
