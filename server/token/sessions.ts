import type { UserChange } from '../acl/users.ts'
import type { User } from '../acl/user.ts'
import type { Client } from '../client/client.ts'
import type { ClientTable } from '../client/clients.ts'
import { closeCause } from '../client/close-cause.ts'
import type { Identity } from '../client/identity.ts'
import type { Clock } from '../clock.ts'
import type { Registry } from '../pubsub/registry.ts'
import { encodePush } from '../resp/push.ts'
import type { TokenAuthenticator } from './authenticator.ts'
import { ExpiryWheel, type ExpiryEntry } from './expiry.ts'
import { isDenied, type CompiledGrant } from './grants.ts'
import type { Subscription, SubscriptionJudge } from './judge.ts'
import { tokenPushes } from './pushes.ts'
import type { Refusal } from './refusal.ts'
import { looksLikeToken } from './verify.ts'

/** What token sessions need of the rest of the server. */
export interface TokenSessionParts {
  readonly authenticator: TokenAuthenticator
  readonly clients: ClientTable
  readonly registry: Registry
  readonly judge: SubscriptionJudge
  readonly clock: Clock
  /** Finds a stored user: the ceiling of a token's user. */
  readonly findUser: (name: string) => User | undefined
  /** 0 to 1. */
  readonly random: () => number
  readonly settings: TokenSessionSettings
  readonly events: TokenSessionEvents
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
  refused(client: Client, refusal: Refusal): void
}

/** How a login ends: the grant, or the error line and the close that follows it on a WebSocket without a login. */
export type TokenLogin =
  | { readonly ok: CompiledGrant }
  | { readonly error: string; readonly close: LoginRefusal }

/** The names of the closes that a refused login ends with. */
export type LoginRefusal = 'unauthorized' | 'forbidden' | 'revoked' | 'rate-limited'

interface Session {
  grant: CompiledGrant
  expiry: ExpiryEntry
}

const UNSUBSCRIBE_WORDS = {
  channel: 'unsubscribe',
  pattern: 'punsubscribe',
  shard: 'sunsubscribe',
} as const

const CHANGED = 'permissions changed'

/**
 * The connections that are logged in with a token: from login over refresh and changes of roles and ceilings to the end of
 * the token.
 */
export class TokenSessions {
  readonly #parts: TokenSessionParts
  readonly #sessions = new Map<Client, Session>()
  readonly #byRole = new Map<string, Set<Client>>()
  readonly #wheel: ExpiryWheel

