import type { CommandCatalog } from '../../acl/catalog.ts'
import { mayGain } from '../../acl/impact.ts'
import type { UserChange } from '../../acl/users.ts'
import type { User } from '../../acl/user.ts'
import type { Client } from '../../client/client.ts'
import { CLOSES, type CodedCause } from '../../client/close.ts'
import { lostSubscriptions, ruleOfSession } from '../../client/lost-subscriptions.ts'
import type { Services } from '../../command/context.ts'
import type { CompiledGrant } from '../grant/grants.ts'
import type { DirectoryLock } from '../../directory-lock.ts'
import type { AuditLog } from '../revoke/audit.ts'
import { TokenOverlay } from '../revoke/channels.ts'
import { Enforcement } from '../revoke/enforcement.ts'
import type { RevocationTable } from '../revoke/table.ts'
import { SessionIndex } from '../revoke/targets.ts'
import type { TokenAuthenticator } from './authenticator.ts'
import { ExpiryWheel, type ExpiryEntry, type ExpiryListener } from './expiry.ts'
import { tell, tokenPushes, unsubscribePush } from './pushes.ts'

/** The parts of the server that token sessions work with. */
export type SessionHost = Pick<
  Services,
  'clients' | 'clock' | 'config' | 'log' | 'registry' | 'users'
> & {
  readonly authenticator: TokenAuthenticator
  readonly catalog: CommandCatalog
  readonly revocations: RevocationTable
  readonly audit: AuditLog
  /** Of the folders of revocations. */
  readonly locks: readonly DirectoryLock[]
  /** 0 to 1. */
  readonly random: () => number
}

/** A client that is logged in with a token. */
class Session implements ExpiryListener {
  grant: CompiledGrant
  expiry: ExpiryEntry | undefined
  readonly #client: Client

  constructor(client: Client, grant: CompiledGrant) {
    this.#client = client
    this.grant = grant
  }

