import { describe, expect, test } from 'vitest'
import { parseHex, showId, showPayload } from '../../../../../web/console/model/format.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1')

test('an id is the number of its gateway and a counter, if gateways share what has ids', () => {
  expect([27, 2 ** 40 - 1].map(showId)).toEqual(['27', '1099511627775'])
  expect([3 * 2 ** 40 + 27, 4_095 * 2 ** 40].map(showId)).toEqual(['3:27', '4095:0'])
})

describe('payloads', () => {
  test('a payload is shown as text if it is text, else as hex', () => {
    expect(showPayload(bytes('a\tb\n'), 'auto')).toBe('a\tb\n')
    expect(showPayload(bytes('\xff'), 'auto')).toBe('ff')
    expect(showPayload(bytes('\x1b[2J'), 'auto')).toBe('1b 5b 32 4a')
    expect(showPayload(bytes('[1]'), 'json')).toBe('[\n  1\n]')
    expect(showPayload(bytes('no json'), 'json')).toBe('no json')
  })

  test.each(['auto', 'text', 'json'] as const)(
    'a payload cannot reorder or hide what is shown as %s',
    (format) => {
      const payload = Buffer.from('["\u202egnp.exe\u200b", "\u{1f468}\u200d\u{1f469}"]')
      const shown = showPayload(payload, format).replaceAll(/\s+/g, '')
      expect(shown).toBe('["\\u{202e}gnp.exe\\u{200b}","\u{1f468}\u200d\u{1f469}"]')
    },
  )

  test('hex digits come in pairs', () => {
    expect(parseHex('00 fF\n7')).toBeUndefined()
    expect(parseHex('00 fF\n7a')).toEqual(Uint8Array.of(0, 255, 122))
    expect(parseHex('')).toEqual(new Uint8Array())
    expect(parseHex('0x')).toBeUndefined()
  })
})
