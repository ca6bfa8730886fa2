import { describe, expect, test } from 'vitest'
import { argumentOf, bytesOf, payloadOf } from '../../../../web/client/arguments.ts'
import { codecOf } from '../../../../web/client/codec.ts'

const BYTES = Uint8Array.of(1, 2, 3, 4)

describe('An argument', () => {
  test.each<[what: string, value: unknown, expected: string | Uint8Array]>([
    ['text', 'a', 'a'],
    ['empty text', '', ''],
    ['bytes', BYTES, BYTES],
    ['a buffer', BYTES.buffer, BYTES],
    ['a view', new DataView(BYTES.buffer, 1, 2), Uint8Array.of(2, 3)],
    ['other numbers', new Uint16Array(BYTES.buffer, 2, 1), Uint8Array.of(3, 4)],
  ])('may be %s', (_what, value, expected) => {
    expect(argumentOf(value, 'A channel')).toEqual(expected)
  })

  test.each<[shown: string, value: unknown]>([
    ['a number', 5],
    ['null', null],
    ['undefined', undefined],
    ['an object', { x: 1 }],
    ['an array', [1]],
    ['a boolean', true],
    ['a function', () => 'a'],
    ['a symbol', Symbol('a')],
    ['a bigint', 1n],
  ])('cannot be %s', (shown, value) => {
    expect(() => argumentOf(value, 'A channel')).toThrow(
      new TypeError(`A channel cannot be ${shown}: give a string or bytes`),
    )
  })

  test.each([
    ['bytes', Uint8Array.of(1)],
    ['a Buffer of Node.js', Buffer.of(1)],
  ])('of %s is a copy where bytes are kept', (_, given) => {
    const kept = bytesOf(given, 'A channel')
    given[0] = 2
    expect(kept).toEqual(Uint8Array.of(1))
    expect(bytesOf('é', 'A channel')).toEqual(Uint8Array.of(0xc3, 0xa9))
  })
})

describe('A payload', () => {
  test('of bytes passes no codec', () => {
    expect(payloadOf(BYTES.buffer, codecOf('json'))).toEqual(BYTES)
    expect(payloadOf(BYTES, codecOf('text'))).toBe(BYTES)
  })

  test('of data is what the codec makes of it', () => {
    expect(payloadOf({ x: 1 }, codecOf('json'))).toBe('{"x":1}')
    expect(payloadOf('a', codecOf('bytes'))).toBe('a')
  })

  test.each([
    ['bytes', { x: 1 }],
    ['text', 5],
    ['json', undefined],
    ['json', () => 1],
  ] as const)("that codec: '%s' makes nothing of is refused, with the remedy", (codec, data) => {
    expect(() => payloadOf(data, codecOf(codec))).toThrow(/^A payload cannot be .*codec: 'json'$/)
  })
})
