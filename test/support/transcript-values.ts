/** A reply as a value: strings for every kind of text, arrays for every aggregate, a map as the array of its pairs. */
export type ReplyValue = string | number | null | readonly ReplyValue[]

/**
 * Reads one whole reply of RESP2 or RESP3 from a byte string.
 *
 * @throws Error The bytes are no whole reply.
 */
export function parseReply(bytes: string): ReplyValue {
  const { value, next } = valueAt(bytes, 0)
  if (next !== bytes.length) throw new Error(`more than one reply: ${bytes.slice(next)}`)
  return value
}

function valueAt(bytes: string, at: number): { value: ReplyValue; next: number } {
  const end = bytes.indexOf('\r\n', at)
  if (end < 0) throw new Error(`no whole reply: ${bytes.slice(at)}`)
  const text = bytes.slice(at + 1, end)
  const next = end + 2
  switch (bytes.charAt(at)) {
    case ':':
      return { value: Number(text), next }
    case '_':
      return { value: null, next }
    case '$':
    case '=': {
      const length = Number(text)
      if (length < 0) return { value: null, next }
      return { value: bytes.slice(next, next + length), next: next + length + 2 }
    }
    case '*':
    case '~':
    case '>':
      return valuesAt(bytes, next, Number(text))
    case '%':
      return valuesAt(bytes, next, Number(text) * 2)
    default:
      return { value: text, next }
  }
}

function valuesAt(bytes: string, at: number, count: number): { value: ReplyValue; next: number } {
  if (count < 0) return { value: null, next: at }
  const values: ReplyValue[] = []
  let next = at
  for (let i = 0; i < count; i++) {
    const read = valueAt(bytes, next)
    values.push(read.value)
    next = read.next
  }
  return { value: values, next }
}

/** The strings of a reply that is a flat array of strings. */
export function stringsOf(value: ReplyValue): string[] {
  if (!Array.isArray(value)) return []
  return value.filter((each): each is string => typeof each === 'string')
}
