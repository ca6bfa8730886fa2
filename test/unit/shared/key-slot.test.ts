import { describe, expect, test } from 'vitest'
import { keySlot } from '../../../shared/key-slot.ts'

describe('a shard channel has the slot that CLUSTER KEYSLOT gives it', () => {
  test.each([
    ['', 0],
    ['foo', 12182],
    ['bar', 5061],
    ['x', 16287],
    ['123456789', 12739],
    ['{}', 15257],
    ['{', 4092],
    ['}', 12090],
    ['{a', 10276],
    ['a}', 5921],
    ['{a}', 15495],
    ['{}a', 10875],
    ['{{a}}', 10276],
    ['a{b}c{d}', 3300],
    ['foo{bar}{zap}', 5061],
    ['foo{}{bar}', 8363],
    ['foo{{bar}}zap', 4015],
    ['{user1000}.a', 3443],
  ])('%s is in slot %i', (name, slot) => {
    expect(keySlot(name)).toBe(slot)
  })

  test('names with one tag share a slot', () => {
    expect(keySlot('{user1000}.following')).toBe(keySlot('{user1000}.followers'))
  })
})
