import { expect, test } from 'vitest'
import { Slices } from '../../server/slices.ts'
import { FakeClock } from '../support/fake-clock.ts'

test('A slice is over after eight milliseconds, and the next one begins in another turn of the event loop', async () => {
  const clock = new FakeClock()
  const slices = new Slices(clock)
  clock.advance(7)
  expect(slices.isOver).toBe(false)
  clock.advance(1)
  expect(slices.isOver).toBe(true)
  let turns = 0
  setImmediate(() => turns++)
  await slices.next()
  expect([turns, slices.isOver]).toEqual([1, false])
  clock.advance(8)
  expect(slices.isOver).toBe(true)
})
