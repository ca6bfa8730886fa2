import type { Glob } from '../../../shared/glob.ts'
import { KEY_PAIR_ALGORITHMS, SECRET_ALGORITHMS } from './keys.ts'
import { toByteString } from '../text.ts'

/** The shortest secret accepted, in bytes. */
export const MIN_SECRET_BYTES = 32

/** A secret, or the file that holds it, which still verifies while its successor is rolled out. */
export type PreviousSecret = ({ readonly secret: Uint8Array } | { readonly path: string }) & {
  /** Wall clock, ms since 1970: from then on it verifies nothing. */
  readonly validUntilMs: number
}

/** The source of an issuer's keys. */
export type KeySource =
  | { readonly kind: 'secret'; readonly secret: Uint8Array; readonly previous?: PreviousSecret }
  /** One trailing line break of the file is not part of the secret. */
  | { readonly kind: 'secret-file'; readonly path: string; readonly previous?: PreviousSecret }
  /** PEM, `PUBLIC KEY` or `CERTIFICATE`. */
  | { readonly kind: 'public-key-file'; readonly path: string }
  | { readonly kind: 'jwks-file'; readonly path: string }
  | { readonly kind: 'jwks-url'; readonly url: string }

/** The format in which tokens of an issuer claim their grants, see `readGrants`. */
export type ClaimsFormat =
  /** An object of its own, under the name or dotted path `claim` of the issuer. */
  | { readonly kind: 'respcast' }
  /** Scopes with prefixes in one string, for this server those that begin with `prefix`. */
  | { readonly kind: 'scope'; readonly claim: string; readonly prefix: string }
  /** RFC 9396. */
  | { readonly kind: 'authorization-details' }
  /** A list of groups, some of which stand for roles (byte strings). */
  | {
      readonly kind: 'groups'
      readonly claim: string
      readonly roles: ReadonlyMap<string, readonly string[]>
    }

/** One party whose tokens log in: settings as plain data. */
export interface Issuer {
  /** `undefined` for the default issuer (`jwt-...` directives), else the name in `issuer <alias> ...`. */
  readonly alias: string | undefined
  /** The `iss` claim of its tokens, compared exactly. */
  readonly iss: string
  /** A token must be meant for one of these (`aud`). */
  readonly audience: readonly string[]
  /** Accepted signature algorithms; may be empty for a secret, which then means HS256. */
  readonly algorithms: readonly string[]
  readonly keys: KeySource
  /** A token must name its key (`kid` in its header). */
  readonly requireKid: boolean
  /** Name or dotted path of the claim that holds the grants. */
  readonly claim: string
  readonly format: ClaimsFormat
  /** The roles it may name (globs over byte strings, without `role:`); `undefined` is all. */
  readonly roles: readonly Glob[] | undefined
  /** Name of the ACL user that bounds the grants of its tokens (byte string); empty is none. */
  readonly ceiling: string
  /** Tolerance for `nbf` and `iat`; never for `exp`. */
  readonly leewaySeconds: number
  /** Longest accepted `exp - iat`. */
  readonly maxLifetimeSeconds: number
}

/** The settings of an issuer that judge what its tokens say. */
export type PayloadRules = Pick<
  Issuer,
  'audience' | 'claim' | 'format' | 'leewaySeconds' | 'maxLifetimeSeconds'
>

/** The algorithms with which tokens of an issuer may be signed. */
export function pinnedAlgorithms(issuer: Issuer): readonly string[] {
  return issuer.algorithms.length === 0 && hasSecret(issuer) ? ['HS256'] : issuer.algorithms
}

/** Name of the ACL user that a token is compiled into: `jwt:<sub>`, or `jwt@<alias>:<sub>`. Byte strings. */
export function tokenUserName(alias: string | undefined, sub: string): string {
  return alias === undefined ? `jwt:${sub}` : `jwt@${alias}:${sub}`
}

/** Reports whether tokens of an issuer may name a role; one that they may not name grants nothing to them. */
export function mayNameRole({ roles }: Issuer, role: string): boolean {
  return roles === undefined || roles.some((glob) => glob.matches(role))
}

/** The id under which a session's key is known: one key that two issuers share is two keys. */
export function sessionKeyId(alias: string | undefined, keyId: string): string {
  return alias === undefined ? keyId : `${alias}:${keyId}`
}

/** The byte string of an issuer's `iss`. */
export function issuerName(issuer: Issuer): string {
  return toByteString(issuer.iss)
}

/** The problems of a list of issuers, one sentence each that names the directive. */
export function issuerProblems(issuers: readonly Issuer[]): string[] {
  const problems: string[] = []
  const aliases = new Set<string | undefined>()
  const names = new Map<string, string>()
  for (const issuer of issuers) {
    problems.push(...problemsOf(issuer))
    if (aliases.has(issuer.alias)) {
      problems.push(`issuer '${issuer.alias ?? 'default'}' is configured twice`)
    }
    aliases.add(issuer.alias)
    const twin = names.get(issuer.iss)
    if (twin !== undefined && issuer.iss !== '') {
      problems.push(`${issuerDirective(issuer, 'issuer')} is the same as ${twin}: '${issuer.iss}'`)
    }
    names.set(issuer.iss, issuerDirective(issuer, 'issuer'))
  }
  return problems
}

