import { expect, test } from 'vitest'
import { RateLimiter } from '../../../server/transport/rates.ts'

test('a rate limiter lets a burst of two seconds pass, then one event per interval', () => {
  const limiter = new RateLimiter(10, 0)
  for (let i = 0; i < 20; i++) expect(limiter.take(10, 0)).toBe(0)
  expect(limiter.take(10, 0)).toBe(100)
  expect(limiter.take(10, 200)).toBe(0)
  expect(limiter.take(10, 200)).toBe(100)
})

test('a rate limiter saves no more than its burst', () => {
  const limiter = new RateLimiter(1, 0)
  expect([1, 2, 3].map(() => limiter.take(1, 3_600_000))).toEqual([0, 0, 1_000])
})

test('a rate limiter takes another rate at each use; 0 is no limit', () => {
  const limiter = new RateLimiter(0, 0)
  for (let i = 0; i < 1_000; i++) expect(limiter.take(0, 0)).toBe(0)
  expect(limiter.take(1, 0)).toBeGreaterThan(0)
})
