import { RespReader } from '../../shared/resp/reader.ts'
import { isTagged, type RespValue } from '../../shared/resp/types.ts'
import type { RawClient } from './resp-client.ts'

/** A reply without the difference between kinds of strings: maps are objects without a prototype, errors begin with `-`. */
export type Plain = string | number | null | boolean | bigint | readonly Plain[] | PlainMap

/** A map with text keys. */
export interface PlainMap {
  readonly [name: string]: Plain
}

/** Sends a command and takes its whole reply, whatever it is. Byte strings. */
export async function ask(client: RawClient, ...command: string[]): Promise<Plain> {
  const reader = new RespReader()
  client.command(...command)
  let value = reader.next()
  while (value === undefined) {
    reader.push(await client.take(1))
    value = reader.next()
  }
  return plain(value)
}

/** A reply as plain data. */
export function plain(value: RespValue): Plain {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  if (Array.isArray(value)) return (value as readonly RespValue[]).map(plain)
  if (!isTagged(value)) return value as Plain
  switch (value.type) {
    case 'error':
      return `-${value.message}`
    case 'verbatim':
      return Buffer.from(value.bytes).toString('latin1')
    case 'map': {
      const map = Object.create(null) as Record<string, Plain>
      for (const [name, entry] of value.entries) map[textOf(plain(name))] = plain(entry)
      return map
    }
    case 'set':
      return value.members.map(plain)
    case 'push':
      return value.items.map(plain)
    case 'double':
    case 'big-number':
      return value.value
    case 'attributed':
      return plain(value.value)
  }
}

function textOf(key: Plain): string {
  if (typeof key !== 'string') throw new Error('the key of a map is no string')
  return key
}

/** A reply as text; lists and maps as JSON. */
export function shownPlain(reply: Plain): string {
  return typeof reply === 'object' ? JSON.stringify(reply) : String(reply)
}
