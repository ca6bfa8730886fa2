import type { UserTable } from '../acl/users.ts'
import type { ClientTable } from '../client/clients.ts'
import type { Clock } from '../clock.ts'
import type { CommandTable } from '../command/table.ts'
import type { Config } from '../config/store.ts'
import { shown, type Logger } from '../log.ts'
import type { Registry } from '../pubsub/registry.ts'
import type { AuditLog } from './revoke/audit.ts'
import { TokenAuthenticator } from './session/authenticator.ts'
import { CACHE_TIMES, type CacheTimes } from './verify/jwks-cache.ts'
import { TokenExplainer } from './explain/explain.ts'
import type { Fetch } from './verify/key-fetch.ts'
import { TokenSessions } from './session/sessions.ts'
import { reloadIssuers } from './verify/issuer-reload.ts'
import { configuredIssuers } from './verify/configured-issuers.ts'
import { createRevocations } from './revoke/files.ts'

/** What the token part is built with. */
export interface TokenParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly fetch: Fetch
  /** 0 to 1. */
  readonly random: () => number
  readonly table: CommandTable
  readonly users: UserTable
  readonly clients: ClientTable
  readonly registry: Registry
}

/**
 * Builds what logs tokens in and keeps their sessions.
 *
 * @throws RespcastError `ERR_CONFIG`: an issuer cannot be used as it is configured.
 */
export function createTokens(parts: TokenParts): {
  authenticator: TokenAuthenticator
  sessions: TokenSessions
  explainer: TokenExplainer
  audit: Pick<AuditLog, 'recent'>
  /**
   * Reads the revocations in force.
   *
   * @param readOnly The files may be those of a running server.
   * @throws RespcastError `ERR_DATA_DIR`
   */
  open: (readOnly: boolean) => Promise<void>
} {
  const { config, clock, log, users, clients, registry } = parts
  const { catalog } = parts.table
  const authenticator = new TokenAuthenticator({
    issuers: configuredIssuers(config),
    clock,
    fetch: parts.fetch,
    catalog,
    findUser: (name) => users.get(name),
    pubsubDefault: () => users.pubsubDefault,
    separators: config.text('placeholder-separators'),
    cacheTimes: cacheTimes(config),
    events: {
      keysFailed: (issuer, detail) => {
        log.warn({ issuer: shown(issuer.iss), detail }, 'the keys of an issuer cannot be loaded')
      },
      keysRemoved: (_issuer, keyIds) => sessions.keysRemoved(keyIds),
    },
  })
  const revocations = createRevocations(config, clock, log)
  const sessions: TokenSessions = new TokenSessions({
    config,
    clock,
    log,
    random: parts.random,
    catalog,
    authenticator,
    clients,
    registry,
    revocations: revocations.table,
    audit: revocations.audit,
  })
  reloadIssuers({ config, log, authenticator, sessions })
  const explainer = new TokenExplainer({
    authenticator,
    findUser: (name) => users.get(name),
    grantOf: (client) => sessions.grantOf(client),
    revocations: sessions.revocations,
  })
  const open = (readOnly: boolean): Promise<void> =>
    revocations.open(authenticator.enabled && !readOnly)
  return { authenticator, sessions, explainer, audit: revocations.audit, open }
}

/** The times of key sets; read at each use, so that they change with the configuration. */
function cacheTimes(config: Config): CacheTimes {
  return {
    longestBackoffMs: CACHE_TIMES.longestBackoffMs,
    get coolDownMs() {
      return config.seconds('jwt-jwks-cooldown') * 1000
    },
    get refreshMs() {
      return config.seconds('jwt-jwks-refresh') * 1000
    },
    get staleMs() {
      return config.seconds('jwt-jwks-max-stale') * 1000
    },
  }
}
