import { describe, expect, test } from 'vitest'
import { EMPTY_FORM, revokeCommand } from '../../../../../web/console/model/revocations.ts'

describe('revocations', () => {
  test('options that a kind does not take are left out', () => {
    const form = {
      ...EMPTY_FORM,
      target: 'x',
      from: 'partner',
      forKind: 'SUB',
      forName: 'ada',
      only: 'PUBLISH',
      hard: true,
      lasts: 'persist',
      reason: 'a reason',
    } as const
    expect(revokeCommand({ ...form, kind: 'JTI' }, false).join(' ')).toBe(
      'TOKEN REVOKE JTI x FROM partner PERSIST REASON a reason',
    )
    expect(revokeCommand({ ...form, kind: 'CHANNEL' }, true).join(' ')).toBe(
      'TOKEN REVOKE CHANNEL x FOR SUB ada FROM partner ONLY PUBLISH PERSIST REASON a reason DRYRUN',
    )
    expect(revokeCommand({ ...form, kind: 'ALL' }, false).join(' ')).toBe(
      'TOKEN REVOKE ALL HARD PERSIST REASON a reason',
    )
  })

  test('a time becomes milliseconds since 1970', () => {
    const before = '2030-01-31T08:05:00'
    expect(revokeCommand({ ...EMPTY_FORM, target: 'a', before }, false)).toEqual([
      'TOKEN',
      'REVOKE',
      'SUB',
      'a',
      'BEFORE',
      String(new Date(2030, 0, 31, 8, 5).getTime()),
    ])
  })
})
