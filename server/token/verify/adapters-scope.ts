import { MAX_NAME_BYTES, MAX_PATTERN_BYTES, NO_CLAIMS, checkPatternCount } from './claims.ts'
import type { ClaimedGrant } from './claims.ts'
import { TokenFault } from './refusal.ts'
import { lookUp, plainName } from '../text.ts'
import type { JsonObject } from '../text.ts'

/** RFC 6749 section 3.3: scope tokens, with one blank between each two. */
const SCOPES = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/

/** What a scope may begin with, and what its rest is. */
const KINDS = ['subscribe', 'publish', 'channel', 'deny', 'role', 'group'] as const

/**
 * Reads space-separated scopes: `subscribe:<pattern>`, `publish:<pattern>`, `channel:<pattern>` (both), `deny:<pattern>`,
 * `role:<name>`, `group:<name>`. Scopes that begin with nothing of this are for others and say nothing here.
 *
 * @param path Claim name, or dotted path of own keys.
 * @param prefix Stands in front of each scope for this server, as in `respcast:subscribe:news`; may be empty.
 * @throws TokenFault for a claim that is no scope string (RFC 6749 section 3.3), an empty or overlong name, two groups.
 */
export function readScopes(payload: JsonObject, path: string, prefix: string): ClaimedGrant {
  const found = lookUp(payload, path)
  if (found === undefined) return NO_CLAIMS
  if (found === 'broken' || typeof found.value !== 'string') {
    throw new TokenFault('grants', 'the claim of the scopes is not a string')
  }
  if (found.value !== '' && !SCOPES.test(found.value)) {
    throw new TokenFault(
      'grants',
      'the claim of the scopes is not scopes with single blanks between them',
    )
  }

  const lists = {
    subscribe: [],
    publish: [],
    channel: [],
    deny: [],
    role: [],
    group: [],
  } as Record<(typeof KINDS)[number], string[]>
  for (const scope of found.value.split(' ')) {
    if (!scope.startsWith(prefix)) continue
    const own = scope.slice(prefix.length)
    const kind = KINDS.find((name) => own.startsWith(`${name}:`))
    if (kind === undefined) continue
    const most = kind === 'role' || kind === 'group' ? MAX_NAME_BYTES : MAX_PATTERN_BYTES
    const name = plainName(own.slice(kind.length + 1), most)
    if (name === undefined) {
      throw new TokenFault(
        'grants',
        `a scope '${kind}:' goes on with nothing, or with more than ${most} bytes`,
      )
    }
    lists[kind].push(name)
  }
  if (lists.group.length > 1) throw new TokenFault('grants', 'more than one group in the scopes')
  return checkPatternCount({
    roles: lists.role,
    channels: orAbsent(lists.channel),
    subscribe: orAbsent(lists.subscribe),
    publish: orAbsent(lists.publish),
    deny: lists.deny,
    group: lists.group[0],
  })
}

/** The roles alone say that the list is explicit; what is empty makes no alternative. */
function orAbsent(list: readonly string[]): readonly string[] | undefined {
  return list.length === 0 ? undefined : list
}
