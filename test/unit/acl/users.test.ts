import { settingsOf } from '../../support/settings.ts'
import { describe, expect, test } from 'vitest'

import { parseAclFile } from '../../../server/acl/file.ts'
import { passwordLogsIn } from '../../../server/acl/password.ts'
import { UserTable } from '../../../server/acl/users.ts'
import type { UserChange } from '../../../server/acl/users.ts'
import type { User } from '../../../server/acl/user.ts'
import { aclList, catalog, newTable, setUserReply } from './support.ts'

function load(table: UserTable, text: string): readonly UserChange[] {
  const parsed = parseAclFile(catalog, text, 'users.acl', table.ruleOptions)
  if ('error' in parsed) throw new Error(parsed.error)
  return table.replaceAll(parsed.users)
}

describe('the users', () => {
  test('have default among them from the start', () => {
    expect(aclList(newTable())).toEqual(['user default on nopass ~* &* +@all'])
  })

  test('are listed by the bytes of their names', () => {
    const table = newTable()
    for (const name of ['b', '\xe9', 'B', '', 'a', 'aa']) setUserReply(table, name)
    expect(table.names()).toEqual(['', 'B', 'a', 'aa', 'b', 'default', '\xe9'])
    expect(table.list().map((user) => user.name)).toEqual(table.names())
  })

  test.each(['a b', 'a\tb', 'a\nb', 'a\vb', 'a\fb', 'a\rb', 'a\0b', ' '])(
    'cannot be named %j',
    (name) => {
      expect(setUserReply(newTable(), name, 'on')).toBe(
        "-ERR Usernames can't contain spaces or null characters",
      )
    },
  )

  test('are replaced, not changed, so that who holds one still sees what it was', () => {
    const table = newTable()
    setUserReply(table, 'u', 'on', '+publish', '&a', '~k')
    const held = table.get('u') as User
    setUserReply(table, 'u', 'reset', '+@all', '(+get)')
    expect(held.enabled).toBe(true)
    expect(held.selectors).toHaveLength(1)
    expect(held.selectors[0]).toMatchObject({ commandRules: ['+publish'], allCommands: false })
    expect(held.selectors[0]?.channels.map((rule) => rule.pattern)).toEqual(['a'])
  })

  test('keep what they have when acl-pubsub-default changes', () => {
    const settings = settingsOf()
    const table = new UserTable(catalog, settings)
    setUserReply(table, 'u')
    settings.set([['acl-pubsub-default', 'allchannels']])
    setUserReply(table, 'u', 'on')
    setUserReply(table, 'v')
    expect(aclList(table).slice(1)).toEqual([
      'user u on resetchannels -@all',
      'user v off &* -@all',
    ])
  })
})

describe('The version of the users', () => {
  test('differs after each change of one, and for those who are told of it', () => {
    const table = newTable()
    const seen = [table.version]
    table.onChange(() => {
      seen.push(table.version)
      return 0
    })
    table.setUser('role:a', ['+get'])
    table.deleteUsers(['role:a', 'nobody'])
    table.replaceAll([])
    const [user] = table.list()
    table.replaceSome(new Map([['b', user && { ...user, name: 'b' }]]))
    table.requirePassword('x')
    seen.push(table.version)
    expect(new Set(seen).size).toBe(6)
  })

  test('is the same after a command that changes none', () => {
    const table = newTable()
    const before = table.version
    table.deleteUsers(['nobody'])
    table.setUser('a', ['+nothing-of-this-name'])
    expect(table.version).toBe(before)
  })
})

describe('ACL DELUSER', () => {
  test('deletes those that exist, each once', () => {
    const table = newTable()
    setUserReply(table, 'a')
    setUserReply(table, 'b')
    const result = table.deleteUsers(['a', 'nobody', 'a'])
    expect('deleted' in result && result.deleted.map((user) => user.name)).toEqual(['a'])
    expect(table.names()).toEqual(['b', 'default'])
  })

  test('deletes none if default is among the names', () => {
    const table = newTable()
    setUserReply(table, 'a')
    expect(table.deleteUsers(['a', 'default'])).toEqual({
      error: "The 'default' user cannot be removed",
    })
    expect(table.names()).toEqual(['a', 'default'])
  })
})

describe('ACL LOAD', () => {
  test('gives default its built-in rules where the file has none for it', () => {
    const table = newTable()
    setUserReply(table, 'default', 'resetchannels', '-@all')
    load(table, 'user a on\n')
    expect(aclList(table)).toEqual([
      'user a on resetchannels -@all',
      'user default on nopass ~* &* +@all',
    ])
  })

  test('answers a change for every name, with one and the same object where nothing changed', () => {
    const table = newTable()
    setUserReply(table, 'gone', 'on')
    setUserReply(table, 'same', 'on', '&a')
    setUserReply(table, 'changed', 'on', '&a')
    const changes = load(
      table,
      'user same on resetchannels &a -@all\nuser changed on &b\nuser made off\n',
    )
    expect(changes.map(({ name }) => name)).toEqual(['changed', 'default', 'gone', 'made', 'same'])
    const [changed, dflt, gone, made, same] = changes
    expect(same?.after).toBe(same?.before)
    expect(dflt?.after).toBe(dflt?.before)
    expect(changed?.after).not.toBe(changed?.before)
    expect(changed?.after).toBe(table.get('changed'))
    expect(gone?.after).toBeUndefined()
    expect(made?.before).toBeUndefined()
  })
})

