/** The one subprotocol of the WebSocket: RESP3 in binary messages. The server echoes this and nothing else. */
export const RESP3_SUBPROTOCOL = 'resp3'

/** Prefix of a token that is sent as a subprotocol. Such an entry is never echoed. */
export const BEARER_PREFIX = 'bearer.'

/**
 * The longest token, in bytes, that goes into the subprotocol list. Longer ones are sent in-band by `AUTH`: servers and
 * proxies bound the size of a request's headers.
 */
const MAX_SUBPROTOCOL_TOKEN_BYTES = 4096

/** Subprotocol names are tokens in the sense of HTTP: RFC 6455 section 4.1, RFC 9110 section 5.6.2. */
const HTTP_TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** Reports whether a token can be sent as a subprotocol: short enough, and without separators. */
export function fitsSubprotocol(token: string): boolean {
  return token.length <= MAX_SUBPROTOCOL_TOKEN_BYTES && HTTP_TOKEN.test(token)
}

/** The subprotocols that a client offers: `resp3`, and `bearer.<token>` if a token is given. */
export function offerSubprotocols(token?: string): string[] {
  return token === undefined ? [RESP3_SUBPROTOCOL] : [RESP3_SUBPROTOCOL, BEARER_PREFIX + token]
}

/** Contents of the subprotocol list of a client. */
interface SubprotocolOffer {
  /** `resp3` is in the list. */
  readonly resp3: boolean
  /** The token of the first `bearer.<token>`. */
  readonly token: string | undefined
  /** Other names, in the order offered. */
  readonly unknown: readonly string[]
}

/**
 * Parses the subprotocols that a client offered, in their order.
 *
 * @param offered Names of `Sec-WebSocket-Protocol` (RFC 6455 section 11.3.4), without commas and spaces.
 */
export function readSubprotocols(offered: Iterable<string>): SubprotocolOffer {
  let resp3 = false
  let token: string | undefined
  const unknown: string[] = []
  for (const name of offered) {
    if (name === RESP3_SUBPROTOCOL) resp3 = true
    else if (name.startsWith(BEARER_PREFIX)) token ??= name.slice(BEARER_PREFIX.length)
    else unknown.push(name)
  }
  return { resp3, token, unknown }
}
