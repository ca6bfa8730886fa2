import type { ReplyWriter } from '../resp/reply-writer.ts'

/** Value of a field; undefined is null. */
type FieldValue = string | number | undefined

/** Writes an array of byte strings. */
export function writeBulks(reply: ReplyWriter, values: readonly string[]): void {
  reply.array(values.length)
  for (const value of values) reply.bulk(value)
}

/** Writes a map of names to byte strings and integers. */
export function writeFields(
  reply: ReplyWriter,
  fields: readonly (readonly [name: string, value: FieldValue])[],
): void {
  reply.map(fields.length)
  for (const [name, value] of fields) writeField(reply, name, value)
}

/** Writes one field of a map. */
export function writeField(reply: ReplyWriter, name: string, value: FieldValue): void {
  reply.bulk(name)
  if (value === undefined) reply.null()
  else if (typeof value === 'number') reply.integer(value)
  else reply.bulk(value)
}

/** The UTF-8 bytes of a text, as a byte string. */
export function utf8Bytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
