import { describe, expect, test } from 'vitest'
import { RespReader } from '../../../../shared/resp/reader.ts'
import type { ReaderLimits } from '../../../../shared/resp/reader.ts'
import type { RespValue } from '../../../../shared/resp/types.ts'
import { testEachCut } from '../../../support/each-cut.ts'

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'latin1'))

/** Reads every value that the chunks hold, asking after each chunk. */
function readAll(chunks: readonly Uint8Array[], limits?: Partial<ReaderLimits>): RespValue[] {
  const reader = new RespReader(limits)
  const values: RespValue[] = []
  for (const chunk of chunks) {
    reader.push(chunk)
    for (let value = reader.next(); value !== undefined; value = reader.next()) values.push(value)
  }
  return values
}

/** Expects that the chunks hold these values, and no other. */
function expectValues(
  chunks: readonly Uint8Array[],
  values: readonly RespValue[],
  limits?: Partial<ReaderLimits>,
): void {
  expect(readAll(chunks, limits)).toEqual(values)
}

/** The code of the error that ends the stream, and the values before it. */
function readFailure(
  chunks: readonly Uint8Array[],
  limits?: Partial<ReaderLimits>,
): { code: unknown; values: RespValue[] } {
  const reader = new RespReader(limits)
  const values: RespValue[] = []
  try {
    for (const chunk of chunks) {
      reader.push(chunk)
      for (let value = reader.next(); value !== undefined; value = reader.next()) values.push(value)
    }
  } catch (error) {
    return { code: (error as { code?: unknown }).code, values }
  }
  return { code: undefined, values }
}

/** Expects one value, and then an error with this code. */
function expectFailure(
  chunks: readonly Uint8Array[],
  code: string,
  limits?: Partial<ReaderLimits>,
): void {
  expect(readFailure(chunks, limits)).toEqual({ code, values: ['pre'] })
}

const VALUES: readonly (readonly [name: string, stream: string, values: RespValue[]])[] = [
  ['a simple string is text', '+OK\r\n', ['OK']],
  ['a simple string may be empty', '+\r\n', ['']],
  ['a simple string is UTF-8', '+gr\xc3\xbc\xc3\x9fe\r\n', ['grüße']],
  ['an error is a value', '-NOPERM no\r\n', [{ type: 'error', message: 'NOPERM no' }]],
  [
    'a bulk error is an error',
    '!9\r\nERR a\r\nbc\r\n',
    [{ type: 'error', message: 'ERR a\r\nbc' }],
  ],
  ['integers', ':0\r\n:-7\r\n:+5\r\n:-0\r\n', [0, -7, 5, 0]],
  [
    'integers beyond 2^53 stay exact',
    ':9007199254740991\r\n:9223372036854775807\r\n:-9223372036854775808\r\n',
    [9007199254740991, 9223372036854775807n, -9223372036854775808n],
  ],
  ['a bulk string is bytes', '$4\r\n\x00\xff\r\n\r\n', [Uint8Array.of(0, 255, 13, 10)]],
  ['a bulk string may be empty', '$0\r\n\r\n', [new Uint8Array(0)]],
  ['null has three spellings', '_\r\n$-1\r\n*-1\r\n', [null, null, null]],
  ['booleans', '#t\r\n#f\r\n', [true, false]],
  [
    'doubles',
    ',1.5\r\n,10\r\n,-2.5e-3\r\n,inf\r\n,-inf\r\n,nan\r\n,-nan\r\n',
    [1.5, 10, -0.0025, Infinity, -Infinity, NaN, NaN].map((value) => ({ type: 'double', value })),
  ],
  [
    'a big number',
    '(-3492890328409238509324850943850943825024385\r\n',
    [{ type: 'big-number', value: -3492890328409238509324850943850943825024385n }],
  ],
  [
    'a verbatim string has a format',
    '=15\r\ntxt:Some string\r\n',
    [{ type: 'verbatim', format: 'txt', bytes: bytes('Some string') }],
  ],
  ['an array', '*2\r\n$1\r\na\r\n:1\r\n', [[bytes('a'), 1]]],
  ['an empty array', '*0\r\n', [[]]],
  ['arrays within arrays', '*2\r\n*1\r\n*0\r\n*1\r\n*1\r\n_\r\n', [[[[]], [[null]]]]],
  [
    'a map keeps its order and its keys of any kind',
    '%2\r\n$1\r\nb\r\n:1\r\n*1\r\n#t\r\n~0\r\n',
    [
      {
        type: 'map',
        entries: [
          [bytes('b'), 1],
          [[true], { type: 'set', members: [] }],
        ],
      },
    ],
  ],
  ['an empty map', '%0\r\n', [{ type: 'map', entries: [] }]],
  ['a set', '~2\r\n+a\r\n+b\r\n', [{ type: 'set', members: ['a', 'b'] }]],
  [
    'a message is a push',
    '>3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n',
    [{ type: 'push', items: [bytes('message'), bytes('news'), bytes('hello')] }],
  ],
  [
    'an attribute decorates the next value',
    '|1\r\n+ttl\r\n:30\r\n$1\r\nx\r\n+OK\r\n',
    [
      {
        type: 'attributed',
        attributes: { type: 'map', entries: [['ttl', 30]] },
        value: bytes('x'),
      },
      'OK',
    ],
  ],
  [
    'an attribute may stand within an array, and hold nothing',
    '*2\r\n+a\r\n|0\r\n*1\r\n+b\r\n',
    [['a', { type: 'attributed', attributes: { type: 'map', entries: [] }, value: ['b'] }]],
  ],
  [
    'an attribute may stand before a push',
    '|1\r\n+a\r\n+b\r\n>1\r\n+x\r\n',
    [
      {
        type: 'attributed',
        attributes: { type: 'map', entries: [['a', 'b']] },
        value: { type: 'push', items: ['x'] },
      },
    ],
  ],
  ['values follow each other', '+OK\r\n:1\r\n$1\r\na\r\n', ['OK', 1, bytes('a')]],
]

