import { describe, expect, test } from 'vitest'
import { ReplyWriter, type Protocol } from '../../../server/resp/reply-writer.ts'

/** The output of a writer in a protocol, as a byte string. */
function written(protocol: Protocol, write: (writer: ReplyWriter) => void): string {
  const writer = new ReplyWriter()
  writer.begin(protocol)
  write(writer)
  return writer.buffer.toString('latin1', writer.start, writer.end)
}

describe('A reply', () => {
  const rows: [
    name: string,
    write: (writer: ReplyWriter) => void,
    resp2: string,
    resp3?: string,
  ][] = [
    ['simple string', (w) => w.simple('PONG'), '+PONG\r\n'],
    ['OK', (w) => w.ok(), '+OK\r\n'],
    [
      'simple string of more than 32 bytes',
      (w) => w.simple('x'.repeat(33)),
      `+${'x'.repeat(33)}\r\n`,
    ],
    ['error', (w) => w.error('WRONGPASS no'), '-WRONGPASS no\r\n'],
    ['error with line ends', (w) => w.error('ERR FOO\r\nBAR'), '-ERR FOO  BAR\r\n'],
    ['error with NUL', (w) => w.error('ERR a\0b'), '-ERR a\r\n'],
    ['integer', (w) => w.integer(7), ':7\r\n'],
    ['integer of two digits', (w) => w.integer(10), ':10\r\n'],
    ['negative integer', (w) => w.integer(-3), ':-3\r\n'],
    ['large integer', (w) => w.integer(9_007_199_254_740_991), ':9007199254740991\r\n'],
    ['bulk string', (w) => w.bulk('hi'), '$2\r\nhi\r\n'],
    ['empty bulk string', (w) => w.bulk(''), '$0\r\n\r\n'],
    ['bulk string of bytes', (w) => w.bulk(Buffer.from([0, 13, 10, 255])), '$4\r\n\0\r\n\xff\r\n'],
    ['bulk string of a byte string', (w) => w.bulk('\x80\xff'), '$2\r\n\x80\xff\r\n'],
    [
      'bulk string of a long byte string',
      (w) => w.bulk('\xe9'.repeat(40)),
      `$40\r\n${'\xe9'.repeat(40)}\r\n`,
    ],
    ['text in UTF-8', (w) => w.utf8('\u00e9'), '$2\r\n\xc3\xa9\r\n'],
    ['verbatim text', (w) => w.verbatim('id=1\n'), '$5\r\nid=1\n\r\n', '=9\r\ntxt:id=1\n\r\n'],
    [
      'lines of verbatim text',
      (w) => w.verbatimLines(['id=1', '', 'id=2']),
      '$11\r\nid=1\n\nid=2\n\r\n',
      '=15\r\ntxt:id=1\n\nid=2\n\r\n',
    ],
    ['no lines of verbatim text', (w) => w.verbatimLines([]), '$0\r\n\r\n', '=4\r\ntxt:\r\n'],
    ['null', (w) => w.null(), '$-1\r\n', '_\r\n'],
    ['double', (w) => w.double(0.451), '$5\r\n0.451\r\n', ',0.451\r\n'],
    ['whole double', (w) => w.double(3), '$1\r\n3\r\n', ',3\r\n'],
    ['infinity', (w) => w.double(Infinity), '$3\r\ninf\r\n', ',inf\r\n'],
    ['negative infinity', (w) => w.double(-Infinity), '$4\r\n-inf\r\n', ',-inf\r\n'],
    ['not a number', (w) => w.double(Number.NaN), '$3\r\nnan\r\n', ',nan\r\n'],
    ['array', (w) => w.array(2), '*2\r\n'],
    ['map', (w) => w.map(7), '*14\r\n', '%7\r\n'],
    ['set', (w) => w.set(2), '*2\r\n', '~2\r\n'],
    ['push', (w) => w.push(3), '*3\r\n', '>3\r\n'],
    ['piece of RESP', (w) => w.raw(Buffer.from('+x\r\n')), '+x\r\n'],
  ]
  test.each(rows)('spells a %s for RESP2 and RESP3', (_name, write, resp2, resp3 = resp2) => {
    expect(written(2, write)).toBe(resp2)
    expect(written(3, write)).toBe(resp3)
  })

  test('changes its protocol in the middle, as HELLO does', () => {
    const write = (writer: ReplyWriter): void => {
      writer.null()
      writer.protocol = 3
      writer.null()
    }
    expect(written(2, write)).toBe('$-1\r\n_\r\n')
  })
})

