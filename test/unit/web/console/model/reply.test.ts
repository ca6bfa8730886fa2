import { describe, expect, test } from 'vitest'
import {
  labelOf,
  recordOf,
  replyText,
  ShapeError,
  textOf,
} from '../../../../../web/console/model/reply.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1')

describe('commands as text', () => {
  test('replies look as in redis-cli, are cut, and hide password hashes', () => {
    expect(replyText([bytes('a'), 1, null, [bytes('b'), bytes('\xff')]])).toBe(
      '1) "a"\n2) (integer) 1\n3) (nil)\n4) 1) "b"\n   2) "\\xff"',
    )
    expect(replyText({ type: 'map', entries: [[bytes('a'), 1]] })).toBe('1# "a" => (integer) 1')
    expect(replyText(bytes(`user a on #${'0a'.repeat(32)} &x`))).toBe('"user a on #(hash) &x"')
    expect(replyText(bytes('x'.repeat(100_000))).length).toBeLessThan(4_100)
  })
})

describe('replies', () => {
  test('maps of RESP3 and flat arrays of RESP2 are read alike', () => {
    const flat = recordOf([bytes('a'), 1, bytes('b'), bytes('x')])
    const map = recordOf({
      type: 'map',
      entries: [
        [bytes('a'), 1],
        [bytes('b'), bytes('x')],
      ],
    })
    expect(flat).toEqual(map)
    expect(textOf(flat.get('b'))).toBe('x')
    expect(textOf(flat.get('c'))).toBe('')
  })

  test('a reply of another shape is reported as that', () => {
    expect(() => recordOf(7)).toThrow(ShapeError)
    expect(() => textOf([1])).toThrow(ShapeError)
  })

  test('names that are not text are shown with their bytes', () => {
    expect(labelOf(Buffer.from('grüße'))).toBe('grüße')
    expect(labelOf(bytes('\xff\x00a'))).toBe(String.raw`\xff\x00a`)
    expect(labelOf(bytes('a\nb'))).toBe(String.raw`a\x0ab`)
    expect(labelOf(Buffer.from('a\u202eb'))).toBe(String.raw`a\xe2\x80\xaeb`)
  })
})
