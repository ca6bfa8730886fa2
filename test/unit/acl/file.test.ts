import { describe, expect, test } from 'vitest'

import { parseAclFile, printAclFile, usersOfConfig } from '../../../server/acl/file.ts'
import { catalog, newTable, setUserReply } from './support.ts'

const OPTIONS = { pubsubDefault: 'resetchannels' } as const
const WARNING =
  'WARNING: ACL errors detected, no change to the previously active ACL rules was performed'

function read(text: string): string {
  const result = parseAclFile(catalog, text, '/etc/users.acl', OPTIONS)
  return 'error' in result ? result.error : printAclFile(result.users)
}

describe('an ACL file', () => {
  test('is read line by line, blank lines and blanks around a line left out', () => {
    expect(read('\n  user a on  +get \t\r\n\n\r\nuser b ( ) off')).toBe(
      'user a on resetchannels -@all +get\nuser b off resetchannels -@all (resetchannels -@all)\n',
    )
  })

  test('starts every user from nothing, default included', () => {
    expect(read('user default off\n')).toBe('user default off resetchannels -@all\n')
  })

  test('may hold passwords in clear, and is written with hashes', () => {
    expect(read('user a on >p1\n')).toBe(
      'user a on #f64551fcd6f07823cb87971cfb91446425da18286b3ab1ef935e0cbd7a69f68a resetchannels -@all\n',
    )
  })

  test('names the user with the empty name by two blanks', () => {
    expect(read('user  on\n')).toBe('user  on resetchannels -@all\n')
  })

  test('keeps bytes that are not UTF-8', () => {
    expect(read('user \xff on &\xfe\n')).toBe('user \xff on resetchannels &\xfe -@all\n')
  })

  test.each([
    ['# comment\n', '/etc/users.acl:1 should start with user keyword followed by the username. '],
    ['\nUser a on\n', '/etc/users.acl:2 should start with user keyword followed by the username. '],
    ['user\n', '/etc/users.acl:1 should start with user keyword followed by the username. '],
    ['user a\tb on\n', "'/etc/users.acl:1: username 'a\tb' contains invalid characters. "],
    ['user a on\nuser a off\n', "WARNING: Duplicate user 'a' found on line 2. "],
    ['user a (+get\n', '/etc/users.acl:1: Unmatched parenthesis in selector definition.'],
    [
      'user a +nocmd foo bar -@nocat +get <secret\n',
      "/etc/users.acl:1: Error in applying operation '+nocmd': Unknown command or category name in ACL. " +
        '/etc/users.acl:1: Syntax error. ' +
        "/etc/users.acl:1: Error in applying operation '-@nocat': Unknown command or category name in ACL. ",
    ],
    [
      'user a on <secret\n',
      '/etc/users.acl:1: The password you are trying to remove from the user does not exist. ',
    ],
    [
      'user a (+get +nocmd)\n',
      "/etc/users.acl:1: Error in applying operation '(+get +nocmd)': Unknown command or category name in ACL. ",
    ],
    [
      'user a on &* &a\n',
      "/etc/users.acl:1: Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels. ",
    ],
    [
      'x\nuser b on\nuser b foo\nuser c foo\n',
      "/etc/users.acl:1 should start with user keyword followed by the username. WARNING: Duplicate user 'b' found on line 3. /etc/users.acl:4: Syntax error. ",
    ],
  ])('%j is refused as a whole', (text, errors) => {
    expect(read(text)).toBe(errors + WARNING)
  })

  test('takes channels of acl-pubsub-default for users and selectors that do not say', () => {
    const result = parseAclFile(catalog, 'user a (+get)\n', 'f', { pubsubDefault: 'allchannels' })
    expect('users' in result && printAclFile(result.users)).toBe(
      'user a off &* -@all (&* -@all +get)\n',
    )
  })

  test('is read back as the users it was written from', () => {
    const table = newTable()
    setUserReply(table, 'a', 'on', '>x', '&b)', '(&it"s)', '+@all', '-debug', '+select|1', '%R~k')
    setUserReply(table, '', 'nopass')
    const text = printAclFile(table.list())
    expect(read(text)).toBe(text)
  })
})

describe('user lines of the configuration', () => {
  test('make users as an ACL file does, and tell which are off', () => {
    const result = usersOfConfig(
      catalog,
      [
        { name: 'alice', rules: ['on', '+get', '(+set', '~x)'] },
        { name: 'bob', rules: ['+get'] },
        { name: 'default', rules: ['on', '+ping'] },
      ],
      OPTIONS,
    )
    expect('users' in result && printAclFile(result.users)).toBe(
      'user alice on resetchannels -@all +get (~x resetchannels -@all +set)\n' +
        'user bob off resetchannels -@all +get\n' +
        'user default on resetchannels -@all +ping\n',
    )
    expect('users' in result && result.notices).toEqual([
      "The user 'bob' is disabled (there is no 'on' modifier in the user description). Make sure this is not a configuration error.",
    ])
  })

  test.each([
    [[['a', 'on', 'hunter2']], "Error in user declaration 'a ...': Syntax error"],
    [
      [['a', '#hunter2']],
      "Error in user declaration 'a ...': The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters",
    ],
    [[['a', '(>hunter2']], "Error in user declaration 'a ...': Unmatched parenthesis"],
    [[['a', '%X~k']], "Error in user declaration '%X~k': Syntax error"],
    [
      [['alice', 'on', '+nocmd']],
      "Error loading ACL rule '+nocmd' for the user named 'alice': Unknown command or category name in ACL",
    ],
    [
      [
        ['alice', 'on'],
        ['alice', 'off'],
      ],
      "Error in user declaration 'alice': Duplicate user found. A user can only be defined once in config files",
    ],
    [
      [['a b']],
      "Error in user declaration 'a b': Usernames can't contain spaces or null characters",
    ],
  ])('%j are refused', (lines, error) => {
    const parsed = lines.map(([name = '', ...rules]) => ({ name, rules }))
    expect(usersOfConfig(catalog, parsed, OPTIONS)).toEqual({ error })
  })
})
