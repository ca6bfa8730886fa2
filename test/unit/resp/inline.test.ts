import { describe, expect, test } from 'vitest'
import { splitInline } from '../../../server/resp/inline.ts'
import { testEachCut } from '../../support/each-cut.ts'
import { parseRequests } from '../../support/parse-requests.ts'

describe('An inline command', () => {
  const rows: [name: string, line: string, args: string[]][] = [
    ['is split at blanks', 'SET a b', ['SET', 'a', 'b']],
    ['is split at every white space of C', 'a \t\v\f\r b', ['a', 'b']],
    ['keeps a vertical tab within a word', 'a\vb', ['a\vb']],
    ['may have blanks around it', '  PING  ', ['PING']],
    ['may have its name in quotes', '"PING"', ['PING']],
    ['knows \\xHH in double quotes', '"\\x41\\xfF\\x00"', ['A\xff\0']],
    ['knows the control characters in double quotes', '"\\n\\r\\t\\b\\a"', ['\n\r\t\b\x07']],
    ['takes any other escaped character as itself', '"\\q\\"\\\\"', ['q"\\']],
    ['takes an \\x without two hex digits as an x', '"\\x4" "\\xg1" "\\x4g"', ['x4', 'xg1', 'x4g']],
    ["knows \\' alone in single quotes", "'\\x41 \\' \\n'", ["\\x41 ' \\n"]],
    ['may have a quote open within a word', 'foo"bar baz"', ['foobar baz']],
    ['may have empty arguments', `"" '' a`, ['', '', 'a']],
    ['keeps a backslash outside of quotes', 'a\\n', ['a\\n']],
    ['keeps the other quote within quotes', `"'" '"'`, ["'", '"']],
    ['may hold any byte above 0x20', '\x7f\x80\xff', ['\x7f\x80\xff']],
  ]
  for (const [name, line, args] of rows) {
    testEachCut(name, `${line}\r\n`, (chunks) => {
      expect(parseRequests(chunks)).toEqual({ requests: [args], error: undefined })
    })
  }

  testEachCut('may end in a line feed alone', 'PING a\nPING b\r\n', (chunks) => {
    expect(parseRequests(chunks).requests).toEqual([
      ['PING', 'a'],
      ['PING', 'b'],
    ])
  })

  for (const line of [
    '"foo',
    "'foo",
    '"foo"bar',
    "'foo'bar",
    'a "b"c d',
    '"foo\\"',
    "'foo\\'",
    'a"b"c',
  ]) {
    testEachCut(`has balanced quotes, or is an error: ${line}`, `PING\r\n${line}\r\n`, (chunks) => {
      const { requests, error } = parseRequests(chunks)
      expect(requests).toEqual([['PING']])
      expect(error?.message).toBe('unbalanced quotes in request')
    })
  }

  testEachCut('has no NUL, or is an error', 'PING\r\nPING a\0b\r\n', (chunks) => {
    const { requests, error } = parseRequests(chunks)
    expect(requests).toEqual([['PING']])
    expect(error?.message).toBe('unexpected NUL in inline request')
  })

  test('with a quoted backslash at its very end is unbalanced', () => {
    expect(splitInline(Buffer.from('"a\\'))).toBeUndefined()
  })
})

describe('Another protocol', () => {
  const streams: [name: string, stream: string][] = [
    ['a request line of HTTP', 'GET / HTTP/1.1\r\nAccept: */*\r\n'],
    ['a request line of HTTP/1.0 in small letters', 'get /publish/x http/1.0\r\n'],
    ['POST', 'POST /\r\n'],
    ['POST alone', 'post\r\n'],
    ['a Host header', 'host: example.test\r\n'],
    ['a PROXY header', 'PROXY TCP4 203.0.113.7 10.0.0.1 40001 6380\r\n'],
    ['a PROXY header of nobody', 'PROXY UNKNOWN\r\n'],
    ['a TLS handshake that a line feed ends', '\x16\x03\x01\x02\x00\x01\x00\n'],
    ['a TLS handshake without a line feed', '\x16\x03\x01\x02\x00\x01\x00\x01'],
  ]
  for (const [name, stream] of streams) {
    testEachCut(`is not answered: ${name}`, `PING\r\n${stream}`, (chunks) => {
      const { requests, error } = parseRequests(chunks)
      expect(requests).toEqual([['PING']])
      expect(error?.kind).toBe('cross-protocol')
      expect(error?.message).toBe('HTTP, TLS or a PROXY header on the RESP port')
    })
  }

  for (const line of [
    'POSTER a',
    'GET HTTP/1.1x',
    'HOST a',
    'PROXY TCP4x',
    'ECHO xHTTP/1.1',
    'PING \x16\x03',
  ]) {
    testEachCut(
      `is not suspected in a command: ${JSON.stringify(line)}`,
      `${line}\r\n`,
      (chunks) => {
        expect(parseRequests(chunks).error).toBeUndefined()
      },
    )
  }

  testEachCut(
    'is not suspected in an array',
    '*1\r\n$4\r\nPOST\r\n*2\r\n$5\r\nHost:\r\n$1\r\na\r\n',
    (chunks) => {
      expect(parseRequests(chunks)).toEqual({
        requests: [['POST'], ['Host:', 'a']],
        error: undefined,
      })
    },
  )
})
