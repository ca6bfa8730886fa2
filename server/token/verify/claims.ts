import { TokenFault } from './refusal.ts'
import { isJsonObject, lookUp, plainName } from '../text.ts'
import type { JsonObject } from '../text.ts'

/** Most channel patterns of one token, expanded placeholders included. */
export const MAX_PATTERNS = 256

/** Longest pattern out of a token, in bytes. */
export const MAX_PATTERN_BYTES = 256

/** Longest role name, group, `jti` and `sub`, in bytes. */
export const MAX_NAME_BYTES = 256

/** What a token asks for. A list is `undefined` if it is absent; absent and empty differ. All byte strings. */
export interface ClaimedGrant {
  /** Names without the `role:` that the ACL users have. */
  readonly roles: readonly string[] | undefined
  readonly channels: readonly string[] | undefined
  readonly subscribe: readonly string[] | undefined
  readonly publish: readonly string[] | undefined
  readonly deny: readonly string[]
  readonly group: string | undefined
}

const LISTS = ['channels', 'subscribe', 'publish', 'deny'] as const
const KEYS: readonly string[] = ['roles', 'group', ...LISTS]

/** What a token without a claim of grants asks for, or with an empty one. */
export const NO_CLAIMS: ClaimedGrant = {
  roles: undefined,
  channels: undefined,
  subscribe: undefined,
  publish: undefined,
  deny: [],
  group: undefined,
}

/**
 * Reads the claim object of a token, strictly: a grant that is only half understood is no grant.
 *
 * @param payload The verified payload.
 * @param path Claim name, or dotted path of own keys.
 * @throws TokenFault for a malformed part, an unknown key, or more than 256 patterns in all.
 */
export function readClaims(payload: JsonObject, path: string): ClaimedGrant {
  const found = lookUp(payload, path)
  if (found === undefined) return NO_CLAIMS
  // A path that ends in something else than an object is a fault, not an absence: under acl-pubsub-default
  // allchannels an absent claim means more than a present one.
  if (found === 'broken' || !isJsonObject(found.value)) {
    throw new TokenFault('grants', 'the claim of the grants is not an object')
  }
  const claim = found.value
  for (const key of Object.keys(claim)) {
    if (!KEYS.includes(key))
      throw new TokenFault('grants', `unknown key ${quote(key)} in the claim`)
  }

  const lists = {
    channels: readList(claim, 'channels', MAX_PATTERN_BYTES),
    subscribe: readList(claim, 'subscribe', MAX_PATTERN_BYTES),
    publish: readList(claim, 'publish', MAX_PATTERN_BYTES),
    deny: readList(claim, 'deny', MAX_PATTERN_BYTES) ?? [],
  }
  const roles = readList(claim, 'roles', MAX_NAME_BYTES)
  return checkPatternCount({ roles, ...lists, group: readGroup(claim) })
}

/**
 * Passes a grant on whose lists are of a bearable length.
 *
 * @throws TokenFault for more than 256 patterns in all, or more than 256 roles.
 */
export function checkPatternCount(grant: ClaimedGrant): ClaimedGrant {
  const patterns = LISTS.reduce((sum, name) => sum + (grant[name]?.length ?? 0), 0)
  if (patterns > MAX_PATTERNS)
    throw new TokenFault('too-many-names', `more than ${MAX_PATTERNS} channel patterns`)
  if ((grant.roles?.length ?? 0) > MAX_PATTERNS)
    throw new TokenFault('too-many-names', `more than ${MAX_PATTERNS} roles`)
  return grant
}

function readList(claim: JsonObject, key: string, maxBytes: number): readonly string[] | undefined {
  if (!Object.hasOwn(claim, key)) return undefined
  const list = claim[key]
  if (!Array.isArray(list)) throw new TokenFault('grants', `${key} in the claim is not an array`)
  if (list.length > MAX_PATTERNS)
    throw new TokenFault('too-many-names', `more than ${MAX_PATTERNS} ${key}`)
  return list.map((entry: unknown) => {
    const name = plainName(entry, maxBytes)
    if (name === undefined) {
      throw new TokenFault(
        'grants',
        `${key} in the claim holds what is not a string of 1 to ${maxBytes} bytes without white space or controls`,
      )
    }
    return name
  })
}

function readGroup(claim: JsonObject): string | undefined {
  if (!Object.hasOwn(claim, 'group')) return undefined
  const group = plainName(claim['group'], MAX_NAME_BYTES)
  if (group === undefined)
    throw new TokenFault('grants', 'group in the claim is not a plain string')
  return group
}

/** A key for the log: JSON keeps it on one line, the cut keeps the line short. */
function quote(key: string): string {
  return JSON.stringify(key.slice(0, 64))
}
