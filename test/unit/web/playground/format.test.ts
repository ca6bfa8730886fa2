import { describe, expect, test } from 'vitest'
import { showPayload, showSize, showSpan, showTime } from '../../../../web/playground/format.ts'

const utf8 = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text))

describe('a payload is shown', () => {
  test('as text where it is text, else as hex', () => {
    expect(showPayload(utf8('grüße\n\tok'), 'auto')).toBe('grüße\n\tok')
    expect(showPayload(utf8('a\u0000b'), 'auto')).toBe('61 00 62')
    expect(showPayload(Uint8Array.of(0xff, 0x41), 'auto')).toBe('ff 41')
    expect(showPayload(new Uint8Array(0), 'auto')).toBe('')
  })

  test('as text or hex on demand', () => {
    expect(showPayload(Uint8Array.of(0xff, 0x41), 'text')).toBe('\ufffdA')
    expect(showPayload(utf8('AB'), 'hex')).toBe('41 42')
  })

  test('up to 2 KiB, cut between characters, with the size of all of it', () => {
    expect(showPayload(utf8('a'.repeat(2048)), 'auto')).toBe('a'.repeat(2048))
    // The third of the bytes 2046 to 2048 would be missing.
    const long = utf8(`${'a'.repeat(2046)}€${'b'.repeat(1000)}`)
    expect(showPayload(long, 'auto')).toBe(`${'a'.repeat(2046)} … 3.0 KiB in all`)
    // Nothing of the cut character is left over for the next payload.
    expect(showPayload(utf8('next'), 'auto')).toBe('next')
  })
})

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1536, '1.5 KiB'],
])('%i bytes read %s', (bytes, text) => {
  expect(showSize(bytes)).toBe(text)
})

test.each([
  [-5, '0.0 s'],
  [420, '0.4 s'],
  [12_400, '12 s'],
  [59_600, '1:00 min'],
  [65_000, '1:05 min'],
  [9_000_000, '2:30 h'],
  [3 * 86_400_000, '3 d'],
])('%i ms read %s', (spanMs, text) => {
  expect(showSpan(spanMs)).toBe(text)
})

test('a time has milliseconds', () => {
  expect(showTime(new Date(2026, 0, 2, 3, 4, 5, 6))).toBe('03:04:05.006')
})
