import { settingsOf } from '../../support/settings.ts'
import { describe, expect, test } from 'vitest'

import {
  describeChannels,
  describeCommands,
  describeFlags,
  describeKeys,
} from '../../../server/acl/describe.ts'
import type { Selector } from '../../../server/acl/user.ts'
import { UserTable } from '../../../server/acl/users.ts'
import { aclList, newTable, setUserReply, catalog } from './support.ts'

const DEFAULT = 'user default on nopass ~* &* +@all'
const P1 = '#f64551fcd6f07823cb87971cfb91446425da18286b3ab1ef935e0cbd7a69f68a'
const P2 = '#3946ca64ff78d93ca61090a437cbb6b3d2ca0d488f5f9ccf3059608368b27693'

function getUser(table: UserTable, name: string): unknown {
  const user = table.get(name)
  if (!user) return undefined
  const fields = (selector: Selector): object => ({
    commands: describeCommands(selector),
    keys: describeKeys(selector),
    channels: describeChannels(selector),
  })
  const [root, ...others] = user.selectors
  return {
    flags: describeFlags(user),
    passwords: user.passwords,
    ...fields(root),
    selectors: others.map(fields),
  }
}

describe('ACL LIST', () => {
  test('shows a user made without rules as off, with the channels of acl-pubsub-default', () => {
    const settings = settingsOf()
    const table = new UserTable(catalog, settings)
    expect(setUserReply(table, 'u1')).toBe('+OK')
    expect(aclList(table)).toEqual([DEFAULT, 'user u1 off resetchannels -@all'])
    expect(getUser(table, 'u1')).toEqual({
      flags: ['off'],
      passwords: [],
      commands: '-@all',
      keys: '',
      channels: '',
      selectors: [],
    })
    table.deleteUsers(['u1'])

    settings.set([['acl-pubsub-default', 'allchannels']])
    setUserReply(table, 'u2')
    expect(aclList(table)).toEqual([DEFAULT, 'user u2 off &* -@all'])
  })

  test('shows resetchannels before the channels of every selector that has not all', () => {
    const table = newTable('allchannels')
    expect(setUserReply(table, 'u2', '&foo')).toBe(
      "-ERR Error in ACL SETUSER modifier '&foo': Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels",
    )
    setUserReply(table, 'u2', 'resetchannels', '&foo')
    expect(aclList(table)).toEqual([DEFAULT, 'user u2 off resetchannels &foo -@all'])
    setUserReply(table, 'u2', '(+get ~x)')
    expect(aclList(table)).toEqual([
      DEFAULT,
      'user u2 off resetchannels &foo -@all (~x &* -@all +get)',
    ])
  })

  test('shows after reset what acl-pubsub-default says at that moment, never sanitize-payload', () => {
    const settings = settingsOf({ 'acl-pubsub-default': 'allchannels' })
    const table = new UserTable(catalog, settings)
    setUserReply(table, 'u2', 'on', 'resetchannels', '&foo', '(+get)', 'reset')
    expect(aclList(table)).toEqual([DEFAULT, 'user u2 off &* -@all'])

    settings.set([['acl-pubsub-default', 'resetchannels']])
    expect(aclList(table)).toEqual([DEFAULT, 'user u2 off &* -@all'])
    setUserReply(table, 'u2', 'reset')
    expect(aclList(table)).toEqual([DEFAULT, 'user u2 off resetchannels -@all'])
  })

  test('quotes a rule of a selector that would be read differently, and reads it back', () => {
    const table = newTable()
    setUserReply(table, 'u', `(&"it's" "&a)" &b ~x\\y)`, `&it's`)
    const line = `user u off resetchannels &it's -@all (~x\\y resetchannels "&it's" "&a)" &b -@all)`
    expect(aclList(table)[1]).toBe(line)
    expect(getUser(table, 'u')).toMatchObject({
      channels: "&it's",
      selectors: [{ keys: '~x\\y', channels: "&it's &a) &b" }],
    })
    expect(setUserReply(table, 'v', ...line.split(' ').slice(2))).toBe('+OK')
    expect(aclList(table)[2]).toBe(line.replace('user u', 'user v'))
  })

  test('shows rules, hashes and selectors in the order given', () => {
    const table = newTable()
    const rules =
      'on >p1 >p2 >p1 &a &b &a ~k* %R~r* %W~k* %W~r* +@pubsub -publish +client|id +client -client|kill'
    expect(
      setUserReply(table, 'e', ...rules.split(' '), '(+get ~x)', '(%R~z', '&zz', '+@read)'),
    ).toBe('+OK')
    expect(aclList(table)).toEqual([
      DEFAULT,
      `user e on ${P1} ${P2} ~k* ~r* resetchannels &a &b -@all +@pubsub -publish +client -client|kill (~x resetchannels -@all +get) (%R~z resetchannels &zz -@all +@read)`,
    ])
    expect(getUser(table, 'e')).toEqual({
      flags: ['on'],
      passwords: [P1.slice(1), P2.slice(1)],
      commands: '-@all +@pubsub -publish +client -client|kill',
      keys: '~k* ~r*',
      channels: '&a &b',
      selectors: [
        { commands: '-@all +get', keys: '~x', channels: '' },
        { commands: '-@all +@read', keys: '%R~z', channels: '&zz' },
      ],
    })

    setUserReply(table, 'e', '<p1')
    expect(table.get('e')?.passwords).toEqual([P2.slice(1)])
    setUserReply(table, 'e', 'resetpass')
    expect(getUser(table, 'e')).toMatchObject({ flags: ['on'], passwords: [] })
    setUserReply(table, 'e', 'nopass')
    expect(getUser(table, 'e')).toMatchObject({ flags: ['on', 'nopass'], passwords: [] })
    setUserReply(table, 'e', '>p2')
    expect(getUser(table, 'e')).toMatchObject({ flags: ['on'], passwords: [P2.slice(1)] })
  })

  test('shows the empty pattern', () => {
    const table = newTable()
    setUserReply(table, 'u', '~', '&', '(&', '~)')
    expect(aclList(table)[1]).toBe('user u off ~ resetchannels & -@all (~ resetchannels & -@all)')
  })
})