describe('a reader gives the same values for any cut', () => {
  for (const [name, stream, values] of VALUES) {
    testEachCut(name, stream, (chunks) => expectValues(chunks, values))
  }
})

const FAILURES: readonly (readonly [
  name: string,
  stream: string,
  code: string,
  limits?: Partial<ReaderLimits>,
])[] = [
  ['an unknown type', 'HTTP/1.1 200 OK\r\n', 'ERR_RESP_TYPE'],
  ['an unknown type within an array', '*1\r\n?', 'ERR_RESP_TYPE'],
  ['a line ended by LF alone', '+OK\n', 'ERR_RESP_LINE'],
  ['a CR within a line', '+O\rK\r\n', 'ERR_RESP_LINE'],
  ['a length that is not decimal', '$0x10\r\n', 'ERR_RESP_LINE'],
  ['a length with a sign', '$+1\r\n', 'ERR_RESP_LINE'],
  ['a negative length', '$-2\r\n', 'ERR_RESP_LINE'],
  ['an empty length', '*\r\n', 'ERR_RESP_LINE'],
  ['a map of length -1', '%-1\r\n', 'ERR_RESP_LINE'],
  ['a verbatim string of length -1', '=-1\r\n', 'ERR_RESP_LINE'],
  ['a verbatim string without a format', '=3\r\ntxt\r\n', 'ERR_RESP_LINE'],
  ['a streamed string', '$?\r\n', 'ERR_RESP_LINE'],
  ['an integer with a fraction', ':1.5\r\n', 'ERR_RESP_LINE'],
  ['an integer beyond 64 bits', ':9223372036854775808\r\n', 'ERR_RESP_LINE'],
  ['a double in hexadecimal', ',0x1\r\n', 'ERR_RESP_LINE'],
  ['a boolean that is neither', '#x\r\n', 'ERR_RESP_LINE'],
  ['a null with content', '_x\r\n', 'ERR_RESP_LINE'],
  ['a big number with letters', '(12n\r\n', 'ERR_RESP_LINE'],
  ['a bulk string longer than announced', '$1\r\nabc\r\n', 'ERR_RESP_BULK_END'],
  ['a push within an array', '*1\r\n>1\r\n', 'ERR_RESP_PUSH'],
  ['a line over its limit', '+12345\r\n', 'ERR_RESP_LINE_LIMIT', { maxLineBytes: 4 }],
  ['an unfinished line over its limit', '+123456', 'ERR_RESP_LINE_LIMIT', { maxLineBytes: 4 }],
  ['a bulk string over its limit', '$5\r\n', 'ERR_RESP_BULK_LIMIT', { maxBulkBytes: 4 }],
  ['an array over its limit', '*4\r\n', 'ERR_RESP_ITEM_LIMIT', { maxItems: 3 }],
  ['a map over its limit', '%2\r\n', 'ERR_RESP_ITEM_LIMIT', { maxItems: 3 }],
  ['nested arrays that exceed it together', '*2\r\n*2\r\n', 'ERR_RESP_ITEM_LIMIT', { maxItems: 3 }],
  [
    'an array in an array in an array',
    '*1\r\n*1\r\n*1\r\n',
    'ERR_RESP_DEPTH_LIMIT',
    { maxDepth: 2 },
  ],
  ['attributes of attributes', '|0\r\n|0\r\n|0\r\n', 'ERR_RESP_DEPTH_LIMIT', { maxDepth: 2 }],
]

