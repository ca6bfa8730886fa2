import { isRoleName, isTokenUserName } from '../../acl/user.ts'
import { passwordLogsIn } from '../../acl/password.ts'
import { describeClient } from '../../client/describe.ts'
import type { CompiledGrant } from '../../token/grant/grants.ts'
import { unsubscribePush } from '../../token/revoke/enforcement.ts'
import type { TokenLogin } from '../../token/session/session-parts.ts'
import type { CommandContext } from '../context.ts'
import { TOKEN_IN_MULTI, WRONG_PASSWORD } from '../error-texts.ts'
import type { Request } from '../../resp/request.ts'

const NO_PASSWORD_CONFIGURED =
  'ERR AUTH <password> called without any password configured for the default user. ' +
  'Are you sure your configuration is correct?'

/** Credentials as AUTH and HELLO AUTH carry them. */
export type Credentials =
  | { readonly kind: 'password'; readonly user: string; readonly password: string }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'refused'; readonly error: string }

/** Reads `user password`, `jwt token`, or the one argument that is the default user's password or else a token. */
export function readCredentials(
  context: CommandContext,
  user: string | undefined,
  secret: string,
): Credentials {
  const { tokens, users } = context.server
  if (user === 'jwt' && tokens.enabled) return { kind: 'token', token: secret }
  if (user !== undefined) return { kind: 'password', user, password: secret }
  if (!users.default.noPassword && passwordLogsIn(users.default, secret)) {
    return { kind: 'password', user: 'default', password: secret }
  }
  if (tokens.looksLikeToken(secret)) return { kind: 'token', token: secret }
  if (users.default.noPassword) return { kind: 'refused', error: NO_PASSWORD_CONFIGURED }
  return { kind: 'password', user: 'default', password: secret }
}

/** The credentials of `AUTH ...`, or the error of its form. */
export function authCredentials(context: CommandContext, request: Request): Credentials {
  if (request.count > 3) return { kind: 'refused', error: 'ERR syntax error' }
  return request.count === 2
    ? readCredentials(context, undefined, request.text(1))
    : readCredentials(context, request.text(1), request.text(2))
}

/** A login by token takes time, which a transaction does not have. */
export function refuseTokenInMulti(credentials: Credentials | undefined): string | undefined {
  return credentials?.kind === 'token' ? TOKEN_IN_MULTI : undefined
}

/**
 * Logs in by password.
 *
 * @param word The command as typed: ACL LOG's object.
 * @returns The error line, or undefined: the client is that user now. A failure changes nothing.
 */
export function loginByPassword(
  context: CommandContext,
  credentials: { readonly user: string; readonly password: string },
  word: string,
): string | undefined {
  const { client, server } = context
  const user = server.users.get(credentials.user)
  const named = isTokenUserName(credentials.user) || isRoleName(credentials.user)
  const reserved = server.tokens.enabled && (named || credentials.user === 'jwt')
  // Compared in any case, so that the time taken tells nothing about which users there are.
  const matches = passwordLogsIn(user, credentials.password)
  const transportAllows =
    client.origin.listener !== 'public' || server.config.boolean('ws-password-auth')
  const allowed = transportAllows && !(client.isWebSocket && user?.noPassword)
  if (!matches || reserved || !allowed || user === undefined || isRoleName(user.name)) {
    logFailedLogin(context, credentials.user, word)
    return WRONG_PASSWORD
  }
  const refusal = server.tokens.grantOf(client) && client.subscriptions.any
  if (refusal)
    return 'ERR AUTH as another user is not allowed while a token session has subscriptions'
  server.tokens.end(client)
  server.clients.setIdentity(client, { user, ceilings: [], token: undefined })
  client.authenticate()
  client.authEpoch++
  return undefined
}

/** ACL LOG's entry of a failed login. Never the secret. */
export function logFailedLogin(context: CommandContext, user: string, word: string): void {
  const { client, server } = context
  server.aclLog.add(
    {
      reason: 'auth',
      context: client.transaction || context.inTransaction ? 'multi' : 'toplevel',
      object: word,
      username: user,
      clientInfo: describeClient(client, server.clock.monotonicMs()),
    },
    server.clock.wallMs(),
  )
}

/**
 * Puts a verified token in force and writes the pushes of what it lost, in front of the reply that the caller writes.
 *
 * @returns The error line, or undefined.
 */
export function finishTokenLogin(
  context: CommandContext,
  result: TokenLogin,
  epoch: number,
  word: string,
): string | undefined {
  const { client, server } = context
  if (client.authEpoch !== epoch) return 'WRONGPASS invalid token'
  if ('error' in result) {
    logFailedLogin(context, 'jwt', word)
    if (client.isWebSocket && !client.authenticated) {
      client.close(result.cause)
    }
    return result.error
  }
  const refusal = server.tokens.refuseChange(client, result.ok)
  if (refusal !== undefined) {
    if (refusal.startsWith('WRONGPASS ')) logFailedLogin(context, 'jwt', word)
    return refusal
  }
  enterTokenSession(context, result.ok)
  return undefined
}

function enterTokenSession(context: CommandContext, grant: CompiledGrant): void {
  const { client, server, reply } = context
  for (const lost of server.tokens.login(client, grant)) {
    const frame = unsubscribePush(client, lost)
    // CLIENT REPLY drops replies, but no push.
    if (client.replyMode === 'on') reply.raw(frame)
    else client.output.push(frame)
  }
}
