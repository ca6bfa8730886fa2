import { describe, expect, test } from 'vitest'
import { ExpiryWheel } from '../../../../server/token/session/expiry.ts'
import type { ExpiryEntry, ExpiryListener } from '../../../../server/token/session/expiry.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const START = 1_700_000_000_000
const TICK = 250

interface Session extends ExpiryListener {
  /** Everything that was told, with the time since the start in ms. */
  readonly told: [string, number, number?][]
  readonly entry: ExpiryEntry
}

function setUp(): {
  clock: FakeClock
  wheel: ExpiryWheel
  add: (lifeMs: number, graceMs?: number, random?: number) => Session
} {
  const clock = new FakeClock(START)
  const wheel = new ExpiryWheel(clock)
  const add = (lifeMs: number, graceMs = 25_000, random = 0): Session => {
    const told: Session['told'] = []
    const at = (): number => clock.wallMs() - START
    const listener = {
      expiring: (ms: number) => told.push(['expiring', at(), ms]),
      expired: (ms: number) => told.push(['expired', at(), ms]),
      end: () => told.push(['end', at()]),
    }
    const expiresAtMs = clock.wallMs() + lifeMs
    const entry = wheel.add({ expiresAtMs, graceMs }, listener, random)
    return { ...listener, told, entry }
  }
  return { clock, wheel, add }
}

describe('a session in the wheel', () => {
  test('is told expiring, expired and end, each once and with what is left', () => {
    const { clock, wheel, add } = setUp()
    const session = add(100_000)
    clock.advance(1_000_000)
    expect(session.told).toEqual([
      ['expiring', 60_000, 40_000],
      ['expired', 100_000, 25_000],
      ['end', 125_000],
    ])
    expect(wheel.size).toBe(0)
  })

  test.each([
    [0, 60_000],
    [0.5, 72_500],
    [1, 85_000],
  ])('hears expiring at 60 to 85 %% of its life: a draw of %d', (random, atMs) => {
    const { clock, add } = setUp()
    const session = add(100_000, 0, random)
    clock.advance(100_000)
    expect(session.told[0]).toEqual(['expiring', atMs, 100_000 - atMs])
  })

  test('is told nothing early, and nothing more than a tick late', () => {
    const { clock, add } = setUp()
    const session = add(100_001, 0, 1)
    clock.advance(100_000)
    expect(session.told.map(([what]) => what)).toEqual(['expiring'])
    clock.advance(TICK)
    expect(session.told.slice(1)).toEqual([
      ['expired', 100_000 + TICK, 0],
      ['end', 100_000 + TICK],
    ])
  })

  test('without grace ends as it expires', () => {
    const { clock, add } = setUp()
    const session = add(1000, 0)
    clock.advance(1000)
    expect(session.told.map(([what, at]) => [what, at])).toEqual([
      ['expiring', 750],
      ['expired', 1000],
      ['end', 1000],
    ])
  })

  test('that begins in the grace is told that it is over, not that it will be', () => {
    const { clock, add } = setUp()
    const session = add(-10_000, 25_000)
    clock.advance(TICK)
    expect(session.told).toEqual([['expired', TICK, 14_750]])
    clock.advance(20_000)
    expect(session.told.slice(1)).toEqual([['end', 15_000]])
  })

  test('longer than one turn of the wheel is not told a turn too soon', () => {
    const { clock, add } = setUp()
    const turn = 4096 * TICK
    const session = add(3 * turn, 0)
    clock.advance(3 * turn - TICK)
    expect(session.told.map(([what]) => what)).toEqual(['expiring'])
    clock.advance(TICK)
    expect(session.told.map(([what]) => what)).toEqual(['expiring', 'expired', 'end'])
  })

  test('that lives for a hundred years is told nothing for the first days', () => {
    const { clock, add } = setUp()
    const session = add(100 * 365 * 86_400_000)
    clock.advance(3 * 86_400_000)
    expect(session.told).toEqual([])
    clock.stepWall(100 * 365 * 86_400_000)
    clock.advance(TICK)
    expect(session.told.map(([what]) => what)).toEqual(['expired', 'end'])
  })

  test('of 25 days does not end at once, where a timer of its own would overflow', () => {
    const { clock, add } = setUp()
    const session = add(25 * 86_400_000)
    clock.advance(60_000)
    expect(session.told).toEqual([])
  })
})

