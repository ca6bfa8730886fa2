import { createHash, timingSafeEqual } from 'node:crypto'
import { isLoopback } from '../addresses.ts'

/** A request for `/metrics`. */
interface MetricsRequest {
  /** The Authorization header. */
  readonly authorization: string | undefined
  /** The address of this machine that was asked. */
  readonly localAddress: string
}

/** What the administrators' listener is set up to accept. */
interface MetricsRules {
  /** `metrics-token`. */
  readonly token: string | undefined
  /** Clients need a certificate, or `admin-insecure` says that the network is trusted. */
  readonly isTrusted: boolean
}

/** An HTTP answer instead of figures. */
interface Refusal {
  readonly status: 401 | 403
  readonly error: string
}

/**
 * Judges a request for figures. Where a token is set it is needed everywhere, as `Authorization: Bearer`, or as the password of
 * Basic under any name (RFC 6750, RFC 7617). Without one only this machine is answered, unless the listener is trusted.
 *
 * @returns Undefined where it may have them.
 */
export function refusalOfMetrics(
  { authorization, localAddress }: MetricsRequest,
  { token, isTrusted }: MetricsRules,
): Refusal | undefined {
  if (token !== undefined) {
    const given = credentialOf(authorization ?? '')
    if (given !== undefined && isSame(given, token)) return undefined
    return { status: 401, error: 'figures need the token of metrics-token-file' }
  }
  if (isTrusted || isLoopback(localAddress)) return undefined
  return { status: 403, error: 'beyond loopback figures need a token; set metrics-token-file' }
}

function credentialOf(authorization: string): string | undefined {
  const [, scheme = '', value = ''] = /^(Bearer|Basic) +(\S+) *$/i.exec(authorization) ?? []
  if (scheme === '') return undefined
  if (scheme.toLowerCase() === 'bearer') return value
  const pair = Buffer.from(value, 'base64').toString('latin1')
  const colon = pair.indexOf(':')
  return colon < 0 ? undefined : pair.slice(colon + 1)
}

/** In a time that depends on neither text. */
function isSame(left: string, right: string): boolean {
  return timingSafeEqual(digestOf(left), digestOf(right))
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text, 'latin1').digest()
}
