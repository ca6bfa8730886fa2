import type { FastifyRequest } from 'fastify'
import type { Client } from '../client/client.ts'
import type { Core } from '../core.ts'
import type { ErrorLine } from '../resp/reply-writer.ts'
import { basicOf } from './credentials.ts'
import { rejectionRefusal, tokenOf } from './entrance.ts'
import { failureOf, failureOfLine, type Failure } from './failure.ts'

/** Redis' own answer to who has not logged in. */
export const NO_AUTH: ErrorLine = 'NOAUTH Authentication required.'

/** For ACL LOG: the command that logs in. */
const OBJECT = 'http'

/**
 * Logs a client in with the credentials of a request: a token, or user and password (Basic).
 *
 * @param options.query A token of the query string counts, where `ws-token-query` allows it.
 * @returns The failure, if it is not logged in.
 */
export async function authenticate(
  core: Core,
  request: FastifyRequest,
  client: Client,
  options: { readonly query: boolean },
): Promise<Failure | undefined> {
  const { login } = core
  const basic = basicOf(request.headers.authorization)
  const read = basic && login.read(basic.user, basic.password)
  const token = read?.kind === 'token' ? read.token : tokenOf(request, core, options)
  if (token !== undefined) {
    const error = await login.byToken(client, token, OBJECT)
    if (error !== undefined) return failureOfLine(error)
  } else if (read?.kind === 'password') {
    const failed = login.byPassword(client, read, OBJECT, 'toplevel')
    if (failed && failed.waitMs > 0) await login.waited(failed.waitMs)
    if (failed) return failureOfLine(failed.error)
  } else {
    return failureOfLine(NO_AUTH)
  }
  // It gave way to others, or the server ends.
  return client.closed ? failureOf(rejectionRefusal('maxclients')) : undefined
}
