import { describe, expect, test } from 'vitest'

import { applyRules, joinSelectors, newUser } from '../../../server/acl/rules.ts'
import { describeChannels, describeUser } from '../../../server/acl/describe.ts'
import { aclList, catalog, newTable, setUserReply, userOf } from './support.ts'

/** Rules given to ACL SETUSER for one and the same user, one call after the other, and the answers of Redis 7.0. */
const TRANSCRIPT: readonly (readonly [rules: readonly string[], reply: string])[] = [
  [['foo'], "-ERR Error in ACL SETUSER modifier 'foo': Syntax error"],
  [
    ['+nocmd'],
    "-ERR Error in ACL SETUSER modifier '+nocmd': Unknown command or category name in ACL",
  ],
  [
    ['+@nocat'],
    "-ERR Error in ACL SETUSER modifier '+@nocat': Unknown command or category name in ACL",
  ],
  [
    ['-nocmd'],
    "-ERR Error in ACL SETUSER modifier '-nocmd': Unknown command or category name in ACL",
  ],
  [
    ['-@nocat'],
    "-ERR Error in ACL SETUSER modifier '-@nocat': Unknown command or category name in ACL",
  ],
  [
    ['+client|nosub'],
    "-ERR Error in ACL SETUSER modifier '+client|nosub': Unknown command or category name in ACL",
  ],
  [
    ['-client|nosub'],
    "-ERR Error in ACL SETUSER modifier '-client|nosub': Unknown command or category name in ACL",
  ],
  [['+client|'], "-ERR Error in ACL SETUSER modifier '+client|': Syntax error"],
  [['+select|1'], '+OK'],
  [
    ['-select|1'],
    "-ERR Error in ACL SETUSER modifier '-select|1': Unknown command or category name in ACL",
  ],
  [
    ['+client|id|x'],
    "-ERR Error in ACL SETUSER modifier '+client|id|x': Allowing first-arg of a subcommand is not supported",
  ],
  [
    ['+client|setname|foo'],
    "-ERR Error in ACL SETUSER modifier '+client|setname|foo': Allowing first-arg of a subcommand is not supported",
  ],
  [['~* ~foo'], "-ERR Error in ACL SETUSER modifier '~* ~foo': Syntax error"],
  [
    ['~*', '~foo'],
    "-ERR Error in ACL SETUSER modifier '~foo': Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns",
  ],
  [
    ['allkeys', '~foo'],
    "-ERR Error in ACL SETUSER modifier '~foo': Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns",
  ],
  [
    ['&*', '&foo'],
    "-ERR Error in ACL SETUSER modifier '&foo': Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels",
  ],
  [
    ['allchannels', '&foo'],
    "-ERR Error in ACL SETUSER modifier '&foo': Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels",
  ],
  [['&a b'], "-ERR Error in ACL SETUSER modifier '&a b': Syntax error"],
  [['~a b'], "-ERR Error in ACL SETUSER modifier '~a b': Syntax error"],
  [['&'], '+OK'],
  [['~'], '+OK'],
  [['%R'], '+OK'],
  [['%RW~x'], '+OK'],
  [['%~x'], "-ERR Error in ACL SETUSER modifier '%~x': Syntax error"],
  [['%X~x'], "-ERR Error in ACL SETUSER modifier '%X~x': Syntax error"],
  [['%RR~x'], "-ERR Error in ACL SETUSER modifier '%RR~x': Syntax error"],
  [['%r~x'], '+OK'],
  [['>'], '+OK'],
  [
    ['#abc'],
    "-ERR Error in ACL SETUSER modifier '#abc': The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters",
  ],
  [
    ['#AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
    "-ERR Error in ACL SETUSER modifier '#AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA': The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters",
  ],
  [['#aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'], '+OK'],
  [
    ['<nope'],
    "-ERR Error in ACL SETUSER modifier '<nope': The password you are trying to remove from the user does not exist",
  ],
  [
    ['!bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb'],
    "-ERR Error in ACL SETUSER modifier '!bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb': The password you are trying to remove from the user does not exist",
  ],
  [
    ['!abc'],
    "-ERR Error in ACL SETUSER modifier '!abc': The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters",
  ],
  [['('], "-ERR Unmatched parenthesis in acl selector starting at '('."],
  [['(+get'], "-ERR Unmatched parenthesis in acl selector starting at '(+get'."],
  [['(+get ~a', ')'], '+OK'],
  [
    ['(+nocmd)'],
    "-ERR Error in ACL SETUSER modifier '(+nocmd)': Unknown command or category name in ACL",
  ],
  [
    ['(&* &b)'],
    "-ERR Error in ACL SETUSER modifier '(&* &b)': Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels",
  ],
  [['( )'], '+OK'],
  [['()'], '+OK'],
  [['(nopass)'], "-ERR Error in ACL SETUSER modifier '(nopass)': Syntax error"],
  [['(+get)', 'clearselectors'], '+OK'],
  [['ON'], '+OK'],
  [['NOPASS'], '+OK'],
  [['AllChannels'], '+OK'],
  [['+@ALL'], '+OK'],
  [['+GET'], '+OK'],
  [['+Client|ID'], '+OK'],
  [['+@pubsub'], '+OK'],
  [[''], '+OK'],
  [['RESET'], '+OK'],
  [['+'], "-ERR Error in ACL SETUSER modifier '+': Unknown command or category name in ACL"],
  [['-'], "-ERR Error in ACL SETUSER modifier '-': Unknown command or category name in ACL"],
  [['+@'], "-ERR Error in ACL SETUSER modifier '+@': Unknown command or category name in ACL"],
  [['resetpass', 'x'], "-ERR Error in ACL SETUSER modifier 'x': Syntax error"],
  [['>a>b'], '+OK'],
  [
    ['+get', '+nocmd', '~x'],
    "-ERR Error in ACL SETUSER modifier '+nocmd': Unknown command or category name in ACL",
  ],
  [['skip-sanitize-payload'], '+OK'],
  [['sanitize-payload'], '+OK'],
  [['allcommands'], '+OK'],
  [['nocommands'], '+OK'],
  [
    ['+config|get|x'],
    "-ERR Error in ACL SETUSER modifier '+config|get|x': Allowing first-arg of a subcommand is not supported",
  ],
  [['~a\0b'], "-ERR Error in ACL SETUSER modifier '~a': Syntax error"],
  [['&a\0b'], "-ERR Error in ACL SETUSER modifier '&a': Syntax error"],
  [['+subscribe|foo'], '+OK'],
  [['+publish|x'], '+OK'],
]

describe('ACL SETUSER', () => {
  test('answers rule by rule what Redis answers', () => {
    const table = newTable()
    for (const [rules, reply] of TRANSCRIPT) {
      expect([rules, setUserReply(table, 'e', ...rules)]).toEqual([rules, reply])
    }
  })

  test('changes nothing when one of its rules is wrong', () => {
    const table = newTable()
    setUserReply(table, 'u', 'on', '>secret', '&a')
    const before = aclList(table)
    expect(setUserReply(table, 'u', 'off', 'resetpass', '&b', '+nocmd')).toContain("'+nocmd'")
    expect(aclList(table)).toEqual(before)
  })

  test('makes no user when one of its rules is wrong', () => {
    const table = newTable()
    setUserReply(table, 'u', 'on', '+nocmd')
    expect(table.names()).toEqual(['default'])
  })

  test('shows a rule in an error up to its first NUL and with line ends as blanks', () => {
    expect(setUserReply(newTable(), 'u', '&a\r\nb\0c')).toBe(
      "-ERR Error in ACL SETUSER modifier '&a  b': Syntax error",
    )
  })

  test('reads the rules of a selector with quotes and escapes', () => {
    const table = newTable()
    expect(setUserReply(table, 'u', `(&"q" &'w' &"\\x65\\"" "&r")`, '(&a))')).toBe('+OK')
    expect(table.get('u')?.selectors.map(describeChannels)).toEqual(['', '&q &w &e" &r', '&a)'])
  })

  test('refuses quotes in a selector that do not end, and an empty word', () => {
    const table = newTable()
    expect(setUserReply(table, 'u', "(+get 'a)")).toBe(
      "-ERR Error in ACL SETUSER modifier '(+get 'a)': Syntax error",
    )
    expect(setUserReply(table, 'u', '(~a "b)')).toBe(
      "-ERR Error in ACL SETUSER modifier '(~a \"b)': Syntax error",
    )
    for (const rule of [`(&it's)`, '(&"a"b)', '("")', '(&a\0b)']) {
      expect(setUserReply(table, 'u', rule)).toMatch(/: Syntax error$/)
    }
    expect(aclList(table)[1]).toBeUndefined()
  })

  test('refuses a first argument with white space in it', () => {
    expect(setUserReply(newTable(), 'u', '+select|1 on')).toBe(
      "-ERR Error in ACL SETUSER modifier '+select|1 on': Syntax error",
    )
  })

  test('takes the database rules of Valkey 9.1, which have no effect', () => {
    const table = newTable()
    expect(setUserReply(table, 'u', 'resetdbs', 'db=0,15', 'alldbs', '(DB=3)')).toBe('+OK')
    expect(setUserReply(table, 'u', 'db=0,16')).toBe(
      "-ERR Error in ACL SETUSER modifier 'db=0,16': The provided database ID is out of range",
    )
    expect(setUserReply(table, 'u', 'db=1,')).toBe(
      "-ERR Error in ACL SETUSER modifier 'db=1,': Syntax error",
    )
  })

  test('takes names of properties of JavaScript objects for what they are: unknown', () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      expect(setUserReply(newTable(), 'u', `+${name}`)).toBe(
        `-ERR Error in ACL SETUSER modifier '+${name}': Unknown command or category name in ACL`,
      )
      expect(setUserReply(newTable(), 'u', `+@${name}`)).toContain('Unknown command or category')
      expect(setUserReply(newTable(), '__proto__', 'on')).toBe('+OK')
    }
  })
})

