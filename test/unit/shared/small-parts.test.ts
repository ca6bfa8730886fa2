import { describe, expect, test } from 'vitest'
import { fullJitter } from '../../../shared/backoff.ts'
import { byteString, utf8Text } from '../../../shared/bytes.ts'
import { errorPrefix } from '../../../shared/error-prefix.ts'
import {
  fitsSubprotocol,
  offerSubprotocols,
  readSubprotocols,
} from '../../../shared/subprotocol.ts'

describe('subprotocols', () => {
  test('a client offers resp3, and its token beside it', () => {
    expect(offerSubprotocols()).toEqual(['resp3'])
    expect(offerSubprotocols('a.b.c')).toEqual(['resp3', 'bearer.a.b.c'])
  })

  test('a server reads the token from any place, the first one only, and lists what it does not know', () => {
    expect(readSubprotocols(['bearer.a.b.c', 'chat', 'resp3', 'bearer.d'])).toEqual({
      resp3: true,
      token: 'a.b.c',
      unknown: ['chat'],
    })
    expect(readSubprotocols([])).toEqual({ resp3: false, token: undefined, unknown: [] })
  })

  test('a token travels as a subprotocol up to 4096 bytes and without separators', () => {
    expect(fitsSubprotocol('x'.repeat(4096))).toBe(true)
    expect(fitsSubprotocol('x'.repeat(4097))).toBe(false)
    expect(fitsSubprotocol('a,b')).toBe(false)
    expect(fitsSubprotocol('a b')).toBe(false)
    expect(fitsSubprotocol('')).toBe(false)
  })
})

describe('the code of an error reply', () => {
  test.each([
    ['NOPERM no permissions', 'NOPERM'],
    ['ERR unknown command', 'ERR'],
    ['NOAUTH', 'NOAUTH'],
    ['something went wrong', 'ERR'],
    ['Error: x', 'ERR'],
    ['', 'ERR'],
  ])('of %j is %s', (text, prefix) => {
    expect(errorPrefix(text)).toBe(prefix)
  })
})

describe('the wait before an attempt', () => {
  const limits = { baseMs: 300, maxMs: 20_000 }

  test('has a ceiling that doubles up to a limit', () => {
    const ceilings = [0, 1, 2, 6, 7, 5000].map((attempt) =>
      fullJitter(attempt, limits, () => 0.999_999),
    )
    expect(ceilings).toEqual([299, 599, 1199, 19199, 19999, 19999])
  })

  test('is spread evenly below it, down to nothing', () => {
    expect(fullJitter(3, limits, () => 0)).toBe(0)
    expect(fullJitter(3, limits, () => 0.5)).toBe(1200)
  })
})

describe('bytes as text', () => {
  test('a byte string has one unit per byte, in windows-1252 places as well', () => {
    expect(byteString(Uint8Array.of(0, 0x41, 0x80, 0x9f, 0xff))).toBe('\x00A\x80\x9f\xff')
    expect(byteString(new Uint8Array(300_000).fill(0x61))).toBe('a'.repeat(300_000))
  })

  test('a byte order mark is kept', () => {
    expect(utf8Text(Uint8Array.of(0xef, 0xbb, 0xbf, 0x41))).toBe('\ufeffA')
  })
})
