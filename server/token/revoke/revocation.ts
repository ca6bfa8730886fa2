import type { CompiledGrant } from '../grant/grants.ts'
import type { KeyNames } from '../verify/keys.ts'

/** The properties by which a revocation names tokens, and `channel`. */
export const REVOCATION_KINDS = [
  'jti',
  'sub',
  'group',
  'role',
  'kid',
  'key',
  'issuer',
  'all',
  'channel',
] as const

/** One of {@link REVOCATION_KINDS}. */
export type RevocationKind = (typeof REVOCATION_KINDS)[number]

/** The kinds that name tokens, and not channels. */
export type IdentityKind = Exclude<RevocationKind, 'channel'>

/** The sessions that lose a channel: `FOR SUB`, `FOR ROLE`, `FOR GROUP`. */
export interface RevocationScope {
  readonly kind: 'sub' | 'role' | 'group'
  /** Byte string. */
  readonly name: string
}

/** A revocation as TOKEN REVOKE orders it. Times are milliseconds since 1970, names byte strings. */
export interface RevocationOrder {
  readonly kind: RevocationKind
  /** The id, subject, group, role (without `role:`), key id, key thumbprint, alias of an issuer, or channel pattern; empty for `all`. */
  readonly target: string
  /**
   * KID, KEY: thumbprints of further keys that it holds against, since the target named them once. A key that is renamed in
   * its set stays revoked.
   */
  readonly keys?: readonly string[] | undefined
  /** FROM: the label of an issuer, see {@link issuerLabel}. */
  readonly issuer: string | undefined
  readonly scope: RevocationScope | undefined
  readonly only: 'subscribe' | 'publish' | undefined
  /** Tokens issued at or before this are refused; undefined where `iat` is ignored (JTI, KID, KEY, HARD, CHANNEL). */
  readonly beforeMs: number | undefined
  readonly hard: boolean
  /** Undefined for PERSIST. The record may hold for longer, see {@link RevocationTable.endOf}. */
  readonly expiresAtMs: number | undefined
  /** The tokens that exist were issued by then, where BEFORE does not say so. */
  readonly issuedByMs?: number | undefined
  /** For the audit log. */
  readonly reason: string
  /** For the clients that it hits; empty for the default text. */
  readonly message: string
}

/** A revocation in force. */
export interface Revocation extends RevocationOrder {
  /** Unique in one log, also across restarts. */
  readonly id: number
  /** The user who made it. */
  readonly by: string
  readonly atMs: number
  /** Live sessions that it hit when it was made. */
  readonly hit: number
  /** It stands for several that have ended, see {@link EndedRevocations}. */
  readonly isMerged?: boolean | undefined
}

/** The properties of a session that revocations look at. */
type RevocationSubject = Pick<
  CompiledGrant,
  'sub' | 'jti' | 'group' | 'roles' | 'kid' | 'key' | 'issuerAlias' | 'issuedAtMs'
>

/** Prefix of the registers of revocations; their names are ids. */
export const REVOCATION_PREFIX = 'r'

const KEY_START = `${REVOCATION_PREFIX}:`

/** The key of the register of a revocation. */
export function keyOf(id: number): string {
  return `${KEY_START}${id}`
}

/** The id of the revocation whose register this is; undefined for a register of another part. */
export function idOf(key: string): number | undefined {
  return key.startsWith(KEY_START) ? Number(key.slice(KEY_START.length)) : undefined
}

/** Maximum number of revocations in force. */
export const MAX_REVOCATIONS = 250_000

/** The name of an issuer in FROM and ISSUER: its alias, or `default`. */
export function issuerLabel(alias: string | undefined): string {
  return alias ?? 'default'
}

/**
 * The names under which a session is found by each kind of revocation. Its key ids are that of the key which verified its
 * token, and the one that the token's header claims.
 */
export function namesOf(subject: RevocationSubject): readonly (readonly [IdentityKind, string])[] {
  const names: (readonly [IdentityKind, string])[] = []
  eachName(subject, (kind, name) => names.push([kind, name]))
  return names
}

/** Visits the names of {@link namesOf}. */
export function eachName(
  subject: RevocationSubject,
  visit: (kind: IdentityKind, name: string) => void,
): void {
  const { sub, jti, group, roles, kid, key, issuerAlias } = subject
  visit('sub', sub)
  if (jti !== undefined) visit('jti', jti)
  if (group !== undefined) visit('group', group)
  if (kid !== undefined) visit('kid', kid)
  if (key.kid !== undefined && key.kid !== kid) visit('kid', key.kid)
  visit('key', key.thumbprint)
  for (const role of roles.length > 1 ? new Set(roles) : roles) visit('role', role)
  visit('issuer', issuerLabel(issuerAlias))
  visit('all', '')
}

/** Reports whether a session is of the issuer that FROM names, if there is one. */
export function isFrom(
  order: RevocationOrder,
  { issuerAlias }: Pick<RevocationSubject, 'issuerAlias'>,
): boolean {
  return order.issuer === undefined || order.issuer === issuerLabel(issuerAlias)
}

/** Reports whether an order names a token, apart from its `iat`. */
export function isNamed(order: RevocationOrder, subject: RevocationSubject): boolean {
  const { kind, target, keys } = order
  return (
    isFrom(order, subject) &&
    (keys?.includes(subject.key.thumbprint) === true ||
      namesOf(subject).some(([each, name]) => each === kind && name === target))
  )
}

/** Reports whether a kind revokes keys. */
export function isOfKey(kind: RevocationKind): kind is 'kid' | 'key' {
  return kind === 'kid' || kind === 'key'
}

/** Reports whether an order names a key by its own `kid`, its thumbprint or another digest of it. */
export function namesKey({ kind, target }: RevocationOrder, key: KeyNames): boolean {
  if (kind === 'kid') return key.kid === target
  return kind === 'key' && (key.thumbprint === target || key.digests.includes(target))
}

/** Reports whether a session is one of those that lose a channel (FOR, FROM). */
export function isInScope(order: RevocationOrder, subject: RevocationSubject): boolean {
  if (!isFrom(order, subject)) return false
  const { scope } = order
  if (scope === undefined) return true
  if (scope.kind === 'role') return subject.roles.includes(scope.name)
  return subject[scope.kind] === scope.name
}

/**
 * The time by which the tokens that a revocation is about were issued, in ms since 1970: BEFORE, or the time of the order
 * with the leeway of the issuer's clock.
 */
export function issuedBy({ beforeMs, issuedByMs, atMs }: Revocation): number {
  return beforeMs ?? issuedByMs ?? atMs
}

/** The keys under which a record is filed: the names by which it refuses tokens; none for a channel. */
export function nameKeys({ kind, target, keys }: RevocationOrder): Iterable<string> {
  if (kind === 'channel') return []
  if (keys === undefined) return [nameKey(kind, target)]
  return new Set([nameKey(kind, target), ...keys.map((key) => nameKey('key', key))])
}

/** The key of one name, see {@link namesOf}. */
export function nameKey(kind: RevocationKind, name: string): string {
  return `${kind}\n${name}`
}

/** Reports whether a revocation that names a token also covers the time at which it was issued. */
export function coversIssueTime(order: RevocationOrder, issuedAtMs: number): boolean {
  return order.beforeMs === undefined || issuedAtMs <= order.beforeMs
}

/** The text for the clients that a revocation hits. */
export function messageOf({ kind, message }: RevocationOrder): string {
  if (message !== '') return message
  return kind === 'channel' ? 'channel revoked' : 'token revoked'
}
