import { describe, expect, test } from 'vitest'
import { faultsOf, type RollingReport } from '../../restart/rolling-restart.ts'

const OPTIONS = {
  gateways: 3,
  webSockets: 150,
  perChannel: 5,
  messagesPerSecond: 200,
  graceSeconds: 2,
  drainSeconds: 3,
  restSeconds: 1,
}

const GOOD: RollingReport = {
  published: 4_000,
  received: 19_000,
  moves: 150,
  awayMs: [900],
  lateMs: [10],
  otherCauses: new Map(),
  denied: 0,
  gaps: 150,
  unannounced: 0,
  disordered: 0,
  loads: [50, 41, 59],
  badEnds: 0,
}

describe('A rolling restart', () => {
  test('in which every client moves, and knows its gaps, has no fault', () => {
    expect(faultsOf(GOOD, OPTIONS)).toEqual([])
  })

  test.each<[string, Partial<RollingReport>]>([
    ['an attempt that failed', { otherCauses: new Map([['lost', 2]]) }],
    ['a refused login', { denied: 1 }],
    ['a message that was lost without a word', { unannounced: 1 }],
    ['a message that came twice', { disordered: 1 }],
    ['a gap that was not announced', { gaps: 149 }],
    ['clients that were never moved', { moves: 100, gaps: 100 }],
    ['a gateway that did not end in good order', { badEnds: 1 }],
    ['a gateway with too few clients', { loads: [39, 55, 56] }],
    ['a gateway with too many clients', { loads: [61, 45, 44] }],
    ['a gateway too few', { loads: [50, 50] }],
  ])('is at fault for %s', (_name, change) => {
    expect(faultsOf({ ...GOOD, ...change }, OPTIONS)).toHaveLength(1)
  })
})
