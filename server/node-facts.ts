import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import type { Services } from './command/context.ts'
import { issuersOf, type IssuerSettings } from './config/issuers.ts'
import type { NodeFacts } from './control/shared-control.ts'
import { RESPCAST_VERSION } from './version.ts'

/** Where clients reach a gateway that has opened its listeners: `host:port`, empty where one is closed. */
export type NodeAddresses = NodeFacts['addresses']

/** The parts of a server that its entry in the registry of gateways is about. */
type Described = Pick<Services, 'clients' | 'clock' | 'config' | 'drain' | 'registry' | 'tokens'>

/** Describes a gateway for the others. @param startedAtMs In ms since 1970. */
export function nodeFacts(
  { clients, config, drain, registry, tokens }: Described,
  addresses: NodeAddresses,
  startedAtMs: number,
): NodeFacts {
  return {
    name: config.text('node-name') || `${hostname()}:${config.integer('port')}`,
    version: RESPCAST_VERSION,
    addresses,
    startedAtMs,
    clients: clients.size,
    sessions: tokens.size,
    subscriptions:
      registry.channelCount('channel') + registry.channelCount('shard') + registry.patternCount,
    isDraining: drain.isDraining,
    digests: { issuers: digestOf(issuerTerms(config)), acl: digestOf(aclTerms(config)) },
  }
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
function issuerTerms(config: Described['config']): string {
  return JSON.stringify(issuersOf(config), (name, value: IssuerSettings[keyof IssuerSettings]) =>
    KEYS.has(name) ? undefined : value,
  )
}

function aclTerms(config: Described['config']): string {
  return JSON.stringify([
    config.choice('acl-pubsub-default'),
    config.text('placeholder-separators'),
    config.choice('ws-revocation'),
  ])
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
