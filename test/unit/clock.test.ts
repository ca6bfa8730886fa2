import { afterEach, describe, expect, test, vi } from 'vitest'
import { atEndOfTurn, systemClock } from '../../server/clock.ts'

afterEach(() => {
  vi.useRealTimers()
})

describe("The machine's clock", () => {
  test('calls back once after a delay', () => {
    vi.useFakeTimers()
    let calls = 0
    systemClock.after(1_000, () => calls++)
    vi.advanceTimersByTime(999)
    expect(calls).toBe(0)
    vi.advanceTimersByTime(5_000)
    expect(calls).toBe(1)
  })

  test('waits for longer than the 24.8 days that a timer takes', () => {
    vi.useFakeTimers()
    const days = 86_400_000
    let calls = 0
    systemClock.after(60 * days, () => calls++)
    vi.advanceTimersByTime(60 * days - 1)
    expect(calls).toBe(0)
    vi.advanceTimersByTime(1)
    expect(calls).toBe(1)
  })

  test('cancels at any time, in the middle of a long delay too', () => {
    vi.useFakeTimers()
    let calls = 0
    const long = systemClock.after(5_000_000_000, () => calls++)
    vi.advanceTimersByTime(3_000_000_000)
    long.cancel()
    const periodic = systemClock.every(10, () => calls++)
    vi.advanceTimersByTime(35)
    periodic.cancel()
    vi.advanceTimersByTime(5_000_000_000)
    expect(calls).toBe(3)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('takes a delay of less than nothing as none', () => {
    vi.useFakeTimers()
    let calls = 0
    systemClock.after(-5, () => calls++)
    vi.advanceTimersByTime(0)
    expect(calls).toBe(1)
  })

  test('tells wall time and a time that never goes back', () => {
    expect(Math.abs(systemClock.wallMs() - Date.now())).toBeLessThan(1_000)
    const first = systemClock.monotonicMs()
    expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(first)
  })
})

describe('The end of a turn', () => {
  test('comes after what is ready in this turn', async () => {
    const order: string[] = []
    await new Promise<void>((resolve) => {
      atEndOfTurn(() => {
        order.push('end')
        resolve()
      })
      queueMicrotask(() => order.push('microtask'))
      process.nextTick(() => order.push('tick'))
    })
    expect(order.at(-1)).toBe('end')
    expect(order).toHaveLength(3)
  })
})
