import { allowsOrigin, originRules } from '../config/origins.ts'

/** Headers that decide whether a page may open a WebSocket here. */
interface OriginRequest {
  /** The Origin header; undefined without one, as from clients that are no browser. */
  readonly origin: string | undefined
  /** The host the client asked for, with its port if it named one (Host, or X-Forwarded-Host of a trusted proxy). */
  readonly host: string
}

/** Ports that a URL of the scheme leaves out. */
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/** Longer than the origin of any page: a host has at most 253 characters (RFC 1035 section 3.1). An origin is kept and shown. */
const LONGEST_ORIGIN = 300

/**
 * Reports whether a WebSocket may be opened from an origin: browsers send cookies and reach private networks with any page's
 * requests, so the page's origin has to be trusted (RFC 6455 section 10.2).
 *
 * Without a list only the own origin may: its host and port equal those asked for, with any scheme, since TLS may end at a
 * proxy. With a list, an entry has to allow it.
 *
 * @param allowed `ws-allowed-origins`.
 */
export function isOriginAllowed(request: OriginRequest, allowed: readonly string[]): boolean {
  const { origin, host } = request
  if (origin === undefined) return true
  if (origin.length > LONGEST_ORIGIN) return false
  if (allowed.length > 0) return originRules(allowed).some((rule) => allowsOrigin(rule, origin))
  let url: URL
  try {
    url = new URL(origin)
  } catch {
    return false
  }
  // Anything beyond scheme, host and port is not an origin (RFC 6454 section 6.2), and `null` belongs to no page.
  if (url.origin === 'null' || url.origin !== origin) return false
  return samePlace(url, host)
}

function samePlace(origin: URL, host: string): boolean {
  const defaultPort = DEFAULT_PORTS[origin.protocol]
  if (defaultPort === undefined) return false
  let asked: URL
  try {
    asked = new URL(`${origin.protocol}//${host}`)
  } catch {
    return false
  }
  return asked.hostname === origin.hostname && asked.port === origin.port
}
