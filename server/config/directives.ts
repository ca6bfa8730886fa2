import type { DirectiveType, Spec } from './spec.ts'
import { ACL } from './tables/access.ts'
import { CLUSTER } from './tables/cluster.ts'
import { CONTROL } from './tables/control.ts'
import { DIAGNOSTICS } from './tables/diagnostics.ts'
import {
  CLUSTER_WITHOUT_EFFECT,
  KEYSPACE_WITHOUT_EFFECT,
  PERSISTENCE_WITHOUT_EFFECT,
  REPLICATION_WITHOUT_EFFECT,
} from './tables/keyspace.ts'
import { LIMITS, LISTENERS, TLS } from './tables/network.ts'
import { PROCESS, PROCESS_WITHOUT_EFFECT } from './tables/process.ts'
import { TOKENS } from './tables/tokens.ts'
import { UPSTREAM } from './tables/upstream.ts'
import { HTTP, HTTP_MESSAGES, WEBSOCKET } from './tables/websocket.ts'

/** The directives by theme, in the order of the manual. */
export const SECTIONS = [
  { title: 'RESP listeners', table: LISTENERS },
  { title: 'TLS', table: TLS },
  { title: 'HTTP listeners', table: HTTP },
  { title: 'WebSocket', table: WEBSOCKET },
  { title: 'Messages over HTTP', table: HTTP_MESSAGES },
  { title: 'Tokens', table: TOKENS },
  { title: 'ACL', table: ACL },
  { title: 'Upstream', table: UPSTREAM },
  { title: 'Gateways of one upstream', table: CONTROL },
  { title: 'Limits', table: LIMITS },
  { title: 'Process', table: PROCESS },
  { title: 'Diagnostics', table: DIAGNOSTICS },
  { title: 'Cluster view', table: CLUSTER },
  { title: 'Keyspace', table: KEYSPACE_WITHOUT_EFFECT },
  { title: 'Persistence', table: PERSISTENCE_WITHOUT_EFFECT },
  { title: 'Replication', table: REPLICATION_WITHOUT_EFFECT },
  { title: 'Cluster', table: CLUSTER_WITHOUT_EFFECT },
  { title: 'Other parts of Redis and Valkey', table: PROCESS_WITHOUT_EFFECT },
] as const

type Tables = typeof LISTENERS &
  typeof TLS &
  typeof HTTP &
  typeof WEBSOCKET &
  typeof HTTP_MESSAGES &
  typeof TOKENS &
  typeof ACL &
  typeof UPSTREAM &
  typeof CONTROL &
  typeof LIMITS &
  typeof PROCESS &
  typeof DIAGNOSTICS &
  typeof CLUSTER &
  typeof KEYSPACE_WITHOUT_EFFECT &
  typeof PERSISTENCE_WITHOUT_EFFECT &
  typeof REPLICATION_WITHOUT_EFFECT &
  typeof CLUSTER_WITHOUT_EFFECT &
  typeof PROCESS_WITHOUT_EFFECT

/** Any directive's name. */
export type DirectiveName = keyof Tables

/** Names of the directives of a type, so that reading a value as another type is a compile-time error. */
export type NameOf<T extends DirectiveType> = {
  [N in DirectiveName]: Tables[N]['type'] extends T ? N : never
}[DirectiveName]

/** The words that an enumeration knows. */
export type ChoiceOf<N extends NameOf<'enumeration'>> = Tables[N] extends {
  readonly values: readonly (infer V)[]
}
  ? V
  : never

/** A directive with its name. */
export interface Directive extends Spec {
  readonly name: string
}

/** Reports whether a directive is shown to people, and changes something in this server. */
export function takesEffect({ hidden, effect }: Spec): boolean {
  return hidden !== true && effect !== 'none'
}

/** All directives, in the order of the manual. */
export const DIRECTIVES: readonly Directive[] = SECTIONS.flatMap(({ table }) =>
  Object.entries<Spec>(table).map(([name, spec]) => ({ ...spec, name })),
)

const BY_NAME: ReadonlyMap<string, Directive> = new Map(
  DIRECTIVES.flatMap((directive) =>
    [directive.name, ...(directive.aliases ?? [])].map((name) => [name, directive] as const),
  ),
)

/** Names that Redis or Valkey accept and forget, some of them since many versions. */
const FORGOTTEN = new Set([
  'list-max-ziplist-entries',
  'list-max-ziplist-value',
  'lua-replicate-commands',
])

/** Directives of modules: `name.option`, and those built into Redis 8. */
const OF_A_MODULE = /^(?:[a-z0-9_-]+\.[a-z0-9_-]+|(?:search|ts|bf|cf)-[a-z0-9-]+)$/

/** Finds a directive by name or alias, in any case. */
export function findDirective(name: string): Directive | undefined {
  return BY_NAME.get(name.toLowerCase())
}

/** Reports whether the value of a directive must not be shown: it is a secret, or nobody knows what it is. */
export function mayHoldSecret(name: string): boolean {
  const directive = findDirective(name)
  return directive === undefined || directive.sensitive !== undefined
}

/** Every name and alias with its directive, names before their aliases. */
export function directiveNames(): IterableIterator<[string, Directive]> {
  return BY_NAME.entries()
}

/** Reports whether Redis or Valkey accept the name though it means nothing to this server: a module's, or one long gone. */
export function isForeignName(name: string): boolean {
  const lower = name.toLowerCase()
  return FORGOTTEN.has(lower) || OF_A_MODULE.test(lower)
}

/** The known name that differs least from `name`, where it may be a slip: by at most two letters. */
export function nearestName(name: string): string | undefined {
  const lower = name.toLowerCase()
  let best: string | undefined
  let least = Math.min(3, Math.ceil(lower.length / 2))
  for (const known of BY_NAME.keys()) {
    const distance = editDistance(lower, known, least)
    if (distance < least) {
      least = distance
      best = known
    }
  }
  return best
}

/** Insertions, deletions, changes and swaps of neighbours between two words; `limit` where there are that many. */
function editDistance(left: string, right: string, limit: number): number {
  if (Math.abs(left.length - right.length) >= limit) return limit
  let older: number[] = []
  let previous = Array.from({ length: right.length + 1 }, (_, at) => at)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1]
      const swapped =
        row > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      current[column] = Math.min(
        (previous[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (previous[column - 1] as number) + (same ? 0 : 1),
        swapped ? (older[column - 2] ?? Infinity) + 1 : Infinity,
      )
    }
    older = previous
    previous = current
  }
  return Math.min(previous[right.length] as number, limit)
}
