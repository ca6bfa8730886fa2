import { utf8Text } from '../../../shared/bytes.ts'
import { escapeInvisible } from '../../../shared/words.ts'
import { strictText } from './reply.ts'

/** A number of bytes for people: `512 B`, `1.5 KiB`. */
export function showBytes(bytes: number): string {
  let value = bytes
  for (const unit of ['B', 'KiB', 'MiB']) {
    if (value < 1024) return `${unit === 'B' ? value : value.toFixed(1)} ${unit}`
    value /= 1024
  }
  return `${value.toFixed(1)} GiB`
}

/** A figure for people: `7`, `12.4`, `1,234`, `45.6 k`, `1.2 M`. */
export function showFigure(value: number | undefined | null): string {
  if (value === undefined || value === null) return '–'
  if (value >= 1_000_000) return `${(value / 1_000_000).toFixed(1)} M`
  if (value >= 10_000) return `${(value / 1_000).toFixed(1)} k`
  if (value >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en')
  return value.toFixed(value < 1 ? 2 : 1)
}

/** `1 session`, `2 sessions`. */
export function plural(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

/** Gateways that share users number their clients and revocations from their own number times this. */
const IDS_PER_GATEWAY = 2 ** 40

/** Id of a client or a revocation for people: `27`, or `3:27` for the twenty-seventh of gateway 3. */
export function showId(id: number): string {
  if (id < IDS_PER_GATEWAY) return String(id)
  return `${Math.floor(id / IDS_PER_GATEWAY)}:${id % IDS_PER_GATEWAY}`
}

/** A span for people: `8 s`, `1:05 min`, `2:30 h`, `3 d`. */
export function showSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)}:${twoDigits(whole % 60)} min`
  if (whole < 86_400) {
    return `${Math.floor(whole / 3600)}:${twoDigits(Math.floor(whole / 60) % 60)} h`
  }
  return `${Math.floor(whole / 86_400)} d`
}

/** The time of day, in the page's time zone. Milliseconds since 1970. */
export function showTime(ms: number): string {
  const date = new Date(ms)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')
}

/** Day and time, in the page's time zone: `2030-01-31 08:05:00`. Milliseconds since 1970. */
export function showDate(ms: number): string {
  const date = new Date(ms)
  const day = [date.getFullYear(), twoDigits(date.getMonth() + 1), twoDigits(date.getDate())]
  return `${day.join('-')} ${showTime(ms)}`
}

/** Time left until a time: `in 5:00 min`, `ended`. Milliseconds since 1970. */
export function showLeft(ms: number, nowMs: number): string {
  return ms <= nowMs ? 'ended' : `in ${showSeconds((ms - nowMs) / 1000)}`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}

/** Display format of payloads. `auto`: as text if they are UTF-8 without control characters, else as hex. */
export type PayloadFormat = 'auto' | 'text' | 'hex' | 'json'

/** What texts contain beside letters: tab, line ends, and the joiner of emoji. */
const KEPT: ReadonlySet<string> = new Set(['\t', '\r', '\n', '\u200d'])

/** A text of strangers: characters that do not show, or that reorder what does, as `\u{202e}`. */
export function showText(text: string): string {
  return escapeInvisible(text, (char) =>
    KEPT.has(char) ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

/** Formats a payload, its texts as {@link showText} does. JSON that cannot be parsed is shown as with `auto`. */
export function showPayload(payload: Uint8Array, format: PayloadFormat): string {
  if (format === 'hex') return hexText(payload)
  if (format === 'text') return showText(utf8Text(payload))
  if (format === 'json') {
    try {
      return showText(JSON.stringify(JSON.parse(utf8Text(payload)), undefined, 2))
    } catch {
      return showPayload(payload, 'auto')
    }
  }
  const text = strictText(payload)
  // Tab and line ends are the control characters that texts contain.
  return text === undefined || /[^\P{Cc}\t\r\n]/u.test(text) ? hexText(payload) : showText(text)
}

/** Bytes as pairs of hex digits. */
function hexText(bytes: Uint8Array): string {
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
