/**
 * A RESP value. JavaScript values stand for themselves; the rest are small objects, distinguished by `type`.
 *
 * | RESP | here |
 * |---|---|
 * | simple string `+` | `string` |
 * | bulk string `$` | `Uint8Array` |
 * | integer `:` | `number`, or `bigint` beyond 2^53 - 1 |
 * | null `_`, `$-1`, `*-1` | `null` |
 * | boolean `#` | `boolean` |
 * | array `*` | array |
 * | error `-`, `!` | {@link RespError} |
 * | double `,` | {@link RespDouble} |
 * | big number `(` | {@link RespBigNumber} |
 * | verbatim string `=` | {@link RespVerbatim} |
 * | map `%` | {@link RespMap} |
 * | set `~` | {@link RespSet} |
 * | push `>` | {@link RespPush} |
 * | attribute `\|`, in front of a value | {@link RespAttributed} |
 */
export type RespValue =
  | string
  | Uint8Array
  | number
  | bigint
  | null
  | boolean
  | readonly RespValue[]
  | RespError
  | RespDouble
  | RespBigNumber
  | RespVerbatim
  | RespMap
  | RespSet
  | RespPush
  | RespAttributed

/** An error reply: a value like any other, not an exception. */
export interface RespError {
  readonly type: 'error'
  /** The whole line, its code first. */
  readonly message: string
}

/** A floating-point number, distinct from integers so that `,1` and `:1` differ. */
export interface RespDouble {
  readonly type: 'double'
  readonly value: number
}

/** An integer of any size. */
export interface RespBigNumber {
  readonly type: 'big-number'
  readonly value: bigint
}

/** A text for display, such as the reply of `INFO`. */
export interface RespVerbatim {
  readonly type: 'verbatim'
  /** Three bytes as text: `txt`, `mkd`. */
  readonly format: string
  readonly bytes: Uint8Array
}

/** Pairs in order of arrival; keys may be any value, and may repeat. */
export interface RespMap {
  readonly type: 'map'
  readonly entries: readonly (readonly [key: RespValue, value: RespValue])[]
}

/** Members in order of arrival. */
export interface RespSet {
  readonly type: 'set'
  readonly members: readonly RespValue[]
}

/** A value that is not a reply: a message, a confirmation, a notice. The first item is its kind. */
export interface RespPush {
  readonly type: 'push'
  readonly items: readonly RespValue[]
}

/** A value with attributes that preceded it. */
export interface RespAttributed {
  readonly type: 'attributed'
  readonly attributes: RespMap
  readonly value: RespValue
}

/** Reports whether a value is a push. */
export function isPush(value: RespValue): value is RespPush {
  return isTagged(value) && value.type === 'push'
}

/** Reports whether a value is an error reply. */
export function isError(value: RespValue): value is RespError {
  return isTagged(value) && value.type === 'error'
}

/** The values that have a `type`. */
export type TaggedValue = Exclude<
  RespValue,
  string | Uint8Array | number | bigint | null | boolean | readonly RespValue[]
>

/** Reports whether a value has a `type`. */
export function isTagged(value: RespValue): value is TaggedValue {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array)
  )
}
