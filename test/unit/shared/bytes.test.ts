import { describe, expect, test } from 'vitest'
import { byteString, utf8Text } from '../../../shared/bytes.ts'

describe('bytes as text', () => {
  test('a byte string has one unit per byte, in windows-1252 places as well', () => {
    expect(byteString(Uint8Array.of(0, 0x41, 0x80, 0x9f, 0xff))).toBe('\x00A\x80\x9f\xff')
    expect(byteString(new Uint8Array(300_000).fill(0x61))).toBe('a'.repeat(300_000))
  })

  test('a byte order mark is kept', () => {
    expect(utf8Text(Uint8Array.of(0xef, 0xbb, 0xbf, 0x41))).toBe('\ufeffA')
  })
})
