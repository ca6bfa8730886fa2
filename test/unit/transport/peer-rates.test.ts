import { describe, expect, test } from 'vitest'
import { AddressRates } from '../../../server/transport/peer-rates.ts'

/** Connections of an address that are admitted, of so many. */
function admitted(rates: AddressRates, ip: string, many: number, nowMs: number): number {
  let count = 0
  for (let i = 0; i < many; i++) if (rates.admits(ip, 10, nowMs)) count++
  return count
}

describe('Connections of one address', () => {
  test('have a burst of two seconds, and come at the rate from there on', () => {
    const rates = new AddressRates()
    expect(admitted(rates, '192.0.2.1', 5_000, 0)).toBe(21)
    expect(admitted(rates, '192.0.2.1', 5_000, 100)).toBe(1)
    expect(admitted(rates, '192.0.2.1', 5_000, 1_100)).toBe(10)
  })

  test('are admitted again as soon as it slows down, however many were refused', () => {
    const rates = new AddressRates()
    for (let ms = 0; ms < 60_000; ms += 10) admitted(rates, '192.0.2.1', 10, ms)
    expect(admitted(rates, '192.0.2.1', 5_000, 62_000)).toBeGreaterThanOrEqual(20)
  })

  test('leave those of others alone; a /64 is one address', () => {
    const rates = new AddressRates()
    expect(admitted(rates, '2001:db8:1:2::1', 100, 0)).toBe(21)
    expect(admitted(rates, '2001:db8:1:2:ffff::9', 100, 0)).toBe(0)
    expect(admitted(rates, '2001:db8:1:3::1', 100, 0)).toBe(21)
  })

  test('are not counted where 0 is the rate', () => {
    const rates = new AddressRates()
    for (let i = 0; i < 1_000; i++) expect(rates.admits('192.0.2.1', 0, 0)).toBe(true)
    expect(rates.size).toBe(0)
  })

  test('are remembered of 10,000 addresses, those that came last', () => {
    const rates = new AddressRates()
    const address = (i: number): string => `10.0.${i >> 8}.${i & 255}`
    admitted(rates, address(0), 100, 0)
    admitted(rates, address(1), 100, 0)
    for (let i = 2; i < 10_000; i++) rates.admits(address(i), 10, 0)
    expect(rates.admits(address(0), 10, 0)).toBe(false)
    rates.admits(address(10_000), 10, 0)
    expect(rates.size).toBe(10_000)
    expect(rates.admits(address(0), 10, 0)).toBe(false)
    expect(rates.admits(address(1), 10, 0)).toBe(true)
  })
})