  constructor(parts: TokenSessionParts) {
    this.#parts = parts
    this.#wheel = new ExpiryWheel(parts.clock)
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
      return { error: 'WRONGPASS invalid token', close: 'unauthorized' }
    }
    const result = await this.#parts.authenticator.authenticate(token)
    if ('refused' in result) {
      this.#parts.events.refused(client, result.refused)
      return { error: result.refused.reply, close: 'unauthorized' }
    }
    const ceiling = this.#parts.findUser(result.ok.userName)
    if (ceiling && !ceiling.enabled) {
      return { error: 'WRONGPASS invalid token', close: 'forbidden' }
    }
    if (client.isWebSocket && this.#hasTooMany(client, result.ok.userName)) {
      return { error: 'ERR too many connections of this user', close: 'rate-limited' }
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
   * of its own subject.
   */
  refuseChange(client: Client, grant: CompiledGrant): string | undefined {
    if (!client.subscriptions.any) return undefined
    const current = this.#sessions.get(client)?.grant
    if (current?.userName === grant.userName) return undefined
    return 'ERR AUTH with a token of another subject is not allowed while there are subscriptions'
  }

  /**
   * Puts a grant in force, and re-checks every subscription under it in the same turn.
   *
   * @returns What was lost. It is unsubscribed; the caller tells the client before its `+OK`.
   */
  login(client: Client, fresh: CompiledGrant): Subscription[] {
    // Time passed since it was compiled: roles may have changed meanwhile.
    const grant = this.#parts.authenticator.recompile(fresh)
    this.end(client)
    const { clock, settings, random } = this.#parts
    const life = { expiresAtMs: grant.expiresAtMs, graceMs: settings.graceMs }
    const listener = {
      expiring: (leftMs: number) => this.#tell(client, tokenPushes.expiring(leftMs)),
      expired: (graceMs: number) => this.#tell(client, tokenPushes.expired(graceMs)),
      end: () => client.close(closeCause('unauthorized', 'flush', 'token expired')),
    }
    this.#sessions.set(client, { grant, expiry: this.#wheel.add(life, listener, random()) })
    for (const role of grant.roles) {
      const clients = this.#byRole.get(role)
      if (clients) clients.add(client)
      else this.#byRole.set(role, new Set([client]))
    }
    client.authenticated = true
    this.#enforce(client, grant)
    this.#parts.events.accepted(client, grant)
    const lost = this.#parts.judge.lost(client)
    for (const { space, name } of lost) this.#parts.registry.unsubscribe(space, client, name)
    if (client.isWebSocket) {
      this.#tell(client, tokenPushes.accepted(grant.userName, grant.expiresAtMs - clock.wallMs()))
    }
    return lost
  }

  /** Forgets that a client was logged in with a token. Its permissions stay until somebody sets others. */
  end(client: Client): void {
    const session = this.#sessions.get(client)
    if (!session) return
    this.#sessions.delete(client)
    session.expiry.remove()
    for (const role of session.grant.roles) {
      const clients = this.#byRole.get(role)
      clients?.delete(client)
      if (clients?.size === 0) this.#byRole.delete(role)
    }
    if (!client.closed) this.#parts.registry.regroup(client, () => (client.accepts = undefined))
  }

  /** Re-evaluates the sessions that a change of stored users concerns, and no other. */
  usersChanged(changes: readonly UserChange[]): void {
    for (const { name, before, after } of changes) {
      if (before === after) continue
      if (name.startsWith('role:')) this.#roleChanged(name.slice('role:'.length))
      else this.#ceilingChanged(name, before, after)
    }
  }

  /** Cuts the sessions that keys admitted which are trusted no longer. */
  keysRemoved(keyIds: readonly string[]): void {
    for (const [client, { grant }] of [...this.#sessions]) {
      if (!keyIds.includes(grant.keyId)) continue
      const revoked = tokenPushes.revoked('', 'the key of the token was removed')
      client.close(closeCause('revoked', 'drop', 'the key of the token was removed'), revoked)
    }
  }

  /** Stops the clock of all sessions. */
  stop(): void {
    this.#wheel.stop()
    this.#parts.authenticator.stop()
  }

  #roleChanged(role: string): void {
    for (const client of this.#byRole.get(role) ?? []) {
      const session = this.#sessions.get(client)
      if (!session) continue
      const grant = this.#parts.authenticator.recompile(session.grant)
      if (grant === session.grant) continue
      session.grant = grant
      this.#enforce(client, grant)
      this.#dropLost(client)
    }
  }

  #ceilingChanged(name: string, before: User | undefined, after: User | undefined): void {
    for (const client of this.#parts.clients.ofUser(name)) {
      const session = this.#sessions.get(client)
      if (!session) continue
      if (before && !after) {
        // As Redis does where a user is deleted, whatever the client holds.
        client.close(closeCause('permissions-changed', 'drop', 'the user was deleted'))
        continue
      }
      this.#enforce(client, session.grant)
      this.#dropLost(client)
    }
  }

  /** Makes the client who its grant says it is, under the ceiling of now. */
  #enforce(client: Client, grant: CompiledGrant): void {
    const ceiling = this.#parts.findUser(grant.userName)
    const identity: Identity = {
      user: grant.user,
      ceilings: ceiling ? [ceiling] : [],
      token: grant,
    }
    this.#parts.clients.setIdentity(client, identity)
    const accepts = grant.filters ? (channel: string) => !isDenied(grant, channel) : undefined
    if (accepts || client.accepts) {
      this.#parts.registry.regroup(client, () => (client.accepts = accepts))
    }
  }

  /** Ends what a live session may not hold any more, as its transport is told of it. */
  #dropLost(client: Client): void {
    const lost = this.#parts.judge.lost(client)
    if (lost.length === 0) return
    const [only] = lost
    const revoked = tokenPushes.revoked(lost.length === 1 && only ? only.name : '', CHANGED)
    if (!client.isWebSocket || this.#parts.settings.revocation === 'close') {
      client.close(closeCause('permissions-changed', 'drop', CHANGED), revoked)
      return
    }
    for (const { space, name } of lost) {
      this.#parts.registry.unsubscribe(space, client, name)
      const { count, shardCount } = client.subscriptions
      const left = space === 'shard' ? shardCount : count
      client.push(encodePush(client.protocol, [UNSUBSCRIBE_WORDS[space], name, left]))
    }
    this.#tell(client, revoked)
  }

  /** Token pushes exist in RESP3 only. */
  #tell(client: Client, frame: Buffer): void {
    if (client.protocol === 3) client.push(frame)
  }
}
