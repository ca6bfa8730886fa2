import { describe, expect, test } from 'vitest'
import {
  coversIssueTime,
  isInScope,
  isNamed,
  messageOf,
  namesOf,
  type RevocationOrder,
} from '../../../../server/token/revoke/revocation.ts'
import { revocationOrder } from '../../../support/tokens.ts'

const SUBJECT = {
  sub: '42',
  jti: 't1',
  group: 'acme',
  roles: ['member', 'editor', 'member'],
  kid: 'k1',
  issuerAlias: 'shop',
  issuedAtMs: 1_000,
} as const

describe('The names of a session', () => {
  test('are all by which a revocation can find it, each role once', () => {
    expect(namesOf(SUBJECT)).toEqual([
      ['sub', '42'],
      ['jti', 't1'],
      ['group', 'acme'],
      ['kid', 'k1'],
      ['role', 'member'],
      ['role', 'editor'],
      ['issuer', 'shop'],
      ['all', ''],
    ])
  })

  test('leave out what its token does not say; the issuer without an alias is `default`', () => {
    const bare = { ...SUBJECT, jti: undefined, group: undefined, kid: undefined, roles: [] }
    expect(namesOf({ ...bare, issuerAlias: undefined })).toEqual([
      ['sub', '42'],
      ['issuer', 'default'],
      ['all', ''],
    ])
  })
})

describe('An order names a token', () => {
  test.each<[string, Partial<RevocationOrder>, boolean]>([
    ['of its subject', {}, true],
    ['of another subject', { target: '43' }, false],
    ['of its issuer', { issuer: 'shop' }, true],
    ['of another issuer', { issuer: 'default' }, false],
    ['by one of its roles', { kind: 'role', target: 'editor' }, true],
    ['by ALL', { kind: 'all', target: '' }, true],
    ['by a subject that is called like its group', { target: 'acme' }, false],
    ['whatever its issue time', { beforeMs: 1 }, true],
  ])('%s: %s', (_name, changes, expected) => {
    expect(isNamed(revocationOrder(changes), SUBJECT)).toBe(expected)
  })
})

describe('The scope of a channel', () => {
  const channel = (changes: Partial<RevocationOrder>): boolean =>
    isInScope(revocationOrder({ kind: 'channel', target: 'room:*', ...changes }), SUBJECT)

  test.each<[string, Partial<RevocationOrder>, boolean]>([
    ['nobody in particular', {}, true],
    ['its issuer', { issuer: 'shop' }, true],
    ['another issuer', { issuer: 'default' }, false],
    ['its subject', { scope: { kind: 'sub', name: '42' } }, true],
    ['another subject', { scope: { kind: 'sub', name: '43' } }, false],
    ['its role', { scope: { kind: 'role', name: 'member' } }, true],
    ['its group at another issuer', { scope: { kind: 'group', name: 'acme' }, issuer: 'x' }, false],
  ])('%s: %s', (_name, changes, expected) => {
    expect(channel(changes)).toBe(expected)
  })
})

test('BEFORE covers tokens that were issued at that moment or earlier', () => {
  expect(coversIssueTime(revocationOrder({ beforeMs: 1_000 }), 1_000)).toBe(true)
  expect(coversIssueTime(revocationOrder({ beforeMs: 999 }), 1_000)).toBe(false)
  expect(coversIssueTime(revocationOrder({}), Number.MAX_SAFE_INTEGER)).toBe(true)
})

test('Clients are told MESSAGE, else what was revoked', () => {
  expect(messageOf(revocationOrder({ message: 'bye' }))).toBe('bye')
  expect(messageOf(revocationOrder({}))).toBe('token revoked')
  expect(messageOf(revocationOrder({ kind: 'channel' }))).toBe('channel revoked')
})
