import { expect, test } from 'vitest'
import { MARK, Rinse } from '../../../server/upstream/rinse.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** A wait for the marks of so many nodes. */
function rinse(nodes: number, leastMs = 0) {
  const clock = new FakeClock()
  const sent: string[] = []
  let ends = 0
  const own = new Rinse(
    clock,
    7,
    leastMs,
    () => ends++,
    (mark) => {
      for (let at = 0; at < nodes; at++) sent.push(`${mark}${at}`)
      return nodes
    },
  )
  return { clock, sent, own, ends: () => ends }
}

test('ends with the last mark, each once', () => {
  const { sent, own, ends } = rinse(2)
  own.begin()
  own.begin()
  expect(sent).toEqual([`${MARK}7/0`, `${MARK}7/1`])
  own.came(`${MARK}7/0`)
  own.came(`${MARK}7/0`)
  own.came(`${MARK}6/1`)
  expect(ends()).toBe(0)
  own.came(`${MARK}7/1`)
  expect(ends()).toBe(1)
})

test('takes the least time where some node cannot be asked', () => {
  const { clock, own, ends } = rinse(1, 250)
  own.begin()
  own.came(`${MARK}7/0`)
  clock.advance(249)
  expect(ends()).toBe(0)
  clock.advance(1)
  expect(ends()).toBe(1)
  clock.advance(5_000)
  expect(ends()).toBe(1)
})

test('ends a second after the first mark, where another does not come', () => {
  const { clock, own, ends } = rinse(2)
  own.begin()
  clock.advance(500)
  own.came(`${MARK}7/1`)
  clock.advance(999)
  expect(ends()).toBe(0)
  clock.advance(1)
  expect(ends()).toBe(1)
})

test('waits for the first mark as long as its node stands still, and does not end once it was cancelled', () => {
  const { clock, own, ends } = rinse(2)
  own.begin()
  clock.advance(60_000)
  expect(ends()).toBe(0)
  own.came(`${MARK}7/0`)
  own.cancel()
  clock.advance(60_000)
  expect(ends()).toBe(0)
})
