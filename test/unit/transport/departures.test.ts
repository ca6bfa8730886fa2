import { expect, test } from 'vitest'
import { Departures } from '../../../server/transport/departures.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { ManualTurn } from '../../support/test-core.ts'

/** A listener whose sockets take so many milliseconds each to be closed. */
function open(msOfEach: number) {
  const turn = new ManualTurn()
  const clock = new FakeClock()
  const closed: string[] = []
  const departures = new Departures({
    atEndOfTurn: turn.atEndOfTurn,
    nowMs: () => clock.monotonicMs(),
  })
  const leave = (names: string): void => {
    for (const name of names.split('')) {
      departures.leave(() => {
        closed.push(name)
        clock.advance(msOfEach)
      })
    }
  }
  /** Those that the next end of a turn closes. */
  const next = (): string => {
    turn.endOne()
    return closed.splice(0).join('')
  }
  return { departures, closed, leave, next }
}

test('A socket is closed at the end of the turn, not within the call', () => {
  const { closed, leave, next } = open(0)
  leave('ab')
  expect(closed).toEqual([])
  expect(next()).toBe('ab')
})

test('Sockets are closed for a millisecond of each turn, in their order', () => {
  const { leave, next } = open(0.5)
  leave('abcde')
  expect(next()).toBe('ab')
  leave('f')
  expect([next(), next(), next()]).toEqual(['cd', 'ef', ''])
})

test('Sockets that take longer are closed one in each turn', () => {
  const { leave, next } = open(5)
  leave('abc')
  expect([next(), next(), next(), next()]).toEqual(['a', 'b', 'c', ''])
})

test('A socket whose close lets another one go has it closed as well', () => {
  const { departures, leave, next } = open(0)
  departures.leave(() => leave('b'))
  expect(next() + next()).toBe('b')
})
