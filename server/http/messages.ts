/** A message to be published. */
export interface Message {
  readonly channel: Buffer
  readonly payload: Buffer
}

/** Most messages of one request. */
export const MOST_MESSAGES = 128

const BASE64 = /^[\w+/-]*={0,2}$/

/**
 * Reads a list of messages from JSON: `channel` and `payload` are texts, or `b64channel` and `b64payload` bytes in base64.
 *
 * @returns The reason why it is none, as a sentence for the peer. One bad message spoils all.
 */
export function readMessages(json: Buffer): readonly Message[] | string {
  let value: unknown
  try {
    value = JSON.parse(json.toString('utf8'))
  } catch {
    return 'the body is not JSON'
  }
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length > MOST_MESSAGES) return `at most ${MOST_MESSAGES} messages in one request`
  const messages: Message[] = []
  for (const [at, one] of list.entries()) {
    const where = Array.isArray(value) ? `message ${at}: ` : ''
    if (typeof one !== 'object' || one === null || Array.isArray(one)) {
      return `${where}an object with channel and payload is needed`
    }
    const fields = new Map<string, unknown>(Object.entries(one))
    const channel = bytesOf(fields, 'channel')
    const payload = bytesOf(fields, 'payload')
    if (typeof channel === 'string') return where + channel
    if (typeof payload === 'string') return where + payload
    messages.push({ channel, payload })
  }
  return messages
}

/** The bytes of a field, given as text or in base64. */
function bytesOf(fields: ReadonlyMap<string, unknown>, name: string): Buffer | string {
  const text = fields.get(name)
  const encoded = fields.get(`b64${name}`)
  if (typeof text === 'string' && encoded === undefined) return Buffer.from(text, 'utf8')
  if (typeof encoded === 'string' && text === undefined && BASE64.test(encoded)) {
    return Buffer.from(encoded, 'base64')
  }
  return `either ${name}, a text, or b64${name}, bytes in base64, is needed`
}
