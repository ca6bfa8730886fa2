import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { coverageOf, mayLoseSubscriptions } from '../../server/acl/impact.ts'
import type { User } from '../../server/acl/user.ts'
import { newTable } from '../unit/acl/support.ts'

const glob = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), minLength: 1, maxLength: 3 })
const names = fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 3 }), {
  maxLength: 3,
})
const subscriptions = fc.record({ channels: names, patterns: fc.array(glob, { maxLength: 2 }) })

interface Held {
  readonly channels: readonly string[]
  readonly patterns: readonly string[]
}

function covers(user: User, { channels, patterns }: Held): boolean {
  const coverage = coverageOf(user)
  return (
    channels.every((channel) => coverage(channel, false)) &&
    patterns.every((pattern) => coverage(pattern, true))
  )
}

function dies(before: User, after: User, held: Held): boolean {
  return mayLoseSubscriptions(before, after) && !covers(after, held)
}
const channelRules = fc.array(fc.array(glob, { maxLength: 3 }), { minLength: 1, maxLength: 3 })

/** A user with these channel rules in its root and its selectors. */
function userWith(rules: readonly (readonly string[])[]): User {
  const [root = [], ...others] = rules.map((list) =>
    list.includes('*') ? ['&*'] : list.map((one) => `&${one}`),
  )
  const result = newTable().setUser('u', [...root, ...others.map((list) => `(${list.join(' ')})`)])
  if ('error' in result) throw new Error(result.error)
  return result.after
}

describe('a change of channel rules', () => {
  test('kills exactly those who held only what they might and now hold what they may not', () => {
    fc.assert(
      fc.property(channelRules, channelRules, subscriptions, (had, has, held) => {
        const before = userWith(had)
        const after = userWith(has)
        fc.pre(covers(before, held))
        expect(dies(before, after, held)).toBe(!covers(after, held))
      }),
      { numRuns: 2000 },
    )
  })

  test('kills nobody whose subscriptions are covered, and nobody who has none', () => {
    fc.assert(
      fc.property(channelRules, channelRules, subscriptions, (had, has, held) => {
        const before = userWith(had)
        const after = userWith(has)
        if (covers(after, held)) {
          expect(dies(before, after, held)).toBe(false)
        }
        const none = { channels: [], patterns: [] }
        expect(dies(before, after, none)).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  test('that only adds rules is pardoned without a look at the clients', () => {
    fc.assert(
      fc.property(channelRules, channelRules, (had, added) => {
        expect(mayLoseSubscriptions(userWith(had), userWith([...had, ...added]))).toBe(false)
      }),
    )
  })
})
