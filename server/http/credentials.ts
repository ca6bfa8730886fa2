import { readSubprotocols } from '../../shared/subprotocol.ts'

/** Parts of an upgrade request that may hold a token. */
export interface UpgradeHeaders {
  readonly authorization: string | undefined
  readonly subprotocols: string | undefined
  readonly cookie: string | undefined
  readonly query: Readonly<Record<string, unknown>>
}

/** Places where tokens are accepted besides the header and the subprotocol. */
interface CredentialSettings {
  /** `ws-token-cookie`; empty is nowhere. */
  readonly cookieName: string
  /** `ws-token-query`. */
  readonly query: boolean
}

/** The name of the query parameter. */
const QUERY_PARAMETER = 'token'

/** Most subprotocols that a client may offer. */
const MOST_SUBPROTOCOLS = 16

/** Names of the Sec-WebSocket-Protocol header, white space removed. */
function offeredSubprotocols(header: string | undefined): string[] {
  if (header === undefined) return []
  return header.split(',').map((name) => name.trim())
}

/** Returns the reason why an offer of subprotocols cannot be served, as a sentence for the peer. */
export function subprotocolProblem(header: string | undefined): string | undefined {
  const offered = offeredSubprotocols(header)
  if (offered.length > MOST_SUBPROTOCOLS) {
    return `at most ${MOST_SUBPROTOCOLS} subprotocols may be offered`
  }
  if (offered.length === 0 || readSubprotocols(offered).resp3) return undefined
  return "none of the offered subprotocols is served; offer 'resp3'"
}

/**
 * The token that came with an upgrade: `Authorization: Bearer`, the subprotocol `bearer.<token>`, and, where directives
 * allow them, a cookie or the query parameter `token`.
 */
export function tokenOfUpgrade(
  headers: UpgradeHeaders,
  settings: CredentialSettings,
): string | undefined {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
  if (bearer !== undefined) return bearer
  const { token } = readSubprotocols(offeredSubprotocols(headers.subprotocols))
  if (token !== undefined) return token
  const cookie =
    settings.cookieName === '' ? undefined : readCookie(headers.cookie, settings.cookieName)
  if (cookie !== undefined) return cookie
  const query = settings.query ? headers.query[QUERY_PARAMETER] : undefined
  return typeof query === 'string' && query !== '' ? query : undefined
}

/** The value of a cookie (RFC 6265 section 4.2.1); the first of that name counts. */
function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === name) {
      return pair.slice(equals + 1).trim() || undefined
    }
  }
  return undefined
}

/**
 * User and password of `Authorization: Basic` (RFC 7617), as byte strings.
 *
 * @returns Undefined for any other header.
 */
export function basicOf(
  authorization: string | undefined,
): { readonly user: string; readonly password: string } | undefined {
  const encoded = /^Basic +([\w+/-]+={0,2}) *$/i.exec(authorization ?? '')?.[1]
  if (encoded === undefined) return undefined
  const pair = Buffer.from(encoded, 'base64').toString('latin1')
  const colon = pair.indexOf(':')
  return colon < 0 ? undefined : { user: pair.slice(0, colon), password: pair.slice(colon + 1) }
}
