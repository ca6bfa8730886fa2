import { hasInvisible } from '../../shared/words.ts'

/**
 * White space and separators of Unicode, which no name in a token may contain, and no {@link hasInvisible} characters either:
 * two names that look alike must be one. Halves of surrogate pairs cannot be encoded, so two names could become the same bytes.
 */
const BLANK = /[\p{White_Space}\p{Z}]/u

/** Nearly all names: their bytes are their characters, and none of them is blank or invisible. */
const PLAIN = /^[!-~]+$/

/** A JSON object as `JSON.parse` returns it; only its own keys may be read. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Reports whether a parsed JSON value is an object, not an array and not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The UTF-8 bytes of `text` as a byte string: one UTF-16 unit (0-255) per byte. */
export function toByteString(text: string): string {
  if (PLAIN.test(text)) return text
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** The text whose UTF-8 bytes `bytes` holds; bytes that are not UTF-8 become U+FFFD. */
export function fromByteString(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/**
 * Converts a name in a token to its UTF-8 byte string.
 *
 * @returns `undefined` unless `value` is a string of 1 to `maxBytes` bytes of well-formed UTF-8 without white
 *   space, control or separator characters, and without characters that do not show or that reorder others.
 */
export function plainName(value: unknown, maxBytes: number): string | undefined {
  // A UTF-16 unit takes at least one byte, so that a long string is refused before it is searched.
  if (typeof value !== 'string' || value.length === 0 || value.length > maxBytes) return undefined
  if (PLAIN.test(value)) return value
  if (BLANK.test(value) || hasInvisible(value)) return undefined
  const bytes = toByteString(value)
  return bytes.length <= maxBytes ? bytes : undefined
}

/**
 * Looks up a path in a JSON object: the whole path as an own key first (some providers demand URL-shaped claim
 * names), then as a dotted path of own keys.
 *
 * @returns The value in an object of its own; `undefined` where a key is absent; `'broken'` where the dotted path
 *   runs through a value that is not an object.
 */
export function lookUp(root: JsonObject, path: string): { value: unknown } | 'broken' | undefined {
  if (Object.hasOwn(root, path)) return { value: root[path] }
  let at: unknown = root
  for (const key of path.split('.')) {
    if (!isJsonObject(at)) return 'broken'
    if (!Object.hasOwn(at, key)) return undefined
    at = at[key]
  }
  return { value: at }
}
