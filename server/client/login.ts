import type { Identity } from '../acl/authorize.ts'
import type { AclLogEvent } from '../acl/log.ts'
import { passwordLogsIn } from '../acl/password.ts'
import { isRoleName, isTokenUserName } from '../acl/user.ts'
import { newUser } from '../acl/rules.ts'
import type { Services } from '../command/context.ts'
import { shown } from '../log.ts'
import type { CompiledGrant } from '../token/grant/grants.ts'
import type { TokenAuthenticator } from '../token/session/authenticator.ts'
import type { TokenRefusal } from '../token/verify/refusal.ts'
import type { Client } from './client.ts'
import { CLOSES, closeWith, type CodedCause } from './close.ts'
import { describeClient } from './describe.ts'
import { errorLine, type ErrorLine } from '../resp/reply-writer.ts'

/** Credentials as AUTH and HELLO AUTH carry them. */
export type Credentials =
  | { readonly kind: 'password'; readonly user: string; readonly password: string }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'none'; readonly error: ErrorLine }

/** A refused login. */
interface LoginRefusal {
  /** The error line, without `-`. */
  readonly reply: ErrorLine
  /** Closes a WebSocket that is not logged in, after the reply. */
  readonly cause: CodedCause | undefined
  /** Counts as a failed login for ACL LOG; the other refusals are only a matter of timing. */
  readonly isLogged: boolean
}

const INVALID_TOKEN = 'WRONGPASS invalid token'

/** Reasons why a login is refused. */
const REFUSALS = {
  /** No such user, off, a role, another password, or one that may not log in by password here. */
  password: {
    reply: 'WRONGPASS invalid username-password pair or user is disabled.',
    cause: undefined,
    isLogged: true,
  },
  token: { reply: INVALID_TOKEN, cause: CLOSES.invalidToken, isLogged: true },
  expired: { reply: 'WRONGPASS token expired', cause: CLOSES.tokenExpired, isLogged: true },
  revoked: { reply: 'WRONGPASS token revoked', cause: CLOSES.tokenRevoked, isLogged: true },
  /** A ceiling of the token is off. */
  disabled: { reply: INVALID_TOKEN, cause: CLOSES.subjectDisabled, isLogged: true },
  /** `ws-max-connections-per-user`. */
  crowded: {
    reply: 'ERR too many connections of this user',
    cause: CLOSES.tooManyConnections,
    isLogged: true,
  },
  /** Another login, or RESET, came while the token was verified. */
  superseded: { reply: INVALID_TOKEN, cause: undefined, isLogged: false },
  otherSubject: {
    reply: 'ERR AUTH with a token of another subject is not allowed while there are subscriptions',
    cause: undefined,
    isLogged: false,
  },
  otherUser: {
    reply: 'ERR AUTH as another user is not allowed while a token session has subscriptions',
    cause: undefined,
    isLogged: false,
  },
} as const satisfies Record<string, LoginRefusal>

const NO_PASSWORD_CONFIGURED = errorLine(
  'ERR',
  'AUTH <password> called without any password configured for the default user. ' +
    'Are you sure your configuration is correct?',
)

/** Outcome of a verification. Nothing has changed yet, see {@link Login.settle}. */
type LoginVerdict = { readonly epoch: number } & (
  | { readonly grant: CompiledGrant }
  | { readonly refusal: LoginRefusal }
)

/** End of a login by token: the error line, or the pushes for the subscriptions that the client lost, which precede the reply. */
type LoginOutcome = { readonly error: ErrorLine } | { readonly pushes: readonly Buffer[] }

/** The parts of the server that logins concern. */
type LoginHost = Pick<
  Services,
  'aclLog' | 'clients' | 'clock' | 'config' | 'counters' | 'log' | 'table' | 'tokens' | 'users'
> & { readonly authenticator: TokenAuthenticator }

/**
 * Login state machine of every connection, whether it logs in at the WebSocket upgrade, by AUTH or by HELLO AUTH.
 *
 * A connection is in one of these states:
 *
 * - **nobody**: not logged in. A WebSocket starts here, and TCP where the default user is off or has a password. It may
 *   only log in, and is closed at its deadline (`auth-timeout`, `tcp-auth-timeout`).
 * - **open**: TCP as the default user, which needs no password.
 * - **logged in**: as a user by password, or as the user of a token, which is a session of its own.
 *
 * A token is verified in the background (`verify`) while the connection keeps its state and executes nothing;
 * its outcome is put in force in one turn (`settle`), unless another login came in between. A login that is refused changes
 * nothing, but closes a WebSocket that is nobody. RESET leads back to the first state (`reset`). No way leads a
 * WebSocket to the default user, unless an administrator logs in as it by password.
 */
export class Login {
  readonly #parts: LoginHost
  readonly #nobody: Identity

