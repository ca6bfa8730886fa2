import type { Client } from './client.ts'
import type { ClientTable } from './clients.ts'
import { CLOSES } from './close.ts'

/** Words of TYPE. No client is a master or a replica of this server. */
const TYPES = ['normal', 'master', 'replica', 'slave', 'pubsub'] as const

/** A type of clients in the words of CLIENT LIST and CLIENT KILL. */
export type ClientType = (typeof TYPES)[number]

/** The filters of a CLIENT KILL, as data: a connection that passes all of them is closed. Names are byte strings. */
export interface KillOrder {
  readonly id?: number
  readonly type?: ClientType
  readonly addr?: string
  readonly laddr?: string
  readonly user?: string
  /** Seconds. */
  readonly maxAge?: number
  readonly sub?: string
  readonly jti?: string
  readonly iss?: string
  /** In lower case. */
  readonly transport?: string
  /** SKIPME: the id of the client that ordered it. */
  readonly skip?: number
}

/** Tests of one filter: does it have a value that can be, and does a client pass it? */
interface Filter<Value> {
  readonly isValue: (value: unknown) => boolean
  readonly passes: (client: Client, value: Value, orderedMs: number) => boolean
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0

function text(of: (client: Client) => string | undefined): Filter<string> {
  return { isValue: isText, passes: (client, value) => of(client) === value }
}

const FILTERS: { readonly [Name in keyof KillOrder]-?: Filter<NonNullable<KillOrder[Name]>> } = {
  id: { isValue: isCount, passes: ({ id }, value) => id === value },
  type: {
    isValue: (value) => isText(value) && clientType(value as string) !== undefined,
    passes: isOfType,
  },
  addr: text(({ origin }) => origin.address),
  laddr: text(({ origin }) => origin.localAddress),
  user: text(({ identity }) => identity.user.name),
  maxAge: {
    isValue: isCount,
    passes: ({ origin }, seconds, orderedMs) => origin.connectedMs <= orderedMs - seconds * 1000,
  },
  sub: text(({ identity }) => identity.token?.sub),
  jti: text(({ identity }) => identity.token?.jti),
  iss: text(({ identity }) => identity.token?.iss),
  transport: text(({ origin }) => origin.transport),
  skip: { isValue: isCount, passes: ({ id }, value) => id !== value },
}

/** A type by its word, in any case. */
export function clientType(word: string): ClientType | undefined {
  const lower = word.toLowerCase()
  return TYPES.find((type) => type === lower)
}

/** Reports whether a client is of a type now. */
export function isOfType(client: Client, type: ClientType): boolean {
  if (type === 'pubsub') return client.subscriptions.any
  return type === 'normal' && !client.subscriptions.any
}

/**
 * Closes the clients that an order hits: those that pass all filters, and were connected when it was given.
 *
 * @param orderedMs Monotonic milliseconds of this process at which the order was given.
 * @param errorMs So far that time may be off: connections that are younger by less are closed as well.
 * @returns The number of clients that were closed.
 */
export function killClients(
  clients: ClientTable,
  order: KillOrder,
  orderedMs: number,
  errorMs = 0,
): number {
  let killed = 0
  for (const client of [...clients.all()]) {
    if (client.origin.connectedMs > orderedMs + errorMs) continue
    if (!isHit(order, client, orderedMs)) continue
    client.close(CLOSES.killed)
    killed++
  }
  return killed
}

function isHit(order: KillOrder, client: Client, orderedMs: number): boolean {
  for (const [name, value] of Object.entries(order)) {
    const { passes } = FILTERS[name as keyof KillOrder] as Filter<typeof value>
    if (!passes(client, value, orderedMs)) return false
  }
  return true
}

/**
 * Reads an order as JSON.
 *
 * @returns Undefined if it is none, or has a filter that this version does not know: it could spare clients.
 */
export function readKillOrder(json: string): KillOrder | undefined {
  let read: unknown
  try {
    read = JSON.parse(json)
  } catch {
    return undefined
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read)) return undefined
  const isGood = Object.entries(read).every(
    ([name, value]) =>
      Object.hasOwn(FILTERS, name) && FILTERS[name as keyof KillOrder].isValue(value),
  )
  return isGood ? read : undefined
}
