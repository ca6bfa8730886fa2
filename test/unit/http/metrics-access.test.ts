import { expect, test } from 'vitest'
import { refusalOfMetrics } from '../../../server/http/metrics-access.ts'

const TOKEN = 'a-token-of-32-characters-or-more'
const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`
const statusOf = (
  authorization: string | undefined,
  localAddress: string,
  token: string | undefined,
  isTrusted: boolean,
) => refusalOfMetrics({ authorization, localAddress }, { token, isTrusted })?.status ?? 200

test.each([
  ['the token as bearer', `Bearer ${TOKEN}`, 200],
  ['in any case of the scheme', `bearer  ${TOKEN} `, 200],
  ['the token as password', basic(`prometheus:${TOKEN}`), 200],
  ['the token as password of nobody', basic(`:${TOKEN}`), 200],
  ['nothing', undefined, 401],
  ['another token', `Bearer ${TOKEN}x`, 401],
  ['a part of it', `Bearer ${TOKEN.slice(1)}`, 401],
  ['another password', basic(`${TOKEN}:x`), 401],
  ['Basic without a password', basic(TOKEN), 401],
  ['Basic that is no base64', 'Basic ???', 401],
  ['another scheme', `Digest ${TOKEN}`, 401],
  ['the token alone', TOKEN, 401],
])('with a token set, %s', (_what, authorization, status) => {
  expect(statusOf(authorization, '127.0.0.1', TOKEN, false)).toBe(status)
  expect(statusOf(authorization, '10.0.0.1', TOKEN, true)).toBe(status)
})

test.each([
  ['127.0.0.1', false, 200],
  ['::1', false, 200],
  ['::ffff:127.0.0.1', false, 200],
  ['10.0.0.1', false, 403],
  ['', false, 403],
  ['10.0.0.1', true, 200],
])('without one, asked at %j, trusted: %s', (localAddress, isTrusted, status) => {
  expect(statusOf(undefined, localAddress, undefined, isTrusted)).toBe(status)
})
