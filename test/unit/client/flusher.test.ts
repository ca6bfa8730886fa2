import { describe, expect, test } from 'vitest'
import type { Client } from '../../../server/client/client.ts'
import { Flusher } from '../../../server/client/flusher.ts'

/** A flusher over clients that only note when they are written. */
function flusher(costMs: number, count: number) {
  const turns: (() => void)[] = []
  const log: string[] = []
  let nowMs = 0
  const flush = new Flusher({
    atEndOfTurn: (callback) => turns.push(callback),
    nowMs: () => nowMs,
    endTurn: () => log.push('end of turn'),
    beforeWrite: (client) => log.push(`before ${client.id}`),
    afterWrite: (client) => log.push(`after ${client.id}`),
  })
  const clients = Array.from({ length: count }, (_, id) => {
    const write = (): void => {
      log.push(`write ${id}`)
      nowMs += costMs
    }
    return { id, flush: write } as unknown as Client
  })
  return { flush, turns, log, clients }
}

describe('A flusher', () => {
  test('writes each client at the end of the turn, between the looks at its limits', () => {
    const { flush, turns, log, clients } = flusher(0, 2)
    for (const client of clients) flush.add(client)
    expect(turns).toHaveLength(1)
    expect(log).toEqual([])
    turns.shift()?.()
    expect(log).toEqual([
      'end of turn',
      'before 0',
      'write 0',
      'after 0',
      'before 1',
      'write 1',
      'after 1',
    ])
    expect(turns).toEqual([])
  })

  test('gives the loop its turn when a flush takes longer than 8 ms', () => {
    const { flush, turns, log, clients } = flusher(1, 100)
    for (const client of clients) flush.add(client)
    const slices: number[] = []
    while (turns.length > 0) {
      const before = log.filter((line) => line.startsWith('write')).length
      turns.shift()?.()
      slices.push(log.filter((line) => line.startsWith('write')).length - before)
    }
    expect(slices).toEqual([31, 31, 31, 7])
    expect(log.filter((line) => line.startsWith('write'))).toEqual(
      clients.map(({ id }) => `write ${id}`),
    )
  })

  test('writes who waits before those who came later', () => {
    const { flush, turns, log, clients } = flusher(1, 40)
    for (const client of clients.slice(0, 39)) flush.add(client)
    turns.shift()?.()
    flush.add(clients[39] as Client)
    expect(turns).toHaveLength(1)
    turns.shift()?.()
    expect(log.filter((line) => line.startsWith('write')).at(-1)).toBe('write 39')
    expect(turns).toEqual([])
  })
})