describe('removing', () => {
  test('ends all calls, may happen twice, and stops the timer with the last session', () => {
    const { clock, wheel, add } = setUp()
    const one = add(1000)
    const other = add(1000)
    expect(clock.pendingTimers).toBe(1)
    one.entry.remove()
    one.entry.remove()
    expect(wheel.size).toBe(1)
    expect(clock.pendingTimers).toBe(1)
    other.entry.remove()
    expect(wheel.size).toBe(0)
    expect(clock.pendingTimers).toBe(0)
    clock.advance(100_000)
    expect([...one.told, ...other.told]).toEqual([])
  })

  test('works from within a call, for itself and for others that are due', () => {
    const { clock, wheel } = setUp()
    const told: string[] = []
    const entries: ExpiryEntry[] = []
    for (const name of ['a', 'b']) {
      const listener = {
        expiring: () => {
          told.push(name)
          for (const entry of entries) entry.remove()
        },
        expired: () => told.push('expired'),
        end: () => told.push('end'),
      }
      entries.push(wheel.add({ expiresAtMs: START + 1000, graceMs: 0 }, listener, 0))
    }
    clock.advance(10_000)
    expect(told).toEqual(['a'])
    expect(wheel.size).toBe(0)
  })

  test('a session may be added from within the last call of another', () => {
    const { clock, wheel, add } = setUp()
    let next: Session | undefined
    const listener = {
      expiring: () => undefined,
      expired: () => undefined,
      end: () => (next = add(1000, 0)),
    }
    wheel.add({ expiresAtMs: START + 1000, graceMs: 0 }, listener, 0)
    clock.advance(1000)
    expect(wheel.size).toBe(1)
    clock.advance(1000)
    expect(next?.told.at(-1)).toEqual(['end', 2000])
    expect(clock.pendingTimers).toBe(0)
  })

  test('stop forgets everybody', () => {
    const { clock, wheel, add } = setUp()
    const session = add(1000)
    wheel.stop()
    expect(wheel.size).toBe(0)
    expect(clock.pendingTimers).toBe(0)
    clock.advance(100_000)
    expect(session.told).toEqual([])
  })
})

describe('a wall clock that jumps', () => {
  test('forwards past exp: expired at the next tick, in order, without expiring', () => {
    const { clock, add } = setUp()
    const session = add(100_000)
    clock.stepWall(110_000)
    clock.advance(TICK)
    expect(session.told.map(([what, , ms]) => [what, ms])).toEqual([['expired', 14_750]])
  })

  test('forwards by more than a turn of the wheel: everything due is told, nothing else', () => {
    const { clock, wheel, add } = setUp()
    const early = add(3_000_000, 0)
    const late = add(30_000_000, 0)
    clock.stepWall(3_600_000)
    clock.advance(TICK)
    expect(early.told.map(([what]) => what)).toEqual(['expired', 'end'])
    expect(late.told).toEqual([])
    expect(wheel.size).toBe(1)
  })

  test('backwards by an hour: tokens last that much longer by the monotonic clock', () => {
    const { clock, add } = setUp()
    const session = add(100_000, 0)
    clock.advance(10_000)
    clock.stepWall(-3_600_000)
    clock.advance(3_600_000)
    expect(session.told).toEqual([])
    clock.advance(90_000)
    expect(session.told.map(([what, at]) => [what, at])).toEqual([
      ['expiring', 60_000],
      ['expired', 100_000],
      ['end', 100_000],
    ])
  })

  test('backwards and forwards again: nothing is told twice or lost', () => {
    const { clock, add } = setUp()
    const session = add(100_000, 0)
    clock.advance(70_000)
    clock.stepWall(-3_600_000)
    clock.advance(1000)
    clock.stepWall(3_600_000)
    clock.advance(40_000)
    expect(session.told.map(([what]) => what)).toEqual(['expiring', 'expired', 'end'])
  })

  test('backwards just after a session was added for the next tick', () => {
    const { clock, add } = setUp()
    const session = add(100, 0, 1)
    clock.stepWall(-1000)
    clock.advance(1000)
    expect(session.told).toEqual([])
    clock.advance(TICK)
    expect(session.told.map(([what]) => what)).toEqual(['expired', 'end'])
  })
})

test('100,000 sessions need one timer, and all of them end', () => {
  const clock = new FakeClock(START)
  const wheel = new ExpiryWheel(clock)
  let ended = 0
  const listener = { expiring: () => undefined, expired: () => undefined, end: () => ended++ }
  for (let at = 0; at < 100_000; at++) {
    wheel.add({ expiresAtMs: START + 60_000 + (at % 3_540_000), graceMs: 0 }, listener, 0.5)
  }
  expect(clock.pendingTimers).toBe(1)
  clock.advance(160_000)
  expect(ended).toBe(100_000)
  expect(clock.pendingTimers).toBe(0)
})
