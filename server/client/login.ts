import type { Identity } from '../acl/authorize.ts'
import type { AclLogEvent } from '../acl/log.ts'
import { passwordLogsIn } from '../acl/password.ts'
import { isRoleName, isTokenUserName, type User } from '../acl/user.ts'
import { newUser } from '../acl/rules.ts'
import type { Services } from '../command/context.ts'
import { shown } from '../log.ts'
import type { CompiledGrant } from '../token/grant/grants.ts'
import type { TokenAuthenticator } from '../token/session/authenticator.ts'
import type { TokenRefusal } from '../token/verify/refusal.ts'
import { comesByHttp, type Client } from './client.ts'
import { CLOSES, closeWith, type CodedCause } from './close.ts'
import { describeClient } from './describe.ts'
import { LoginFailures, type LoginFailure } from './login-failures.ts'
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
  /** Of a failed login, which ACL LOG shows; the other refusals are only a matter of timing. */
  readonly reason: LoginFailure | undefined
}

/** A failed login by password: its answer, when it is due, and the end of a WebSocket that fails too often. */
export interface FailedLogin {
  readonly error: ErrorLine
  readonly waitMs: number
  readonly cause: CodedCause | undefined
}

const INVALID_TOKEN = 'WRONGPASS invalid token'

/** Reasons why a login is refused. */
const REFUSALS = {
  token: {
    reply: INVALID_TOKEN,
    cause: CLOSES.invalidToken,
    reason: 'token-not-configured',
  },
  expired: {
    reply: 'WRONGPASS token expired',
    cause: CLOSES.tokenExpired,
    reason: 'token-expired',
  },
  revoked: {
    reply: 'WRONGPASS token revoked',
    cause: CLOSES.tokenRevoked,
    reason: 'token-revoked',
  },
  /** A ceiling of the token is off. */
  disabled: {
    reply: INVALID_TOKEN,
    cause: CLOSES.subjectDisabled,
    reason: 'token-subject-disabled',
  },
  /** `ws-max-connections-per-user`. */
  crowded: {
    reply: 'ERR too many connections of this user',
    cause: CLOSES.tooManyConnections,
    reason: 'too-many-connections',
  },
  /** No failure of the peer: nothing is counted against it. */
  keysUnavailable: {
    reply: 'TRYAGAIN the keys of the issuer cannot be loaded now',
    cause: CLOSES.keysUnavailable,
    reason: undefined,
  },
  /** This gateway does not know what was revoked. No failure of the peer either. */
  cutOff: {
    reply:
      'TRYAGAIN this gateway is cut off from the upstream, and logs nobody in until it knows what was revoked',
    cause: closeWith(CLOSES.cutOff, { retryMs: 5_000 }),
    reason: undefined,
  },
  /** Another login, or RESET, came while the token was verified. */
  superseded: { reply: INVALID_TOKEN, cause: undefined, reason: undefined },
  otherSubject: {
    reply: 'ERR AUTH with a token of another subject is not allowed while there are subscriptions',
    cause: undefined,
    reason: undefined,
  },
  otherUser: {
    reply: 'ERR AUTH as another user is not allowed while a token session has subscriptions',
    cause: undefined,
    reason: undefined,
  },
} as const satisfies Record<string, LoginRefusal>

/** No such user, off, a role, another password, or one that may not log in by password here. */
const WRONG_PASSWORD = 'WRONGPASS invalid username-password pair or user is disabled.'

/** Said of the name alone, whatever the password is. */
const NO_DEFAULT_USER = 'WRONGPASS the default user cannot log in over a WebSocket'

/** EXEC cannot wait, so that nothing is verified there while failed logins have to, or after they have ended the client. */
const NO_AUTH_IN_EXEC =
  'ERR AUTH inside MULTI is refused after too many failed logins from this address'

const NO_PASSWORD_CONFIGURED = errorLine(
  'ERR',
  'AUTH <password> called without any password configured for the default user. ' +
    'Are you sure your configuration is correct?',
)

/** Outcome of a verification. Nothing has changed yet, see {@link Login.settle}. */
type LoginVerdict = { readonly epoch: number } & (
  | { readonly grant: CompiledGrant }
  | {
      readonly refusal: LoginRefusal
      /** It is one too many for its WebSocket. */
      readonly isLast?: boolean
    }
)