describe('Errors', () => {
  test('are counted by their code', () => {
    const codes: string[] = []
    const writer = new ReplyWriter((code) => codes.push(code))
    writer.begin(2)
    writer.error('NOPERM no')
    writer.error('ERR a b')
    expect(codes).toEqual(['NOPERM', 'ERR'])
    expect(writer.errorCount).toBe(2)
    writer.begin(2)
    expect(writer.errorCount).toBe(0)
  })
})

describe('Replies', () => {
  test('lie one after the other in one slab', () => {
    const writer = new ReplyWriter()
    writer.begin(2)
    writer.simple('a')
    const { buffer, end } = writer
    writer.begin(3)
    writer.null()
    expect(writer.buffer).toBe(buffer)
    expect(writer.start).toBe(end)
    expect(buffer.toString('latin1', 0, writer.end)).toBe('+a\r\n_\r\n')
  })

  test('that do not fit move to a new slab and leave the old one as it was', () => {
    const writer = new ReplyWriter()
    const sent: { buffer: Buffer; start: number; end: number; text: string }[] = []
    for (let i = 0; i < 2_000; i++) {
      writer.begin(2)
      writer.array(2)
      writer.bulk(`reply ${i}`)
      writer.bulk(Buffer.alloc(i % 97, i % 251))
      const { buffer, start, end } = writer
      sent.push({ buffer, start, end, text: buffer.toString('latin1', start, end) })
    }
    expect(new Set(sent.map(({ buffer }) => buffer)).size).toBeGreaterThan(5)
    for (const [i, { buffer, start, end, text }] of sent.entries()) {
      expect(buffer.toString('latin1', start, end)).toBe(text)
      const filler = Buffer.alloc(i % 97, i % 251).toString('latin1')
      const name = `reply ${i}`
      expect(text).toBe(`*2\r\n$${name.length}\r\n${name}\r\n$${filler.length}\r\n${filler}\r\n`)
    }
  })

  test.each([16_383, 16_384, 16_385, 1_048_576])(
    'may be larger than a slab: %d bytes',
    (length) => {
      const writer = new ReplyWriter()
      writer.begin(2)
      writer.simple('before')
      const before = { buffer: writer.buffer, end: writer.end }
      writer.begin(2)
      writer.array(2)
      writer.bulk(Buffer.alloc(length, 'x'))
      writer.bulk('y'.repeat(length))
      const text = writer.buffer.toString('latin1', writer.start, writer.end)
      const [xs, ys] = ['x'.repeat(length), 'y'.repeat(length)]
      expect(text === `*2\r\n$${length}\r\n${xs}\r\n$${length}\r\n${ys}\r\n`).toBe(true)
      expect(before.buffer.toString('latin1', 0, before.end)).toBe('+before\r\n')
    },
  )

  test('of many small values grow through slabs', () => {
    const writer = new ReplyWriter()
    writer.begin(3)
    writer.array(20_000)
    for (let i = 0; i < 20_000; i++) writer.integer(i)
    const expected = `*20000\r\n${Array.from({ length: 20_000 }, (_, i) => `:${i}\r\n`).join('')}`
    expect(writer.buffer.toString('latin1', writer.start, writer.end) === expected).toBe(true)
  })

  test('after a large one do not hold its slab', () => {
    const writer = new ReplyWriter()
    writer.begin(2)
    writer.bulk(Buffer.alloc(1_000_000))
    writer.begin(2)
    writer.ok()
    expect(writer.buffer.length).toBe(16_384)
    expect(writer.buffer.toString('latin1', writer.start, writer.end)).toBe('+OK\r\n')
  })
})

describe('Rolling back', () => {
  test('forgets what was written since the mark', () => {
    const writer = new ReplyWriter()
    writer.begin(2)
    writer.ok()
    writer.begin(2)
    writer.array(2)
    const mark = writer.mark()
    writer.simple('gone')
    writer.rollback(mark)
    writer.simple('kept')
    expect(writer.buffer.toString('latin1', 0, writer.end)).toBe('+OK\r\n*2\r\n+kept\r\n')
  })

  test('finds its place though the reply moved to another slab', () => {
    const writer = new ReplyWriter()
    writer.begin(2)
    writer.array(2)
    const mark = writer.mark()
    writer.bulk('x'.repeat(100_000))
    writer.rollback(mark)
    writer.simple('kept')
    expect(writer.buffer.toString('latin1', writer.start, writer.end)).toBe('*2\r\n+kept\r\n')
  })

  test('to 0 leaves no reply', () => {
    const writer = new ReplyWriter()
    writer.begin(2)
    writer.ok()
    writer.rollback(0)
    expect(writer.end).toBe(writer.start)
  })
})