/** The directive that sets a property of an issuer. */
export function issuerDirective(issuer: Pick<Issuer, 'alias'>, name: string): string {
  return issuer.alias === undefined ? `jwt-${name}` : `issuer ${issuer.alias} ${name}`
}

function hasSecret(issuer: Issuer): boolean {
  return issuer.keys.kind === 'secret' || issuer.keys.kind === 'secret-file'
}

function problemsOf(issuer: Issuer): string[] {
  const problems: string[] = []
  const say = (name: string, text: string): void => {
    problems.push(`${issuerDirective(issuer, name)} ${text}`)
  }

  if (issuer.alias !== undefined && !/^[a-z0-9-]{1,32}$/.test(issuer.alias)) {
    problems.push(
      `issuer '${issuer.alias}' must have a name of 1 to 32 characters out of a-z, 0-9 and '-'`,
    )
  }
  if (issuer.alias === 'default') {
    problems.push("issuer 'default' is the one of the jwt- directives; give this one another name")
  }
  if (issuer.iss === '') say('issuer', "must be the exact 'iss' claim of the tokens")
  if (issuer.audience.length === 0 || issuer.audience.includes('')) {
    say(
      'audience',
      "must be the 'aud' claim of the tokens; a token for somebody else must not log in",
    )
  }
  if (issuer.claim === '') say('claim', 'must name a claim')
  if (!isSeconds(issuer.leewaySeconds, 0, 300)) say('leeway', 'must be 0 to 300 seconds')
  if (!isSeconds(issuer.maxLifetimeSeconds, 1, Number.MAX_SAFE_INTEGER)) {
    say('max-lifetime', 'must be a whole number of seconds, at least 1')
  }
  formatProblems(issuer, say)
  algorithmProblems(issuer, (text) => say('algorithms', text))
  keyProblems(issuer, say)
  return problems
}

function formatProblems(issuer: Issuer, say: (name: string, text: string) => void): void {
  const { format } = issuer
  if (format.kind === 'scope' && format.claim === '') say('scope-claim', 'must name a claim')
  if (format.kind !== 'groups') return
  if (format.claim === '') say('groups-claim', 'must name a claim')
  if (format.roles.size === 0) {
    say('group-role', 'must name a group and its role, since claims-format is groups')
  }
  for (const [group, roles] of format.roles) {
    const foreign = roles.find((role) => !mayNameRole(issuer, role))
    if (foreign === undefined) continue
    say(
      'group-role',
      `gives '${group}' the role '${foreign}', which ${issuerDirective(issuer, 'roles')} lacks`,
    )
  }
}

function isSeconds(value: number, least: number, most: number): boolean {
  return Number.isSafeInteger(value) && value >= least && value <= most
}

function algorithmProblems(issuer: Issuer, say: (text: string) => void): void {
  const wanted = hasSecret(issuer) ? SECRET_ALGORITHMS : KEY_PAIR_ALGORITHMS
  if (!hasSecret(issuer) && issuer.algorithms.length === 0) {
    say('must name the algorithms of the keys, for example ES256 or RS256')
  }
  for (const algorithm of issuer.algorithms) {
    if (wanted.includes(algorithm)) continue
    if (algorithm.toLowerCase() === 'none') say("cannot hold 'none': such a token is not signed")
    else if (SECRET_ALGORITHMS.includes(algorithm)) {
      say(`cannot hold ${algorithm} for public keys: a public key is not a secret`)
    } else if (KEY_PAIR_ALGORITHMS.includes(algorithm)) {
      say(`cannot hold ${algorithm} for a secret; use ${SECRET_ALGORITHMS.join(', ')}`)
    } else say(`does not know '${algorithm}'; use ${wanted.join(', ')}`)
  }
}

function keyProblems(issuer: Issuer, say: (name: string, text: string) => void): void {
  const keys = issuer.keys
  if (keys.kind === 'secret' && keys.secret.length < MIN_SECRET_BYTES) {
    say('secret', `must be at least ${MIN_SECRET_BYTES} bytes; it has ${keys.secret.length}`)
  }
  if ((keys.kind === 'secret' || keys.kind === 'secret-file') && keys.previous !== undefined) {
    if ('secret' in keys.previous && keys.previous.secret.length < MIN_SECRET_BYTES) {
      say('previous-secret', `must be at least ${MIN_SECRET_BYTES} bytes`)
    }
    if (!(keys.previous.validUntilMs > 0 && Number.isFinite(keys.previous.validUntilMs))) {
      say('previous-secret-until', 'must say when the previous secret ends')
    }
  }
  if (keys.kind === 'jwks-url') urlProblems(keys.url, (text) => say('jwks-url', text))
  if ('path' in keys && keys.path === '') say(keys.kind, 'must name a file')
  const of = (name: string): string => issuerDirective(issuer, name)
  if (issuer.requireKid && keys.kind !== 'jwks-file' && keys.kind !== 'jwks-url') {
    say(
      'require-kid',
      `needs keys that have a kid. Set ${of('jwks-file')} or ${of('jwks-url')}, or ${of('require-kid')} no`,
    )
  }
}

function urlProblems(text: string, say: (text: string) => void): void {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) say('is not a URL')
  else if (url.username !== '' || url.password !== '') say('cannot hold a user name or password')
  else if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    say('must be https: whoever is on the way could put their own keys in (http only for loopback)')
  } else if (url.protocol !== 'https:' && url.protocol !== 'http:') say('must be an https URL')
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
