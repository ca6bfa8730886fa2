import { isUtf8 } from 'node:buffer'
import type { MessageKind } from '../resp/push.ts'
import type { Payload } from './segment.ts'

/**
 * Encodes a message as an event of a stream (HTML standard, server-sent events): one line of JSON. What is not UTF-8 is base64, under
 * another name.
 *
 * @param name Channel, or for `pmessage` the pattern; names are byte strings.
 * @param channel Of a pattern's message.
 */
export function messageEvent(
  kind: MessageKind,
  name: string,
  channel: string | undefined,
  payload: Payload,
): Buffer {
  const bytes = Buffer.allocUnsafe(payload.length)
  payload.copy(bytes, 0)
  return Buffer.from(`${eventHead(kind, name, channel)}${jsonField('payload', bytes)}}\n\n`, 'utf8')
}

/** The head that was made last: mostly a channel has several messages in a row. */
let lastKey = ''
let lastHead = ''

function eventHead(kind: MessageKind, name: string, channel: string | undefined): string {
  const key = `${kind} ${name} ${channel ?? ''}`
  if (key === lastKey) return lastHead
  const pattern = kind === 'pmessage' ? `${jsonField('pattern', Buffer.from(name, 'latin1'))},` : ''
  const field = kind === 'smessage' ? 'shardChannel' : 'channel'
  lastKey = key
  lastHead = `data: {${pattern}${jsonField(field, Buffer.from(channel ?? name, 'latin1'))},`
  return lastHead
}

/** One member of a JSON object: a text, or as `b64<name>` bytes in base64. */
export function jsonField(name: string, bytes: Buffer): string {
  return isUtf8(bytes)
    ? `"${name}":${JSON.stringify(bytes.toString('utf8'))}`
    : `"b64${name}":"${bytes.toString('base64')}"`
}
