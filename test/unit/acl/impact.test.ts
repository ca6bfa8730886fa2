import { describe, expect, test } from 'vitest'

import { coverageOf, mayLoseSubscriptions } from '../../../server/acl/impact.ts'
import type { User } from '../../../server/acl/user.ts'
import { newTable } from './support.ts'

/** Reports whether a user covers what a client holds: `channel a, pattern a*, shard b`. */
function covers(user: User, held: string): boolean {
  const coverage = coverageOf(user)
  return held
    .split(', ')
    .filter((one) => one !== '')
    .every((one) => {
      const [kind, name = ''] = one.split(' ')
      return coverage(name, kind === 'pattern')
    })
}

/** Reports whether a client that holds subscriptions is killed by a change of its user. */
function dies(before: User, after: User, held: string): boolean {
  return mayLoseSubscriptions(before, after) && !covers(after, held)
}

/** The user before and after ACL SETUSER, and what the rules did. */
function change(before: string, rules: string): { before: User; after: User; failed: boolean } {
  const table = newTable()
  table.setUser('u', `on nopass +@all ${before}`.split(' '))
  const user = table.get('u') as User
  const failed = 'error' in table.setUser('u', rules.split(' '))
  return { before: user, after: table.get('u') as User, failed }
}

describe('a client of a user whose rules change', () => {
  test.each([
    ['&a &b', 'channel a, channel b', 'resetchannels &a', 'dies'],
    ['&a &b', 'channel a', 'resetchannels &a', 'lives'],
    ['&a &b', 'channel a', 'resetchannels &[a]', 'lives'],
    ['&a*', 'pattern a*', 'resetchannels &a?', 'dies'],
    ['&a*', 'pattern a*', 'resetchannels (&a*)', 'lives'],
    ['&*', 'pattern x', 'resetchannels &x', 'lives'],
    ['&*', 'pattern x*', 'resetchannels &x*y', 'dies'],
    ['&a*', 'pattern a*', 'allchannels', 'lives'],
    ['&a*', 'pattern a*', 'resetchannels (&*)', 'lives'],
    ['&a*', 'pattern a*', '&zz', 'lives'],
    ['&a &b', 'shard b', 'resetchannels &a', 'dies'],
    ['&a', 'channel a', 'off', 'lives'],
    ['&a', 'channel a', 'resetpass >x', 'lives'],
    ['&a', 'channel a', '-subscribe', 'lives'],
    ['&a', 'channel a', 'reset', 'dies'],
    ['&a', '', 'resetchannels', 'lives'],
    ['&a', 'channel a', 'resetchannels (-@all &a)', 'lives'],
    ['&a*', 'channel a1', 'resetchannels &a*', 'lives'],
    ['&a*', 'channel a1, pattern a*', 'resetchannels &a1', 'dies'],
    ['&* (&b)', 'channel a', 'resetchannels', 'dies'],
    ['&a*', 'pattern a*', 'resetchannels &**', 'dies'],
  ])('that had %s, holds [%s], and gets "%s": %s', (had, holds, rules, outcome) => {
    const { before, after, failed } = change(had, rules)
    expect(failed).toBe(false)
    expect(dies(before, after, holds)).toBe(outcome === 'dies')
  })

  test('lives if the rules are refused, since nothing changes', () => {
    const { before, after, failed } = change('&a', 'resetchannels +nocmd')
    expect(failed).toBe(true)
    expect(dies(before, after, 'channel a')).toBe(false)
  })

  test('is pardoned where every rule is still there, even for what it should not have held', () => {
    const { before, after } = change('&a', '&b')
    expect(mayLoseSubscriptions(before, after)).toBe(false)
    expect(covers(after, 'channel zzz')).toBe(false)
    expect(dies(before, after, 'channel zzz')).toBe(false)
  })

  test('is judged in the same way if its user is default', () => {
    const table = newTable()
    const before = table.default
    table.setUser('default', ['resetchannels', '&a'])
    expect(dies(before, table.default, 'channel a')).toBe(false)
    expect(dies(before, table.default, 'channel b')).toBe(true)
  })
})
