import type { Identity } from '../../acl/authorize.ts'
import type { UserChange } from '../../acl/users.ts'
import type { User } from '../../acl/user.ts'
import type { Client } from '../../client/client.ts'
import { CLOSES, closeWith, type CodedCause } from '../../client/close.ts'
import { lostSubscriptions, ruleOfSession } from '../../client/lost-subscriptions.ts'
import { ExpiryWheel, type ExpiryEntry, type ExpiryListener } from './expiry.ts'
import type { CompiledGrant } from '../grant/grants.ts'
import { tokenPushes } from './pushes.ts'
import { TokenOverlay } from '../revoke/channels.ts'
import { Enforcement, tell, type LostSubscription } from '../revoke/enforcement.ts'
import { RevocationTable } from '../revoke/table.ts'
import { SessionIndex } from '../revoke/targets.ts'
import type { TokenLogin, TokenSessionParts } from './session-parts.ts'
import { retryAfterMs, type Revocation } from '../revoke/revocation.ts'
import { looksLikeToken } from '../verify/verify.ts'

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

const CHANGED = 'permissions changed'
const REVOKED = 'WRONGPASS token revoked'

/**
 * The connections that are logged in with a token: from login over refresh and changes of roles and ceilings to the end of
 * the token.
 */
export class TokenSessions {
  readonly #parts: TokenSessionParts
  readonly #sessions = new Map<Client, Session>()
  readonly #index = new SessionIndex()
  /** The revocations in force. */
  readonly revocations: RevocationTable
  /** TOKEN REVOKE and TOKEN UNREVOKE. */
  readonly revocation: Enforcement
  readonly #wheel: ExpiryWheel

  constructor(parts: TokenSessionParts) {
    this.#parts = parts
    this.#wheel = new ExpiryWheel(parts.clock)
    this.revocations = parts.revocations ?? new RevocationTable({ clock: parts.clock })
    this.revocation = new Enforcement(parts, this.revocations, {
      index: this.#index,
      clients: () => this.#sessions.keys(),
      grantOf: (client) => this.grantOf(client),
    })
    parts.clients.onClosed((client) => this.end(client))
  }

  /** Whether any issuer is configured. */
  get enabled(): boolean {
    return this.#parts.authenticator.enabled
  }

  /** Sessions that are live now. */
  get size(): number {
    return this.#sessions.size
  }

  /** Whether a single AUTH argument is to be taken for a token. */
  looksLikeToken(text: string): boolean {
    return this.enabled && looksLikeToken(text)
  }

  /** The grant of a live session. */
  grantOf(client: Client): CompiledGrant | undefined {
    return this.#sessions.get(client)?.grant
  }

