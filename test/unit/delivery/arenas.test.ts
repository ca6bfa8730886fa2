import { describe, expect, test } from 'vitest'
import { ArenaPool } from '../../../server/delivery/arenas.ts'

describe('A pool of arenas', () => {
  test('gives out at least as much as was asked for, in powers of two', () => {
    const pool = new ArenaPool()
    const sizes = [1, 512, 513, 1_024, 1_025, 300_000].map((bytes) => pool.take(bytes).length)
    expect(sizes).toEqual([512, 512, 1_024, 1_024, 2_048, 524_288])
  })

  test('gives out again what came back, to whoever needs that size', () => {
    const pool = new ArenaPool()
    const arena = pool.take(3_000)
    pool.give(arena)
    expect(pool.take(1_000)).not.toBe(arena)
    expect(pool.take(4_000)).toBe(arena)
    expect(pool.take(4_000)).not.toBe(arena)
  })

  test('keeps 4 MB at most', () => {
    const pool = new ArenaPool()
    const arenas = Array.from({ length: 6 }, () => pool.take(1_048_576))
    for (const arena of arenas) pool.give(arena)
    const again = arenas.map(() => pool.take(1_048_576))
    expect(again.filter((arena) => arenas.includes(arena))).toHaveLength(4)
  })
})
