import { describe, expect, test } from 'vitest'
import { Flusher, WriteQueue } from '../../../server/delivery/flusher.ts'
import type { Output } from '../../../server/delivery/output.ts'

/** A flusher over outputs that only note when they are written. */
function flusher(costMs: number, count: number, openBytes = 0) {
  const turns: (() => void)[] = []
  const log: string[] = []
  let nowMs = 0
  const flush = new Flusher({
    atEndOfTurn: (callback) => turns.push(callback),
    nowMs: () => nowMs,
    turn: { bytes: openBytes, end: () => log.push('end of turn') },
    guard: {
      beforeWrite: ({ client }) => log.push(`before ${client.id}`),
      afterWrite: ({ client }) => log.push(`after ${client.id}`),
    },
    eviction: { note: (client) => log.push(`measure ${client.id}`) },
    check: () => {},
  })
  const outputs = Array.from({ length: count }, (_, id) => {
    const write = (): void => {
      log.push(`write ${id}`)
      nowMs += costMs
    }
    return { client: { id }, flush: write } as unknown as Output
  })
  return { flush, turns, log, outputs }
}

describe('A flusher', () => {
  test('writes each output at the end of the turn, between the looks at its limits', () => {
    const { flush, turns, log, outputs } = flusher(0, 2)
    for (const output of outputs) flush.add(output, false)
    expect(turns).toHaveLength(1)
    expect(log).toEqual([])
    turns.shift()?.()
    expect(log).toEqual([
      'before 0',
      'write 0',
      'after 0',
      'measure 0',
      'before 1',
      'write 1',
      'after 1',
      'measure 1',
      'end of turn',
    ])
    expect(turns).toEqual([])
  })

  test('calls back before the slice that is next, however long outputs have been waiting', () => {
    const { flush, turns, log, outputs } = flusher(1, 20)
    for (const output of outputs) flush.add(output, false)
    turns.shift()?.()
    log.length = 0
    flush.beforeWrites(() => log.push('sent'))
    expect(turns).toHaveLength(1)
    turns.shift()?.()
    expect(log.slice(0, 2)).toEqual(['sent', 'before 7'])
  })

  test('calls back at the end of the turn if nothing is to be written, and once', () => {
    const { flush, turns, log } = flusher(0, 0)
    flush.beforeWrites(() => log.push('first'))
    flush.beforeWrites(() => {
      log.push('second')
      flush.beforeWrites(() => log.push('next turn'))
    })
    expect(log).toEqual([])
    turns.shift()?.()
    expect(log).toEqual(['first', 'second', 'end of turn'])
    expect(turns).toHaveLength(1)
    turns.shift()?.()
    expect(log).toEqual(['first', 'second', 'end of turn', 'next turn', 'end of turn'])
    expect(turns).toEqual([])
  })

  test('gives the loop its turn when a flush takes longer than a tenth of a millisecond', () => {
    const { flush, turns, log, outputs } = flusher(1, 40)
    for (const output of outputs) flush.add(output, false)
    const slices: number[] = []
    while (turns.length > 0) {
      const before = writes(log).length
      turns.shift()?.()
      slices.push(writes(log).length - before)
    }
    expect(slices).toEqual([7, 7, 7, 7, 7, 5])
    expect(writes(log)).toEqual(outputs.map(({ client }) => `write ${client.id}`))
    expect(log.filter((line) => line === 'end of turn')).toHaveLength(1)
    expect(log.at(-1)).toBe('end of turn')
  })

  test('takes up to ten milliseconds where so much waits that nothing is gained by letting more come', () => {
    const { flush, turns, log, outputs } = flusher(1, 40, 262_144)
    for (const output of outputs) flush.add(output, false)
    const slices: number[] = []
    while (turns.length > 0) {
      const before = writes(log).length
      turns.shift()?.()
      slices.push(writes(log).length - before)
    }
    expect(slices).toEqual([15, 15, 10])
  })

  test('writes who waits before those who came later', () => {
    const { flush, turns, log, outputs } = flusher(1, 40)
    for (const output of outputs.slice(0, 39)) flush.add(output, false)
    turns.shift()?.()
    flush.add(outputs[39] as Output, false)
    expect(turns).toHaveLength(1)
    while (turns.length > 0) turns.shift()?.()
    expect(writes(log).at(-1)).toBe('write 39')
  })

  test('writes those who wait for a reply before all others, also in the middle of a long flush', () => {
    const { flush, turns, log, outputs } = flusher(1, 40)
    for (const output of outputs.slice(0, 38)) flush.add(output, false)
    flush.add(outputs[38] as Output, true)
    turns.shift()?.()
    expect(writes(log)[0]).toBe('write 38')
    flush.add(outputs[39] as Output, true)
    const before = writes(log).length
    turns.shift()?.()
    expect(writes(log)[before]).toBe('write 39')
    while (turns.length > 0) turns.shift()?.()
    expect(writes(log)).toHaveLength(40)
  })

  test('answers those who wait for a reply at once where all of a read was executed, the others at the end', () => {
    const { flush, turns, log, outputs } = flusher(0, 3)
    const [publisher, subscriber, other] = outputs as [Output, Output, Output]
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
    const { flush, turns, log, outputs } = flusher(0, 1)
    flush.hold()
    flush.answer(0)
    expect([log, turns]).toEqual([[], []])
    flush.add(outputs[0] as Output, true)
    expect(turns).toHaveLength(1)
  })

  test('puts off the answers that do not fit in a slice', () => {
    const { flush, turns, log, outputs } = flusher(1, 10)
    flush.hold()
    for (const output of outputs) flush.add(output, true)
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

const output = (id: number): Output => ({ client: { id } }) as unknown as Output

test('A write queue gives outputs out in the order in which they came, however many come meanwhile', () => {
  const queue = new WriteQueue()
  expect([queue.isEmpty, queue.shift()]).toEqual([true, undefined])
  let came = 0
  let taken = 0
  // It never runs empty here, so that its front has to be given back on the way.
  for (let i = 0; i < 10; i++) queue.push(output(came++))
  for (let round = 0; round < 30_000; round++) {
    queue.push(output(came++))
    expect(queue.shift()?.client.id).toBe(taken++)
  }
  while (!queue.isEmpty) expect(queue.shift()?.client.id).toBe(taken++)
  expect(taken).toBe(came)
  queue.push(output(7))
  expect(queue.shift()?.client.id).toBe(7)
})