/** End of a login by token: the error line, or the pushes for the subscriptions that the client lost, which precede the reply. */
type LoginOutcome = { readonly error: ErrorLine } | { readonly pushes: readonly Buffer[] }

/** The parts of the server that logins concern. */
type LoginHost = Pick<
  Services,
  | 'aclLog'
  | 'clients'
  | 'clock'
  | 'config'
  | 'control'
  | 'counters'
  | 'peerLog'
  | 'table'
  | 'tokens'
  | 'users'
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
 * nothing, but closes a WebSocket that is nobody; see {@link LoginFailures} for those that fail again and again. RESET leads
 * back to the first state (`reset`). No way leads a WebSocket to the default user.
 */
export class Login {
  readonly #parts: LoginHost
  readonly #nobody: Identity
  /** Whoever comes over TCP, one object for all of them. */
  #stranger: Identity
  readonly #failures: LoginFailures

  constructor(parts: LoginHost) {
    this.#parts = parts
    this.#failures = new LoginFailures(parts)
    const user = newUser(parts.table.catalog, '', { pubsubDefault: 'resetchannels' })
    this.#nobody = { user, ceilings: [], token: undefined }
    this.#stranger = this.#nobody
  }

  /** The identity before any login. */
  initialIdentity(transport: Client['origin']['transport']): Identity {
    if (comesByHttp(transport)) return this.#nobody
    const user = this.#parts.users.default
    if (this.#stranger.user !== user) this.#stranger = { user, ceilings: [], token: undefined }
    return this.#stranger
  }

  /**
   * Begins the first state of a connection that was just made.
   *
   * @param token The token of a WebSocket's upgrade. A refused one closes the connection.
   * @returns With a token, a promise: nothing may be executed before it settles.
   */
  start(client: Client, token?: string): Promise<void> | undefined {
    const { config, users } = this.#parts
    if (!client.isWeb && users.defaultIsOpen) client.authenticate()
    else client.requireLogin()
    if (client.isWeb) this.#armDeadline(client, config.seconds('auth-timeout'))
    else if (!client.authenticated) this.#armDeadline(client, config.seconds('tcp-auth-timeout'))
    return token === undefined ? undefined : this.#loginAtUpgrade(client, token)
  }

  async #loginAtUpgrade(client: Client, token: string): Promise<void> {
    await this.byToken(client, token, 'upgrade')
  }

  /**
   * Logs in by a token that came with a request. One that is refused closes the client.
   *
   * @param object For ACL LOG.
   * @returns The error line; undefined if the client is logged in.
   */
  async byToken(client: Client, token: string, object: string): Promise<ErrorLine | undefined> {
    const verdict = await this.verify(client, token)
    if (client.closed) return REFUSALS.superseded.reply
    const outcome = this.settle(client, verdict, object)
    return 'error' in outcome ? outcome.error : undefined
  }

  /** RESET: leads back to the first state. Only a WebSocket gets a new deadline. */
  reset(client: Client): void {
    const { clients, config, tokens, users } = this.#parts
    tokens.end(client)
    client.authEpoch++
    clients.setIdentity(client, this.initialIdentity(client.origin.transport))
    if (!client.isWeb && users.defaultIsOpen) client.authenticate()
    else client.requireLogin()
    if (client.isWeb) this.#armDeadline(client, config.seconds('auth-timeout'))
  }

