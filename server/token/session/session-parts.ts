import type { CommandCatalog } from '../../acl/catalog.ts'
import type { User } from '../../acl/user.ts'
import type { Client } from '../../client/client.ts'
import type { CodedCause } from '../../client/close.ts'
import type { ClientTable } from '../../client/clients.ts'
import type { Clock } from '../../clock.ts'
import type { Registry } from '../../pubsub/registry.ts'
import type { AuditLog } from '../revoke/audit.ts'
import type { TokenAuthenticator } from './authenticator.ts'
import type { CompiledGrant } from '../grant/grants.ts'
import type { TokenRefusal } from '../verify/refusal.ts'
import type { IssuerTerms } from '../revoke/order.ts'
import type { RevocationTable } from '../revoke/table.ts'
import type { Revocation } from '../revoke/revocation.ts'

/** What token sessions need of the rest of the server. */
export interface TokenSessionParts {
  readonly authenticator: TokenAuthenticator
  readonly clients: ClientTable
  readonly registry: Registry
  readonly catalog: CommandCatalog
  readonly clock: Clock
  /** Finds a stored user: the ceiling of a token's user. */
  readonly findUser: (name: string) => User | undefined
  /** 0 to 1. */
  readonly random: () => number
  readonly settings: TokenSessionSettings
  readonly events: TokenSessionEvents
  /** The default forgets with the process. */
  readonly revocations?: RevocationTable
  /** None writes none. */
  readonly audit?: AuditLog
  /** Issuers that are configured now; the default is one with the usual terms. */
  readonly issuers?: () => readonly IssuerTerms[]
}

/** Directives; read at each use. */
export interface TokenSessionSettings {
  /** `token-expiry-grace` in ms. */
  readonly graceMs: number
  /** `ws-revocation`: what a WebSocket that loses a subscription gets. */
  readonly revocation: 'close' | 'unsubscribe'
  /** `ws-max-connections-per-user`; 0 is no limit. */
  readonly maxWebSocketsPerUser: number
}

/** For log and counters. */
export interface TokenSessionEvents {
  accepted(client: Client, grant: CompiledGrant): void
  refused(client: Client, refusal: TokenRefusal): void
  /** A token that is good but for this. */
  revoked?(client: Client, grant: CompiledGrant, revocation: Revocation): void
  auditFailed?(error: unknown): void
}

/** How a login ends: the grant, or the error line and the close that follows it on a WebSocket without a login. */
export type TokenLogin =
  | { readonly ok: CompiledGrant }
  | {
      readonly error: string
      readonly cause: CodedCause
    }
