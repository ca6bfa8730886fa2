import { byteString } from '../../shared/bytes.ts'
import type { RespValue } from '../../shared/resp/types.ts'

/** What the server says about the token of this connection. Times are milliseconds from now. */
export type TokenPush =
  | { readonly name: 'accepted'; readonly user: Uint8Array; readonly leftMs: number }
  | { readonly name: 'expiring'; readonly leftMs: number }
  | { readonly name: 'expired'; readonly graceMs: number }
  | { readonly name: 'revoked'; readonly channel: Uint8Array; readonly message: Uint8Array }

/**
 * Reads a `token` push.
 *
 * @param items `token`, a name, and what belongs to it.
 * @returns Undefined for names that are not known, which newer servers may send.
 */
export function readTokenPush(items: readonly RespValue[]): TokenPush | undefined {
  const [, name, first, second] = items
  switch (name instanceof Uint8Array ? byteString(name) : '') {
    case 'accepted':
      return { name: 'accepted', user: bytesOf(first), leftMs: Number(second) }
    case 'expiring':
      return { name: 'expiring', leftMs: Number(first) }
    case 'expired':
      return { name: 'expired', graceMs: Number(first) }
    case 'revoked':
      return { name: 'revoked', channel: bytesOf(first), message: bytesOf(second) }
    default:
      return undefined
  }
}

function bytesOf(value: RespValue | undefined): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array(0)
}
