import { describe, expect, test } from 'vitest'
import { fullJitter } from '../../../shared/backoff.ts'

describe('the wait before an attempt', () => {
  const limits = { baseMs: 300, maxMs: 20_000 }

  test('has a ceiling that doubles up to a limit', () => {
    const ceilings = [0, 1, 2, 6, 7, 5000].map((attempt) =>
      fullJitter(attempt, limits, () => 0.999_999),
    )
    expect(ceilings).toEqual([299, 599, 1199, 19199, 19999, 19999])
  })

  test('is spread evenly below it, down to nothing', () => {
    expect(fullJitter(3, limits, () => 0)).toBe(0)
    expect(fullJitter(3, limits, () => 0.5)).toBe(1200)
  })
})