  constructor(parts: LoginHost) {
    this.#parts = parts
    const user = newUser(parts.table.catalog, '', { pubsubDefault: 'resetchannels' })
    this.#nobody = { user, ceilings: [], token: undefined }
  }

  /** The identity before any login. */
  initialIdentity(transport: Client['origin']['transport']): Identity {
    if (transport === 'websocket') return this.#nobody
    return { user: this.#parts.users.default, ceilings: [], token: undefined }
  }

  /**
   * Begins the first state of a connection that was just made.
   *
   * @param token The token of a WebSocket's upgrade. A refused one closes the connection.
   * @returns With a token, a promise: nothing may be executed before it settles.
   */
  start(client: Client, token?: string): Promise<void> | undefined {
    const { config, users } = this.#parts
    client.authenticated = !client.isWebSocket && users.defaultIsOpen
    if (client.isWebSocket) this.#armDeadline(client, config.seconds('auth-timeout'))
    else if (!client.authenticated) this.#armDeadline(client, config.seconds('tcp-auth-timeout'))
    return token === undefined ? undefined : this.#loginAtUpgrade(client, token)
  }

  async #loginAtUpgrade(client: Client, token: string): Promise<void> {
    const verdict = await this.verify(client, token)
    if (!client.closed) this.settle(client, verdict, 'upgrade')
  }

  /** RESET: leads back to the first state. Only a WebSocket gets a new deadline. */
  reset(client: Client): void {
    const { clients, config, tokens, users } = this.#parts
    tokens.end(client)
    client.authEpoch++
    clients.setIdentity(client, this.initialIdentity(client.origin.transport))
    client.authenticated = !client.isWebSocket && users.defaultIsOpen
    if (client.isWebSocket) this.#armDeadline(client, config.seconds('auth-timeout'))
  }

  /** Reports whether a client that is not authenticated may do nothing but log in. */
  isRequired(client: Client): boolean {
    return client.isWebSocket || !this.#parts.users.defaultIsOpen
  }

  /**
   * Reads `user password`, `jwt token`, or one argument, which is the default user's password or else a token.
   *
   * @param user Undefined for one argument.
   */
  read(user: string | undefined, secret: string): Credentials {
    const { authenticator, users } = this.#parts
    if (user === 'jwt' && authenticator.enabled) return { kind: 'token', token: secret }
    if (user !== undefined) return { kind: 'password', user, password: secret }
    const isOpen = users.default.noPassword
    const isPassword = !isOpen && passwordLogsIn(users.default, secret)
    if (!isPassword && authenticator.looksLikeToken(secret)) return { kind: 'token', token: secret }
    if (isOpen) return { kind: 'none', error: NO_PASSWORD_CONFIGURED }
    return { kind: 'password', user: 'default', password: secret }
  }

  /**
   * Logs in by password. A failure changes nothing.
   *
   * @param object The command as typed, for ACL LOG.
   * @returns The error line, or undefined.
   */
  byPassword(
    client: Client,
    { user: name, password }: { readonly user: string; readonly password: string },
    object: string,
    context: AclLogEvent['context'],
  ): ErrorLine | undefined {
    const { clients, tokens, users } = this.#parts
    const user = users.get(name)
    // Always compared, so that timing does not reveal which users exist.
    const matches = passwordLogsIn(user, password)
    if (!user || !matches || !this.#mayUsePassword(client, name, user.noPassword)) {
      return this.#refuse(client, REFUSALS.password, name, object, context)
    }
    if (tokens.grantOf(client) && client.subscriptions.any) return REFUSALS.otherUser.reply
    tokens.end(client)
    clients.setIdentity(client, { user, ceilings: [], token: undefined })
    client.authenticate()
    client.authEpoch++
    return undefined
  }

