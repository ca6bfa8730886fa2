/** Display format of payloads. `auto`: as text if they are UTF-8 without control characters, else as hex. */
export type PayloadFormat = 'auto' | 'text' | 'hex'

/** Number of payload bytes that are shown. */
const MAX_SHOWN_BYTES = 2048

const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const lenientDecoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Formats the start of a payload, with a note if it is cut. */
export function showPayload(payload: Uint8Array, format: PayloadFormat): string {
  const shown = payload.subarray(0, MAX_SHOWN_BYTES)
  // A cut may split a character of up to four bytes, so the text is decoded leniently.
  const isCut = shown.length < payload.length
  const asText = format === 'text' || (format === 'auto' && looksLikeText(payload))
  const text = asText ? lenientDecoder.decode(shown, { stream: isCut }) : hex(shown)
  if (isCut) lenientDecoder.decode()
  return isCut ? `${text} … ${showSize(payload.length)} in all` : text
}

/** Bytes as pairs of hex digits. */
function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
}

function looksLikeText(bytes: Uint8Array): boolean {
  try {
    // Tab and line ends are the control characters that texts contain. Bidi controls would reorder the page.
    return !/[^\P{Cc}\t\r\n]|[\u202a-\u202e\u2066-\u2069]/u.test(strictDecoder.decode(bytes))
  } catch {
    return false
  }
}

/** A number of bytes for people. */
export function showSize(bytes: number): string {
  return bytes < 1024 ? `${bytes} B` : `${(bytes / 1024).toFixed(1)} KiB`
}

/** A span for people: `0.4 s`, `1:05 min`, `2:30 h`, `3 d`. Milliseconds. */
export function showSpan(spanMs: number): string {
  const seconds = Math.max(0, spanMs) / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)}:${twoDigits(whole % 60)} min`
  if (whole < 86_400)
    return `${Math.floor(whole / 3600)}:${twoDigits(Math.floor(whole / 60) % 60)} h`
  return `${Math.floor(whole / 86_400)} d`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}

/** The time of day with milliseconds, in the page's time zone. */
export function showTime(date: Date): string {
  const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()]
  const clock = [hours, minutes, seconds].map((part) => twoDigits(part)).join(':')
  return `${clock}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
