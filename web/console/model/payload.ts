import { utf8Text } from '../../../shared/bytes.ts'
import { strictText } from './reply.ts'

/** How payloads are shown. `auto`: as text if they are UTF-8 without control characters, else as hex. */
export type PayloadFormat = 'auto' | 'text' | 'hex' | 'json'

/** Writes a payload for people. JSON that cannot be read is shown as `auto` would. */
export function showPayload(payload: Uint8Array, format: PayloadFormat): string {
  if (format === 'hex') return hexText(payload)
  if (format === 'text') return utf8Text(payload)
  if (format === 'json') {
    try {
      return JSON.stringify(JSON.parse(utf8Text(payload)), undefined, 2)
    } catch {
      return showPayload(payload, 'auto')
    }
  }
  const text = strictText(payload)
  // Tab and line ends are the control characters that texts have.
  return text === undefined || /[^\P{Cc}\t\r\n]/u.test(text) ? hexText(payload) : text
}

/** Bytes as pairs of hex digits. */
export function hexText(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
}

/** The bytes that pairs of hex digits stand for, blanks ignored; undefined for anything else. */
export function parseHex(text: string): Uint8Array | undefined {
  const digits = text.replaceAll(/\s+/g, '')
  if (digits.length % 2 === 1 || !/^[0-9a-f]*$/i.test(digits)) return undefined
  return Uint8Array.from({ length: digits.length / 2 }, (_byte, at) =>
    Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16),
  )
}
