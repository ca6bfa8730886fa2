import { isLoopback, networkOf } from '../addresses.ts'
import type { Client, TransportName } from '../client/client.ts'
import type { Rejection } from '../command/counters.ts'
import type { Services } from '../command/context.ts'

/** A connection before it is admitted. */
interface Arrival {
  readonly transport: TransportName
  /** Empty for a Unix socket. */
  readonly ip: string
}

/** Limits on connections that hold for all listeners together or for each address, and protected mode. */
export class Admission {
  readonly #server: Pick<Services, 'clients' | 'config' | 'counters' | 'peerLog' | 'users'>
  readonly #byPlace = new Map<string, number>()
  readonly #places = new WeakMap<Client, string>()
  #closing = false

  constructor(server: Pick<Services, 'clients' | 'config' | 'counters' | 'peerLog' | 'users'>) {
    this.#server = server
    server.clients.onClosed((client) => this.#left(client))
  }

  /** Reports whether the server is shutting down and admits no connection. */
  get closing(): boolean {
    return this.#closing
  }

  /** Rejects all connections from now on. */
  close(): void {
    this.#closing = true
  }

  /**
   * Decides about a connection, and counts it: as received, and as rejected if it is.
   *
   * @returns The reason of a rejection.
   */
  admit(arrival: Arrival): Rejection | undefined {
    const { counters, peerLog } = this.#server
    counters.connectionsReceived++
    const reason = this.#rejectionOf(arrival)
    if (reason === undefined) return undefined
    counters.countRejection(reason)
    const { ip, transport } = arrival
    peerLog.write('connectionRejected', () => ({ ip, transport, reason }))
    return reason
  }

  /** Counts the address of an admitted client until it is closed. */
  joined(client: Client, ip: string): void {
    if (ip === '') return
    const place = placeOf(client.origin.transport, ip)
    this.#places.set(client, place)
    this.#byPlace.set(place, (this.#byPlace.get(place) ?? 0) + 1)
  }

  #rejectionOf({ transport, ip }: Arrival): Rejection | undefined {
    const { clients, config, users } = this.#server
    if (this.#closing) return 'shutdown'
    if (clients.size >= config.integer('maxclients')) return 'maxclients'
    const isWebSocket = transport === 'websocket'
    const most = config.integer(
      isWebSocket ? 'ws-max-connections-per-ip' : 'tcp-max-connections-per-ip',
    )
    if (most > 0 && ip !== '' && (this.#byPlace.get(placeOf(transport, ip)) ?? 0) >= most) {
      return 'address'
    }
    if (isWebSocket || transport === 'unix' || isLoopback(ip)) return undefined
    return config.boolean('protected-mode') && users.defaultIsOpen ? 'protected-mode' : undefined
  }

  #left(client: Client): void {
    const place = this.#places.get(client)
    if (place === undefined) return
    const left = (this.#byPlace.get(place) ?? 1) - 1
    if (left === 0) this.#byPlace.delete(place)
    else this.#byPlace.set(place, left)
  }
}

/** WebSockets count apart from TCP and TLS, which count together. */
function placeOf(transport: TransportName, ip: string): string {
  return `${transport === 'websocket' ? 'ws' : 'tcp'} ${networkOf(ip)}`
}