describe('a reader refuses, with a code,', () => {
  for (const [name, stream, code, limits] of FAILURES) {
    testEachCut(name, `+pre\r\n${stream}`, (chunks) => expectFailure(chunks, code, limits))
  }

  test('everything after the first violation', () => {
    const reader = new RespReader()
    reader.push(bytes('?\r\n+OK\r\n'))
    expect(() => reader.next()).toThrow(expect.objectContaining({ code: 'ERR_RESP_TYPE' }))
    reader.push(bytes('+OK\r\n'))
    expect(() => reader.next()).toThrow(expect.objectContaining({ code: 'ERR_RESP_TYPE' }))
  })
})

describe('what is just within a limit is read', () => {
  testEachCut('a line', '+1234\r\n', (chunks) => {
    expectValues(chunks, ['1234'], { maxLineBytes: 4 })
  })
  testEachCut('a bulk string', '$4\r\nabcd\r\n', (chunks) => {
    expectValues(chunks, [bytes('abcd')], { maxBulkBytes: 4 })
  })
  testEachCut('items, for each value anew', '*3\r\n_\r\n_\r\n_\r\n*1\r\n_\r\n', (chunks) => {
    expectValues(chunks, [[null, null, null], [null]], { maxItems: 3 })
  })
  testEachCut('depth', '*1\r\n*1\r\n+x\r\n', (chunks) => {
    expectValues(chunks, [[['x']]], { maxDepth: 2 })
  })
})

describe('a reader does not depend on what it was promised', () => {
  test('an announced bulk string of 512 MiB costs nothing until it arrives', () => {
    const before = process.memoryUsage().arrayBuffers
    const reader = new RespReader()
    reader.push(bytes('*1048576\r\n$536870912\r\nfirst bytes'))
    expect(reader.next()).toBeUndefined()
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000)
  })

  test.each([
    ['chunk', bytes('$3\r\nabc\r\n')],
    ['Buffer of Node.js', Buffer.from('$3\r\nabc\r\n')],
  ])('a bulk string is a copy that outlives its %s', (_, chunk) => {
    const reader = new RespReader()
    reader.push(chunk)
    const value = reader.next()
    chunk.fill(0)
    expect(value).toEqual(bytes('abc'))
    expect((value as Uint8Array).buffer.byteLength).toBe(3)
  })

  test('a bulk string gathered from pieces has no spare room', () => {
    const [value] = readAll(Array.from(bytes('$5\r\nhello\r\n'), (byte) => Uint8Array.of(byte)))
    expect((value as Uint8Array).buffer.byteLength).toBe(5)
  })

  test('a chunk may be empty', () => {
    expect(readAll([bytes('+O'), new Uint8Array(0), bytes('K\r\n')])).toEqual(['OK'])
  })
})
