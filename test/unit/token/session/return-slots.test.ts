import { expect, test } from 'vitest'
import { ReturnSlots } from '../../../../server/token/session/return-slots.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

test('Returns of a burst are spread evenly, over ten seconds at most, and those after it wait for nobody', () => {
  const clock = new FakeClock()
  const slots = new ReturnSlots(clock)
  const waits = Array.from({ length: 20_000 }, () => slots.next() ?? 0)
  expect(waits.slice(0, 100).every((waitMs) => waitMs === 0)).toBe(true)
  expect(Math.max(...waits)).toBe(9_998)
  for (let second = 1; second < 10; second++) {
    const inSecond = waits.filter((waitMs) => Math.floor(waitMs / 1_000) === second)
    expect(inSecond.length).toBe(2_000)
  }
  clock.advance(10_000)
  expect(slots.next()).toBeUndefined()
})
