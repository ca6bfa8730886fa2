import { describe, expect, test } from 'vitest'
import type { RequestLimits } from '../../../server/resp/request-parser.ts'
import { testEachCut } from '../../support/each-cut.ts'
import { parseRequests, TCP_LIMITS } from '../../support/parse-requests.ts'

/** Checks that a stream ends in this error after `PING`, however it is cut. */
function testError(
  stream: string,
  message: string,
  options: { limits?: RequestLimits; unauthenticated?: boolean; kind?: string } = {},
): void {
  const { limits = TCP_LIMITS, unauthenticated = false, kind = 'protocol' } = options
  const shown = stream.length > 40 ? `${stream.slice(0, 12)}... (${stream.length} bytes)` : stream
  testEachCut(`${message}: ${JSON.stringify(shown)}`, `*1\r\n$4\r\nPING\r\n${stream}`, (chunks) => {
    const { requests, error } = parseRequests(chunks, limits, unauthenticated)
    expect(requests).toEqual([['PING']])
    expect(error).toMatchObject({ name: 'ProtocolError', message, kind })
  })
}

describe('The count of a request must be a strict decimal up to 2147483647', () => {
  for (const count of ['', 'a', '01', '+1', ' 1', '1 ', '1.0', '-0', '-', '--1', '1a', '1\0']) {
    testError(`*${count}\r\n`, 'invalid multibulk length')
  }
  for (const count of [
    '2147483648',
    '9223372036854775807',
    '9223372036854775808',
    '9'.repeat(20),
  ]) {
    testError(`*${count}\r\n`, 'invalid multibulk length')
  }
  testError('*-9223372036854775809\r\n', 'invalid multibulk length')
  test('and 2147483647 itself is one', () => {
    expect(parseRequests([Buffer.from('*2147483647\r\n$1\r\na\r\n')]).error).toBeUndefined()
  })
})

describe('The length of an argument must be a strict decimal up to proto-max-bulk-len', () => {
  for (const length of ['', 'a', '01', '+1', '-1', '-0', ' 1', '1x', '536870913', '9'.repeat(30)]) {
    testError(`*1\r\n$${length}\r\n`, 'invalid bulk length')
  }
  test('and 536870912 itself is one', () => {
    expect(parseRequests([Buffer.from('*1\r\n$536870912\r\nx')]).error).toBeUndefined()
  })
  const limits = { ...TCP_LIMITS, maxBulkBytes: 5 }
  testError('*1\r\n$6\r\n', 'invalid bulk length', { limits })
  test('that is read at each request', () => {
    const { requests } = parseRequests([Buffer.from('*1\r\n$5\r\nabcde\r\n')], limits)
    expect(requests).toEqual([['abcde']])
  })
})

describe('An argument begins with `$`', () => {
  testError('*1\r\nPING\r\n', "expected '$', got 'P'")
  testError('*1\r\n:5\r\n', "expected '$', got ':'")
  testError('*1\r\n*1\r\n$4\r\nPING\r\n', "expected '$', got '*'")
  testError('*2\r\n$1\r\na\r\n*1\r\n', "expected '$', got '*'")
  testError('*1\r\n\r\n', "expected '$', got ' '")
  testError('*1\r\n\n', "expected '$', got ' '")
})

describe('A line end is CR and LF', () => {
  testError('*1\rx$4\r\nPING\r\n', 'invalid CRLF in request')
  testError('*1\r\r\n', 'invalid CRLF in request')
  testError('*1\r\n$4\rxPING\r\n', 'invalid CRLF in request')
  testError('*1\r\n$4\r\nPINGxx', 'invalid CRLF in request')
  testError('*1\r\n$4\r\nPING\n', 'invalid CRLF in request')
  testError('*1\r\n$4\r\nPING\rx', 'invalid CRLF in request')
  testError('*1\r\n$4\r\nPING!\r\n', 'invalid CRLF in request')
})

describe('Before login', () => {
  const unauthenticated = true
  testError('*11\r\n', 'unauthenticated multibulk length', { unauthenticated })
  testError('*1\r\n$16385\r\n', 'unauthenticated bulk length', { unauthenticated })
  testError('*2147483648\r\n', 'invalid multibulk length', { unauthenticated })
  testError('*1\r\n$536870913\r\n', 'invalid bulk length', { unauthenticated })
  test('ten arguments of 16384 bytes are taken', () => {
    const argument = 'x'.repeat(16_384)
    const stream = `*10\r\n${`$16384\r\n${argument}\r\n`.repeat(10)}`
    const { requests, error } = parseRequests([Buffer.from(stream)], TCP_LIMITS, true)
    expect(error).toBeUndefined()
    expect(requests).toEqual([Array.from({ length: 10 }, () => argument)])
  })
})

