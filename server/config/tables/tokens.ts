import {
  AT_START,
  LONG_MAX,
  boolean,
  choice,
  integer,
  lines,
  list,
  memory,
  seconds,
  string,
} from '../spec.ts'
import type { Spec, Traits } from '../spec.ts'
import { parseValue } from '../values.ts'

const ALGORITHMS =
  'HS256 HS384 HS512 RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ')

const SECRET: Traits = { secret: true, sensitive: true }
const KEY_FILE: Traits = { volatile: true }

/** Alias of an issuer: part of user names, `jwt@<alias>:<sub>`. */
const ALIAS = /^[a-z0-9-]{1,32}$/

/** Name of the issuer of the `jwt-` directives in commands, which no other can have. */
const DEFAULT_ISSUER = 'default'

function checkAlgorithms(words: readonly string[]): string | undefined {
  const unknown = words.find((word) => !ALGORITHMS.includes(word))
  return unknown === undefined
    ? undefined
    : `argument(s) must be one of the following: ${ALGORITHMS.join(', ')}`
}

function checkGroupRole(words: readonly string[]): string | undefined {
  const valid = words.length === 2 && words.every((word) => word !== '')
  return valid ? undefined : 'wrong number of arguments: a group and a role'
}

/**
 * Properties of an issuer of tokens: `jwt-<name>` for the default issuer,
 * `issuer <alias> <name>` for any other.
 */
export const ISSUER_PROPERTIES = {
  issuer: string('', 'Exact `iss` of the tokens.'),
  audience: list('', 'Accepted `aud` values; one of them must be in the token.'),
  algorithms: list('', 'Signature algorithms, pinned; required for keys by URL or file.', {
    check: checkAlgorithms,
  }),
  // A URL with a password is refused, and not shown.
  'jwks-url': string('', 'Key source: a JWKS behind a URL.', { ...KEY_FILE, sensitive: true }),
  'jwks-file': string('', 'Key source: a JWKS file.', KEY_FILE),
  'public-key-file': string('', 'Key source: a public key (PEM).', KEY_FILE),
  'secret-file': string(
    '',
    'Key source: a file that holds a shared secret of at least 32 bytes.',
    KEY_FILE,
  ),
  secret: string(
    '',
    'Key source: a shared secret of at least 32 bytes; file or environment only.',
    SECRET,
  ),
  'previous-secret-file': string('', 'The secret before the last rotation, as a file.', KEY_FILE),
  'previous-secret': string(
    '',
    'The secret before the last rotation; file or environment only.',
    SECRET,
  ),
  'previous-secret-until': integer(0, [0, LONG_MAX], 'When the previous secret ends to count.', {
    unit: 'seconds since 1970',
  }),
  'require-kid': boolean('no', 'Refuse tokens whose header names no key; only for a JWKS.'),
  'claims-format': choice(
    'respcast',
    ['respcast', 'scope', 'authorization-details', 'groups'],
    'Shape in which tokens say what they grant.',
  ),
  claim: string(
    'respcast',
    'Format `respcast`: claim that holds the grants: an own key, else a dotted path.',
  ),
  'scope-claim': string('scope', 'Format `scope`: claim that holds the scopes.'),
  'scope-prefix': string('', 'Format `scope`: what scopes for this server begin with.'),
  'groups-claim': string('groups', 'Format `groups`: claim that holds the list of groups.'),
  'group-role': lines('Format `groups`: a group, and a role that its members have.', {
    check: checkGroupRole,
  }),
  leeway: seconds(5, 'Clock difference allowed for `nbf` and `iat`.'),
  'max-lifetime': seconds(86_400, 'Longest life of a token, from `iat` (else now) to `exp`.', {
    min: 1,
  }),
  ceiling: string('', 'ACL user that bounds everything the issuer grants; empty is no bound.'),
}

/** Properties that only a named issuer has; the default issuer may name every role. */
export const NAMED_ISSUER_PROPERTIES = {
  roles: list(
    '',
    'Globs of role names (without `role:`) that the issuer may name; none by default.',
  ),
}

type Prefixed<T> = { [K in keyof T & string as `jwt-${K}`]: T[K] }

function defaultIssuer(): Prefixed<typeof ISSUER_PROPERTIES> {
  const entries = Object.entries(ISSUER_PROPERTIES).map(([name, spec]) => [`jwt-${name}`, spec])
  return Object.fromEntries(entries) as Prefixed<typeof ISSUER_PROPERTIES>
}

/** Tokens: issuers, lifetimes of sessions, and files of revocations. */
export const TOKENS = {
  ...defaultIssuer(),
  issuer: lines('A property of a further issuer: alias, name (as `jwt-*`, or `roles`), value.', {
    sensitive: true,
    volatile: true,
    check: issuerCheck({ ...ISSUER_PROPERTIES, ...NAMED_ISSUER_PROPERTIES }),
  }),
  'jwt-jwks-cooldown': seconds(
    30,
    'Least time between two fetches of a JWKS, also after failures.',
    { min: 1 },
  ),
  'jwt-jwks-refresh': seconds(600, 'Age at which a JWKS is fetched again.', { min: 1 }),
  'jwt-jwks-max-stale': seconds(
    86_400,
    'Age up to which the last good JWKS counts while its URL fails.',
  ),
  'token-expiry-grace': seconds(25, 'Time a session lives on after `exp`; 0 is strict.'),
  'placeholder-separators': string(
    ':',
    'Characters that a placeholder of a role may not bring in.',
    AT_START,
  ),
  'allow-public-allchannels': boolean(
    'no',
    'Accept `acl-pubsub-default allchannels` with a public WebSocket.',
  ),
  'token-log-file': string('token.log', 'Revocations, in `dir`.', AT_START),
  'token-audit-file': string('token-audit.log', 'Who revoked what and why, in `dir`.', AT_START),
  'token-audit-max': memory('64mb', 'Size at which the audit file is rotated.', {
    range: [4096, LONG_MAX],
  }),
}

/**
 * Makes the check of `issuer <alias> <name> <value>...` lines: alias, property name, and the value by the
 * property's own rules.
 *
 * @param properties The properties of an issuer.
 */
function issuerCheck(
  properties: Readonly<Record<string, Spec>>,
): (words: readonly string[]) => string | undefined {
  const known = new Map(Object.entries(properties))
  return ([alias, name, ...value]) => {
    if (alias === undefined || name === undefined || value.length === 0) {
      return 'wrong number of arguments: an issuer line is an alias, a property and its value'
    }
    if (!ALIAS.test(alias)) return 'an issuer alias is 1 to 32 of a-z, 0-9 and -'
    if (alias === DEFAULT_ISSUER) return "the issuer 'default' is that of the jwt- directives"
    const property = known.get(name)
    if (!property) return `an issuer has these properties: ${[...known.keys()].join(', ')}`
    const parsed = parseValue(property, value)
    return 'reason' in parsed ? `${name}: ${parsed.reason}` : undefined
  }
}

/** Reports whether the words of an `issuer` line give a secret itself. */
export function holdsSecret(words: readonly string[]): boolean {
  return words[1] === 'secret' || words[1] === 'previous-secret'
}