  /**
   * Verifies a token for a client. Nothing changes until {@link login}.
   *
   * @param token Byte string, as it came.
   */
  async verify(client: Client, token: string): Promise<TokenLogin> {
    if (!this.enabled) {
      return { error: 'WRONGPASS invalid token', cause: CLOSES.invalidToken }
    }
    const result = await this.#parts.authenticator.authenticate(token)
    if ('refused' in result) {
      this.#parts.events.refused(client, result.refused)
      const { code, reply } = result.refused
      const cause = code === 'expired' ? CLOSES.tokenExpired : CLOSES.invalidToken
      return { error: reply, cause }
    }
    const revocation = this.revocations.refusing(result.ok)
    if (revocation) {
      this.#parts.events.revoked?.(client, result.ok, revocation)
      return { error: REVOKED, cause: this.#revokedCause(revocation) }
    }
    const ceilings = this.#parts.authenticator.ceilingsOf(result.ok)
    if (ceilings.some((ceiling) => !ceiling.enabled)) {
      return { error: 'WRONGPASS invalid token', cause: CLOSES.subjectDisabled }
    }
    if (client.isWebSocket && this.#hasTooMany(client, result.ok.userName)) {
      return { error: 'ERR too many connections of this user', cause: CLOSES.tooManyConnections }
    }
    return result
  }

  #hasTooMany(client: Client, userName: string): boolean {
    const most = this.#parts.settings.maxWebSocketsPerUser
    if (most === 0 || client.identity.user.name === userName) return false
    let count = 0
    for (const other of this.#parts.clients.ofUser(userName)) if (other.isWebSocket) count++
    return count >= most
  }

  /**
   * Why a client may not become the subject of this grant now: with subscriptions a session can only be refreshed by a token
   * of its own subject. A token that was revoked since it was verified is refused as {@link verify} would have.
   */
  refuseChange(client: Client, grant: CompiledGrant): string | undefined {
    const revocation = this.revocations.refusing(grant)
    if (revocation) {
      this.#parts.events.revoked?.(client, grant, revocation)
      if (client.isWebSocket && !client.authenticated) client.close(this.#revokedCause(revocation))
      return REVOKED
    }
    if (!client.subscriptions.any) return undefined
    const current = this.#sessions.get(client)?.grant
    if (current?.userName === grant.userName) return undefined
    return 'ERR AUTH with a token of another subject is not allowed while there are subscriptions'
  }

  /**
   * Puts a grant in force, and re-checks every subscription under it in the same turn. One that is revoked by now ends the
   * connection instead.
   *
   * @returns What was lost. It is unsubscribed; the caller tells the client before its `+OK`.
   */
  login(client: Client, fresh: CompiledGrant): LostSubscription[] {
    // Time passed since it was compiled: roles may have changed meanwhile.
    const { authenticator } = this.#parts
    const grant = authenticator.recompile(fresh)
    if (!authenticator.trusts(grant)) {
      cutForKey(client, CLOSES.issuerChanged)
      return []
    }
    const revocation = this.revocations.refusing(grant)
    if (revocation) {
      this.#parts.events.revoked?.(client, grant, revocation)
      client.close(this.#revokedCause(revocation))
      return []
    }
    this.#forget(client)
    const { clock, settings, random } = this.#parts
    const life = { expiresAtMs: grant.expiresAtMs, graceMs: settings.graceMs }
    const session = new Session(client, grant)
    session.expiry = this.#wheel.add(life, session, random())
    this.#sessions.set(client, session)
    this.#index.add(client, grant)
    client.authenticate()
    this.#enforce(client, grant)
    const overlay = new TokenOverlay(grant, this.revocations.channels)
    this.#parts.registry.regroup(client, () => (client.overlay = overlay))
    client.output.dropQueued((_kind, _name, channel) => !overlay.mayReceive(channel))
    this.#parts.events.accepted(client, grant)
    const rule = ruleOfSession(client, this.#parts.catalog)
    const lost = lostSubscriptions(client, rule).map((subscription) =>
      this.revocation.unsubscribe(client, subscription),
    )
    if (client.isWebSocket) {
      tell(client, tokenPushes.accepted(grant.userName, grant.expiresAtMs - clock.wallMs()))
    }
    return lost
  }

  /** Forgets that a client was logged in with a token. Its permissions stay until somebody sets others. */
  end(client: Client): void {
    if (!this.#forget(client) || client.closed) return
    this.#parts.registry.regroup(client, () => (client.overlay = undefined))
  }

  /** @returns Whether it was a session. */
  #forget(client: Client): boolean {
    const session = this.#sessions.get(client)
    if (!session) return false
    this.#sessions.delete(client)
    session.expiry?.remove()
    this.#index.delete(client, session.grant)
    return true
  }

  /** Re-evaluates the sessions that a change of stored users concerns, and no other. */
  usersChanged(changes: readonly UserChange[]): void {
    for (const { name, before, after } of changes) {
      if (before === after) continue
      if (name.startsWith('role:')) this.#roleChanged(name.slice('role:'.length))
      this.#ceilingChanged(name, before, after)
    }
  }

  /**
   * Brings sessions in line with issuers that were changed or taken away: those whose issuer or key is trusted no longer are
   * cut, the others re-evaluated.
   *
   * @param concerns The sessions to look at.
   */
  issuersChanged(concerns: (grant: CompiledGrant) => boolean): void {
    const { authenticator } = this.#parts
    for (const [client, { grant }] of [...this.#sessions]) {
      if (!concerns(grant)) continue
      if (authenticator.trusts(grant)) this.#reevaluate(client, true)
      else cutForKey(client, CLOSES.issuerChanged)
    }
  }

  /** Cuts the sessions that keys admitted which are trusted no longer. */
  keysRemoved(keyIds: readonly string[]): void {
    for (const [client, { grant }] of [...this.#sessions]) {
      if (keyIds.includes(grant.keyId)) cutForKey(client, CLOSES.keyRemoved)
    }
  }

  /** Stops the clock of all sessions. */
  stop(): void {
    this.#wheel.stop()
    void this.revocations.close()
    void this.#parts.audit?.close()
    this.#parts.authenticator.issuers.stop()
  }

  #roleChanged(role: string): void {
    for (const client of this.#index.find('role', role)) this.#reevaluate(client, false)
  }

  /** Compiles a session's grant anew and ends what it lost. @param always Also where the grant is the same: ceilings may differ. */
  #reevaluate(client: Client, always: boolean): void {
    const session = this.#sessions.get(client)
    if (!session) return
    const grant = this.#parts.authenticator.recompile(session.grant)
    if (grant === session.grant && !always) return
    session.grant = grant
    this.#enforce(client, grant)
    this.revocation.dropLost(client, CHANGED)
  }

  #ceilingChanged(name: string, before: User | undefined, after: User | undefined): void {
    for (const client of this.#boundBy(name)) {
      const session = this.#sessions.get(client)
      if (!session) continue
      if (before && !after) {
        // As Redis does where a user is deleted, whatever the client holds.
        client.close(CLOSES.userDeleted)
        continue
      }
      this.#enforce(client, session.grant)
      this.revocation.dropLost(client, CHANGED)
    }
  }

  /** The sessions that a stored user bounds: those of its own name, and those of the issuers whose ceiling it is. */
  #boundBy(name: string): readonly Client[] {
    const own = [...this.#parts.clients.ofUser(name)]
    if (!this.#parts.authenticator.issuers.isCeiling(name)) return own
    const sessions = [...this.#sessions].filter(([, { grant }]) => grant.issuerCeiling === name)
    return [...own, ...sessions.map(([client]) => client)]
  }

  /** Makes the client who its grant says it is, under the ceilings of now. */
  #enforce(client: Client, grant: CompiledGrant): void {
    const identity: Identity = {
      user: grant.user,
      ceilings: this.#parts.authenticator.ceilingsOf(grant),
      token: grant,
    }
    this.#parts.clients.setIdentity(client, identity)
  }

  #revokedCause(revocation: Revocation): CodedCause {
    const retryMs = retryAfterMs(revocation, this.#parts.clock.wallMs())
    return closeWith(CLOSES.tokenRevoked, { retryMs })
  }
}

/** Ends a session whose token could not log in again. */
function cutForKey(client: Client, cause: CodedCause): void {
  client.close(cause, tokenPushes.revoked('', cause.text))
}
