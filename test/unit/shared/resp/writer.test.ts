import { describe, expect, test } from 'vitest'
import type { RespValue } from '../../../../shared/resp/types.ts'
import { encodeValue } from '../../../../shared/resp/writer.ts'

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

describe('a value is written as RESP3', () => {
  const CASES: readonly (readonly [RespValue, string])[] = [
    ['OK', '+OK\r\n'],
    ['a\r\nb', '+a  b\r\n'],
    ['grüße', '+gr\xc3\xbc\xc3\x9fe\r\n'],
    [Uint8Array.of(0, 255), '$2\r\n\x00\xff\r\n'],
    [0, ':0\r\n'],
    [-5, ':-5\r\n'],
    [2n ** 63n - 1n, ':9223372036854775807\r\n'],
    [null, '_\r\n'],
    [true, '#t\r\n'],
    [false, '#f\r\n'],
    [[1, ['x'], []], '*3\r\n:1\r\n*1\r\n+x\r\n*0\r\n'],
    [{ type: 'error', message: 'ERR one\ntwo' }, '-ERR one two\r\n'],
    [{ type: 'double', value: 0.1 }, ',0.1\r\n'],
    [{ type: 'double', value: 1 }, ',1\r\n'],
    [{ type: 'double', value: -0 }, ',-0\r\n'],
    [{ type: 'double', value: Infinity }, ',inf\r\n'],
    [{ type: 'double', value: -Infinity }, ',-inf\r\n'],
    [{ type: 'double', value: NaN }, ',nan\r\n'],
    [{ type: 'big-number', value: -12n }, '(-12\r\n'],
    [{ type: 'verbatim', format: 'txt', bytes: Uint8Array.of(65) }, '=5\r\ntxt:A\r\n'],
    [{ type: 'map', entries: [['a', 1]] }, '%1\r\n+a\r\n:1\r\n'],
    [{ type: 'set', members: ['a'] }, '~1\r\n+a\r\n'],
    [{ type: 'push', items: ['message', 1] }, '>2\r\n+message\r\n:1\r\n'],
    [
      { type: 'attributed', attributes: { type: 'map', entries: [['a', 1]] }, value: 'x' },
      '|1\r\n+a\r\n:1\r\n+x\r\n',
    ],
  ]
  for (const [value, expected] of CASES) {
    test(`as ${JSON.stringify(expected)}`, () => {
      expect(text(encodeValue(value))).toBe(expected)
    })
  }

  test('numbers that are no safe integers are refused', () => {
    expect(() => encodeValue(1.5)).toThrow(RangeError)
    expect(() => encodeValue(2 ** 53)).toThrow(RangeError)
  })

  test('a verbatim format that has not three bytes is refused', () => {
    expect(() =>
      encodeValue({ type: 'verbatim', format: 'text', bytes: new Uint8Array(0) }),
    ).toThrow(RangeError)
  })
})
