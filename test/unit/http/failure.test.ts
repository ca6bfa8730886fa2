import { expect, test } from 'vitest'
import { failureOf, failureOfLine } from '../../../server/http/failure.ts'
import type { ErrorLine } from '../../../server/resp/reply-writer.ts'

const ANSWERS: readonly [ErrorLine, number, string, string][] = [
  ['NOAUTH Authentication required.', 401, 'NOAUTH', 'Authentication required.'],
  ['WRONGPASS token revoked', 401, 'WRONGPASS', 'token revoked'],
  [
    'NOPERM No permissions to access a channel',
    403,
    'NOPERM',
    'No permissions to access a channel',
  ],
  ['NOPERM User j\xc3\xb6 has no permissions', 403, 'NOPERM', 'User jö has no permissions'],
  ['TRYAGAIN not published', 503, 'TRYAGAIN', 'not published'],
  ['ERR too many connections of this user', 429, 'ERR', 'too many connections of this user'],
  ['ERR internal error', 500, 'ERR', 'internal error'],
  ['ERR a channel is too long', 400, 'ERR', 'a channel is too long'],
]

test.each(ANSWERS)('the error reply %j is answered %i', (line, status, code, message) => {
  expect(failureOfLine(line)).toMatchObject({ status, code, message })
})

test('nobody is asked for Basic: a browser would send that with the requests of any page', () => {
  expect(failureOfLine('NOAUTH Authentication required.').headers).toEqual({
    'www-authenticate': 'Bearer',
  })
})

test.each([
  [403, 'FORBIDDEN'],
  [429, 'TOOFAST'],
  [431, 'TOOLARGE'],
  [503, 'NOROOM'],
])('a refusal with %i has the code %s', (status, code) => {
  const headers = { 'retry-after': '5' }
  expect(failureOf({ status, error: 'no', headers })).toEqual({
    status,
    code,
    message: 'no',
    headers,
  })
})
