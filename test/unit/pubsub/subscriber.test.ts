import { describe, expect, test } from 'vitest'
import { Subscriptions } from '../../../server/pubsub/subscriber.ts'

describe("A subscriber's own view of its subscriptions", () => {
  test('keeps the three spaces apart', () => {
    const own = new Subscriptions()
    expect(own.add('channel', 'q', 'ann')).toBe(true)
    expect(own.add('pattern', 'q', 'ann')).toBe(true)
    expect(own.add('shard', 'q', 'ann')).toBe(true)
    expect([own.count, own.shardCount]).toEqual([2, 1])
    own.delete('channel', 'q')
    expect([own.count, own.shardCount, own.any]).toEqual([1, 1, true])
  })

  test('keeps the owner who subscribed first', () => {
    const own = new Subscriptions()
    own.add('channel', 'a', 'ann')
    expect(own.add('channel', 'a', 'bob')).toBe(false)
    expect([...own.names('channel')]).toEqual([['a', 'ann']])
  })

  test('knows the owner of each where they differ', () => {
    const own = new Subscriptions()
    own.add('channel', 'a', 'ann')
    own.add('channel', 'b', 'bob')
    own.add('channel', 'c', 'ann')
    expect([...own.names('channel')]).toEqual([
      ['a', 'ann'],
      ['b', 'bob'],
      ['c', 'ann'],
    ])
    own.delete('channel', 'b')
    own.add('channel', 'b', 'ann')
    expect([...own.names('channel')].at(-1)).toEqual(['b', 'ann'])
  })

  test('gives up a whole space at once', () => {
    const own = new Subscriptions()
    own.add('channel', 'a', 'ann')
    own.add('channel', 'b', 'ann')
    own.add('shard', 'a', 'ann')
    expect([...own.take('channel')]).toEqual(['a', 'b'])
    expect([...own.take('channel')]).toEqual([])
    expect([own.count, own.shardCount]).toEqual([0, 1])
  })

  test('lists names in the order of subscription', () => {
    const own = new Subscriptions()
    for (const name of ['b', '', 'a', '__proto__']) own.add('shard', name, 'ann')
    expect([...own.names('shard').keys()]).toEqual(['b', '', 'a', '__proto__'])
  })

  test('is empty as it was before once the last one is gone', () => {
    const own = new Subscriptions()
    expect(own.any).toBe(false)
    own.add('shard', 'a', 'ann')
    expect(own.any).toBe(true)
    expect(own.delete('shard', 'b')).toBe(false)
    expect(own.delete('shard', 'a')).toBe(true)
    expect(own.delete('shard', 'a')).toBe(false)
    expect([own.any, own.names('shard').size]).toEqual([false, 0])
  })
})
