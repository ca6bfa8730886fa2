import { ok, strictEqual } from 'node:assert/strict'
import { describeUser } from '../../server/acl/describe.ts'
import { parseAclFile, printAclFile } from '../../server/acl/file.ts'
import { CATALOG } from '../support/tokens.ts'
import { settingsOf } from '../support/settings.ts'
import { UserTable } from '../../server/acl/users.ts'
import type { Dice } from './dice.ts'
import type { FuzzTarget } from './targets.ts'

const OPTIONS = { pubsubDefault: 'resetchannels' } as const

const WORDS = [
  ...['on', 'off', 'nopass', 'resetpass', 'reset', 'clearselectors', 'allkeys', 'resetkeys'],
  ...[
    'allchannels',
    'resetchannels',
    'allcommands',
    'NoCommands',
    '',
    '~*',
    '&*',
    '+@all',
    '-@all',
  ],
]
const PREFIXES = [
  '+',
  '-',
  '&',
  '~',
  '%R~',
  '%W~',
  '%rw~',
  '%',
  '(',
  ')',
  '>',
  '<',
  '#',
  '!',
  '@',
  '|',
]
const COMMANDS = [
  ...[
    'get',
    'Set',
    'client',
    'client|kill',
    'CLIENT|id',
    'pubsub|channels',
    'publish',
    'subscribe',
  ],
  ...[
    'psubscribe',
    '@pubsub',
    '@Dangerous',
    '@all',
    '@none',
    'select|1',
    'publish|a',
    'nocmd',
    'token|revoke',
    '|',
    'acl|',
  ],
]
const PATTERN_PIECES = [
  'a',
  'b',
  '*',
  '?',
  '[',
  ']',
  '\\',
  '|',
  '"',
  "'",
  '\0',
  ' ',
  '\n',
  '\xff',
  '{',
  '}',
]

function selectorRule(dice: Dice): string {
  if (dice.oneIn(2)) return dice.pick(['+', '-']) + dice.pick(COMMANDS)
  return dice.pick(['~', '&', '&', '%R~', '%W~', '%RW~']) + dice.text(PATTERN_PIECES, 5)
}

function ruleOf(dice: Dice): string {
  switch (dice.below(8)) {
    case 0:
      return dice.pick(WORDS)
    case 1:
      return `(${dice.several(0, 4, () => selectorRule(dice)).join(' ')})`
    case 2:
      return dice.pick(PREFIXES) + dice.bytes(6)
    case 3:
      return dice.bytes(8)
    case 4:
      return (
        dice.pick(['>', '<', '#', '!']) +
        dice.pick(['', 'p', 'a'.repeat(64), 'G'.repeat(64), 'f'.repeat(63)])
      )
    default:
      return selectorRule(dice)
  }
}

/**
 * Rules of ACL SETUSER and lines of an ACL file: applied as a whole or refused with one line that changes nothing; the text
 * that describes a user makes the same user again.
 */
export const aclRules: FuzzTarget = {
  name: 'acl-rules',
  open: () => {
    const config = settingsOf({ 'acl-pubsub-default': 'resetchannels' })
    return (dice) => {
      const table = new UserTable(CATALOG, config)
      const name = dice.pick(['u', 'v', '\xe9', 'jwt:1', dice.bytes(4) || 'w'])
      for (let sets = dice.below(3); sets >= 0; sets--) {
        const before = printAclFile(table.list())
        const result = table.setUser(
          name,
          dice.several(0, 6, () => ruleOf(dice)),
        )
        if ('error' in result) {
          strictEqual(printAclFile(table.list()), before)
          ok(!/[\r\n\0]/.test(result.error), result.error)
        } else {
          strictEqual(table.get(name), result.after)
        }
      }
      for (const user of table.list()) {
        const line = describeUser(user)
        const parsed = parseAclFile(CATALOG, line, 'f', OPTIONS)
        ok('users' in parsed, `${JSON.stringify(line)} is not read back: ${JSON.stringify(parsed)}`)
        const [again] = parsed.users
        strictEqual(again && describeUser(again), line)
      }
      const text = dice.several(
        0,
        3,
        () =>
          `${dice.pick(['user', 'user u', 'USER', '#', ''])} ${dice.several(0, 4, () => ruleOf(dice)).join(' ')}`,
      )
      const file = parseAclFile(CATALOG, text.join('\n'), 'f', OPTIONS)
      if ('users' in file) ok(file.users.length <= text.join('\n').split('\n').length)
      else ok(/ACL errors detected/.test(file.error), file.error)
    }
  },
}
