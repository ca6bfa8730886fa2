import { SignJWT } from 'jose'
import type { Clock } from '../clock.ts'

/** The content of a development token. An absent list differs from an empty one. */
export interface TokenRequest {
  readonly iss: string
  readonly aud: string
  readonly sub: string
  /** From now to `exp`. */
  readonly lifetimeSeconds: number
  readonly jti?: string
  /** Name of the claim that holds the grants. */
  readonly claim: string
  readonly grants: {
    readonly roles?: readonly string[]
    readonly channels?: readonly string[]
    readonly subscribe?: readonly string[]
    readonly publish?: readonly string[]
    readonly deny?: readonly string[]
    readonly group?: string
  }
  /** Further claims, for placeholders in roles. They cannot replace those above. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/**
 * Signs a token with a shared secret (HS256), for development and tests.
 *
 * @param secret At least 32 bytes.
 * @returns The compact form.
 */
export async function mintToken(
  secret: Uint8Array,
  request: TokenRequest,
  clock: Clock,
): Promise<string> {
  const nowSeconds = Math.floor(clock.wallMs() / 1000)
  const payload = {
    ...request.claims,
    // The whole name as one key: a dotted path is looked up that way first.
    [request.claim]: request.grants,
    iss: request.iss,
    aud: request.aud,
    sub: request.sub,
    iat: nowSeconds,
    exp: nowSeconds + request.lifetimeSeconds,
    ...(request.jti === undefined ? {} : { jti: request.jti }),
  }
  return new SignJWT(payload).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(secret)
}
