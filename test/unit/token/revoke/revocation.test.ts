import { describe, expect, test } from 'vitest'
import {
  coversIssueTime,
  isInScope,
  isNamed,
  messageOf,
  namesKey,
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
  key: { kid: 'k1', thumbprint: 'tp1', digests: ['d1'] },
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
      ['key', 'tp1'],
      ['role', 'member'],
      ['role', 'editor'],
      ['issuer', 'shop'],
      ['all', ''],
    ])
  })

  test('leave out what its token does not say; the issuer without an alias is `default`', () => {
    const key = { ...SUBJECT.key, kid: undefined }
    const bare = { ...SUBJECT, jti: undefined, group: undefined, kid: undefined, key, roles: [] }
    expect(namesOf({ ...bare, issuerAlias: undefined })).toEqual([
      ['sub', '42'],
      ['key', 'tp1'],
      ['issuer', 'default'],
      ['all', ''],
    ])
  })
})

test('The key ids of a session are that of its key and the one that its token claims', () => {
  const kids = (kid: string | undefined, own: string | undefined): string[] =>
    namesOf({ ...SUBJECT, kid, key: { ...SUBJECT.key, kid: own } }).flatMap(([kind, name]) =>
      kind === 'kid' ? [name] : [],
    )
  expect(kids(undefined, 'own')).toEqual(['own'])
  expect(kids('claimed', undefined)).toEqual(['claimed'])
  expect(kids('claimed', 'own')).toEqual(['claimed', 'own'])
})

test('A key is named by its own id, its thumbprint, or another digest of it', () => {
  const names = (kind: RevocationOrder['kind'], target: string): boolean =>
    namesKey(revocationOrder({ kind, target }), SUBJECT.key)
  expect(names('kid', 'k1')).toBe(true)
  expect(names('kid', 'K1')).toBe(false)
  expect(names('key', 'tp1')).toBe(true)
  expect(names('key', 'd1')).toBe(true)
  expect(names('key', 'k1')).toBe(false)
  expect(names('kid', 'tp1')).toBe(false)
  expect(names('sub', 'k1')).toBe(false)
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
    ['by its key', { kind: 'key', target: 'tp1' }, true],
    ['by a key that its record holds against', { kind: 'kid', target: 'old', keys: ['tp1'] }, true],
    ['by its key at another issuer', { kind: 'key', target: 'tp1', issuer: 'default' }, false],
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
