import { isJsonObject, lookUp, plainName, toByteString } from '../text.ts'
import type { JsonObject } from '../text.ts'
import type { PayloadRules } from './issuer.ts'
import { TokenFault } from './refusal.ts'

/** Most channel patterns of one token, expanded placeholders included. */
export const MAX_PATTERNS = 256

/** Longest pattern out of a token, in bytes. */
export const MAX_PATTERN_BYTES = 256

/** Longest role name, group, `jti` and `sub`, in bytes. */
export const MAX_NAME_BYTES = 256

/** The grants that a token asks for. A list is `undefined` if it is absent; absent and empty differ. All byte strings. */
export interface ClaimedGrant {
  /** Names without the `role:` that the ACL users have. */
  readonly roles: readonly string[] | undefined
  readonly channels: readonly string[] | undefined
  readonly subscribe: readonly string[] | undefined
  readonly publish: readonly string[] | undefined
  readonly deny: readonly string[]
  readonly group: string | undefined
}

/** The grants of a token without a claim for them, or with an empty one. */
const NO_CLAIMS: ClaimedGrant = {
  roles: undefined,
  channels: undefined,
  subscribe: undefined,
  publish: undefined,
  deny: [],
  group: undefined,
}

/**
 * Reads the grants that a token asks for, in the format of its issuer.
 *
 * All formats have the same rules: a malformed part rejects the whole token; a claim that is present is an explicit list, even
 * if nothing in it is for this server; only an absent claim leaves the decision to `acl-pubsub-default`.
 *
 * @param payload The verified payload.
 * @throws TokenFault for a malformed part, or more than 256 patterns in all.
 */
export function readGrants(
  payload: JsonObject,
  { claim, format }: Pick<PayloadRules, 'claim' | 'format'>,
): ClaimedGrant {
  switch (format.kind) {
    case 'respcast':
      return readClaim(payload, claim)
    case 'scope':
      return readScopes(payload, format.claim, format.prefix)
    case 'authorization-details':
      return readDetails(payload)
    case 'groups':
      return readGroups(payload, format.claim, format.roles)
  }
}

const LISTS = ['channels', 'subscribe', 'publish', 'deny'] as const
const CLAIM_KEYS: readonly string[] = ['roles', 'group', ...LISTS]

/**
 * Reads the claim object of the server's own format, strictly: a grant that is understood only in part is no grant.
 *
 * @param path Claim name, or dotted path of own keys.
 */
function readClaim(payload: JsonObject, path: string): ClaimedGrant {
  const found = lookUp(payload, path)
  if (found === undefined) return NO_CLAIMS
  // A path that ends in anything but an object is a fault, not an absence: under acl-pubsub-default
  // allchannels an absent claim means more than a present one.
  if (found === 'broken' || !isJsonObject(found.value)) {
    throw malformed('the claim of the grants is not an object')
  }
  const claim = found.value
  checkKeys(claim, CLAIM_KEYS, 'the claim')
  const lists = {
    channels: readList(claim, 'channels', MAX_PATTERN_BYTES),
    subscribe: readList(claim, 'subscribe', MAX_PATTERN_BYTES),
    publish: readList(claim, 'publish', MAX_PATTERN_BYTES),
    deny: readList(claim, 'deny', MAX_PATTERN_BYTES) ?? [],
  }
  const roles = readList(claim, 'roles', MAX_NAME_BYTES)
  return checkCounts({ roles, ...lists, group: readGroup(claim) })
}

function readList(claim: JsonObject, key: string, maxBytes: number): readonly string[] | undefined {
  if (!Object.hasOwn(claim, key)) return undefined
  const list = claim[key]
  if (!Array.isArray(list)) throw malformed(`${key} in the claim is not an array`)
  if (list.length > MAX_PATTERNS) throw tooMany(key)
  return list.map((entry: unknown) => {
    const name = plainName(entry, maxBytes)
    if (name === undefined) {
      throw malformed(
        `${key} in the claim holds what is not a string of 1 to ${maxBytes} bytes without white space or controls`,
      )
    }
    return name
  })
}

