import { Client, type ClientOrigin } from '../client/client.ts'
import type { ClientTable } from '../client/clients.ts'
import type { ClientLimits } from '../client/limits.ts'
import { liveLimits, type LiveLimits } from '../client/live-limits.ts'
import type { Login } from '../client/login.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/store.ts'
import type { Flusher } from '../delivery/flusher.ts'
import type { Sink } from '../delivery/sink.ts'
import type { Protocol } from '../resp/reply-writer.ts'
import { Connection, type ConnectionHost } from './connection.ts'

/** The parts of the server that new connections concern. */
export interface ReceptionParts {
  readonly config: Config
  readonly clock: Clock
  readonly clients: ClientTable
  readonly flusher: Flusher
  readonly login: Login
  /** What all connections share. */
  readonly connections: ConnectionHost
}

/** What a RESP listener knows of a peer. */
export type RespPeer = Omit<ClientOrigin, 'id' | 'connectedMs' | 'listener' | 'origin'>

/** What an HTTP listener knows of a peer. */
export type WebSocketPeer = Omit<ClientOrigin, 'id' | 'connectedMs' | 'transport'>

/** Makes clients of accepted connections. */
export class Reception {
  readonly #parts: ReceptionParts
  readonly #limits: LiveLimits

  constructor(parts: ReceptionParts) {
    this.#parts = parts
    this.#limits = liveLimits(parts.config)
  }

  /** Makes a client of a RESP connection, in RESP2. */
  connectTcp(peer: RespPeer, sink: Sink): Connection {
    const origin = { ...peer, listener: 'resp', origin: undefined } as const
    const client = this.#newClient(origin, sink, 2, this.#limits.tcpClients)
    return new Connection(client, this.#limits.tcpRequests, this.#parts.connections)
  }

  /**
   * Makes a client of a WebSocket, in RESP3.
   *
   * @param token One that came with the upgrade: nothing is executed before it is verified.
   */
  connectWebSocket(peer: WebSocketPeer, sink: Sink, token: string | undefined): Connection {
    const { connections, login } = this.#parts
    const origin = { ...peer, transport: 'websocket' } as const
    const client = this.#newClient(origin, sink, 3, this.#limits.webSocketClients)
    const connection = new Connection(client, this.#limits.webSocketRequests, connections)
    if (token !== undefined) connection.holdFor(login.atUpgrade(client, token))
    return connection
  }

  #newClient(
    origin: Omit<ClientOrigin, 'id' | 'connectedMs'>,
    sink: Sink,
    protocol: Protocol,
    limits: ClientLimits,
  ): Client {
    const { clients, clock, flusher, login } = this.#parts
    const whole = { ...origin, id: clients.takeId(), connectedMs: clock.monotonicMs() }
    const identity = login.initialIdentity(origin.transport)
    const client = new Client(whole, identity, protocol, limits, sink, flusher, clients)
    clients.add(client)
    login.start(client)
    return client
  }
}
