import { isLoopback, networkOf } from '../addresses.ts'
import {
  comesByHttp,
  type Client,
  type ClientOrigin,
  type Place,
  type TransportName,
} from '../client/client.ts'
import { CLOSES } from '../client/close.ts'
import type { Rejection } from '../command/counters.ts'
import type { Services } from '../command/context.ts'
import { ADMIN_PLACES } from '../config/open-files.ts'
import { Arrivals } from './arrivals.ts'
import { Departures } from './departures.ts'
import { AddressRates } from './peer-rates.ts'

/** A connection before it is admitted. */
interface Arrival {
  readonly transport: TransportName
  /** Empty for a Unix socket. */
  readonly ip: string
  /** Of one that comes by HTTP; the public one by default. */
  readonly listener?: 'public' | 'admin'
}

type AdmissionServer = Pick<
  Services,
  'clients' | 'clock' | 'config' | 'counters' | 'peerLog' | 'users'
>

/** Something that waits until the server has opened all of its listeners. */
interface EarlyArrival {
  readonly listener: ClientOrigin['listener']
  readonly go: () => void
  readonly drop: () => void
}

/** Answer to a RESP connection of an address that opens them too fast. */
export const TOO_FAST = '-ERR too many new connections from this address\r\n'

/** Redis' answer to a client that has no place, or no longer one. */
export const FULL = '-ERR max number of clients reached\r\n'

/** Public WebSockets never take more of `maxclients` than this share. */
const LARGEST_RESERVE = 1 / 4

/** Of the administrators' listener, clients that have not logged in: half of its own places. */
const ADMIN_UNAUTHENTICATED = ADMIN_PLACES / 2

/**
 * Limits on connections that hold for all listeners together or for each address, and protected mode.
 *
 * Public WebSockets are strangers: they may not take the last places of `maxclients` (`maxclients-reserve`), and the
 * administrators' listener has some places of its own beyond it. A client that has not logged in gives way to a newcomer where
 * there is no room, the oldest first. Refusing the newcomer would let a flood of sockets that never log in keep everybody out for
 * as long as it lasts; an honest browser logs in within a round trip, long before it is the oldest.
 */
export class Admission {
  /** Of sockets that are closed at once. */
  readonly departures: Departures
  readonly #server: AdmissionServer
  readonly #byPlace = new Map<string, Place>()
  readonly #rates = { http: new AddressRates(), tcp: new AddressRates() }
  readonly #arrivals: Readonly<Record<ClientOrigin['listener'], Arrivals>>
  /** Undefined once all listeners are open. */
  #early: EarlyArrival[] | undefined = []
  #closing = false
  #isDraining = false

  /** @param atEndOfTurn Calls back once everything readable in this turn of the event loop has been handled. */
  constructor(server: AdmissionServer, atEndOfTurn: (callback: () => void) => void) {
    this.#server = server
    const options = { atEndOfTurn, nowMs: () => server.clock.monotonicMs() }
    this.departures = new Departures(options)
    this.#arrivals = {
      resp: new Arrivals(options),
      public: new Arrivals(options),
      admin: new Arrivals(options),
    }
    server.clients.onClosed((client) => this.#left(client))
  }

  /** Reports whether the server is shutting down and admits no connection. */
  get closing(): boolean {
    return this.#closing
  }

