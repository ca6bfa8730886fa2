import { checkPatternCount, MAX_NAME_BYTES, MAX_PATTERN_BYTES, NO_CLAIMS } from './claims.ts'
import type { ClaimedGrant } from './claims.ts'
import { TokenFault } from './refusal.ts'
import { isJsonObject, plainName } from '../text.ts'
import type { JsonObject } from '../text.ts'

/** RFC 9396 section 9.1: the claim has this name in every token. */
const CLAIM = 'authorization_details'

/** The `type` of the details that are for this server. */
const TYPE = 'respcast'

const KEYS: readonly string[] = ['type', 'actions', 'channels', 'locations', 'roles']
const ACTIONS = ['subscribe', 'publish'] as const

/**
 * Reads `authorization_details` (RFC 9396): objects of the type `respcast` with `actions` (`subscribe`, `publish`) on `channels`
 * (or `locations`, the field that the RFC has for it), or with `roles`, or with both. Objects of other types are for others.
 *
 * @throws TokenFault for what is no list of typed objects, an unknown key or action, actions without channels or channels
 *   without actions, both spellings of the channels at once.
 */
export function readAuthorizationDetails(payload: JsonObject): ClaimedGrant {
  if (!Object.hasOwn(payload, CLAIM)) return NO_CLAIMS
  const details = payload[CLAIM]
  if (!Array.isArray(details)) throw new TokenFault('grants', `${CLAIM} is not an array`)

  const lists = { subscribe: [] as string[], publish: [] as string[] }
  const roles: string[] = []
  for (const detail of details as readonly unknown[]) {
    if (
      !isJsonObject(detail) ||
      !Object.hasOwn(detail, 'type') ||
      typeof detail['type'] !== 'string'
    ) {
      throw new TokenFault('grants', `${CLAIM} holds what is not an object with a type`)
    }
    if (detail['type'] !== TYPE) continue
    for (const key of Object.keys(detail)) {
      if (!KEYS.includes(key)) {
        throw new TokenFault(
          'grants',
          `unknown key ${JSON.stringify(key.slice(0, 64))} in ${CLAIM}`,
        )
      }
    }
    const channels = readChannels(detail)
    const actions = readNames(detail, 'actions', MAX_NAME_BYTES)
    if ((channels === undefined) !== (actions === undefined)) {
      throw new TokenFault('grants', `${CLAIM}: actions and channels go together`)
    }
    for (const action of actions ?? []) {
      const known = ACTIONS.find((name) => name === action)
      if (known === undefined)
        throw new TokenFault('grants', `${CLAIM}: an action is subscribe or publish`)
      lists[known].push(...(channels ?? []))
    }
    roles.push(...(readNames(detail, 'roles', MAX_NAME_BYTES) ?? []))
  }
  // The roles alone say that the list is explicit; what is empty makes no alternative.
  return checkPatternCount({
    ...NO_CLAIMS,
    roles,
    subscribe: lists.subscribe.length === 0 ? undefined : lists.subscribe,
    publish: lists.publish.length === 0 ? undefined : lists.publish,
  })
}

function readChannels(detail: JsonObject): readonly string[] | undefined {
  const channels = readNames(detail, 'channels', MAX_PATTERN_BYTES)
  const locations = readNames(detail, 'locations', MAX_PATTERN_BYTES)
  if (channels !== undefined && locations !== undefined) {
    throw new TokenFault('grants', `${CLAIM}: channels or locations, not both`)
  }
  return channels ?? locations
}

function readNames(detail: JsonObject, key: string, most: number): readonly string[] | undefined {
  if (!Object.hasOwn(detail, key)) return undefined
  const list = detail[key]
  const names = Array.isArray(list)
    ? (list as readonly unknown[]).map((entry) => plainName(entry, most))
    : [undefined]
  if (!names.every((name) => name !== undefined)) {
    throw new TokenFault('grants', `${CLAIM}: ${key} is not an array of plain strings`)
  }
  return names
}
