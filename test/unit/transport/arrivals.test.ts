import { describe, expect, test } from 'vitest'
import { Arrivals } from '../../../server/transport/arrivals.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { ManualTurn } from '../../support/test-core.ts'

/** A listener whose newcomers take so many milliseconds each. */
function open(msOfEach: number) {
  const turn = new ManualTurn()
  const clock = new FakeClock()
  const entered: string[] = []
  const arrivals = new Arrivals({
    atEndOfTurn: turn.atEndOfTurn,
    nowMs: () => clock.monotonicMs(),
  })
  const come = (names: string): void => {
    for (const name of names.split('')) {
      arrivals.enter(() => {
        entered.push(name)
        clock.advance(msOfEach)
      })
    }
  }
  /** Those let in since the last look. */
  const look = (): string => entered.splice(0).join('')
  const next = (): string => {
    turn.endOne()
    return look()
  }
  return { arrivals, come, look, next, entered }
}

describe('Newcomers', () => {
  test('are let in at once while the turn has time for them', () => {
    const { come, look, next } = open(1)
    come('abcd')
    expect(look()).toBe('abcd')
    expect(next()).toBe('')
    come('e')
    expect(look()).toBe('e')
  })

  test('wait for the next turns once this one has spent four milliseconds on them', () => {
    const { come, look, next } = open(2)
    come('abcdefg')
    expect(look()).toBe('ab')
    expect([next(), next(), next(), next()]).toEqual(['cd', 'ef', 'g', ''])
  })

  test('that cannot wait are let in at once, or not at all', () => {
    const { arrivals, come, look, next } = open(2)
    let count = 0
    const enter = (): boolean => arrivals.enterAtOnce(() => count++)
    expect(enter()).toBe(true)
    come('abc')
    expect([look(), enter()]).toEqual(['ab', false])
    expect(next()).toBe('c')
    expect(enter()).toBe(true)
    expect(count).toBe(2)
  })

  test('do not overtake those that wait', () => {
    const { come, look, next } = open(3)
    come('abcd')
    expect(look()).toBe('ab')
    expect(next()).toBe('cd')
    come('e')
    expect(look()).toBe('')
    expect(next()).toBe('e')
  })

  test('are let in one each turn where each takes longer than a turn may', () => {
    const { come, look, next } = open(100)
    come('abc')
    expect([look(), next(), next(), next()]).toEqual(['a', 'b', 'c', ''])
  })

  test('that come while another is let in wait behind those before them', () => {
    const { arrivals, come, entered, look, next } = open(4)
    come('a')
    arrivals.enter(() => {
      entered.push('b')
      come('d')
    })
    come('c')
    expect([look(), next(), next(), next()]).toEqual(['a', 'bc', 'd', ''])
  })
})