  /** Reserved names are those of tokens and roles, while tokens can log in. */
  #mayUsePassword(client: Client, name: string, noPassword: boolean): boolean {
    const { authenticator, config } = this.#parts
    const isReserved = name === 'jwt' || isTokenUserName(name) || isRoleName(name)
    if (isReserved && authenticator.enabled) return false
    if (client.isWebSocket && noPassword) return false
    return client.origin.listener !== 'public' || config.boolean('ws-password-auth')
  }

  /**
   * Verifies a token. Never rejects.
   *
   * @param token Byte string, as it came.
   */
  async verify(client: Client, token: string): Promise<LoginVerdict> {
    const { authenticator } = this.#parts
    const epoch = ++client.authEpoch
    if (!authenticator.enabled) return { epoch, refusal: REFUSALS.token }
    const result = await authenticator.authenticate(token)
    if ('refused' in result) {
      this.#logRefused(client, result.refused)
      return { epoch, refusal: REFUSALS[result.refused.code === 'expired' ? 'expired' : 'token'] }
    }
    const grant = result.ok
    const refusal = this.#refusalOfRevoked(client, grant) ?? this.#refusalOfSubject(client, grant)
    return refusal ? { epoch, refusal } : { epoch, grant }
  }

  /**
   * Puts the outcome of a verification in force, in the turn in which the reply is written. A token that was revoked
   * meanwhile is refused too.
   *
   * @param object The command as typed, or `upgrade`, for ACL LOG.
   */
  settle(client: Client, verdict: LoginVerdict, object: string): LoginOutcome {
    if (client.authEpoch !== verdict.epoch) return { error: REFUSALS.superseded.reply }
    if ('refusal' in verdict) return { error: this.#refuse(client, verdict.refusal, 'jwt', object) }
    const { grant } = verdict
    const refusal = this.#refusalOfRevoked(client, grant) ?? this.#refusalOfChange(client, grant)
    if (refusal) return { error: this.#refuse(client, refusal, 'jwt', object) }
    const pushes = this.#parts.tokens.begin(client, grant)
    if (!client.closed) {
      client.authenticate()
      this.#logAccepted(client, grant)
    }
    return { pushes }
  }

  #refusalOfRevoked(client: Client, grant: CompiledGrant): LoginRefusal | undefined {
    const { revocations } = this.#parts.tokens
    const record = revocations.refusing(grant)
    if (!record) return undefined
    this.#logRevoked(client, grant, record.id)
    const retryMs = revocations.retryAfterMs(record)
    return { ...REFUSALS.revoked, cause: closeWith(CLOSES.tokenRevoked, { retryMs }) }
  }

  #refusalOfSubject(client: Client, grant: CompiledGrant): LoginRefusal | undefined {
    const { ceilings } = this.#parts.authenticator.grants.identityOf(grant)
    if (ceilings.some(({ enabled }) => !enabled)) return REFUSALS.disabled
    return client.isWebSocket && this.#isCrowded(client, grant) ? REFUSALS.crowded : undefined
  }

  /** With subscriptions a connection can only be given another token of its own subject. */
  #refusalOfChange(client: Client, grant: CompiledGrant): LoginRefusal | undefined {
    if (!client.subscriptions.any) return undefined
    const current = this.#parts.tokens.grantOf(client)
    return current?.userName === grant.userName ? undefined : REFUSALS.otherSubject
  }

  #isCrowded(client: Client, { userName }: CompiledGrant): boolean {
    const { clients, config } = this.#parts
    const most = config.integer('ws-max-connections-per-user')
    if (most === 0 || client.identity.user.name === userName) return false
    let count = 0
    for (const other of clients.ofUser(userName)) if (other.isWebSocket) count++
    return count >= most
  }

  /** Notes a failed login, and closes a WebSocket that is nobody. @returns The error line. */
  #refuse(
    client: Client,
    { reply, cause, isLogged }: LoginRefusal,
    username: string,
    object: string,
    context: AclLogEvent['context'] = 'toplevel',
  ): ErrorLine {
    const { aclLog, clock } = this.#parts
    if (isLogged) {
      const clientInfo = describeClient(client, clock.monotonicMs())
      aclLog.add({ reason: 'auth', context, object, username, clientInfo }, clock.wallMs())
    }
    if (cause && client.isWebSocket && !client.authenticated) client.close(cause)
    return reply
  }

  /** Closes a client that has not logged in by then. A later deadline makes this one void. */
  #armDeadline(client: Client, seconds: number): void {
    if (seconds === 0) return
    client.deadline?.cancel()
    client.deadline = this.#parts.clock.after(seconds * 1000, () => {
      if (client.authenticated) return
      client.close(closeWith(CLOSES.authTimeout, { text: `no login within ${seconds} s` }))
    })
  }

  #logAccepted(client: Client, { userName, kid }: CompiledGrant): void {
    const { counters, log } = this.#parts
    counters.tokensAccepted++
    log.debug({ id: client.id, user: this.#shown(userName), kid }, 'token accepted')
  }

  #logRefused(client: Client, { detail, kid, jti, tokenHash }: TokenRefusal): void {
    const { counters, log } = this.#parts
    const { address } = client.origin
    counters.tokensRefused++
    log.info({ id: client.id, address, detail, kid, jti, tokenHash }, 'token refused')
  }

  #logRevoked(client: Client, { userName, kid, jti }: CompiledGrant, revocation: number): void {
    const { counters, log } = this.#parts
    const { address } = client.origin
    const user = this.#shown(userName)
    counters.tokensRefused++
    log.info(
      { id: client.id, address, detail: 'revoked', user, kid, jti, revocation },
      'token refused',
    )
  }

  #shown(userName: string): string {
    return shown(userName, this.#parts.config.boolean('hide-user-data-from-log'))
  }
}
