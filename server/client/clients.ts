import type { Identity } from '../acl/authorize.ts'
import type { Clock } from '../clock.ts'
import { IDS_PER_NODE } from '../control/node.ts'
import type { Client, ClientHost } from './client.ts'
import { CLOSES, type CloseCause } from './close.ts'
import { UnauthenticatedClients } from './unauthenticated.ts'

/** Longest time that a closed client's socket may take to send its remaining output and to shake hands, in ms. */
const LINGER_MS = 2_000

/** Told that a client is closed, before its socket is. */
type ClosedListener = (client: Client, cause: CloseCause) => void

/** All clients, in the order in which they connected, and by the name of their user. */
export class ClientTable implements ClientHost {
  readonly #clock: Clock
  readonly #nodeNumber: () => number
  readonly #byId = new Map<number, Client>()
  readonly #byUser = new Map<string, Set<Client>>()
  readonly #closedListeners: ClosedListener[] = []
  /** Closed clients whose socket is still there. */
  readonly #leaving = new Set<Client>()
  /** Those of them that still send their output or shake hands. */
  readonly #lingering = new Set<Client>()
  readonly #unauthenticated = new UnauthenticatedClients()
  #whenDrained: (() => void)[] = []
  #nextId = 1

  /** @param nodeNumber The number of this gateway, as it is now; 0 alone. */
  constructor(clock: Clock, nodeNumber: () => number = () => 0) {
    this.#clock = clock
    this.#nodeNumber = nodeNumber
  }

  /** Clients that are connected and not being closed. */
  get size(): number {
    return this.#byId.size
  }

  /** Sockets that are connected: those of clients, and of closed clients that still send their output. */
  get sockets(): number {
    return this.#byId.size + this.#lingering.size
  }

  /** Clients that have to log in and have not. */
  get unauthenticated(): Omit<UnauthenticatedClients, 'add' | 'delete'> {
    return this.#unauthenticated
  }

  /** A closed client still sends its output. */
  get anyLingers(): boolean {
    return this.#lingering.size > 0
  }

  /** Ends the socket of the client that was closed first of those that still send their output. @returns False if there is none. */
  hurryOldest(): boolean {
    for (const client of this.#lingering) {
      this.hurry(client)
      return true
    }
    return false
  }

  /** The id for the next connection; never given twice, by no gateway of one namespace. */
  takeId(): number {
    return this.#nodeNumber() * IDS_PER_NODE + this.#nextId++
  }

  add(client: Client): void {
    this.#byId.set(client.id, client)
    this.#index(client)
  }

  get(id: number): Client | undefined {
    return this.#byId.get(id)
  }

  all(): IterableIterator<Client> {
    return this.#byId.values()
  }

  /** Clients that are logged in (or would be) as a user, by its byte string. */
  ofUser(name: string): ReadonlySet<Client> {
    return this.#byUser.get(name) ?? NOBODY
  }

  /** Names of the users of connected clients. */
  userNames(): IterableIterator<string> {
    return this.#byUser.keys()
  }

  /** Gives a client another identity. */
  setIdentity(client: Client, identity: Identity): void {
    if (client.closed) return
    if (client.identity.user.name === identity.user.name) {
      // Its place in the index stays, so that a loop over a user's clients may do this to each.
      client.identity = identity
      return
    }
    this.#unindex(client)
    client.identity = identity
    this.#index(client)
  }

  /** Adds a listener for closed clients; they are called in the order in which they were added. */
  onClosed(listener: ClosedListener): void {
    this.#closedListeners.push(listener)
  }

  closed(client: Client, cause: CloseCause): void {
    this.#byId.delete(client.id)
    this.#unindex(client)
    this.#leaving.add(client)
    this.#unauthenticated.delete(client)
    if (cause !== CLOSES.peerClosed) this.#lingering.add(client)
    for (const listener of this.#closedListeners) listener(client, cause)
    if (cause !== CLOSES.peerClosed) this.#clock.after(LINGER_MS, () => this.hurry(client))
  }

  gone(client: Client): void {
    this.#leaving.delete(client)
    this.#lingering.delete(client)
    if (this.#leaving.size > 0) return
    for (const resolve of this.#whenDrained.splice(0)) resolve()
  }

  loggedIn(client: Client): void {
    this.#unauthenticated.delete(client)
  }

  loggedOut(client: Client): void {
    if (!client.closed) this.#unauthenticated.add(client)
  }

  /** Settles once every closed client's socket is gone. */
  drained(): Promise<void> {
    if (this.#leaving.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenDrained.push(resolve))
  }

  /** Ends the socket of a closed client, which may still send its output. */
  hurry(client: Client): void {
    this.#lingering.delete(client)
    if (this.#leaving.has(client)) client.output.terminate()
  }

  #index(client: Client): void {
    const { name } = client.identity.user
    const clients = this.#byUser.get(name)
    if (clients) clients.add(client)
    else this.#byUser.set(name, new Set([client]))
  }

  #unindex(client: Client): void {
    const { name } = client.identity.user
    const clients = this.#byUser.get(name)
    clients?.delete(client)
    if (clients?.size === 0) this.#byUser.delete(name)
  }
}

const NOBODY: ReadonlySet<Client> = new Set()
