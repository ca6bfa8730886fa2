import { describe, expect, test } from 'vitest'
import { RequestParser } from '../../../server/resp/request-parser.ts'
import { testEachCut } from '../../support/each-cut.ts'
import { parseRequests, TCP_LIMITS } from '../../support/parse-requests.ts'

/** Checks that a stream holds these requests, however it is cut. */
function testRequests(name: string, stream: string, requests: string[][]): void {
  testEachCut(name, stream, (chunks) => {
    expect(parseRequests(chunks)).toEqual({ requests, error: undefined })
  })
}

describe('A RESP request', () => {
  testRequests('is an array of bulk strings', '*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n', [['ECHO', 'hi']])
  testRequests(
    'may be pipelined after others',
    '*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nPING\r\n$1\r\nb\r\n*1\r\n$4\r\nQUIT\r\n',
    [['PING'], ['PING', 'b'], ['QUIT']],
  )
  testRequests('may hold empty arguments', '*2\r\n$0\r\n\r\n$0\r\n\r\n', [['', '']])
  testRequests('may hold any bytes', '*1\r\n$8\r\n\0\r\n$1\r\n\xff\r\n', [['\0\r\n$1\r\n\xff']])
  testRequests(
    'may alternate with inline ones',
    '*1\r\n$4\r\nPING\r\nPING a\r\n*1\r\n$4\r\nPING\r\n',
    [['PING'], ['PING', 'a'], ['PING']],
  )
  testRequests('that begins with `$` is two inline commands', '$4\r\nPING\r\n', [['$4'], ['PING']])
  testRequests(
    'of more than 64 arguments leaves nothing behind for the next',
    `*66\r\n${'$1\r\nx\r\n'.repeat(66)}*1\r\n$4\r\nPING\r\n`,
    [Array.from({ length: 66 }, () => 'x'), ['PING']],
  )
})

describe('A request without arguments', () => {
  for (const header of ['*0\r\n', '*-1\r\n', '*-10\r\n', '*-9223372036854775808\r\n']) {
    testRequests(`is ignored: ${JSON.stringify(header)}`, `${header}*1\r\n$4\r\nPING\r\n`, [
      ['PING'],
    ])
  }
  testRequests(
    'changes nothing for an inline command after it',
    '*0\r\n*0\r\n*0\r\nPING\r\n\r\n  \r\n*-1\r\n*1\r\n$1\r\na\r\n',
    [['PING'], ['a']],
  )
  testRequests('is an empty line', '\r\n\n \t \r\nPING\r\n', [['PING']])
})

describe('A text message of a WebSocket', () => {
  /** The requests of messages, each of which is text. */
  function requestsOf(...messages: readonly string[]): string[][] {
    const parser = new RequestParser(TCP_LIMITS)
    const found: string[][] = []
    for (const message of messages) {
      parser.feedText(Buffer.from(message))
      while (parser.next()) {
        found.push(Array.from({ length: parser.count }, (_, i) => parser.bytes(i).toString()))
      }
    }
    expect(parser.isUnfinished).toBe(messages.at(-1)?.startsWith('*2') ?? false)
    return found
  }

  test.each([
    ['is one inline command, ended by its end', ['PING'], [['PING']]],
    ['is one with arguments', ['PUBLISH a "b c"'], [['PUBLISH', 'a', 'b c']]],
    ['may end its line itself', ['PING\r\n', 'PING\n', 'PING\r'], [['PING'], ['PING'], ['PING']]],
    [
      'may have several lines',
      ['PING a\r\nPING b'],
      [
        ['PING', 'a'],
        ['PING', 'b'],
      ],
    ],
    ['may be blank', ['', ' ', '\r\n', 'PING'], [['PING']]],
    ['ends an inline command that came in pieces', ['PING', 'a'], [['PING'], ['a']]],
    ['may be an array', ['*1\r\n$4\r\nPING\r\n'], [['PING']]],
    ['may be a piece of an array', ['*1\r\n', '$4\r\nPI', 'NG\r\n', 'PING'], [['PING'], ['PING']]],
    ['does not end an array', ['*2\r\n$4\r\nECHO\r\n'], []],
  ])('%s', (_name, messages, requests) => {
    expect(requestsOf(...messages)).toEqual(requests)
  })

  test('that follows others which wait ends its command all the same', () => {
    const parser = new RequestParser(TCP_LIMITS)
    parser.feed(Buffer.from('PI'))
    parser.feedText(Buffer.from('NG'))
    parser.feedText(Buffer.from('ECHO a'))
    expect([parser.next(), parser.bytes(0).toString()]).toEqual([true, 'PING'])
    expect([parser.next(), parser.bytes(1).toString()]).toEqual([true, 'a'])
    expect(parser.next()).toBe(false)
  })
})