  /** Reports whether a client that is not authenticated may do nothing but log in. */
  isRequired(client: Client): boolean {
    return client.isWeb || !this.#parts.users.defaultIsOpen
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
   * @returns Undefined if the client is logged in.
   */
  byPassword(
    client: Client,
    { user: name, password }: { readonly user: string; readonly password: string },
    object: string,
    context: AclLogEvent['context'],
  ): FailedLogin | undefined {
    const { clients, counters, tokens, users } = this.#parts
    if (this.#isCutOff && !this.#logsInAlways(client, name)) {
      return { error: REFUSALS.cutOff.reply, waitMs: 0, cause: undefined }
    }
    if (context === 'multi' && (client.closed || this.#failures.mustWait(client))) {
      counters.countLoginFailure('throttled')
      return { error: NO_AUTH_IN_EXEC, waitMs: 0, cause: undefined }
    }
    const user = users.get(name)
    // Always compared, so that timing does not reveal which users exist.
    const matches = passwordLogsIn(user, password)
    const mayUse = this.#mayUsePassword(client, name, user?.noPassword ?? false)
    if (!user || !matches || !mayUse) {
      const reason = matches ? 'not-allowed' : reasonOf(user)
      this.#logFailure(client, reason, name, object, context)
      const { waitMs, isLast } = this.#failures.note(client, reason)
      return {
        error: this.#isNeverDefault(client, name) ? NO_DEFAULT_USER : WRONG_PASSWORD,
        waitMs,
        cause: isLast ? CLOSES.tooManyFailedLogins : undefined,
      }
    }
    if (tokens.grantOf(client) && client.subscriptions.any) {
      return { error: REFUSALS.otherUser.reply, waitMs: 0, cause: undefined }
    }
    tokens.end(client)
    clients.setIdentity(client, { user, ceilings: [], token: undefined })
    client.authenticate()
    client.authEpoch++
    return undefined
  }

  get #isCutOff(): boolean {
    return this.#parts.control.refusal !== undefined
  }

  /** Administrators come in when a gateway is cut off: on their own listener, and as users whom it does not share. */
  #logsInAlways({ origin }: Client, name: string): boolean {
    return (
      origin.listener === 'admin' || this.#parts.config.list('upstream-local-users').includes(name)
    )
  }

  /** Settles when a failed login may be answered. */
  waited(waitMs: number): Promise<void> {
    return new Promise((resolve) => this.#parts.clock.after(waitMs, resolve))
  }

  /** Reserved names are those of tokens and roles, while tokens can log in. */
  #mayUsePassword(client: Client, name: string, noPassword: boolean): boolean {
    const { authenticator } = this.#parts
    const isReserved = name === 'jwt' || isTokenUserName(name) || isRoleName(name)
    if (isReserved && authenticator.enabled) return false
    if (client.isWeb && (noPassword || name === 'default')) return false
    return this.#takesPasswords(client)
  }