describe('A transport may allow less', () => {
  const limits = { maxBulkBytes: 536_870_912, maxArguments: 3, maxCommandBytes: 8 }
  testError('*4\r\n', 'more than 3 arguments', { limits, kind: 'too-large' })
  testError('a b c d\r\n', 'more than 3 arguments', { limits, kind: 'too-large' })
  testError('*1\r\n$9\r\n', 'command of more than 8 bytes', { limits, kind: 'too-large' })
  testError('*2\r\n$4\r\nabcd\r\n$5\r\n', 'command of more than 8 bytes', {
    limits,
    kind: 'too-large',
  })
  testError('abcdefghi\r\n', 'command of more than 8 bytes', { limits, kind: 'too-large' })
  test('and takes what is just within that, request after request', () => {
    const stream = '*3\r\n$3\r\nabc\r\n$3\r\ndef\r\n$2\r\ngh\r\n'
    const { requests, error } = parseRequests([Buffer.from(stream + stream)], limits)
    expect(error).toBeUndefined()
    expect(requests).toEqual([
      ['abc', 'def', 'gh'],
      ['abc', 'def', 'gh'],
    ])
  })
})

describe('A request that is all there', () => {
  const limits = { maxBulkBytes: 5, maxArguments: 3, maxCommandBytes: 8 }
  const loose = { ...limits, maxCommandBytes: 1_000 }
  testError('*1\r\n$01\r\na\r\n', 'invalid bulk length')
  testError('*1\r\n$00\r\n\r\n', 'invalid bulk length')
  testError('*1\r\n$+1\r\na\r\n', 'invalid bulk length')
  testError('*1\r\n$-0\r\n\r\n', 'invalid bulk length')
  testError('*01\r\n$1\r\na\r\n', 'invalid multibulk length')
  testError('*2\r\n$1\r\na\r\n:1\r\nb\r\n', "expected '$', got ':'")
  testError('*2\r\n$1\r\na\r\n$1\r\nbxx', 'invalid CRLF in request')
  testError('*2\r\n$1\r\na\n\r$1\r\nb\r\n', 'invalid CRLF in request')
  testError('*1\r\n$1\n\ra\r\n', 'invalid CRLF in request')
  testError('*1\r\n$6\r\nabcdef\r\n', 'invalid bulk length', { limits: loose })
  const tooLarge = { limits, kind: 'too-large' }
  testError('*2\r\n$4\r\nabcd\r\n$5\r\nabcde\r\n', 'command of more than 8 bytes', tooLarge)
  testError(`*4\r\n${'$1\r\na\r\n'.repeat(4)}`, 'more than 3 arguments', tooLarge)
  const argument = 'x'.repeat(16_385)
  test('is held to the limits before login as well', () => {
    const parse = (stream: string): string | undefined =>
      parseRequests([Buffer.from(stream)], TCP_LIMITS, true).error?.message
    expect(parse(`*1\r\n$16385\r\n${argument}\r\n`)).toBe('unauthenticated bulk length')
    expect(parse(`*11\r\n${'$1\r\na\r\n'.repeat(11)}`)).toBe('unauthenticated multibulk length')
  })
})

describe('A line without an end', () => {
  const digits = '1'.repeat(65_536)
  test.each([
    ['an inline command', 'x', 'too big inline request'],
    ['a count', '*', 'too big mbulk count string'],
    ['a length', '*1\r\n$', 'too big bulk count string'],
  ])('is refused after 64 KiB: %s', (_name, head, message) => {
    const line = `${digits}1`
    expect(parseRequests([Buffer.from(head + line)]).error?.message).toBe(message)
    const pieces = [head, line.slice(0, 30_000), line.slice(30_000)].map((text) =>
      Buffer.from(text),
    )
    expect(parseRequests(pieces).error?.message).toBe(message)
  })
  test('may be 65536 bytes long', () => {
    const { requests, error } = parseRequests([Buffer.from(digits), Buffer.from('\n')])
    expect(error).toBeUndefined()
    expect(requests).toEqual([[digits]])
  })
  test('is refused though its end comes along', () => {
    expect(parseRequests([Buffer.from(`x${digits}\n`)]).error?.message).toBe(
      'too big inline request',
    )
    expect(parseRequests([Buffer.from(`*${digits}\r\n`)]).error?.message).toBe(
      'too big mbulk count string',
    )
  })
})

describe('A protocol error', () => {
  test('carries a stable code for each kind', () => {
    const limits = { ...TCP_LIMITS, maxArguments: 1 }
    const codes = ['*x\r\n', '*2\r\n', 'POST / HTTP/1.1\r\n'].map(
      (stream) => parseRequests([Buffer.from(stream)], limits).error?.code,
    )
    expect(codes).toEqual(['ERR_RESP_PROTOCOL', 'ERR_RESP_TOO_LARGE', 'ERR_RESP_CROSS_PROTOCOL'])
  })
})
