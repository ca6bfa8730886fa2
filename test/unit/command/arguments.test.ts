import { describe, expect, test } from 'vitest'
import {
  InnerRequest,
  isPrintableName,
  parseInteger,
  parseTimeout,
  textsFrom,
} from '../../../server/command/arguments.ts'
import { ArgumentList } from '../../../server/resp/request.ts'

describe('An integer argument', () => {
  test.each([
    ['0', 0],
    ['-1', -1],
    ['9007199254740991', 9_007_199_254_740_991],
    ['-9007199254740991', -9_007_199_254_740_991],
    ['9007199254740992', 9_007_199_254_740_992],
    ['9223372036854775807', 2 ** 63],
    ['-9223372036854775808', -(2 ** 63)],
  ])('%s is one', (text, value) => {
    expect(parseInteger(text)).toBe(value)
  })

  test.each([
    '',
    '-',
    '-0',
    '+1',
    '01',
    ' 1',
    '1 ',
    '1.0',
    '1e3',
    '0x1',
    '9223372036854775808',
    '-9223372036854775809',
    '99999999999999999999',
    '1\n',
    '٣',
  ])('%j is none', (text) => {
    expect(parseInteger(text)).toBeUndefined()
  })
})

describe('A time to wait', () => {
  test.each([
    ['0', 0],
    ['9223372036854774000', 9_223_372_036_854_774_000],
    ['9223372036854775807', 'ERR timeout is out of range'],
    ['9223372036854775808', 'ERR timeout is not an integer or out of range'],
    ['-9223372036854775808', 'ERR timeout is negative'],
  ])('%s', (text, expected) => {
    expect(parseTimeout(text, text.endsWith('807') ? 2_000 : 0)).toBe(expected)
  })
})

describe('A name', () => {
  test.each(['', 'a', '!~', 'lib(v1)'])('%j is printable', (name) => {
    expect(isPrintableName(name)).toBe(true)
  })

  test.each([' ', 'a b', 'a\n', '\x7f', '\xe9'])('%j is not', (name) => {
    expect(isPrintableName(name)).toBe(false)
  })
})

describe('A request within a request', () => {
  const request = ArgumentList.of('ACL', 'DRYRUN', 'u', 'ping', 'xy')
  const inner = new InnerRequest(request, 3)

  test('has the arguments from its position on', () => {
    expect(textsFrom(inner, 0)).toEqual(['ping', 'xy'])
    expect([inner.count, inner.length(1), inner.equals(0, 'ping')]).toEqual([2, 2, true])
    expect(inner.bytes(1)).toEqual(Buffer.from('xy'))
    expect(inner.kept(1)).toEqual(Buffer.from('xy'))
    const target = Buffer.from('....')
    inner.copy(1, target, 1)
    expect(target.toString()).toBe('.xy.')
  })

  test('keeps them when it is detached', () => {
    expect(textsFrom(inner.detach(), 1)).toEqual(['xy'])
  })
})