  #takesPasswords({ origin }: Client): boolean {
    return origin.listener !== 'public' || this.#parts.config.boolean('ws-password-auth')
  }

  /** Reports whether a login fails for its name alone: it asks for the default user where others may log in by password. */
  #isNeverDefault(client: Client, name: string): boolean {
    return client.isWeb && name === 'default' && this.#takesPasswords(client)
  }

  /**
   * Verifies a token. Never rejects.
   *
   * @param token Byte string, as it came.
   */
  async verify(client: Client, token: string): Promise<LoginVerdict> {
    const epoch = ++client.authEpoch
    const result = await this.#judge(client, token)
    if ('grant' in result) return { epoch, grant: result.grant }
    const { refusal } = result
    if (refusal.reason === undefined) return { epoch, refusal }
    const { waitMs, isLast } = this.#failures.note(client, refusal.reason)
    if (waitMs > 0) await this.waited(waitMs)
    return { epoch, refusal, isLast }
  }

  async #judge(
    client: Client,
    token: string,
  ): Promise<{ readonly grant: CompiledGrant } | { readonly refusal: LoginRefusal }> {
    const { authenticator } = this.#parts
    if (!authenticator.enabled) return { refusal: REFUSALS.token }
    if (this.#isCutOff) return { refusal: REFUSALS.cutOff }
    const result = await authenticator.authenticate(token)
    if ('refused' in result) {
      this.#logRefused(client, result.refused)
      const { code } = result.refused
      if (code === 'keys-unavailable') {
        this.#parts.counters.countLoginFailure(`token-${code}`)
        return { refusal: REFUSALS.keysUnavailable }
      }
      const refusal = code === 'expired' ? REFUSALS.expired : REFUSALS.token
      return { refusal: { ...refusal, reason: `token-${code}` } }
    }
    const grant = result.ok
    const refusal = this.#refusalOfRevoked(client, grant) ?? this.#refusalOfSubject(client, grant)
    return refusal ? { refusal } : { grant }
  }

  /**
   * Puts the outcome of a verification in force, in the turn in which the reply is written. A token that was revoked
   * meanwhile is refused too.
   *
   * @param object The command as typed, or `upgrade`, for ACL LOG.
   */
  settle(client: Client, verdict: LoginVerdict, object: string): LoginOutcome {
    if (client.authEpoch !== verdict.epoch) return { error: REFUSALS.superseded.reply }
    if ('refusal' in verdict) {
      const error = this.#refuse(client, verdict.refusal, object)
      if (verdict.isLast) client.close(CLOSES.tooManyFailedLogins)
      return { error }
    }
    const { grant } = verdict
    const refusal = this.#isCutOff
      ? REFUSALS.cutOff
      : (this.#refusalOfRevoked(client, grant) ?? this.#refusalOfChange(client, grant))
    if (refusal) return { error: this.#refuse(client, refusal, object) }
    const pushes = this.#parts.tokens.begin(client, grant)
    if (!client.closed) {
      client.authenticate()
      this.#logAccepted(client, grant)
    }
    return { pushes }
  }

  #refusalOfRevoked(client: Client, grant: CompiledGrant): LoginRefusal | undefined {
    const { revocation, revocations } = this.#parts.tokens
    const record = revocation.refusing(grant)
    if (!record) return undefined
    this.#logRevoked(client, grant, record.id)
    const retryMs = revocations.retryAfterMs(record)
    return { ...REFUSALS.revoked, cause: closeWith(CLOSES.tokenRevoked, { retryMs }) }
  }

  #refusalOfSubject(client: Client, grant: CompiledGrant): LoginRefusal | undefined {
    const { ceilings } = this.#parts.authenticator.grants.identityOf(grant)
    if (ceilings.some(({ enabled }) => !enabled)) return REFUSALS.disabled
    return client.isWeb && this.#isCrowded(client, grant) ? REFUSALS.crowded : undefined
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
    // Publishers over HTTP have rates instead.
    const counts = ({ isWeb, origin }: Client): boolean => isWeb && origin.transport !== 'http'
    if (most === 0 || !counts(client) || client.identity.user.name === userName) return false
    let count = 0
    for (const other of clients.ofUser(userName)) if (counts(other)) count++
    return count >= most
  }

  /** Refuses a token, and closes a WebSocket that is nobody. @returns The error line. */
  #refuse(client: Client, { reply, cause, reason }: LoginRefusal, object: string): ErrorLine {
    if (reason) this.#logFailure(client, reason, 'jwt', object, 'toplevel')
    if (cause && client.isWeb && !client.authenticated) client.close(cause)
    return reply
  }

  /** Counts a failed login, and shows it in ACL LOG. */
  #logFailure(
    client: Client,
    reason: LoginFailure,
    username: string,
    object: string,
    context: AclLogEvent['context'],
  ): void {
    const { aclLog, clock, counters } = this.#parts
    counters.countLoginFailure(reason)
    const clientInfo = describeClient(client, clock.monotonicMs())
    aclLog.add({ reason: 'auth', context, object, username, clientInfo }, clock.wallMs())
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

  #logAccepted(client: Client, { userName, kid, key }: CompiledGrant): void {
    const { counters, peerLog } = this.#parts
    counters.tokensAccepted++
    peerLog.write('tokenAccepted', () => ({
      id: client.id,
      user: this.#shown(userName),
      kid,
      key: key.thumbprint,
    }))
  }

  #logRefused(client: Client, { detail, kid, jti, key, tokenHash }: TokenRefusal): void {
    const { counters, peerLog } = this.#parts
    const { id, address } = client.origin
    counters.tokensRefused++
    peerLog.write('tokenRefused', () => ({
      id,
      address,
      detail,
      kid,
      jti,
      key,
      tokenHash,
    }))
  }

  #logRevoked(client: Client, grant: CompiledGrant, revocation: number): void {
    const { userName, kid, jti, key } = grant
    const { counters, peerLog } = this.#parts
    const { id, address } = client.origin
    counters.tokensRefused++
    peerLog.write('tokenRefused', () => ({
      id,
      address,
      detail: 'revoked',
      user: this.#shown(userName),
      kid,
      jti,
      key: key.thumbprint,
      revocation,
    }))
  }

  #shown(userName: string): string {
    return shown(userName, this.#parts.config.boolean('hide-user-data-from-log'))
  }
}

/** The reason of a login whose password did not match. */
function reasonOf(user: User | undefined): LoginFailure {
  if (user === undefined) return 'unknown-user'
  if (isRoleName(user.name)) return 'not-allowed'
  return user.enabled ? 'wrong-password' : 'user-disabled'
}
