import { describe, expect, test } from 'vitest'
import { readScopes } from '../../../../server/token/verify/adapters-scope.ts'
import type { ClaimedGrant } from '../../../../server/token/verify/claims.ts'
import { TokenFault } from '../../../../server/token/verify/refusal.ts'

const SILENT: ClaimedGrant = {
  roles: undefined,
  channels: undefined,
  subscribe: undefined,
  publish: undefined,
  deny: [],
  group: undefined,
}

const read = (scope: unknown, prefix = ''): ClaimedGrant => readScopes({ scope }, 'scope', prefix)

describe('scopes in one string', () => {
  test('grant what their prefixes say', () => {
    expect(read('subscribe:news:* publish:chat:1 role:member')).toEqual({
      ...SILENT,
      roles: ['member'],
      subscribe: ['news:*'],
      publish: ['chat:1'],
    })
  })

  test('channel: is both directions, deny: takes away, group: is a handle for revoking', () => {
    expect(read('channel:room:7 deny:room:7:mods group:tenant:acme')).toEqual({
      ...SILENT,
      roles: [],
      channels: ['room:7'],
      deny: ['room:7:mods'],
      group: 'tenant:acme',
    })
  })

  test.each(['openid profile email', 'subscribes:x', 'subscribe', 'Subscribe:x', ''])(
    'a claim with nothing for this server is an explicit list of nothing: %j',
    (scope) => {
      expect(read(scope)).toEqual({ ...SILENT, roles: [] })
    },
  )

  test('an absent claim leaves the decision to acl-pubsub-default', () => {
    expect(readScopes({}, 'scope', '')).toEqual(SILENT)
  })

  test('with scope-prefix only scopes that begin with it are for this server', () => {
    expect(read('respcast:subscribe:a subscribe:b role:root', 'respcast:')).toEqual({
      ...SILENT,
      roles: [],
      subscribe: ['a'],
    })
  })

  test('the claim may lie deeper, and under a name with dots', () => {
    const deep = { app: { scp: 'publish:x' }, 'a.b': 'publish:y' }
    expect(readScopes(deep, 'app.scp', '').publish).toEqual(['x'])
    expect(readScopes(deep, 'a.b', '').publish).toEqual(['y'])
  })

  test.each([
    ['a number', 7],
    ['null', null],
    ['an array', ['subscribe:a']],
    ['an object', { subscribe: 'a' }],
    ['two blanks between scopes', 'role:a  role:b'],
    ['a blank in front', ' role:a'],
    ['a blank behind', 'role:a '],
    ['a tab', 'role:a\trole:b'],
    ['a line feed', 'role:a\nrole:b'],
    ['a quote (RFC 6749 section 3.3)', 'subscribe:"a"'],
    ['a backslash', 'subscribe:a\\*'],
    ['a letter beyond ASCII', 'subscribe:é'],
    ['an empty pattern', 'subscribe:'],
    ['an empty role among others', 'role: role:a'],
    ['a pattern of 257 bytes', `subscribe:${'x'.repeat(257)}`],
    ['a role of 257 bytes', `role:${'x'.repeat(257)}`],
    ['two groups', 'group:a group:b'],
    ['257 patterns', Array.from({ length: 257 }, (_, at) => `publish:${at}`).join(' ')],
    ['257 roles', Array.from({ length: 257 }, (_, at) => `role:${at}`).join(' ')],
  ])('reject the token: %s', (_name, scope) => {
    expect(() => read(scope)).toThrow(TokenFault)
  })

  test('a path that runs through something else than an object rejects the token', () => {
    expect(() => readScopes({ app: 'x' }, 'app.scp', '')).toThrow(TokenFault)
  })

  test('rules do not come in by a scope', () => {
    expect(read('subscribe:(+@all subscribe:&* role:+@all').subscribe).toEqual(['(+@all', '&*'])
  })
})
