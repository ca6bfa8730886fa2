import { describe, expect, test } from 'vitest'
import { ClientRates, RateLimiter } from '../../../server/transport/rates.ts'

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

test('a rate limiter takes several tokens at once, and none to be asked only', () => {
  const limiter = new RateLimiter(10, 0)
  expect(limiter.take(10, 0, 25)).toBe(500)
  expect(limiter.take(10, 0, 0)).toBe(500)
  expect(limiter.take(10, 500, 0)).toBe(0)
})

describe('The rates of a client', () => {
  const NONE = {
    commandsPerSecond: 0,
    publishesPerSecond: 0,
    subscriptionsPerSecond: 0,
    inputBytesPerSecond: 0,
  }

  test('are kept to where none is set', () => {
    const rates = new ClientRates(NONE, 0)
    for (let i = 0; i < 100; i++) rates.countCommand('publish', 3, 0)
    rates.countInput(1e9, 0)
    expect(rates.waitMs(0)).toBe(0)
  })

  test.each([
    ['commands', { commandsPerSecond: 1 }, 'ping', 1],
    ['messages', { publishesPerSecond: 1 }, 'spublish', 3],
    ['subscriptions', { subscriptionsPerSecond: 1 }, 'psubscribe', 2],
  ])('count %s', (of, limit, command, count) => {
    const rates = new ClientRates({ ...NONE, ...limit }, 0)
    for (let i = 0; i < 2; i++) rates.countCommand(command, count, 0)
    expect(rates.waitMs(0)).toBe(0)
    rates.countCommand('get', 2, 0)
    rates.countCommand(command, count, 0)
    expect(rates.waitMs(0)).toBeGreaterThanOrEqual(1_000)
    expect(rates.worst(0)).toBe(of)
  })

  test('count each name of a subscribing command', () => {
    const rates = new ClientRates({ ...NONE, subscriptionsPerSecond: 10 }, 0)
    rates.countCommand('subscribe', 31, 0)
    expect(rates.waitMs(0)).toBe(1_000)
  })

  test('name the one that is exceeded longest', () => {
    const rates = new ClientRates({ ...NONE, commandsPerSecond: 1, inputBytesPerSecond: 100 }, 0)
    for (let i = 0; i < 4; i++) rates.countCommand('ping', 1, 0)
    expect([rates.waitMs(0), rates.worst(0)]).toEqual([2_000, 'commands'])
    rates.countInput(500, 0)
    expect([rates.waitMs(0), rates.worst(0)]).toEqual([3_000, 'bytes'])
  })
})