describe('a selector spread over several arguments', () => {
  test('is joined with single blanks up to the argument that ends with a parenthesis', () => {
    expect(joinSelectors(['on', '(+get', '', '~a', ')', '()', '(x)', ')'])).toEqual({
      rules: ['on', '(+get  ~a )', '()', '(x)', ')'],
    })
  })

  test('is told by its first argument when it never ends', () => {
    const result = applyRules(
      catalog,
      newUser(catalog, 'u', { pubsubDefault: 'resetchannels' }),
      ['(+get', '~a'],
      {
        pubsubDefault: 'resetchannels',
      },
    )
    expect(result).toMatchObject({ rule: '(+get', unmatched: true })
  })
})

describe('the order of command rules', () => {
  test.each([
    [
      '+@pubsub -publish +client|id +client -client|kill',
      '-@all +@pubsub -publish +client -client|kill',
    ],
    ['+get +set -get', '-@all +set -get'],
    ['+select|1 +select|2 +select', '-@all +select'],
    ['+select +select|1', '-@all +select +select|1'],
    ['+@all -get +@all', '+@all'],
    ['+@all -@dangerous +info', '+@all -@dangerous +info'],
    ['-@READ +GET', '-@all -@read +get'],
  ])('of "%s" is remembered as "%s"', (rules, text) => {
    expect(describeUser(userOf(rules))).toBe(`user u off resetchannels ${text}`)
  })
})

describe('the same key pattern given twice', () => {
  test('adds up its access', () => {
    expect(describeUser(userOf('%R~k %W~k ~a %R~a %w~w %wr~b'))).toBe(
      'user u off ~k ~a %W~w ~b resetchannels -@all',
    )
  })
})
