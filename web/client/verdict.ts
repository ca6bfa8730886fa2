import { isTagged } from '../../shared/resp/types.ts'
import type { RespValue } from '../../shared/resp/types.ts'
import { textOf } from './pushes.ts'
import type { Verdict } from './types.ts'

/**
 * Reads the reply of `TOKEN WHY`: a string, or a map whose first value is that string.
 *
 * @returns What stands in the way, or `ok`. A newer server may have other words.
 */
export function verdictOf(reply: RespValue): Verdict {
  const value = isTagged(reply) && reply.type === 'map' ? (reply.entries[0]?.[1] ?? '') : reply
  return (typeof value === 'string' ? value : textOf(value)) as Verdict
}
