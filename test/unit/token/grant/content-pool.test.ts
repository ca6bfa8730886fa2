import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { ContentPool } from '../../../../server/token/grant/content-pool.ts'

describe('a content pool', () => {
  test('yields one object per content', () => {
    const pool = new ContentPool<object>()
    const make = (): object => ({})
    const short = pool.get('a', make)
    const long = pool.get('a'.repeat(1000), make)
    expect(pool.get('a', make)).toBe(short)
    expect(pool.get('a'.repeat(1000), make)).toBe(long)
    expect(pool.get('b', make)).not.toBe(short)
    expect(pool.get('a'.repeat(1001), make)).not.toBe(long)
  })

  test('forgets what nobody holds any more', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const pool = new ContentPool<{ readonly at: number }>()
    const held = pool.get('held', () => ({ at: -1 }))
    for (let at = 0; at < 1000; at++) pool.get(`content ${at}`, () => ({ at }))
    expect(pool.size).toBe(1001)
    for (let turn = 0; turn < 100 && pool.size > 1; turn++) {
      await setImmediate()
      collect()
    }
    expect(pool.size).toBe(1)
    expect(pool.get('held', () => ({ at: 0 }))).toBe(held)
  })
})
