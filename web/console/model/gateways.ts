import type { RespValue } from '../../../shared/resp/types.ts'
import { plural, showSeconds } from './format.ts'
import { listOf, numberOf, recordOf, textOf } from './reply.ts'

/** A gateway of RESPCAST NODES. */
export interface Gateway {
  /** Empty for a gateway that shares nothing. */
  readonly id: string
  readonly number: number
  readonly name: string
  readonly version: string
  /** `host:port` of its listeners, empty where one is closed. */
  readonly resp: string
  readonly http: string
  readonly admin: string
  readonly startedAtMs: number
  readonly clients: number
  readonly sessions: number
  readonly subscriptions: number
  /** Id of the last change that it has applied, `<milliseconds>-<number>`. */
  readonly applied: string
  readonly isDraining: boolean
  /** It delivers nothing, or it is gone. */
  readonly isFenced: boolean
  /** Undefined for a gateway that shares nothing. */
  readonly leaseMs: number | undefined
  /** It is the gateway that this console is connected to. */
  readonly isSelf: boolean
  readonly digests: { readonly issuers: string; readonly acl: string }
}

/** A gateway, and how far it is behind the others. */
export interface WatchedGateway extends Gateway {
  /** For so long it has not applied what another one has; 0 if it has applied everything. */
  readonly behindMs: number
}

/** Reads the reply of RESPCAST NODES. */
export function readGateways(reply: RespValue): readonly Gateway[] {
  return listOf(reply).map((each) => {
    const fields = recordOf(each)
    const text = (name: string): string => textOf(fields.get(name))
    const number = (name: string): number => numberOf(fields.get(name)) ?? 0
    const addresses = recordOf(fields.get('addresses') ?? [])
    const digests = recordOf(fields.get('digests') ?? [])
    return {
      id: text('id'),
      number: number('number'),
      name: text('name'),
      version: text('version'),
      resp: textOf(addresses.get('resp')),
      http: textOf(addresses.get('http')),
      admin: textOf(addresses.get('admin')),
      startedAtMs: number('started'),
      clients: number('clients'),
      sessions: number('sessions'),
      subscriptions: number('subscriptions'),
      applied: text('applied'),
      isDraining: number('draining') === 1,
      isFenced: number('fenced') === 1,
      leaseMs: numberOf(fields.get('lease')),
      isSelf: number('self') === 1,
      digests: { issuers: textOf(digests.get('issuers')), acl: textOf(digests.get('acl')) },
    }
  })
}

/** Gateways tell each other once a second what they have applied: until it is this old, nobody is late. Milliseconds. */
const LATE_MS = 3_000

/** Reports whether a gateway that serves should have confirmed the last changes by now. */
export function isLate({ isFenced, behindMs }: WatchedGateway): boolean {
  return !isFenced && behindMs >= LATE_MS
}

/** For how long gateways are behind: two looks at them tell it, since the ids of changes alone do not. */
export class GatewayWatch {
  /** By id of a gateway that is behind: the change that it has to reach, and since when. */
  #behind = new Map<string, { readonly target: string; readonly sinceMs: number }>()

  /** @param nowMs Monotonic. */
  look(gateways: readonly Gateway[], nowMs: number): readonly WatchedGateway[] {
    const newest = gateways.reduce(
      (most, { applied }) => (isBefore(most, applied) ? applied : most),
      '',
    )
    const before = this.#behind
    this.#behind = new Map()
    return gateways.map((gateway) => {
      const { id, applied } = gateway
      const known = before.get(id)
      // A gateway that is busy all the time is never at the end, and yet not late.
      const state =
        known !== undefined && isBefore(applied, known.target)
          ? known
          : isBefore(applied, newest)
            ? { target: newest, sinceMs: nowMs }
            : undefined
      if (state === undefined) return { ...gateway, behindMs: 0 }
      this.#behind.set(id, state)
      return { ...gateway, behindMs: nowMs - state.sinceMs }
    })
  }
}

/** Reports whether a change came before another one; the empty id is before all. */
function isBefore(id: string, other: string): boolean {
  const [ms = 0, count = 0] = id.split('-').map(Number)
  const [otherMs = 0, otherCount = 0] = other.split('-').map(Number)
  return ms < otherMs || (ms === otherMs && count < otherCount)
}

/** Settings whose digests are compared, for people. */
const COMPARED = [
  ['issuers', 'issuers of tokens'],
  ['acl', 'the ACL'],
] as const

/** Reasons to look at the gateways, one sentence each, the worst first. */
export function warningsOf(gateways: readonly WatchedGateway[]): readonly string[] {
  const fenced: string[] = []
  const late: string[] = []
  const different: string[] = []
  const self = gateways.find(({ isSelf }) => isSelf)
  for (const gateway of gateways) {
    const { name, isSelf, isFenced, behindMs, digests } = gateway
    if (isFenced) {
      fenced.push(
        isSelf
          ? 'This gateway is fenced: it serves nobody until it knows what was revoked.'
          : `${name} is fenced or gone: its lease has lapsed, and it delivers nothing.`,
      )
    }
    if (isLate(gateway)) {
      const span = showSeconds(behindMs / 1000)
      late.push(
        isSelf
          ? `This gateway has been behind the others for ${span}.`
          : `${name} has not confirmed the last changes for ${span}.`,
      )
    }
    const settings = COMPARED.filter(([key]) => digests[key] !== self?.digests[key])
    if (settings.length > 0) {
      const titles = settings.map(([, title]) => title).join(' and ')
      different.push(
        `${name} has other settings about ${titles} than this gateway: the same token may be another user there.`,
      )
    }
  }
  return [...fenced, ...late, ...different]
}

/** State of a gateway in words, and whether it is good. */
export function stateOf(gateway: WatchedGateway): {
  readonly text: string
  readonly rank: 'good' | 'warn' | 'bad'
} {
  if (gateway.isFenced) return { text: 'fenced', rank: 'bad' }
  if (isLate(gateway)) return { text: 'not confirmed', rank: 'bad' }
  if (gateway.isDraining) return { text: 'draining', rank: 'warn' }
  return { text: 'serving', rank: 'good' }
}

/** All gateways together: `3 gateways, 1,204 clients, 1,190 sessions`. */
export function totalsOf(gateways: readonly Gateway[]): string {
  const sum = (key: 'clients' | 'sessions'): number =>
    gateways.reduce((total, { [key]: count }) => total + count, 0)
  return [
    plural(gateways.length, 'gateway'),
    plural(sum('clients'), 'client'),
    plural(sum('sessions'), 'session'),
  ].join(', ')
}

const LOOPBACK = /^(?:localhost|127\.[\d.]+|\[::1\])$/

/**
 * The address of another gateway's console; undefined where it is not known, or leads to another machine from there than from here.
 *
 * @param page Of this console.
 */
export function consoleUrl(
  { admin, isSelf }: Gateway,
  self: Gateway | undefined,
  page: Pick<URL, 'protocol' | 'hostname'>,
): string | undefined {
  // Two machines may have the same address of their own.
  if (admin === '' || isSelf || admin === self?.admin) return undefined
  const host = admin.replace(/:\d+$/, '')
  if (LOOPBACK.test(host) && !LOOPBACK.test(page.hostname)) return undefined
  return `${page.protocol}//${admin}/`
}
