import { isIPv6 } from 'node:net'
import type { Client } from '../client/client.ts'
import type { ClientTable } from '../client/clients.ts'
import type { Counters, Rejection } from '../command/counters.ts'

/** The directives that bound connections; 0 is no limit, but for `maxclients`. */
export interface AdmissionSettings {
  integer(name: 'maxclients' | 'tcp-max-connections-per-ip' | 'ws-max-connections-per-ip'): number
}

/** Limits on connections that hold for all listeners together, or for each address. */
export class Admission {
  readonly #clients: ClientTable
  readonly #counters: Counters
  readonly #settings: AdmissionSettings
  readonly #byAddress = new Map<string, number>()
  readonly #addresses = new WeakMap<Client, string>()
  #closing = false

  constructor(clients: ClientTable, counters: Counters, settings: AdmissionSettings) {
    this.#clients = clients
    this.#counters = counters
    this.#settings = settings
    clients.onClosed((client) => this.#left(client))
  }

  /** Whether the server is going away and takes nobody any more. */
  get closing(): boolean {
    return this.#closing
  }

  /** From now on nobody is admitted. */
  close(): void {
    this.#closing = true
  }

  /**
   * Whether there is room for one more; counted as received, and as rejected if there is not.
   *
   * @param ip Empty for a Unix socket.
   * @returns Undefined if there is.
   */
  refusal(transport: 'tcp' | 'ws', ip: string): Rejection | undefined {
    this.#counters.connectionsReceived++
    const refusal = this.#refusal(transport, ip)
    if (refusal) this.#counters.countRejection(refusal)
    return refusal
  }

  /** Counts one that there was room for, and that is not taken for another reason. */
  rejected(reason: Rejection): void {
    this.#counters.countRejection(reason)
  }

  /** Remembers where an admitted client came from, until it is closed. */
  joined(client: Client, transport: 'tcp' | 'ws', ip: string): void {
    if (ip === '') return
    const place = placeOf(transport, ip)
    this.#addresses.set(client, place)
    this.#byAddress.set(place, (this.#byAddress.get(place) ?? 0) + 1)
  }

  #refusal(transport: 'tcp' | 'ws', ip: string): Rejection | undefined {
    if (this.#closing) return 'shutdown'
    if (this.#clients.size >= this.#settings.integer('maxclients')) return 'maxclients'
    const most = this.#settings.integer(`${transport}-max-connections-per-ip`)
    if (most === 0 || ip === '') return undefined
    return (this.#byAddress.get(placeOf(transport, ip)) ?? 0) >= most ? 'address' : undefined
  }

  #left(client: Client): void {
    const place = this.#addresses.get(client)
    if (place === undefined) return
    const left = (this.#byAddress.get(place) ?? 1) - 1
    if (left === 0) this.#byAddress.delete(place)
    else this.#byAddress.set(place, left)
  }
}

/** What is counted as one address: of IPv6 the /64, which one subscriber usually has whole. */
function placeOf(transport: 'tcp' | 'ws', ip: string): string {
  return `${transport} ${isIPv6(ip) && !ip.toLowerCase().startsWith('::ffff:') ? networkOf(ip) : ip}`
}

/** The first four groups of an IPv6 address, its zeros written out. */
function networkOf(ip: string): string {
  const [head = '', tail] = (ip.split('%', 1)[0] ?? '').split('::', 2)
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : 8 - front.length - back.length
  const groups = [...front, ...Array<string>(Math.max(zeros, 0)).fill('0'), ...back]
  return groups
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')
}
