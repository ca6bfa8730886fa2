import { utf8Length, writeUtf8 } from '../bytes.ts'
import { isTagged } from './types.ts'
import type { RespValue, TaggedValue } from './types.ts'

/**
 * Encodes a value as RESP3.
 *
 * Simple strings and errors cannot hold line ends: each CR and each LF becomes a space, as Redis does it.
 *
 * @throws {RangeError} For a `number` that is not an integer (a double is written as `{ type: 'double' }`), and for a
 *   verbatim format that is not three bytes long.
 * @see https://github.com/redis/redis-specifications/blob/master/protocol/RESP3.md
 */
export function encodeValue(value: RespValue): Uint8Array {
  const output = new ByteWriter()
  write(output, value)
  return output.finish()
}

function write(output: ByteWriter, value: RespValue): void {
  if (value === null) output.text('_\r\n')
  else if (typeof value === 'string') output.text(`+${oneLine(value)}\r\n`)
  else if (typeof value === 'boolean') output.text(value ? '#t\r\n' : '#f\r\n')
  else if (typeof value === 'bigint') output.text(`:${value}\r\n`)
  else if (typeof value === 'number') output.text(`:${integerText(value)}\r\n`)
  else if (value instanceof Uint8Array) writeBulk(output, '$', value)
  else if (isTagged(value)) writeTagged(output, value)
  else writeItems(output, '*', value)
}

function writeTagged(output: ByteWriter, value: TaggedValue): void {
  switch (value.type) {
    case 'error':
      output.text(`-${oneLine(value.message)}\r\n`)
      break
    case 'double':
      output.text(`,${doubleText(value.value)}\r\n`)
      break
    case 'big-number':
      output.text(`(${value.value}\r\n`)
      break
    case 'verbatim':
      if (utf8Length(value.format) !== 3) throw new RangeError('A verbatim format has three bytes')
      writeBulk(output, '=', value.bytes, `${value.format}:`)
      break
    case 'map':
      writeEntries(output, '%', value.entries)
      break
    case 'set':
      writeItems(output, '~', value.members)
      break
    case 'push':
      writeItems(output, '>', value.items)
      break
    case 'attributed':
      writeEntries(output, '|', value.attributes.entries)
      write(output, value.value)
      break
  }
}

function writeBulk(output: ByteWriter, type: string, content: Uint8Array, head = ''): void {
  output.text(`${type}${head.length + content.length}\r\n${head}`)
  output.bytes(content)
  output.text('\r\n')
}

function writeItems(output: ByteWriter, type: string, items: readonly RespValue[]): void {
  output.text(`${type}${items.length}\r\n`)
  for (const item of items) write(output, item)
}

function writeEntries(
  output: ByteWriter,
  type: string,
  entries: readonly (readonly [RespValue, RespValue])[],
): void {
  output.text(`${type}${entries.length}\r\n`)
  for (const [key, value] of entries) {
    write(output, key)
    write(output, value)
  }
}

function oneLine(text: string): string {
  return text.replace(/[\r\n]/g, ' ')
}

function integerText(value: number): string {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a safe integer`)
  return String(value)
}

function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (value === Infinity) return 'inf'
  if (value === -Infinity) return '-inf'
  return Object.is(value, -0) ? '-0' : String(value)
}

/** A buffer that doubles when it is full. */
class ByteWriter {
  #buffer = new Uint8Array(64)
  #length = 0

  text(text: string): void {
    this.#reserve(utf8Length(text))
    this.#length = writeUtf8(this.#buffer, this.#length, text)
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.#length)
    this.#length += bytes.length
  }

  finish(): Uint8Array {
    return this.#buffer.slice(0, this.#length)
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#buffer.length) return
    const grown = new Uint8Array(needed * 2)
    grown.set(this.#buffer)
    this.#buffer = grown
  }
}
