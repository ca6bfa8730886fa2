import { expect, test } from 'vitest'
import { memoryMeter } from '../../../../server/command/server/process-facts.ts'

test('memory is measured without a descriptor: the resident set that is known last holds', () => {
  let isOut = false
  const measure = memoryMeter(() => {
    if (isOut) throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' })
    return 5_000
  })
  const before = measure()
  isOut = true
  const after = measure()
  expect([before.rss, after.rss]).toEqual([5_000, 5_000])
  expect(after.used).toBeGreaterThan(0)
  expect(after.peak).toBeGreaterThanOrEqual(after.used)
})

test('the resident set is that of the process', () => {
  const { rss, used, startup } = memoryMeter()()
  expect(rss).toBeGreaterThan(used)
  expect(startup).toBeGreaterThan(0)
})
