import type { Services } from '../command/context.ts'
import { shown } from '../log.ts'
import type { AuditLog } from './revoke/audit.ts'
import { TokenAuthenticator } from './session/authenticator.ts'
import { CACHE_TIMES } from './verify/jwks-cache.ts'
import { TokenExplainer } from './explain/explain.ts'
import type { Fetch } from './verify/key-fetch.ts'
import { TokenSessions } from './session/sessions.ts'
import { reloadIssuers } from './verify/issuer-reload.ts'
import { configuredIssuers } from './verify/configured-issuers.ts'
import { createRevocations } from './revoke/files.ts'

/** The parts of the core that tokens work with. */
type TokenHost = Pick<
  Services,
  'clients' | 'clock' | 'config' | 'log' | 'registry' | 'table' | 'users'
>

/**
 * Builds what logs tokens in and keeps their sessions.
 *
 * @throws RespcastError `ERR_CONFIG`: an issuer cannot be used as it is configured.
 */
export function createTokens(
  server: TokenHost,
  fetch: Fetch,
  random: () => number,
): {
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
  const { config, clock, log, users, clients, registry } = server
  const { catalog } = server.table
  const authenticator = new TokenAuthenticator({
    issuers: configuredIssuers(config),
    clock,
    fetch,
    catalog,
    findUser: (name) => users.get(name),
    pubsubDefault: () => config.choice('acl-pubsub-default'),
    separators: config.text('placeholder-separators'),
    cacheTimes: config.cached((now) => ({
      longestBackoffMs: CACHE_TIMES.longestBackoffMs,
      coolDownMs: now.seconds('jwt-jwks-cooldown') * 1000,
      refreshMs: now.seconds('jwt-jwks-refresh') * 1000,
      staleMs: now.seconds('jwt-jwks-max-stale') * 1000,
    })),
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
    random,
    catalog,
    authenticator,
    users,
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
