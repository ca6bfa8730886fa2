import type { UserTable } from '../acl/users.ts'
import type { ClientTable } from '../client/clients.ts'
import type { Clock } from '../clock.ts'
import type { Counters } from '../command/counters.ts'
import type { CommandTable } from '../command/table.ts'
import type { Config } from '../config/store.ts'
import { shown, type Logger } from '../log.ts'
import type { Registry } from '../pubsub/registry.ts'
import { TokenAuthenticator } from '../token/authenticator.ts'
import { CACHE_TIMES } from '../token/cached-key-set.ts'
import { SubscriptionJudge } from '../token/judge.ts'
import type { Fetch } from '../token/key-fetch.ts'
import { TokenSessions } from '../token/sessions.ts'
import { configuredIssuers } from './issuers.ts'

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
  readonly counters: Counters
}

/**
 * Builds what logs tokens in and keeps their sessions.
 *
 * @throws RespcastError `ERR_CONFIG`: an issuer cannot be used as it is configured.
 */
export function createTokens(parts: TokenParts): {
  authenticator: TokenAuthenticator
  sessions: TokenSessions
} {
  const { config, clock, log, users, clients, registry, counters } = parts
  const { catalog } = parts.table
  const authenticator = new TokenAuthenticator({
    issuers: configuredIssuers(config),
    clock,
    fetch: parts.fetch,
    catalog,
    findRole: (name) => users.get(name),
    pubsubDefault: () => users.pubsubDefault,
    separators: config.text('placeholder-separators'),
    cacheTimes: {
      ...CACHE_TIMES,
      coolDownMs: config.seconds('jwt-jwks-cooldown') * 1000,
      refreshMs: config.seconds('jwt-jwks-refresh') * 1000,
      staleMs: config.seconds('jwt-jwks-max-stale') * 1000,
    },
    events: {
      keysFailed: (issuer, detail) => {
        log.warn({ issuer: issuer.iss, detail }, 'the keys of an issuer cannot be loaded')
      },
      keysRemoved: (_issuer, keyIds) => sessions.keysRemoved(keyIds),
    },
  })
  const sessions: TokenSessions = new TokenSessions({
    authenticator,
    clients,
    registry,
    judge: new SubscriptionJudge(catalog),
    clock,
    findUser: (name) => users.get(name),
    random: parts.random,
    settings: {
      get graceMs() {
        return config.seconds('token-expiry-grace') * 1000
      },
      get revocation() {
        return config.choice('ws-revocation')
      },
      get maxWebSocketsPerUser() {
        return config.integer('ws-max-connections-per-user')
      },
    },
    events: {
      accepted: (client, grant) => {
        counters.tokensAccepted++
        log.debug({ id: client.id, user: shown(grant.userName), kid: grant.kid }, 'token accepted')
      },
      refused: (client, { detail, kid, jti, tokenHash }) => {
        counters.tokensRefused++
        const { address } = client.origin
        log.info({ id: client.id, address, detail, kid, jti, tokenHash }, 'token refused')
      },
    },
  })
  return { authenticator, sessions }
}
