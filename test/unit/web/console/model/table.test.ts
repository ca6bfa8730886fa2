import { describe, expect, test } from 'vitest'
import { nextRow, sortRows, windowOf } from '../../../../../web/console/model/table.ts'

describe('tables', () => {
  test('only rows in sight, and a few around them, are rendered', () => {
    expect(windowOf(10_000, 0, 400, 40)).toEqual({ from: 0, to: 20 })
    expect(windowOf(10_000, 40_000, 400, 40)).toEqual({ from: 990, to: 1020 })
    expect(windowOf(10_000, 400_000, 400, 40)).toEqual({ from: 9_990, to: 10_000 })
    expect(windowOf(5, 4_000, 400, 40)).toEqual({ from: 5, to: 5 })
    expect(windowOf(0, 0, 400, 40)).toEqual({ from: 0, to: 0 })
  })

  test('keys move within the table', () => {
    expect(nextRow('ArrowDown', -1, 3, 10)).toBe(0)
    expect(nextRow('ArrowDown', 2, 3, 10)).toBe(2)
    expect(nextRow('PageUp', 2, 3, 10)).toBe(0)
    expect(nextRow('End', 0, 3, 10)).toBe(2)
    expect(nextRow('Home', 2, 3, 10)).toBe(0)
    expect(nextRow('constructor', 0, 3, 10)).toBeUndefined()
    expect(nextRow('End', -1, 0, 10)).toBeUndefined()
  })

  test('numbers are sorted as numbers, and equals stay in their order', () => {
    const rows = [
      { id: 'a', size: 10 },
      { id: 'b', size: 9 },
      { id: 'c', size: 10 },
    ]
    const order = (descending: boolean): string =>
      sortRows(rows, (row) => row.size, { key: 'size', descending })
        .map(({ id }) => id)
        .join('')
    expect(order(false)).toBe('bac')
    expect(order(true)).toBe('acb')
  })
})
