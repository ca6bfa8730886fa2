import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { authorize } from '../../server/acl/authorize.ts'
import type { Denial } from '../../server/acl/authorize.ts'
import type { CatalogEntry } from '../../server/acl/catalog.ts'
import type { Category } from '../../server/acl/categories.ts'
import type { User } from '../../server/acl/user.ts'
import { ArgumentList } from '../../server/resp/request.ts'
import { catalog, newTable, userOf } from '../unit/acl/support.ts'

/** Rules that are always valid: `resetchannels` stands before each list of channels. */
const commandRule = fc.constantFrom(
  ...[
    '+@all -@all +@pubsub -@pubsub +@slow -@fast +@connection -@dangerous',
    '+publish -publish +subscribe -subscribe +psubscribe -psubscribe +ssubscribe',
    '+client -client +client|id -client|id +client|kill -client|kill',
    '+subscribe|a +publish|b +select|1 +select|2 +select -select',
  ].flatMap((line) => line.split(' ')),
)
const glob = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), minLength: 1, maxLength: 3 })
const name = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 3 })
const selector = fc.record({
  commands: fc.array(commandRule, { maxLength: 6 }),
  channels: fc.option(fc.array(glob, { maxLength: 3 })),
})
const selectors = fc.array(selector, { minLength: 1, maxLength: 3 })
type SelectorText = { readonly commands: string[]; readonly channels: string[] | null }

const call = fc.oneof(
  fc.tuple(fc.constantFrom('publish', 'spublish'), name, fc.constant('payload')),
  fc
    .tuple(
      fc.constantFrom('subscribe', 'ssubscribe', 'psubscribe', 'unsubscribe', 'punsubscribe'),
      fc.array(name, { minLength: 1, maxLength: 3 }),
    )
    .map(([word, names]) => [word, ...names]),
  fc.constantFrom(
    ['client|id', 'id'],
    ['client|kill', 'kill', 'a'],
    ['client|list', 'list'],
    ['select', '1'],
    ['select', '3'],
    ['ping'],
    ['auth', 'x'],
    ['get', 'k'],
  ),
)

function build(texts: readonly SelectorText[]): User {
  const rules = texts.map(({ commands, channels }) =>
    [...commands, ...(channels ? ['resetchannels', ...channels.map((one) => `&${one}`)] : ['&*'])]
      // The rule for all channels ends the list: after it no pattern may stand.
      .filter((one, index, all) => !one.startsWith('&') || !all.slice(0, index).includes('&*')),
  )
  const [root = [], ...others] = rules
  const table = newTable()
  const result = table.setUser('u', [...root, ...others.map((other) => `(${other.join(' ')})`)])
  if ('error' in result) throw new Error(result.error)
  return result.after
}

/** Reports whether the latest rule that speaks of a command, with these arguments, allows it. */
function commandAllowed(
  rules: readonly string[],
  entry: CatalogEntry,
  args: readonly string[],
): boolean {
  if (['auth', 'hello', 'quit', 'reset'].includes(entry.name)) return true
  for (const rule of [...rules].reverse()) {
    const subject = rule.slice(1)
    if (subject === '@all') return rule.startsWith('+')
    if (subject.startsWith('@')) {
      const category = subject.slice(1) as Category
      const inIt =
        entry.categories.includes(category) || entry.parent?.categories.includes(category)
      if (inIt === true) return rule.startsWith('+')
    } else if (catalog.lookup(subject)) {
      if (entry.name === subject || entry.name.startsWith(`${subject}|`))
        return rule.startsWith('+')
    } else if (`${entry.name}|${args[0] ?? ''}` === subject) {
      return true
    }
  }
  return false
}

/** Redis' glob for patterns of letters, `*` and `?`, by trying everything. */
function globMatches(pattern: string, subject: string): boolean {
  if (subject === '') return pattern === ''
  const run = (rest: string, left: string): boolean => {
    if (rest === '') return left === ''
    if (rest.startsWith('*'))
      return run(rest.slice(1), left) || (left !== '' && run(rest, left.slice(1)))
    return (
      left !== '' &&
      (rest.startsWith('?') || rest[0] === left[0]) &&
      run(rest.slice(1), left.slice(1))
    )
  }
  return run(pattern, subject)
}

/** The decision about a command for a user without ceilings. */
function check(user: User, entry: CatalogEntry, request: ArgumentList): Denial | undefined {
  return authorize({ user, ceilings: [], token: undefined }, undefined, entry, request)
}

const EVERYTHING = userOf('~* &* +@all')

/** The decision about a command for a user who may do everything under a ceiling. */
function checkCeiling(
  ceiling: User,
  entry: CatalogEntry,
  request: ArgumentList,
): Denial | undefined {
  const identity = { user: EVERYTHING, ceilings: [ceiling], token: undefined }
  return authorize(identity, undefined, entry, request)
}

/** A second implementation of the check, from the rules' text. */
function judge(
  texts: readonly SelectorText[],
  entry: CatalogEntry,
  args: readonly string[],
): Denial | undefined {
  const use = entry.channels
  const named =
    use === undefined || use.kind === 'none' ? [] : use.last === 1 ? args.slice(0, 1) : args
  const failures: number[] = []
  let lacksKey = false
  for (const { commands, channels } of texts) {
    if (!commandAllowed(commands, entry, args)) continue
    if (entry.keys) {
      lacksKey = true
      continue
    }
    const all = !channels || channels.includes('*')
    const failed = all
      ? -1
      : named.findIndex((one) =>
          use?.kind === 'pattern'
            ? !channels.includes(one)
            : !channels.some((pattern) => globMatches(pattern, one)),
        )
    if (failed < 0) return undefined
    failures.push(failed)
  }
  if (lacksKey) return { by: 'user', reason: 'key', object: args[0] as string }
  if (failures.length === 0) return { by: 'user', reason: 'command', object: entry.name }
  return { by: 'user', reason: 'channel', object: args[Math.max(...failures)] as string }
}

describe('a command', () => {
  test('is judged as the latest rule about it says, within one selector', () => {
    fc.assert(
      fc.property(selectors, fc.array(call, { minLength: 5, maxLength: 5 }), (texts, calls) => {
        const user = build(texts)
        for (const [command = '', ...args] of calls) {
          const entry = catalog.lookup(command) as CatalogEntry
          const request = ArgumentList.of(command.split('|')[0] as string, ...args)
          const denial = check(user, entry, request)
          expect(denial).toEqual(judge(texts, entry, args))
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('that a user may run passes the same user as a ceiling', () => {
    fc.assert(
      fc.property(selectors, call, (texts, [command = '', ...args]) => {
        const user = build(texts)
        const entry = catalog.lookup(command) as CatalogEntry
        const request = ArgumentList.of(command.split('|')[0] as string, ...args)
        if (!check(user, entry, request)) {
          expect(checkCeiling(user, entry, request)).toBeUndefined()
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('a pattern that passes a ceiling', () => {
  test('matches no channel that the ceiling does not allow', () => {
    const psubscribe = catalog.lookup('psubscribe') as CatalogEntry
    const subscribe = catalog.lookup('subscribe') as CatalogEntry
    fc.assert(
      fc.property(fc.array(glob, { maxLength: 3 }), glob, name, (rules, pattern, channel) => {
        const ceiling = build([{ commands: ['+@all'], channels: rules }])
        const passes = !checkCeiling(ceiling, psubscribe, ArgumentList.of('psubscribe', pattern))
        fc.pre(passes && globMatches(pattern, channel))
        const request = ArgumentList.of('subscribe', channel)
        expect(checkCeiling(ceiling, subscribe, request)).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })
})
