import { Client, type ClientOrigin } from '../client/client.ts'
import type { ClientTable } from '../client/clients.ts'
import type { ClientLimits } from '../client/limits.ts'
import type { Flusher } from '../delivery/flusher.ts'
import type { Sink } from '../delivery/sink.ts'
import type { Protocol } from '../resp/reply-writer.ts'
import { Connection, type ConnectionHost } from './connection.ts'
import type { EventSink } from './event-sink.ts'
import { EventStream } from './event-stream.ts'
import { Publisher, ReplySink } from './publisher.ts'

/** The parts of the core that new connections concern. */
export interface ReceptionHost extends ConnectionHost {
  readonly clients: ClientTable
  readonly flusher: Flusher
}

/** A peer as a RESP listener sees it. */
type RespPeer = Omit<ClientOrigin, 'id' | 'connectedMs' | 'listener' | 'origin'>

/** A peer as an HTTP listener sees it. */
type HttpPeer = Omit<ClientOrigin, 'id' | 'connectedMs' | 'transport'>

/** Makes a client of an accepted RESP connection, in RESP2. */
export function connectTcp(host: ReceptionHost, peer: RespPeer, sink: Sink): Connection {
  const { limits, login } = host
  const origin = { ...peer, listener: 'resp', origin: undefined } as const
  const client = newClient(host, origin, sink, 2, limits.tcpClients)
  return new Connection(client, limits.tcpRequests, host, login.start(client))
}

/**
 * Makes a client of an accepted WebSocket, in RESP3.
 *
 * @param token One that came with the upgrade: nothing is executed before it is verified.
 */
export function connectWebSocket(
  host: ReceptionHost,
  peer: HttpPeer,
  sink: Sink,
  token: string | undefined,
): Connection {
  const { limits, login } = host
  const origin = { ...peer, transport: 'websocket' } as const
  const client = newClient(host, origin, sink, 3, limits.webSocketClients)
  return new Connection(client, limits.webSocketRequests, host, login.start(client, token))
}

/** Makes a client of a peer that reads events. It has not logged in. */
export function connectEvents(host: ReceptionHost, peer: HttpPeer, sink: EventSink): EventStream {
  const { limits, login } = host
  const origin = { ...peer, transport: 'sse' } as const
  const client = newClient(host, origin, sink, 3, limits.webSocketClients)
  void login.start(client)
  return new EventStream(host, client, sink)
}

/** Makes a client of a peer that publishes by requests. It has not logged in. */
export function connectPublisher(host: ReceptionHost, peer: HttpPeer): Publisher {
  const { limits, login } = host
  const sink = new ReplySink()
  // Replies to PUBLISH are the same in both, and only RESP3 has the pushes of a token session.
  const client = newClient(host, { ...peer, transport: 'http' }, sink, 2, limits.webSocketClients)
  void login.start(client)
  return new Publisher(host, client, sink)
}

function newClient(
  host: ReceptionHost,
  peer: Omit<ClientOrigin, 'id' | 'connectedMs'>,
  sink: Sink,
  protocol: Protocol,
  limits: ClientLimits,
): Client {
  const { clients, clock, flusher, login } = host
  // Written out: spread together, each would keep whatever else the peer has, 110 bytes.
  const origin: ClientOrigin = {
    id: clients.takeId(),
    transport: peer.transport,
    address: peer.address,
    localAddress: peer.localAddress,
    listener: peer.listener,
    origin: peer.origin,
    connectedMs: clock.monotonicMs(),
  }
  const identity = login.initialIdentity(origin.transport)
  const client = new Client(origin, identity, protocol, limits, sink, flusher, clients)
  clients.add(client)
  return client
}