describe('A request that is not whole', () => {
  test.each([
    ['a header with a bare line feed', '*1\n$4\nPING\n'],
    ['a header', '*1'],
    ['an argument', '*2\r\n$4\r\nECHO\r\n$2\r\nh'],
    ['the line end after an argument', '*1\r\n$4\r\nPING\r'],
    ['an inline command', 'PING'],
  ])('waits for more: %s', (_name, stream) => {
    expect(parseRequests([Buffer.from(stream)])).toEqual({ requests: [], error: undefined })
  })
})

describe('A parsed request', () => {
  function parsed(stream: string): RequestParser {
    const parser = new RequestParser(TCP_LIMITS)
    parser.feed(Buffer.from(stream, 'latin1'))
    expect(parser.next()).toBe(true)
    return parser
  }

  test('shows its arguments as bytes and as byte strings', () => {
    const parser = parsed('*2\r\n$4\r\nECHO\r\n$2\r\n\xc3\xa9\r\n')
    expect(parser.count).toBe(2)
    expect(parser.bytes(1)).toEqual(Buffer.from([0xc3, 0xa9]))
    expect(parser.text(1)).toBe('\xc3\xa9')
    expect(parser.length(1)).toBe(2)
  })

  test('lies in the chunk it came in, without a copy', () => {
    const chunk = Buffer.from('*1\r\n$4\r\nPING\r\n')
    const parser = new RequestParser(TCP_LIMITS)
    parser.feed(chunk)
    parser.next()
    expect(parser.bytes(0).buffer).toBe(chunk.buffer)
    expect(parser.bytes(0).byteOffset).toBe(chunk.byteOffset + 8)
  })

  test('that is detached owns its bytes', () => {
    const chunk = Buffer.from('*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n')
    const parser = new RequestParser(TCP_LIMITS)
    parser.feed(chunk)
    parser.next()
    const own = parser.detach()
    chunk.fill(0x78)
    expect([own.count, own.text(0), own.text(1), own.length(1)]).toEqual([2, 'ECHO', 'hi', 2])
    expect(own.detach()).toBe(own)
  })

  test('counts no longer as pending', () => {
    const parser = parsed('*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPI')
    expect(parser.pendingBytes).toBe('*1\r\n$4\r\nPI'.length)
    expect(parser.next()).toBe(false)
    expect(parser.pendingBytes).toBe(2)
  })
})

describe('Bytes that wait', () => {
  test('are parsed in the order in which they were fed', () => {
    const parser = new RequestParser(TCP_LIMITS)
    for (const part of ['*1\r\n$1', '\r\na\r\n*1\r', '\n$1\r\nb\r\n', 'c\r\n']) {
      parser.feed(Buffer.from(part))
    }
    const names: string[] = []
    while (parser.next()) names.push(parser.text(0))
    expect(names).toEqual(['a', 'b', 'c'])
    expect(parser.pendingBytes).toBe(0)
  })

  test.each(['feed', 'lend'] as const)(
    'are not overtaken by bytes that come while one of several chunks is used up (%s)',
    (take) => {
      const parser = new RequestParser(TCP_LIMITS)
      parser.feed(Buffer.from('a\r\n'))
      parser.feed(Buffer.from('b\r\n'))
      expect(parser.next()).toBe(true)
      parser[take](Buffer.from('c\r\n'))
      parser.keep(false)
      const names: string[] = []
      while (parser.next()) names.push(parser.text(0))
      expect(names).toEqual(['b', 'c'])
    },
  )

  test('may have empty chunks between them', () => {
    const parser = new RequestParser(TCP_LIMITS)
    for (const part of ['*1\r', '', '\n', '', '$4\r\nPING\r', '', '\n'])
      parser.feed(Buffer.from(part))
    expect(parser.next()).toBe(true)
    expect(parser.text(0)).toBe('PING')
  })

  test('may follow an empty chunk', () => {
    expect(
      parseRequests([Buffer.alloc(0), Buffer.from('PING\n'), Buffer.alloc(0)]).requests,
    ).toEqual([['PING']])
  })
})