function readGroup(claim: JsonObject): string | undefined {
  if (!Object.hasOwn(claim, 'group')) return undefined
  const group = plainName(claim['group'], MAX_NAME_BYTES)
  if (group === undefined) throw malformed('group in the claim is not a plain string')
  return group
}

/** RFC 6749 section 3.3: scope tokens, separated by single spaces. */
const SCOPES = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/

/** The kinds of scopes: `<kind>:<name or pattern>`. */
const SCOPE_KINDS = ['subscribe', 'publish', 'channel', 'deny', 'role', 'group'] as const

/**
 * Reads space-separated scopes: `subscribe:<pattern>`, `publish:<pattern>`, `channel:<pattern>` (both), `deny:<pattern>`,
 * `role:<name>`, `group:<name>`. Scopes that begin in another way are for other servers and are ignored.
 *
 * @param path Claim name, or dotted path of own keys.
 * @param prefix Precedes each scope for this server, as in `respcast:subscribe:news`; may be empty.
 */
function readScopes(payload: JsonObject, path: string, prefix: string): ClaimedGrant {
  const found = lookUp(payload, path)
  if (found === undefined) return NO_CLAIMS
  if (found === 'broken' || typeof found.value !== 'string') {
    throw malformed('the claim of the scopes is not a string')
  }
  if (found.value !== '' && !SCOPES.test(found.value)) {
    throw malformed('the claim of the scopes is not scopes with single blanks between them')
  }

  const lists: Record<(typeof SCOPE_KINDS)[number], string[]> = {
    subscribe: [],
    publish: [],
    channel: [],
    deny: [],
    role: [],
    group: [],
  }
  for (const scope of found.value.split(' ')) {
    if (!scope.startsWith(prefix)) continue
    const own = scope.slice(prefix.length)
    const kind = SCOPE_KINDS.find((name) => own.startsWith(`${name}:`))
    if (kind === undefined) continue
    const most = kind === 'role' || kind === 'group' ? MAX_NAME_BYTES : MAX_PATTERN_BYTES
    const name = plainName(own.slice(kind.length + 1), most)
    if (name === undefined) {
      throw malformed(`a scope '${kind}:' goes on with nothing, or with more than ${most} bytes`)
    }
    lists[kind].push(name)
  }
  if (lists.group.length > 1) throw malformed('more than one group in the scopes')
  return checkCounts({
    roles: lists.role,
    channels: orAbsent(lists.channel),
    subscribe: orAbsent(lists.subscribe),
    publish: orAbsent(lists.publish),
    deny: lists.deny,
    group: lists.group[0],
  })
}

/** The name that RFC 9396 section 9.1 gives the claim in every token. */
const DETAILS = 'authorization_details'

const DETAIL_KEYS: readonly string[] = ['type', 'actions', 'channels', 'locations', 'roles']

/**
 * Reads `authorization_details` (RFC 9396): objects of the type `respcast` with `actions` (`subscribe`, `publish`) on `channels`
 * (or `locations`, the field that the RFC has for it), or with `roles`, or with both. Objects of other types are ignored.
 */
