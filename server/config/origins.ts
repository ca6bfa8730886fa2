/** An entry of `ws-allowed-origins`. */
export interface OriginRule {
  /** As a browser writes it: scheme, host in lower case, and a port that is not the scheme's own (RFC 6454 section 6.2). */
  readonly origin: string
  /** The end of the host, with its dot, where the first label is `*`. */
  readonly suffix: string | undefined
}

/** The entry that allows every origin. */
export const ANY_ORIGIN = '*'

/**
 * Reads the entries of `ws-allowed-origins`. What is plainly meant is put as browsers write it: other case, the scheme's own
 * port, a slash at the end, commas.
 *
 * @throws Error with a clause that names the entry and the remedy, for one that no browser's Origin could ever equal.
 */
export function originRules(entries: readonly string[]): readonly OriginRule[] {
  return entries
    .flatMap((entry) => entry.split(','))
    .filter((entry) => entry !== '')
    .map((entry) => readOrigin(entry))
}

/** The problem of the entries, if there is one: a check of the directive. */
export function originProblem(entries: readonly string[]): string | undefined {
  try {
    originRules(entries)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** Reports whether an entry allows an origin, which is as the browser sent it. */
export function allowsOrigin({ origin: rule, suffix }: OriginRule, origin: string): boolean {
  if (rule === ANY_ORIGIN || rule === origin) return true
  if (suffix === undefined || !URL.canParse(origin)) return false
  const { hostname, origin: plain } = new URL(origin)
  const label = hostname.slice(0, -suffix.length)
  return (
    plain === origin &&
    hostname === label + suffix &&
    /^[^.]+$/.test(label) &&
    rule === origin.replace(hostname, `*${suffix}`)
  )
}

function readOrigin(entry: string): OriginRule {
  const fail = (problem: string): never => {
    throw new Error(`argument '${entry}' ${problem}`)
  }
  if (entry === ANY_ORIGIN) return { origin: ANY_ORIGIN, suffix: undefined }
  if (entry === 'null') {
    return fail('is the origin of any file and any sandboxed page; it cannot be told from others')
  }
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(entry)) {
    return fail(`has no scheme; give https://${entry.replace(/^\/+|\/.*$/g, '')}`)
  }
  if (!/^https?:/i.test(entry)) {
    // Schemes of applications: `capacitor://localhost`, `chrome-extension://<id>`.
    if (!/^[^/]+\/\/[^/?#@]+\/?$/.test(entry)) return fail('is no origin; give scheme://host')
    return { origin: entry.replace(/\/$/, ''), suffix: undefined }
  }
  if (!URL.canParse(entry)) return fail('is no origin; give https://host or https://host:port')
  const { origin, hostname, pathname, search, hash, username, password } = new URL(entry)
  if (pathname !== '/' || search !== '' || hash !== '' || username !== '' || password !== '') {
    return fail(`has more than scheme, host and port; give ${origin}`)
  }
  if (!hostname.includes('*')) return { origin, suffix: undefined }
  const suffix = hostname.slice(1)
  if (!/^\.[^*.]+(\.[^*.]+)+$/.test(suffix)) {
    return fail('may have * as its first label only, as in https://*.example.com')
  }
  return { origin, suffix }
}
