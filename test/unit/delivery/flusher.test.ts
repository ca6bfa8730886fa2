import { describe, expect, test } from 'vitest'
import type { Client } from '../../../server/client/client.ts'
import { Flusher } from '../../../server/delivery/flusher.ts'

/** A flusher over clients that only note when they are written. */
function flusher(costMs: number, count: number, openBytes = 0) {
  const turns: (() => void)[] = []
  const log: string[] = []
  let nowMs = 0
  const flush = new Flusher({
    atEndOfTurn: (callback) => turns.push(callback),
    nowMs: () => nowMs,
    openBytes: () => openBytes,
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
    for (const client of clients) flush.add(client, false)
    expect(turns).toHaveLength(1)
    expect(log).toEqual([])
    turns.shift()?.()
    expect(log).toEqual([
      'before 0',
      'write 0',
      'after 0',
      'before 1',
      'write 1',
      'after 1',
      'end of turn',
    ])
    expect(turns).toEqual([])
  })

  test('gives the loop its turn when a flush takes longer than a tenth of a millisecond', () => {
    const { flush, turns, log, clients } = flusher(1, 40)
    for (const client of clients) flush.add(client, false)
    const slices: number[] = []
    while (turns.length > 0) {
      const before = writes(log).length
      turns.shift()?.()
      slices.push(writes(log).length - before)
    }
    expect(slices).toEqual([7, 7, 7, 7, 7, 5])
    expect(writes(log)).toEqual(clients.map(({ id }) => `write ${id}`))
    expect(log.filter((line) => line === 'end of turn')).toHaveLength(1)
    expect(log.at(-1)).toBe('end of turn')
  })

  test('takes up to ten milliseconds where so much waits that nothing is gained by letting more come', () => {
    const { flush, turns, log, clients } = flusher(1, 40, 262_144)
    for (const client of clients) flush.add(client, false)
    const slices: number[] = []
    while (turns.length > 0) {
      const before = writes(log).length
      turns.shift()?.()
      slices.push(writes(log).length - before)
    }
    expect(slices).toEqual([15, 15, 10])
  })

  test('writes who waits before those who came later', () => {
    const { flush, turns, log, clients } = flusher(1, 40)
    for (const client of clients.slice(0, 39)) flush.add(client, false)
    turns.shift()?.()
    flush.add(clients[39] as Client, false)
    expect(turns).toHaveLength(1)
    while (turns.length > 0) turns.shift()?.()
    expect(writes(log).at(-1)).toBe('write 39')
  })

  test('writes those who wait for a reply before all others, also in the middle of a long flush', () => {
    const { flush, turns, log, clients } = flusher(1, 40)
    for (const client of clients.slice(0, 38)) flush.add(client, false)
    flush.add(clients[38] as Client, true)
    turns.shift()?.()
    expect(writes(log)[0]).toBe('write 38')
    flush.add(clients[39] as Client, true)
    const before = writes(log).length
    turns.shift()?.()
    expect(writes(log)[before]).toBe('write 39')
    while (turns.length > 0) turns.shift()?.()
    expect(writes(log)).toHaveLength(40)
  })

  test('answers those who wait for a reply at once where all of a read was executed, the others at the end', () => {
    const { flush, turns, log, clients } = flusher(0, 3)
    const [publisher, subscriber, other] = clients as [Client, Client, Client]
    flush.hold()
    flush.add(publisher, true)
    expect(turns).toEqual([])
    flush.add(subscriber, false)
    flush.answer(0)
    expect(writes(log)).toEqual(['write 0'])
    flush.add(other, true)
    turns.shift()?.()
    expect(writes(log)).toEqual(['write 0', 'write 2', 'write 1'])
    expect(turns).toEqual([])
  })

  test('answers nobody where nobody waits for a reply', () => {
    const { flush, turns, log, clients } = flusher(0, 1)
    flush.hold()
    flush.answer(0)
    expect([log, turns]).toEqual([[], []])
    flush.add(clients[0] as Client, true)
    expect(turns).toHaveLength(1)
  })

  test('puts off the answers that do not fit in a slice', () => {
    const { flush, turns, log, clients } = flusher(1, 10)
    flush.hold()
    for (const client of clients) flush.add(client, true)
    flush.answer(0)
    expect(writes(log)).toHaveLength(7)
    while (turns.length > 0) turns.shift()?.()
    expect(writes(log)).toHaveLength(10)
  })
})

/** The writes in a log, in their order. */
function writes(log: readonly string[]): string[] {
  return log.filter((line) => line.startsWith('write'))
}
