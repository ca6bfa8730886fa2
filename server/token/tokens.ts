import type { Services } from '../command/context.ts'
import { ISSUER_DIRECTIVES, issuersOf } from '../config/issuers.ts'
import type { Settings } from '../config/settings.ts'
import { DirectoryLock, foldersOf } from '../directory-lock.ts'
import { RespcastError } from '../errors.ts'
import { shown } from '../log.ts'
import { TokenExplainer } from './explain/explain.ts'
import { AuditLog } from './revoke/audit.ts'
import { SharedRevocations } from './revoke/shared-revocations.ts'
import { RevocationTable } from './revoke/table.ts'
import { TokenAuthenticator } from './session/authenticator.ts'
import { TokenSessions } from './session/sessions.ts'
import { configuredIssuers } from './verify/configured-issuers.ts'
import { CACHE_TIMES } from './verify/jwks-cache.ts'
import type { Fetch } from './verify/key-fetch.ts'
import type { PreparedIssuers } from './verify/trusted-issuers.ts'

/** The parts of the core that tokens work with. */
type TokenHost = Pick<
  Services,
  'clients' | 'clock' | 'config' | 'log' | 'registry' | 'table' | 'users'
>

/**
 * Builds the parts that log tokens in and keep their sessions.
 *
 * @param nodeNumber The number of this gateway, as it is now; 0 alone.
 * @throws RespcastError `ERR_CONFIG`: an issuer cannot be used as it is configured.
 */
export function createTokens(
  server: TokenHost,
  fetch: Fetch,
  random: () => number,
  nodeNumber: () => number,
): {
  authenticator: TokenAuthenticator
  sessions: TokenSessions
  explainer: TokenExplainer
  audit: Pick<AuditLog, 'recent'>
  /** The revocations as gateways share them. */
  shared: SharedRevocations
  /**
   * Takes the directory, if tokens can log in, and reads the revocations in force.
   *
   * @param readOnly The files may be those of a running server.
   * @throws RespcastError `ERR_DATA_DIR`, `ERR_DIR_IN_USE`
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
    usersVersion: () => users.version,
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
      keysLoaded: () => sessions.revocation.followKeys(),
      keysRemoved: (_issuer, keyIds) => sessions.keysRemoved(keyIds),
    },
  })
  const path = config.path('token-log-file')
  const auditPath = config.path('token-audit-file')
  const locks = foldersOf([path, auditPath]).map((folder) => {
    const onWait = (holder: string): void => {
      log.warn({ folder, holder }, 'waiting for a sign of life of the server that used dir last')
    }
    return new DirectoryLock({ folder, clock, onWait })
  })
  const confirm = async (): Promise<void> => {
    for (const lock of locks) await lock.confirm()
  }
  const terms = config.cached((now) => ({ issuers: issuersOf(now) }))
  const revocations = new RevocationTable({
    clock,
    terms: () => terms.issuers,
    path,
    confirm,
    nodeNumber,
    onDurable: (isDurable, error) => {
      if (isDurable) log.info({ path }, 'revocations are durable again')
      else log.error({ err: error, path }, 'revocations are in force but not durable')
    },
    onUnfinished: ({ offset, bytes }) => {
      log.warn(
        { path, offset, bytes },
        'the end of token-log-file was dropped: its last record was never finished nor acknowledged',
      )
    },
  })
  const audit = new AuditLog({
    path: auditPath,
    clock,
    confirm,
    maxBytes: () => config.memory('token-audit-max'),
  })
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
    revocations,
    audit,
    locks,
  })
  const explainer = new TokenExplainer({
    authenticator,
    findUser: (name) => users.get(name),
    grantOf: (client) => sessions.grantOf(client),
    revocations,
  })
  const openFiles = async (mustBeWritable: boolean, readOnly = false): Promise<void> => {
    const tookOver = locks.some((lock) => lock.tookOver)
    await revocations.open(mustBeWritable, readOnly, tookOver)
    sessions.revocation.followKeys()
    if (mustBeWritable) await audit.open()
  }
  const open = async (readOnly: boolean): Promise<void> => {
    const mustBeWritable = authenticator.enabled && !readOnly
    if (mustBeWritable) for (const lock of locks) await lock.take()
    await openFiles(mustBeWritable, readOnly)
    if (revocations.size > 0) log.info({ revocations: revocations.size }, 'revocations in force')
  }
  reloadIssuers(server, authenticator, sessions, {
    take: () => {
      const missing = locks.filter(({ isHeld }) => !isHeld)
      for (const lock of missing) lock.takeNow()
      return missing.length > 0
    },
    openFiles: () => openFiles(true),
  })
  const shared = new SharedRevocations(revocations, sessions.revocation)
  return { authenticator, sessions, explainer, audit, shared, open }
}

/**
 * Lets CONFIG SET and SIGHUP change issuers. The new issuers are prepared while the change is checked, so that unusable
 * ones are refused with a reason and change nothing. They come into force after everything else has accepted the change:
 * old keys verify nothing from then on, and sessions whose token would now be refused are closed.
 */
function reloadIssuers(
  { config, log }: Pick<Services, 'config' | 'log'>,
  authenticator: TokenAuthenticator,
  sessions: TokenSessions,
  directory: {
    /** @returns False if it was held before. @throws RespcastError */
    readonly take: () => boolean
    readonly openFiles: () => Promise<void>
  },
): void {
  let candidate: PreparedIssuers | undefined
  let isNewlyTaken = false
  const discard = (): void => {
    if (candidate !== undefined) authenticator.issuers.discard(candidate)
    candidate = undefined
  }

  config.addValidator(ISSUER_DIRECTIVES, (settings) => {
    // Another validator refused the change for which the last candidate was prepared.
    discard()
    if (!isTouched(config, settings)) return undefined
    try {
      candidate = authenticator.issuers.prepare(configuredIssuers(settings))
      // The first issuer of a server that was started without one: from now on it keeps revocations.
      if (issuersOf(settings).length > 0) isNewlyTaken = directory.take() || isNewlyTaken
      return undefined
    } catch (error) {
      discard()
      if (error instanceof RespcastError) return error.message
      throw error
    }
  })
  config.afterChange(ISSUER_DIRECTIVES, () => {
    if (candidate === undefined) return
    const aliases = authenticator.issuers.replace(candidate)
    candidate = undefined
    if (isNewlyTaken) {
      isNewlyTaken = false
      directory.openFiles().catch((error: unknown) => {
        log.error({ err: error }, 'the log of revocations or the audit log cannot be used')
      })
    }
    sessions.revocations.followTerms()
    sessions.revocation.followKeys()
    const before = sessions.size
    sessions.issuersChanged(({ issuerAlias }) => aliases.has(issuerAlias))
    log.info(
      { issuers: [...aliases].map((alias) => alias ?? 'default'), cut: before - sessions.size },
      'issuers changed',
    )
  })
}

/** Reports whether a candidate sets any directive of issuers, even to its present value: key files are read again then. */
function isTouched(current: Settings, candidate: Settings): boolean {
  return ISSUER_DIRECTIVES.some((name) => candidate.source(name) !== current.source(name))
}
