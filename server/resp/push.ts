import type { Protocol } from './reply-writer.ts'

/** Kinds of messages that a subscriber receives. */
export type MessageKind = 'message' | 'pmessage' | 'smessage'

/**
 * The constant part of a message push: header, kind, and the channel's (for `pmessage` the pattern's) name.
 *
 * It is followed, as bulk strings, by the channel for `pmessage` and by the payload.
 *
 * @param name Channel or pattern as a byte string.
 */
export function messagePrefix(protocol: Protocol, kind: MessageKind, name: string): Buffer {
  const header = `${protocol === 2 ? '*' : '>'}${kind === 'pmessage' ? 4 : 3}`
  return Buffer.from(
    `${header}\r\n$${kind.length}\r\n${kind}\r\n$${name.length}\r\n${name}\r\n`,
    'latin1',
  )
}

/**
 * One push of bulk strings, numbers and nulls, as one frame of its own: `unsubscribe` pushes and token pushes.
 *
 * @param values Byte strings become bulk strings.
 */
export function encodePush(
  protocol: Protocol,
  values: readonly (string | number | null)[],
): Buffer {
  let text = `${protocol === 2 ? '*' : '>'}${values.length}\r\n`
  for (const value of values) {
    if (value === null) text += protocol === 2 ? '$-1\r\n' : '_\r\n'
    else if (typeof value === 'number') text += `:${value}\r\n`
    else text += `$${value.length}\r\n${value}\r\n`
  }
  return Buffer.from(text, 'latin1')
}
