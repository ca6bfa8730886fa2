import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { describeUser } from '../../server/acl/describe.ts'
import { parseAclFile, printAclFile } from '../../server/acl/file.ts'
import { hasSpaceOrNul, type Selector, type User } from '../../server/acl/user.ts'
import { applyRules, newUser } from '../../server/acl/rules.ts'
import { catalog, newTable } from '../unit/acl/support.ts'

const OPTIONS = { pubsubDefault: 'resetchannels' } as const

const byteString = fc
  .uint8Array({ maxLength: 6 })
  .map((bytes) => Buffer.from(bytes).toString('latin1'))
const pattern = fc.oneof(
  fc.string({
    unit: fc.constantFrom('a', 'b', '*', '?', '[', ']', '\\', '|', '"', "'"),
    maxLength: 4,
  }),
  byteString,
)
const command = fc.constantFrom(
  ...[
    'get Set client client|kill CLIENT|id pubsub publish subscribe select',
    '@read @pubsub @Dangerous @fast @slow @all select|1 publish|a nocmd',
  ].flatMap((line) => line.split(' ')),
)
const selectorRule = fc.oneof(
  fc
    .tuple(fc.constantFrom('~', '%R~', '%W~', '%rw~', '&', '&'), pattern)
    .map((parts) => parts.join('')),
  fc.tuple(fc.constantFrom('+', '-'), command).map((parts) => parts.join('')),
  fc.constantFrom(
    'allkeys',
    'resetkeys',
    'allchannels',
    'resetchannels',
    'allcommands',
    'NoCommands',
  ),
)
const rule = fc.oneof(
  { weight: 6, arbitrary: selectorRule },
  {
    weight: 2,
    arbitrary: fc.array(selectorRule, { maxLength: 4 }).map((rules) => `(${rules.join(' ')})`),
  },
  { weight: 1, arbitrary: byteString.map((password) => `>${password}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('on', 'off', 'nopass', 'resetpass', 'reset', 'clearselectors', ''),
  },
)
/** The user that those of the rules make which can be applied, each as its own ACL SETUSER. */
const user = fc
  .tuple(
    byteString.filter((name) => !hasSpaceOrNul(name)),
    fc.array(rule, { maxLength: 12 }),
    fc.constantFrom('allchannels', 'resetchannels'),
  )
  .map(([name, rules, pubsubDefault]) => {
    const table = newTable(pubsubDefault)
    table.deleteUsers([name])
    table.setUser(name, ['reset'])
    for (const one of rules) table.setUser(name, [one])
    return table.get(name) as User
  })

/** The grants of a selector without what is derived; `~*` in the list of keys is printed as all keys. */
function meaning(selector: Selector): object {
  const { allowed, firstArguments, keys, channels, ...rest } = selector
  const bits = catalog.all.map(({ id }) => ((allowed[id >>> 5] ?? 0) >>> (id & 31)) & 1).join('')
  return {
    ...rest,
    bits,
    firstArguments: new Map([...firstArguments].map(([id, words]) => [id, new Set(words)])),
    keys: keys.map(({ pattern: text, read, write }) => ({ text, read, write })),
    channels: channels.map((channel) => channel.pattern),
  }
}

function hasStarInKeys(one: User): boolean {
  return one.selectors.some((selector) =>
    selector.keys.some((key) => key.pattern === '*' && key.read && key.write),
  )
}

describe('a described user', () => {
  test('is read back as the same user', () => {
    fc.assert(
      fc.property(user, (one) => {
        fc.pre(!hasStarInKeys(one) && !one.name.startsWith('role:'))
        const line = describeUser(one)
        const parsed = parseAclFile(catalog, line, 'f', OPTIONS)
        const [again] = 'users' in parsed ? parsed.users : []
        expect([line, 'error' in parsed ? parsed.error : '']).toEqual([line, ''])
        expect({ ...again, selectors: again?.selectors.map(meaning) }).toEqual({
          ...one,
          selectors: one.selectors.map(meaning),
        })
      }),
      { numRuns: 1000 },
    )
  })

  test('is described in the same words when it is read back', () => {
    fc.assert(
      fc.property(fc.uniqueArray(user, { maxLength: 4, selector: (one) => one.name }), (users) => {
        const text = printAclFile(users)
        const parsed = parseAclFile(catalog, text, 'f', OPTIONS)
        expect('users' in parsed && printAclFile(parsed.users)).toBe(text)
      }),
      { numRuns: 300 },
    )
  })

  test('may be given to ACL SETUSER as rules', () => {
    fc.assert(
      fc.property(user, (one) => {
        const rules = describeUser(one).slice(`user ${one.name} `.length).split(' ')
        const result = applyRules(catalog, newUser(catalog, one.name, OPTIONS), rules, OPTIONS)
        expect('user' in result && describeUser(result.user)).toBe(describeUser(one))
      }),
      { numRuns: 300 },
    )
  })
})

describe('rules of any bytes', () => {
  const anyRule = fc.oneof(
    byteString,
    rule,
    fc
      .tuple(
        fc.constantFrom('+', '-', '&', '~', '%', '(', '>', '<', '#', '!', '@', '|'),
        byteString,
      )
      .map((parts) => parts.join('')),
  )

  test('are applied or refused as a whole, and never thrown at', () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 8 }), (rules) => {
        const table = newTable()
        table.setUser('u', ['on', '>p', '&a', '+get', '(+set ~k)'])
        const before = printAclFile(table.list())
        const result = table.setUser('u', rules)
        if ('error' in result) {
          expect(printAclFile(table.list())).toBe(before)
          expect(result.error).not.toMatch(/[\r\n\0]/)
        } else {
          expect(table.get('u')).toBe(result.after)
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('of a file are read or refused as a whole, and never thrown at', () => {
    const line = fc.array(anyRule, { maxLength: 5 }).map((rules) => ['user', ...rules].join(' '))
    fc.assert(
      fc.property(fc.array(fc.oneof(byteString, line), { maxLength: 4 }), (lines) => {
        const parsed = parseAclFile(catalog, lines.join('\n'), 'f', OPTIONS)
        if ('users' in parsed) {
          const names = parsed.users.map((one) => one.name)
          expect(new Set(names).size).toBe(names.length)
        } else {
          expect(parsed.error).toMatch(/WARNING: ACL errors detected, no change .* was performed$/s)
        }
      }),
      { numRuns: 500 },
    )
  })
})
