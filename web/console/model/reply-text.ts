import { isTagged } from '../../../shared/resp/types.ts'
import type { RespValue, TaggedValue } from '../../../shared/resp/types.ts'
import { labelOf } from './reply.ts'

/** So much of a reply is written. Characters. */
const MAX_CHARACTERS = 4_000

/** Password hashes of ACL LIST and ACL GETUSER: nobody has to see them to learn the command. */
const PASSWORD_HASH = /(#?)\b[0-9a-f]{64}\b/g

/** Thrown within this module when the text is long enough. */
class LongEnough extends Error {}

/** A reply as redis-cli writes it, cut where it gets long. */
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
      output.add(`(error) ${value.message}`)
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
