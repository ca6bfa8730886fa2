import { networkOf, splitAddress } from '../addresses.ts'
import type { Client, ClientOrigin } from './client.ts'

/** Clients that have to log in and have not: by listener, and by the network of their address. The oldest comes first. */
export class UnauthenticatedClients {
  readonly #byListener: Readonly<Record<ClientOrigin['listener'], Set<Client>>> = {
    resp: new Set(),
    public: new Set(),
    admin: new Set(),
  }
  /** Of the public listener. */
  readonly #byNetwork = new Map<string, Set<Client>>()

  add(client: Client): void {
    const { address, listener } = client.origin
    this.#byListener[listener].add(client)
    if (listener !== 'public') return
    const network = networkOf(splitAddress(address).ip)
    const others = this.#byNetwork.get(network)
    if (others) others.add(client)
    else this.#byNetwork.set(network, new Set([client]))
  }

  delete(client: Client): void {
    const { address, listener } = client.origin
    if (!this.#byListener[listener].delete(client) || listener !== 'public') return
    const network = networkOf(splitAddress(address).ip)
    const others = this.#byNetwork.get(network)
    others?.delete(client)
    if (others?.size === 0) this.#byNetwork.delete(network)
  }

  /** All of a listener. */
  of(listener: ClientOrigin['listener']): ReadonlySet<Client> {
    return this.#byListener[listener]
  }

  /** Those of the public listener from the network of an address. */
  from(ip: string): ReadonlySet<Client> {
    return this.#byNetwork.get(networkOf(ip)) ?? NOBODY
  }
}

const NOBODY: ReadonlySet<Client> = new Set()
