import { describe, expect, test } from 'vitest'
import { History, MAX_SAMPLES } from '../../../../../web/console/model/history.ts'

describe('the history of figures', () => {
  const fields = (published: number): ReadonlyMap<string, string> =>
    new Map([
      ['pubsub_messages_published', String(published)],
      ['connected_clients', '3'],
    ])

  test('counters become rates, and other figures stay as they are', () => {
    const history = new History()
    history.add(100, fields(10), 0.5)
    history.add(102, fields(30), 0.7)
    expect(history.latest).toMatchObject({ published: 10, clients: 3, pingMs: 0.7 })
    expect(history.line('published')).toEqual([null, 10])
    expect(history.latest?.delivered).toBeUndefined()
  })

  test('a counter that went back, or a long pause, leaves a gap', () => {
    const history = new History()
    history.add(100, fields(10), undefined)
    history.add(101, fields(5), undefined)
    history.add(150, fields(500), undefined)
    history.add(151, fields(501), undefined)
    expect(history.line('published')).toEqual([null, null, null, 1])
  })

  test('a quarter of an hour is kept', () => {
    const history = new History()
    for (let at = 0; at <= 1000; at++) history.add(at, fields(at), 1)
    expect(history.samples).toHaveLength(MAX_SAMPLES)
    expect(history.latest?.at).toBe(1000)
  })
})
