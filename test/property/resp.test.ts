import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { utf8Bytes, utf8Length } from '../../shared/bytes.ts'
import { encodeCommand } from '../../shared/resp/command.ts'
import { RespProtocolError } from '../../shared/resp/error.ts'
import { RespReader } from '../../shared/resp/reader.ts'
import type { RespMap, RespValue } from '../../shared/resp/types.ts'
import { encodeValue } from '../../shared/resp/writer.ts'

const line = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((text) => !/[\r\n]/.test(text))
const bulk = fc.uint8Array({ maxLength: 40 })

const { value: anyValue } = fc.letrec<{ value: RespValue; map: RespMap }>((tie) => {
  const items = fc.array(tie('value'), { maxLength: 4 })
  return {
    map: fc.record({
      type: fc.constant('map' as const),
      entries: fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 3 }),
    }),
    value: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      line,
      bulk,
      fc.maxSafeInteger(),
      fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
      fc.constant(null),
      fc.boolean(),
      fc.record({ type: fc.constant('error' as const), message: line }),
      fc.record({ type: fc.constant('double' as const), value: fc.double() }),
      fc.record({ type: fc.constant('big-number' as const), value: fc.bigInt() }),
      fc.record({
        type: fc.constant('verbatim' as const),
        format: fc.constantFrom('txt', 'mkd'),
        bytes: bulk,
      }),
      items,
      fc.record({ type: fc.constant('set' as const), members: items }),
      tie('map'),
      fc.record({
        type: fc.constant('attributed' as const),
        attributes: tie('map'),
        value: tie('value'),
      }),
    ),
  }
})

const topLevel = fc.oneof(
  anyValue,
  fc.record({
    type: fc.constant('push' as const),
    items: fc.array(anyValue, { minLength: 1, maxLength: 4 }),
  }),
)

/** Cuts bytes at arbitrary places. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [
    0,
    ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b),
    bytes.length,
  ]
  return at.slice(1).map((end, index) => bytes.slice(at[index], end))
}

/** Values until the end, or until an error, whose code comes last. */
function outcome(chunks: readonly Uint8Array[]): unknown[] {
  const reader = new RespReader({ maxDepth: 3, maxItems: 8, maxLineBytes: 8, maxBulkBytes: 8 })
  const seen: unknown[] = []
  try {
    for (const chunk of chunks) {
      reader.push(chunk)
      for (let value = reader.next(); value !== undefined; value = reader.next()) seen.push(value)
    }
  } catch (error) {
    if (!(error instanceof RespProtocolError)) throw error
    seen.push(error.code)
  }
  return seen
}

describe('RESP', () => {
  test('values survive being written, cut anywhere, and read', () => {
    fc.assert(
      fc.property(
        fc.array(topLevel, { maxLength: 4 }),
        fc.array(fc.nat(), { maxLength: 12 }),
        (values, places) => {
          const stream = Uint8Array.from(values.flatMap((value) => [...encodeValue(value)]))
          const reader = new RespReader()
          const read: RespValue[] = []
          for (const chunk of cut(stream, places)) {
            reader.push(chunk)
            for (let value = reader.next(); value !== undefined; value = reader.next())
              read.push(value)
          }
          expect(read).toEqual(values)
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('a command is read back as the bytes of its arguments', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ unit: 'binary' }), bulk), { minLength: 1 }),
        (args) => {
          const reader = new RespReader()
          reader.push(encodeCommand(args))
          expect(reader.next()).toEqual(
            args.map((arg) => (typeof arg === 'string' ? utf8Bytes(arg) : arg)),
          )
          expect(reader.next()).toBeUndefined()
        },
      ),
    )
  })

  test('bytes of any kind give values or a coded error, the same for every cut', () => {
    const noise = fc.array(
      fc.constantFrom(
        '*',
        '$',
        ':',
        '+',
        '-',
        '%',
        '>',
        '|',
        '~',
        '_',
        '#t',
        ',',
        '=',
        '0',
        '1',
        '2',
        '-1',
        '\r\n',
        '\r\n',
        'x',
      ),
      { maxLength: 24 },
    )
    fc.assert(
      fc.property(noise, fc.array(fc.nat(), { maxLength: 12 }), (pieces, places) => {
        const stream = Uint8Array.from(Buffer.from(pieces.join(''), 'latin1'))
        expect(outcome(cut(stream, places))).toEqual(outcome([stream]))
      }),
      { numRuns: 5000 },
    )
  })

  test('the UTF-8 length of a text is that of its bytes', () => {
    const units = fc.string({
      unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    })
    fc.assert(
      fc.property(units, (text) => {
        expect(utf8Length(text)).toBe(utf8Bytes(text).length)
      }),
    )
  })
})
