import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { hostAndPort, isLoopback, splitAddress } from './addresses.ts'
import type { Services } from './command/context.ts'
import { issuersOf, type IssuerSettings } from './config/issuers.ts'
import type { Settings } from './config/settings.ts'
import type { NodeFacts } from './control/shared-control.ts'
import { RESPCAST_VERSION } from './version.ts'

/** Where clients reach a gateway that has opened its listeners: `host:port`, empty where one is closed. */
export type NodeAddresses = NodeFacts['addresses']

/** An address that a listener is open at: a host, as it was bound, and its port. */
export interface Bound {
  readonly host: string
  readonly port: number
}

/** The open addresses of each listener, in the order of their directives; Unix sockets are not among them. */
export type BoundListeners = Readonly<Record<keyof NodeAddresses, readonly Bound[]>>

/**
 * The addresses to show to others. An address that is this machine's own gives way to one that others reach. Where a listener is open on
 * every address, it is the announced host (`cluster-announce-hostname`, `cluster-announce-ip`), else the name of the machine; of the
 * administrators' listener, the first of `admin-hosts`.
 */
export function nodeAddresses(
  config: Described['config'],
  { resp, http, admin }: BoundListeners,
): NodeAddresses {
  const machine =
    config.text('cluster-announce-hostname') || config.text('cluster-announce-ip') || hostname()
  const [adminHost = machine] = config.list('admin-hosts')
  return { resp: shown(resp, machine), http: shown(http, machine), admin: shown(admin, adminHost) }
}

/** @param everywhere The host to show for all addresses of the machine. */
function shown(bound: readonly Bound[], everywhere: string): string {
  const reached = bound.find(({ host }) => !isLoopback(host)) ?? bound[0]
  if (reached === undefined) return ''
  const { host, port } = reached
  return hostAndPort(host === '0.0.0.0' || host === '::' ? everywhere : host, port)
}

/** The parts of a server that its entry in the registry of gateways is about. */
type Described = Pick<Services, 'clients' | 'clock' | 'config' | 'drain' | 'registry' | 'tokens'>

/** The digests of the settings that gateways have to share: they change with the configuration alone. */
export function nodeDigests(config: Settings): NodeFacts['digests'] {
  return { issuers: digestOf(issuerTerms(config)), acl: digestOf(aclTerms(config)) }
}

/**
 * Describes a gateway for the others.
 *
 * @param startedAtMs In ms since 1970.
 * @param digests See {@link nodeDigests}.
 */
export function nodeFacts(
  { clients, config, drain, registry, tokens }: Described,
  addresses: NodeAddresses,
  startedAtMs: number,
  digests: NodeFacts['digests'],
): NodeFacts {
  return {
    name: config.text('node-name') || nameOf(config, addresses),
    version: RESPCAST_VERSION,
    addresses,
    startedAtMs,
    clients: clients.size,
    sessions: tokens.size,
    subscriptions:
      registry.channelCount('channel') + registry.channelCount('shard') + registry.patternCount,
    isDraining: drain.isDraining,
    digests,
  }
}

/** The machine, and the port that was opened, or that will be. */
function nameOf(config: Described['config'], { resp, http, admin }: NodeAddresses): string {
  const open = resp || http || admin
  return hostAndPort(hostname(), open === '' ? config.integer('port') : splitAddress(open).port)
}

/** Keys and paths, which differ from machine to machine; and no digest of a secret leaves this one. */
const KEYS = new Set([
  'secret',
  'previousSecret',
  'secretFile',
  'previousSecretFile',
  'jwksFile',
  'publicKeyFile',
])

/** What decides which user a token becomes. */
function issuerTerms(config: Settings): string {
  return JSON.stringify(issuersOf(config), (name, value: IssuerSettings[keyof IssuerSettings]) =>
    KEYS.has(name) ? undefined : value,
  )
}

function aclTerms(config: Settings): string {
  return JSON.stringify([
    config.choice('acl-pubsub-default'),
    config.text('placeholder-separators'),
    config.choice('ws-revocation'),
  ])
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
