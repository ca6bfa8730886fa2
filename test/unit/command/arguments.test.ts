import { describe, expect, test } from 'vitest'
import {
  InnerRequest,
  isPrintableName,
  parseInteger,
  textsFrom,
} from '../../../server/command/arguments.ts'
import { ArgumentList } from '../../../server/resp/request.ts'

describe('An integer argument', () => {
  test.each([
    ['0', 0],
    ['-1', -1],
    ['9007199254740991', 9_007_199_254_740_991],
    ['-9007199254740991', -9_007_199_254_740_991],
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
    '9007199254740992',
    '1\n',
    '٣',
  ])('%j is none', (text) => {
    expect(parseInteger(text)).toBeUndefined()
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