  /** All listeners are open: lets in who has waited for it. */
  open(): void {
    for (const { listener, go } of this.#takeEarly()) this.#arrivals[listener].enter(go)
  }

  /** Rejects all connections but administrators' WebSockets from now on. */
  drain(): void {
    this.#isDraining = true
  }

  /** Rejects all connections from now on. If the server was never open, nobody has been answered. */
  close(): void {
    this.#closing = true
    for (const { drop } of this.#takeEarly()) drop()
  }

  /**
   * Calls `go` once all listeners are open, so that no peer is answered by a server that then fails to start; or `drop` if it
   * does. Where very many come at once, each has its turn: see {@link Arrivals}.
   */
  whenDue(listener: ClientOrigin['listener'], go: () => void, drop: () => void): void {
    if (this.#early) this.#early.push({ listener, go, drop })
    else this.#arrivals[listener].enter(go)
  }

  /** As {@link whenDue}, if nothing has to be waited for. @returns False otherwise: `go` was not called. */
  atOnce(listener: ClientOrigin['listener'], go: () => void): boolean {
    return this.#early === undefined && this.#arrivals[listener].enterAtOnce(go)
  }

  #takeEarly(): readonly EarlyArrival[] {
    const early = this.#early ?? []
    this.#early = undefined
    return early
  }

  /**
   * Decides about a connection that was just accepted, before anything is done for it: by the rate at which its address opens them
   * (`http-connection-rate-per-ip`, `tcp-connection-rate-per-ip`). One that is refused is counted as rejected.
   *
   * @param ip Empty for a Unix socket, which has no limit.
   */
  isTooFast(kind: 'http' | 'tcp', ip: string): boolean {
    const { clock, config, counters, peerLog } = this.#server
    if (ip === '') return false
    const perSecond = config.integer(`${kind}-connection-rate-per-ip`)
    if (this.#rates[kind].admits(ip, perSecond, clock.monotonicMs())) return false
    counters.countRejection('rate')
    peerLog.write('connectionRate', () => ({ ip, kind }))
    return true
  }

  /**
   * Decides about a connection, and counts it: as received, and as rejected if it is. One that is admitted may cost another its
   * place.
   *
   * @returns The reason of a rejection.
   */
  admit(arrival: Arrival): Rejection | undefined {
    const { counters, peerLog } = this.#server
    counters.connectionsReceived++
    const listener = listenerOf(arrival)
    const reason = this.#rejectionOf(arrival, listener)
    if (reason === undefined) {
      this.#makeRoom(listener, arrival.ip)
      return undefined
    }
    counters.countRejection(reason)
    const { ip, transport } = arrival
    peerLog.write('connectionRejected', () => ({ ip, transport, reason }))
    return reason
  }

  /** Counts the address of an admitted client until it is closed. */
  joined(client: Client, ip: string): void {
    if (ip === '') return
    const name = placeOf(client.origin.transport, ip)
    let place = this.#byPlace.get(name)
    if (place === undefined) this.#byPlace.set(name, (place = { name, clients: 0 }))
    place.clients++
    client.place = place
  }

  #rejectionOf(
    { transport, ip }: Arrival,
    listener: ClientOrigin['listener'],
  ): Rejection | undefined {
    const { clients, config, users } = this.#server
    if (this.#closing || (this.#isDraining && listener !== 'admin')) return 'shutdown'
    const isHopeless = !clients.anyLingers && this.#oldestWithoutLogin(listener) === undefined
    if (isHopeless && this.#isFull(listener)) return 'maxclients'
    const isWeb = comesByHttp(transport)
    const most = config.integer(isWeb ? 'ws-max-connections-per-ip' : 'tcp-max-connections-per-ip')
    if (
      most > 0 &&
      ip !== '' &&
      transport !== 'http' &&
      (this.#byPlace.get(placeOf(transport, ip))?.clients ?? 0) >= most
    ) {
      return 'address'
    }
    if (isWeb || transport === 'unix' || isLoopback(ip)) return undefined
    return config.boolean('protected-mode') && users.defaultIsOpen ? 'protected-mode' : undefined
  }

  /** Reports whether a newcomer has to take another's place. */
  #isFull(listener: ClientOrigin['listener']): boolean {
    const { clients, config } = this.#server
    const most = config.integer('maxclients')
    const taken = clients.sockets
    if (listener === 'admin') return taken >= most + ADMIN_PLACES
    if (listener === 'resp') return taken >= most
    const reserve = Math.min(config.integer('maxclients-reserve'), most * LARGEST_RESERVE)
    return taken >= most - Math.floor(reserve)
  }

  /** The client that gives way to a newcomer of a listener: a public WebSocket to anyone, an administrator's to another. */
  #oldestWithoutLogin(listener: ClientOrigin['listener']): Client | undefined {
    const { unauthenticated } = this.#server.clients
    const stranger = first(unauthenticated.of('public'))
    return stranger ?? (listener === 'admin' ? first(unauthenticated.of('admin')) : undefined)
  }

  #makeRoom(listener: ClientOrigin['listener'], ip: string): void {
    const { clients, config, users } = this.#server
    const { unauthenticated } = clients
    if (listener === 'public') {
      this.#keepBelow(config.integer('ws-max-unauthenticated-per-ip'), unauthenticated.from(ip))
      this.#keepBelow(config.integer('ws-max-unauthenticated'), unauthenticated.of('public'))
    } else if (listener === 'admin') {
      this.#keepBelow(ADMIN_UNAUTHENTICATED, unauthenticated.of('admin'))
    } else if (!users.defaultIsOpen) {
      this.#keepBelow(config.integer('tcp-max-unauthenticated'), unauthenticated.of('resp'))
    }
    if (!this.#isFull(listener) || clients.hurryOldest()) return
    const oldest = this.#oldestWithoutLogin(listener)
    if (oldest) this.#evict(oldest)
  }

  /** @param most 0 is no limit. */
  #keepBelow(most: number, waiting: ReadonlySet<Client>): void {
    if (most === 0) return
    // A limit that was lowered takes away several.
    for (const client of waiting) {
      if (waiting.size < most) return
      this.#evict(client)
    }
  }

  /** Closes a client, and its socket at once: its peer need not do anything for its place to be free. */
  #evict(client: Client): void {
    const { output, isWeb } = client
    this.#server.counters.unauthenticatedEvicted++
    if (!isWeb && !output.isBlocked) output.sink.write([Buffer.from(FULL, 'latin1')])
    client.close(CLOSES.crowdedOut)
    if (isWeb) output.sink.end(CLOSES.crowdedOut.close)
    this.#server.clients.hurry(client)
  }

  #left(client: Client): void {
    const { place } = client
    if (place !== undefined && --place.clients === 0) this.#byPlace.delete(place.name)
  }
}

function listenerOf({ transport, listener = 'public' }: Arrival): ClientOrigin['listener'] {
  return comesByHttp(transport) ? listener : 'resp'
}

function first(clients: ReadonlySet<Client>): Client | undefined {
  for (const client of clients) return client
  return undefined
}

/** Who comes by HTTP counts apart from TCP and TLS, which count together. */
function placeOf(transport: TransportName, ip: string): string {
  return `${comesByHttp(transport) ? 'ws' : 'tcp'} ${networkOf(ip)}`
}