  expiring(remainingMs: number): void {
    tell(this.#client, tokenPushes.expiring(remainingMs))
  }

  expired(graceMs: number): void {
    tell(this.#client, tokenPushes.expired(graceMs))
  }

  end(): void {
    this.#client.close(CLOSES.tokenExpired)
  }
}

/**
 * The live token sessions: a session begins at a login or a refresh, follows changes of its roles, ceilings, issuer and
 * key, and ends with its token or its connection.
 */
export class TokenSessions {
  readonly #parts: SessionHost
  readonly #sessions = new Map<Client, Session>()
  readonly #index = new SessionIndex()
  readonly #wheel: ExpiryWheel
  /** The revocations in force. */
  readonly revocations: RevocationTable
  /** TOKEN REVOKE and TOKEN UNREVOKE. */
  readonly revocation: Enforcement

  constructor(parts: SessionHost) {
    this.#parts = parts
    this.#wheel = new ExpiryWheel(parts.clock)
    this.revocations = parts.revocations
    this.revocation = new Enforcement(parts, this.revocations, {
      index: this.#index,
      clients: () => this.#sessions.keys(),
      grantOf: (client) => this.grantOf(client),
    })
    parts.clients.onClosed((client) => this.end(client))
    parts.users.onChange((changes) => this.#usersChanged(changes))
  }

  /** Number of live sessions. */
  get size(): number {
    return this.#sessions.size
  }

  /** The grant of a live session. */
  grantOf(client: Client): CompiledGrant | undefined {
    return this.#sessions.get(client)?.grant
  }

  /**
   * Begins a session, or gives a live one another token, and re-checks every subscription in the same turn. Where the
   * issuer or the key has gone since the token was verified the connection is ended instead.
   *
   * @returns A push for each subscription that was lost, which has ended.
   */
  begin(client: Client, verified: CompiledGrant): readonly Buffer[] {
    const { authenticator, catalog, clients, clock, config, random, registry } = this.#parts
    // Roles may have changed since it was compiled.
    const grant = authenticator.recompile(verified)
    if (!authenticator.trusts(grant)) {
      this.#cut(client, CLOSES.issuerChanged)
      return []
    }
    this.#forget(client)
    const session = new Session(client, grant)
    const graceMs = config.seconds('token-expiry-grace') * 1000
    session.expiry = this.#wheel.add({ expiresAtMs: grant.expiresAtMs, graceMs }, session, random())
    this.#sessions.set(client, session)
    this.#index.add(client, grant)
    clients.setIdentity(client, authenticator.grants.identityOf(grant))
    const overlay = new TokenOverlay(grant, this.revocations.channels)
    registry.regroup(client, () => (client.overlay = overlay))
    client.output.dropQueued((_kind, _name, channel) => !overlay.mayReceive(channel))
    const pushes = lostSubscriptions(client, ruleOfSession(client, catalog)).map((lost) =>
      unsubscribePush(client, this.revocation.unsubscribe(client, lost)),
    )
    if (client.isWeb) {
      // First, so that what is subscribed at once keeps to them.
      tell(
        client,
        tokenPushes.limits(config.memory('ws-max-payload'), config.integer('ws-max-arguments')),
      )
      tell(client, tokenPushes.accepted(grant.userName, grant.expiresAtMs - clock.wallMs()))
    }
    return pushes
  }

  /** Ends a session. The client keeps its permissions until another identity is set. */
  end(client: Client): void {
    if (!this.#forget(client) || client.closed) return
    this.#parts.registry.regroup(client, () => (client.overlay = undefined))
  }

  /** @returns False if it was no session. */
  #forget(client: Client): boolean {
    const session = this.#sessions.get(client)
    if (!session) return false
    this.#sessions.delete(client)
    session.expiry?.remove()
    this.#index.delete(client, session.grant)
    return true
  }

  /** Re-evaluates the sessions that a change of stored users concerns. @returns Those that were closed, or lost a subscription. */
  #usersChanged(changes: readonly UserChange[]): number {
    const hit = new Set<Client>()
    for (const { name, before, after } of changes) {
      if (before === after) continue
      if (name.startsWith('role:')) this.#roleChanged(name.slice('role:'.length), hit)
      this.#ceilingChanged(name, before, after, hit)
    }
    return hit.size
  }

  /**
   * Follows a change or the removal of issuers: cuts the sessions whose issuer or key is no longer trusted, and re-evaluates
   * the others.
   *
   * @param concerns The sessions to look at.
   */
  issuersChanged(concerns: (grant: CompiledGrant) => boolean): void {
    const { authenticator } = this.#parts
    for (const [client, { grant }] of [...this.#sessions]) {
      if (!concerns(grant)) continue
      if (authenticator.trusts(grant)) this.#reevaluate(client, true)
      else this.#cut(client, CLOSES.issuerChanged)
    }
  }

  /** Cuts the sessions of keys that are no longer trusted. */
  keysRemoved(keyIds: readonly string[]): void {
    for (const [client, { grant }] of [...this.#sessions]) {
      if (keyIds.includes(grant.keyId)) this.#cut(client, CLOSES.keyRemoved)
    }
  }

  /** Stops all timers, closes the files of revocations after the writes that are under way, and lets their folders go. */
  async stop(): Promise<void> {
    const { audit, authenticator, locks } = this.#parts
    this.#wheel.stop()
    authenticator.issuers.stop()
    await Promise.all([this.revocations.close(), audit.close()])
    for (const lock of locks) lock.release()
  }

  #roleChanged(role: string, hit: Set<Client>): void {
    for (const client of this.#index.find('role', role)) {
      if (this.#reevaluate(client, false)) hit.add(client)
    }
  }

  /**
   * Recompiles the grant of a session and ends its lost subscriptions.
   *
   * @param always Even if the grant is the same: ceilings may differ.
   * @returns False if it has lost nothing.
   */
  #reevaluate(client: Client, always: boolean): boolean {
    const session = this.#sessions.get(client)
    if (!session) return false
    const grant = this.#parts.authenticator.recompile(session.grant)
    if (grant === session.grant && !always) return false
    session.grant = grant
    return this.#judge(client, grant)
  }

  /**
   * Judges a session by its grant under the current ceilings: ends its lost subscriptions, and tells it what it gains.
   *
   * @returns False if it has lost nothing.
   */
  #judge(client: Client, grant: CompiledGrant): boolean {
    const { authenticator, clients } = this.#parts
    const before = client.identity
    const after = authenticator.grants.identityOf(grant)
    clients.setIdentity(client, after)
    const isHit = this.revocation.dropLost(client, CLOSES.permissionsChanged.text)
    if (!client.closed && mayGain(before, after)) tell(client, tokenPushes.granted())
    return isHit
  }

  #ceilingChanged(
    name: string,
    before: User | undefined,
    after: User | undefined,
    hit: Set<Client>,
  ): void {
    for (const client of this.#boundBy(name)) {
      const session = this.#sessions.get(client)
      if (!session) continue
      if (before && !after) {
        // As Redis closes the clients of a deleted user, regardless of their subscriptions.
        this.revocation.end(client, CLOSES.userDeleted)
        hit.add(client)
      } else if (this.#judge(client, session.grant)) hit.add(client)
    }
  }

  /** The sessions that a stored user bounds: those of its own name, and those of issuers whose ceiling it is. */
  #boundBy(name: string): readonly Client[] {
    const own = [...this.#parts.clients.ofUser(name)]
    if (!this.#parts.authenticator.issuers.isCeiling(name)) return own
    const sessions = [...this.#sessions].filter(([, { grant }]) => grant.issuerCeiling === name)
    return [...own, ...sessions.map(([client]) => client)]
  }

  /** Ends a session whose token could not log in again. */
  #cut(client: Client, cause: CodedCause): void {
    this.revocation.end(client, cause, tokenPushes.revoked('', cause.text))
  }
}
