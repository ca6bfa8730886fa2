import { expect, test } from 'vitest'
import { REJECTIONS } from '../../../server/command/counters.ts'
import { isUndeclared, rejectionRefusal } from '../../../server/http/entrance.ts'

test('an address with too many connections is told so, any other rejection is a server without room', () => {
  const ofAddress = ['address', 'rate'] as const
  for (const rejection of ofAddress) {
    expect(rejectionRefusal(rejection)).toEqual({
      status: 429,
      error: 'too many connections from this address',
      headers: { 'retry-after': '5' },
    })
  }
  for (const rejection of REJECTIONS.filter((each) => !ofAddress.some((of) => of === each))) {
    expect(rejectionRefusal(rejection)).toEqual({
      status: 503,
      error: 'no room for another client',
      headers: { 'retry-after': '5' },
    })
  }
})

test.each([
  ['10.0.0.1', ['127.0.0.1'], true],
  ['::ffff:10.0.0.1', ['127.0.0.1', '-::1'], true],
  ['127.0.0.1', ['127.0.0.1'], false],
  ['::ffff:127.0.0.1', ['localhost'], false],
  ['', ['127.0.0.1'], false],
  ['10.0.0.1', ['127.0.0.1', '10.0.0.1'], false],
  ['10.0.0.1', ['*'], false],
])('a connection to %j with http-bind %j is not declared: %s', (localAddress, binds, expected) => {
  expect(isUndeclared(localAddress, binds)).toBe(expected)
})
