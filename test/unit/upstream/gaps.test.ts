import { describe, expect, test } from 'vitest'
import type { Gap } from '../../../server/upstream/backplane.ts'
import { Gaps } from '../../../server/upstream/gaps.ts'
import { Source } from '../../../server/upstream/link/source.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const START = 1_700_000_000_000

function gapsOf() {
  const clock = new FakeClock(START)
  const gaps = new Gaps(clock)
  const told: Gap[] = []
  gaps.onGap((gap) => void told.push(gap))
  clock.advance(1_000)
  return { clock, gaps, told }
}

describe('A gap', () => {
  test('is told from the last proof until the last of its names is in force again', () => {
    const { clock, gaps, told } = gapsOf()
    const [a, b] = [new Source('channel', 'a'), new Source('channel', 'b')]
    gaps.begin('closed', 400.5, [a, b], [], undefined)
    expect(gaps.missing).toBe(2)
    clock.advance(50)
    gaps.settled(a)
    expect([told.length, gaps.missing]).toEqual([0, 1])
    clock.advance(50.5)
    gaps.settled(b)
    gaps.settled(b)
    expect(told).toEqual([
      { fromMs: START + 400, toMs: START + 1_101, holders: [], name: undefined },
    ])
    expect([gaps.missing, gaps.seconds]).toEqual([0, 0.7])
  })

  test('is none where nothing was in force', () => {
    const { gaps, told } = gapsOf()
    gaps.begin('closed', 0, [], [], undefined)
    expect([told, gaps.counts.size]).toEqual([[], 0])
  })

  test('stands beside others, and is counted by its cause', () => {
    const { clock, gaps, told } = gapsOf()
    const [a, b] = [new Source('channel', 'a'), new Source('pattern', 'b*')]
    gaps.begin('closed', 900, [a, b], [], undefined)
    gaps.settled(a)
    clock.advance(100)
    gaps.begin('silent', 1_000, [a], [], 'a')
    gaps.begin('silent', 1_000, [a], [], 'x')
    gaps.settled(a)
    expect(told.map(({ name, fromMs }) => [name, fromMs - START])).toEqual([
      ['a', 1_000],
      ['x', 1_000],
    ])
    gaps.settled(b)
    expect(told[2]).toMatchObject({ fromMs: START + 900, toMs: START + 1_100, name: undefined })
    expect([...gaps.counts]).toEqual([
      ['closed', 1],
      ['silent', 2],
    ])
  })

  test('is told by the wall clock of now, though that was set meanwhile', () => {
    const { clock, gaps, told } = gapsOf()
    const a = new Source('channel', 'a')
    clock.stepWall(-500)
    gaps.begin('closed', 900, [a], [], undefined)
    gaps.settled(a)
    expect(told[0]).toMatchObject({ fromMs: START + 400, toMs: START + 500 })
  })
})
