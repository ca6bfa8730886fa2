import { readRow, splitMessage } from '../../server/control/codec.ts'
import { splitKey, type Register } from '../../server/control/register.ts'
import type { Signature } from '../../server/control/signature.ts'
import type { Commit, RegisterValue } from './control-history.ts'

/**
 * Reads a message of the channel of entries.
 *
 * @param payload Byte string.
 * @returns Undefined if no gateway is to take it.
 */
export function readCommit(
  namespace: string,
  signature: Signature,
  payload: string,
): Commit | undefined {
  const row = splitMessage(Buffer.from(payload, 'latin1'))
  const read = row && readRow(namespace, signature, row)
  if (read === undefined || typeof read === 'string') return undefined
  const { id, previous, entry } = read
  const { uuid, atMs, registers, order } = entry
  return {
    ...{ uuid, id, previous },
    atMs,
    registers: registers.map((register) => ({ ...register, value: valueOf(register) })),
    kill:
      order?.part === 'k' ? (JSON.parse(order.value) as { readonly sub?: string }).sub : undefined,
  }
}

/** The fields of a revocation that matter here. */
interface Record {
  readonly kind: string
  readonly target: string
  readonly reason: string
  readonly scope?: { readonly kind: string; readonly name: string }
}

function valueOf({ key, value }: Register): RegisterValue | undefined {
  if (value === undefined) return undefined
  const [part, name] = splitKey(key)
  if (part === 'u' && name.startsWith('role:')) {
    const granted = value.split(' ').filter((rule) => rule.startsWith('&'))
    const channels = granted.map((rule) => rule.slice(1))
    return { type: 'role', role: name.slice('role:'.length), channels }
  }
  if (part !== 'r') return { type: 'other' }
  const { kind, target, scope, reason: label } = JSON.parse(value) as Record
  if (kind === 'sub') return { type: 'revoke-sub', sub: target, label }
  if (kind !== 'channel' || (scope && scope.kind !== 'role')) return { type: 'other' }
  return { type: 'revoke-channel', channel: target, role: scope?.name, label }
}