describe('a listener', () => {
  test('hears of each change when it is in force, until it stops listening', () => {
    const table = newTable()
    const heard: string[][] = []
    const stop = table.onChange((changes) => {
      heard.push(changes.map(({ name }) => name))
      for (const { name, after } of changes) expect(table.get(name)).toBe(after)
      return 0
    })
    setUserReply(table, 'a', 'on')
    setUserReply(table, 'a', '+nocmd')
    setUserReply(table, 'b')
    table.deleteUsers(['nobody'])
    table.deleteUsers(['a', 'b'])
    load(table, 'user c on\n')
    table.requirePassword('secret')
    expect(heard).toEqual([['a'], ['b'], ['a', 'b'], ['c', 'default']])
    stop()
    setUserReply(table, 'd')
    expect(heard).toHaveLength(4)
  })
})

describe('requirepass', () => {
  test('is the one password of default, and none when empty', () => {
    const table = newTable()
    table.requirePassword('secret')
    expect(aclList(table)).toEqual([
      'user default on #2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b ~* &* +@all',
    ])
    expect(passwordLogsIn(table.default, 'secret')).toBe(true)
    table.requirePassword('')
    expect(aclList(table)).toEqual(['user default on nopass ~* &* +@all'])
  })
})

describe("a token's user that SETUSER makes", () => {
  test.each(['jwt:42', 'jwt@partner:42'])('is a ceiling that bounds nothing yet: %s', (name) => {
    const table = newTable()
    setUserReply(table, name, 'resetchannels', '&room:7')
    expect(aclList(table)[1]).toBe(`user ${name} on ~* resetchannels &room:7 +@all`)
    setUserReply(table, name, '-@all')
    expect(aclList(table)[1]).toBe(`user ${name} on ~* resetchannels &room:7 -@all`)
  })

  test.each(['nopass', '>secret', '<secret', `#${'a'.repeat(64)}`, `!${'a'.repeat(64)}`])(
    'takes no password: %s',
    (rule) => {
      const table = newTable()
      expect(setUserReply(table, 'jwt:42', rule)).toBe(
        `-ERR Error in ACL SETUSER modifier '${rule}': A token logs in as this user, which cannot have a password`,
      )
      expect(table.get('jwt:42')).toBeUndefined()
    },
  )

  test('starts from nothing in a file, as every user there', () => {
    const table = newTable()
    load(table, 'user jwt:42 on &room:7\n')
    expect(aclList(table)[1]).toBe('user jwt:42 on resetchannels &room:7 -@all')
  })

  test('is no other name that merely begins like one', () => {
    const table = newTable()
    setUserReply(table, 'jwt', '>secret')
    setUserReply(table, 'jwtx', 'nopass')
    expect(table.get('jwt')?.passwords).toHaveLength(1)
    expect(table.get('jwtx')?.enabled).toBe(false)
  })
})

describe('a role', () => {
  const table = new UserTable(catalog, settingsOf(), (pattern) =>
    pattern.includes('{nope}') ? "Unknown placeholder '{nope}'" : undefined,
  )

  test('starts from nothing and takes no password', () => {
    expect(setUserReply(table, 'role:a', '+subscribe', '&user:{sub}:*')).toBe('+OK')
    expect(aclList(table)[1]).toBe('user role:a off resetchannels &user:{sub}:* -@all +subscribe')
    expect(setUserReply(table, 'role:a', '>secret')).toBe(
      "-ERR Error in ACL SETUSER modifier '>secret': Nobody logs in as a role, which cannot have a password",
    )
    expect(setUserReply(table, 'role:a', 'resetpass', 'on')).toBe('+OK')
  })

  test('has its channel patterns judged, in selectors as well', () => {
    expect(setUserReply(table, 'role:b', '&x:{nope}')).toBe(
      "-ERR Error in ACL SETUSER modifier '&x:{nope}': Unknown placeholder '{nope}'",
    )
    expect(setUserReply(table, 'role:b', '(+publish &x:{nope})')).toBe(
      "-ERR Error in ACL SETUSER modifier '(+publish &x:{nope})': Unknown placeholder '{nope}'",
    )
    expect(setUserReply(table, 'plain', '&x:{nope}', '(&x:{nope})')).toBe('+OK')
    expect(
      parseAclFile(catalog, 'user role:b &x:{nope}\n', 'users.acl', table.ruleOptions),
    ).toEqual({
      error:
        "users.acl:1: Unknown placeholder '{nope}'. WARNING: ACL errors detected, no change to the previously active ACL rules was performed",
    })
  })
})
