import { byteString, utf8Bytes, utf8Text } from '../../../shared/bytes.ts'
import { isTagged } from '../../../shared/resp/types.ts'
import type { RespValue, TaggedValue } from '../../../shared/resp/types.ts'
import { escapeInvisible, hasInvisible, hexEscape } from '../../../shared/words.ts'

/** A reply that does not have the documented shape. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError'
}

const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of UTF-8 bytes; undefined if they are not UTF-8. */
export function strictText(bytes: Uint8Array): string | undefined {
  try {
    return strictDecoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** A value as text for display: strings, numbers and verbatim texts. Null and undefined are the empty text. */
export function textOf(value: RespValue | undefined): string {
  if (value === undefined || value === null) return ''
  if (value instanceof Uint8Array) return utf8Text(value)
  if (typeof value !== 'object') return String(value)
  if (isTagged(value)) {
    if (value.type === 'verbatim') return utf8Text(value.bytes)
    if (value.type === 'double' || value.type === 'big-number') return String(value.value)
    if (value.type === 'error') return value.message
  }
  throw new ShapeError('A text was expected')
}

/** The exact bytes of a string. */
export function bytesOf(value: RespValue | undefined): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (typeof value === 'string') return utf8Bytes(value)
  throw new ShapeError('A string was expected')
}

/** A number, also one written as text; undefined for null and undefined. */
export function numberOf(value: RespValue | undefined): number | undefined {
  if (value === undefined || value === null) return undefined
  const number = Number(textOf(value))
  if (Number.isNaN(number)) throw new ShapeError('A number was expected')
  return number
}

/** The items of an array or set. */
export function listOf(value: RespValue | undefined): readonly RespValue[] {
  if (Array.isArray(value)) return value as readonly RespValue[]
  if (value !== undefined && isTagged(value) && value.type === 'set') return value.members
  throw new ShapeError('An array was expected')
}

/** The pairs of a map, in order; RESP2 writes them as a flat array. */
export function pairsOf(
  value: RespValue | undefined,
): readonly (readonly [key: RespValue, value: RespValue])[] {
  if (value !== undefined && isTagged(value) && value.type === 'map') return value.entries
  const items = listOf(value)
  const pairs: (readonly [RespValue, RespValue])[] = []
  for (let at = 0; at + 1 < items.length; at += 2) {
    pairs.push([items[at] as RespValue, items[at + 1] as RespValue])
  }
  return pairs
}

/** A map with text keys. */
export function recordOf(value: RespValue | undefined): ReadonlyMap<string, RespValue> {
  return new Map(pairsOf(value).map(([key, each]) => [textOf(key), each]))
}

/** Reads the fields of a map as texts. A missing field is the empty text. */
export function fieldsOf(value: RespValue): (name: string) => string {
  const fields = recordOf(value)
  return (name) => textOf(fields.get(name))
}

/** A name for display: as text if it is UTF-8 and all of it shows, else with `\xNN` for what is not printable ASCII. */
export function labelOf(name: Uint8Array): string {
  const text = strictText(name)
  if (text !== undefined && !hasInvisible(text)) return text
  return byteString(name).replaceAll(/[^\x20-\x7e]/g, hexEscape)
}

/** Maximum length of a reply as text. Characters. */
const MAX_CHARACTERS = 4_000

/** Password hashes of ACL LIST and ACL GETUSER. */
const PASSWORD_HASH = /(#?)\b[0-9a-f]{64}\b/g

/** Thrown within this module when the text is complete. */
class LongEnough extends Error {}

/** A reply as redis-cli writes it, cut to a maximum length. */
export function replyText(value: RespValue): string {
  const output = new BoundedText()
  try {
    write(output, value, '')
  } catch (error) {
    if (error instanceof LongEnough) return `${clean(output.text)}\n... (cut)`
    throw error
  }
  return clean(output.text)
}

function clean(text: string): string {
  return text.replaceAll(PASSWORD_HASH, '$1(hash)')
}

class BoundedText {
  text = ''

  add(piece: string): void {
    this.text += piece.slice(0, MAX_CHARACTERS - this.text.length)
    if (this.text.length >= MAX_CHARACTERS) throw new LongEnough()
  }
}

function write(output: BoundedText, value: RespValue, indent: string): void {
  if (value === null) output.add('(nil)')
  else if (value instanceof Uint8Array)
    output.add(`"${labelOf(value.subarray(0, MAX_CHARACTERS + 1))}"`)
  else if (typeof value === 'number' || typeof value === 'bigint') output.add(`(integer) ${value}`)
  else if (typeof value === 'boolean') output.add(value ? '(true)' : '(false)')
  else if (typeof value === 'string') output.add(value)
  else if (isTagged(value)) writeTagged(output, value, indent)
  else writeItems(output, value, indent, '(empty array)', ')')
}

function writeTagged(output: BoundedText, value: TaggedValue, indent: string): void {
  switch (value.type) {
    case 'error':
      output.add(`(error) ${escapeInvisible(value.message)}`)
      break
    case 'double':
      output.add(`(double) ${value.value}`)
      break
    case 'big-number':
      output.add(`(big number) ${value.value}`)
      break
    case 'verbatim':
      output.add(new TextDecoder().decode(value.bytes.subarray(0, MAX_CHARACTERS + 1)))
      break
    case 'map':
      writeEntries(output, value.entries, indent)
      break
    case 'set':
      writeItems(output, value.members, indent, '(empty set)', '~')
      break
    case 'push':
      writeItems(output, value.items, indent, '(empty push)', '>')
      break
    case 'attributed':
      write(output, value.value, indent)
      break
  }
}

function writeItems(
  output: BoundedText,
  items: readonly RespValue[],
  indent: string,
  empty: string,
  mark: string,
): void {
  if (items.length === 0) output.add(empty)
  const inner = indent + ' '.repeat(String(items.length).length + 2)
  for (const [at, item] of items.entries()) {
    if (at > 0) output.add(`\n${indent}`)
    output.add(`${String(at + 1).padStart(String(items.length).length)}${mark} `)
    write(output, item, inner)
  }
}

function writeEntries(
  output: BoundedText,
  entries: readonly (readonly [RespValue, RespValue])[],
  indent: string,
): void {
  if (entries.length === 0) output.add('(empty hash)')
  for (const [at, [key, value]] of entries.entries()) {
    if (at > 0) output.add(`\n${indent}`)
    output.add(`${at + 1}# `)
    write(output, key, indent)
    output.add(' => ')
    write(output, value, `${indent}   `)
  }
}
