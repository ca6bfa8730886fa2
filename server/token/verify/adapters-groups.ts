import { MAX_PATTERNS, NO_CLAIMS } from './claims.ts'
import type { ClaimedGrant } from './claims.ts'
import { TokenFault } from './refusal.ts'
import { lookUp, toByteString } from '../text.ts'
import type { JsonObject } from '../text.ts'

/**
 * Reads a list of groups, and gives the roles that the configuration has for them. Groups that it does not know say nothing:
 * whoever keeps the groups keeps them for others too.
 *
 * @param path Claim name, or dotted path of own keys.
 * @param table Roles by group, byte strings.
 * @throws TokenFault for a claim that is not an array of strings, or that comes to more than 256 roles.
 */
export function readGroups(
  payload: JsonObject,
  path: string,
  table: ReadonlyMap<string, readonly string[]>,
): ClaimedGrant {
  const found = lookUp(payload, path)
  if (found === undefined) return NO_CLAIMS
  const groups: unknown = found === 'broken' ? undefined : found.value
  if (!Array.isArray(groups) || !groups.every(isText)) {
    throw new TokenFault('grants', 'the claim of the groups is not an array of strings')
  }
  const roles = new Set(
    groups.flatMap((group: string) => [...(table.get(toByteString(group)) ?? [])]),
  )
  if (roles.size > MAX_PATTERNS)
    throw new TokenFault('too-many-names', `more than ${MAX_PATTERNS} roles`)
  return { ...NO_CLAIMS, roles: [...roles] }
}

/** A string that has bytes: halves of surrogate pairs would all become the same ones. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && !/\p{Cs}/u.test(value)
}
