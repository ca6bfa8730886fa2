import { describe, expect, test } from 'vitest'
import { readGrants } from '../../../../server/token/verify/adapters.ts'
import { readGroups } from '../../../../server/token/verify/adapters-groups.ts'
import { TokenFault } from '../../../../server/token/verify/refusal.ts'
import { toByteString } from '../../../../server/token/text.ts'
import { testIssuer } from '../../../support/tokens.ts'

const TABLE = new Map([
  ['staff', ['member', 'editor']],
  ['Domain Admins', ['admin']],
  [toByteString('Prüfer'), ['auditor']],
])

const read = (groups: unknown): readonly string[] | undefined =>
  readGroups({ groups }, 'groups', TABLE).roles

describe('groups', () => {
  test('stand for the roles that the table gives them', () => {
    expect(read(['staff', 'Domain Admins'])).toEqual(['member', 'editor', 'admin'])
    expect(read(['Prüfer'])).toEqual(['auditor'])
  })

  test('that the table does not know say nothing, and leave an explicit list', () => {
    expect(read(['everyone', 'STAFF', 'staff '])).toEqual([])
    expect(read([])).toEqual([])
  })

  test('give a role once, however many of them stand for it', () => {
    expect(read(['staff', 'staff'])).toEqual(['member', 'editor'])
  })

  test('that are absent leave the decision to acl-pubsub-default', () => {
    expect(readGroups({}, 'groups', TABLE).roles).toBeUndefined()
  })

  test('name no role themselves: neither role:admin nor admin is one', () => {
    expect(read(['role:admin', 'admin', '__proto__', 'constructor'])).toEqual([])
  })

  test.each([
    ['a text', 'staff'],
    ['null', null],
    ['an object', { staff: true }],
    ['a number among them', ['staff', 7]],
    ['null among them', [null]],
    ['half a surrogate pair', ['\ud800']],
  ])('reject the token: %s', (_name, groups) => {
    expect(() => read(groups)).toThrow(TokenFault)
  })

  test('that come to more than 256 roles reject the token', () => {
    const roles = Array.from({ length: 257 }, (_, at) => `r${at}`)
    const table = new Map([['all', roles]])
    expect(() => readGroups({ groups: ['all'] }, 'groups', table)).toThrow(TokenFault)
  })
})

describe('the format of an issuer', () => {
  const payload = {
    respcast: { channels: ['a'] },
    scope: 'subscribe:b',
    authorization_details: [{ type: 'respcast', actions: ['publish'], channels: ['c'] }],
    groups: ['staff'],
  }

  test.each([
    ['respcast', { kind: 'respcast' }, { channels: ['a'] }],
    ['scope', { kind: 'scope', claim: 'scope', prefix: '' }, { subscribe: ['b'] }],
    ['authorization-details', { kind: 'authorization-details' }, { publish: ['c'] }],
    [
      'groups',
      { kind: 'groups', claim: 'groups', roles: TABLE },
      { roles: ['member', 'editor'], channels: undefined },
    ],
  ] as const)('%s reads its own claim and no other', (_name, format, expected) => {
    const grant = readGrants(payload, testIssuer({ format }))
    expect(grant).toMatchObject(expected)
    const lists = [grant.channels, grant.subscribe, grant.publish, grant.roles]
    expect(lists.filter((list) => (list?.length ?? 0) > 0)).toHaveLength(1)
  })
})