function readDetails(payload: JsonObject): ClaimedGrant {
  if (!Object.hasOwn(payload, DETAILS)) return NO_CLAIMS
  const details = payload[DETAILS]
  if (!Array.isArray(details)) throw malformed(`${DETAILS} is not an array`)

  const lists: Record<'subscribe' | 'publish', string[]> = { subscribe: [], publish: [] }
  const roles: string[] = []
  for (const detail of details as readonly unknown[]) {
    const type = isJsonObject(detail) && Object.hasOwn(detail, 'type') ? detail['type'] : undefined
    if (!isJsonObject(detail) || typeof type !== 'string') {
      throw malformed(`${DETAILS} holds what is not an object with a type`)
    }
    if (type !== 'respcast') continue
    checkKeys(detail, DETAIL_KEYS, DETAILS)
    const channels = readChannels(detail)
    const actions = readNames(detail, 'actions', MAX_NAME_BYTES)
    if ((channels === undefined) !== (actions === undefined)) {
      throw malformed(`${DETAILS}: actions and channels go together`)
    }
    for (const action of actions ?? []) {
      if (action !== 'subscribe' && action !== 'publish') {
        throw malformed(`${DETAILS}: an action is subscribe or publish`)
      }
      lists[action].push(...(channels ?? []))
    }
    roles.push(...(readNames(detail, 'roles', MAX_NAME_BYTES) ?? []))
  }
  return checkCounts({
    ...NO_CLAIMS,
    roles,
    subscribe: orAbsent(lists.subscribe),
    publish: orAbsent(lists.publish),
  })
}

function readChannels(detail: JsonObject): readonly string[] | undefined {
  const channels = readNames(detail, 'channels', MAX_PATTERN_BYTES)
  const locations = readNames(detail, 'locations', MAX_PATTERN_BYTES)
  if (channels !== undefined && locations !== undefined) {
    throw malformed(`${DETAILS}: channels or locations, not both`)
  }
  return channels ?? locations
}

function readNames(detail: JsonObject, key: string, most: number): readonly string[] | undefined {
  if (!Object.hasOwn(detail, key)) return undefined
  const list = detail[key]
  const names = Array.isArray(list)
    ? list.map((entry: unknown) => plainName(entry, most))
    : [undefined]
  if (!names.every((name) => name !== undefined)) {
    throw malformed(`${DETAILS}: ${key} is not an array of plain strings`)
  }
  return names
}

/**
 * Reads a list of groups, and returns the roles that the configuration has for them. Unknown groups are ignored: an identity
 * provider keeps groups for other servers too.
 *
 * @param path Claim name, or dotted path of own keys.
 * @param table Roles by group, byte strings.
 */
function readGroups(
  payload: JsonObject,
  path: string,
  table: ReadonlyMap<string, readonly string[]>,
): ClaimedGrant {
  const found = lookUp(payload, path)
  if (found === undefined) return NO_CLAIMS
  const groups = found === 'broken' ? undefined : found.value
  if (!isTextList(groups)) throw malformed('the claim of the groups is not an array of strings')
  const roles = new Set(groups.flatMap((group) => table.get(toByteString(group)) ?? []))
  if (roles.size > MAX_PATTERNS) throw tooMany('roles')
  return { ...NO_CLAIMS, roles: [...roles] }
}

/** Halves of surrogate pairs are refused: all of them would become the same bytes. */
function isTextList(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) && value.every((one) => typeof one === 'string' && !/\p{Cs}/u.test(one))
  )
}

/** An empty list makes no alternative; the roles alone make the grants explicit. */
function orAbsent(list: readonly string[]): readonly string[] | undefined {
  return list.length === 0 ? undefined : list
}

function checkKeys(object: JsonObject, known: readonly string[], place: string): void {
  for (const key of Object.keys(object)) {
    if (known.includes(key)) continue
    // JSON keeps the key on one line of the log, the cut keeps the line short.
    throw malformed(`unknown key ${JSON.stringify(key.slice(0, 64))} in ${place}`)
  }
}

/** Passes a grant on that has at most 256 patterns in all, and at most 256 roles. */
function checkCounts(grant: ClaimedGrant): ClaimedGrant {
  const patterns = LISTS.reduce((sum, name) => sum + (grant[name]?.length ?? 0), 0)
  if (patterns > MAX_PATTERNS) throw tooMany('channel patterns')
  if ((grant.roles?.length ?? 0) > MAX_PATTERNS) throw tooMany('roles')
  return grant
}

function malformed(detail: string): TokenFault {
  return new TokenFault('grants', detail)
}

function tooMany(names: string): TokenFault {
  return new TokenFault('too-many-names', `more than ${MAX_PATTERNS} ${names}`)
}
