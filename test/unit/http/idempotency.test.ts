import { describe, expect, test } from 'vitest'
import { IdempotentAnswers, type Once } from '../../../server/http/idempotency.ts'

/** Counts what is done; an answer below 0 says that nothing was. */
class Deeds {
  done = 0
  readonly answers = new IdempotentAnswers<number>((answer) => answer >= 0)

  once(user: string, key: string, { nowMs = 0, print = 'p', answer = 1 } = {}): Once<number> {
    return this.answers.once({ user, key, print }, { nowMs, windowMs: 1_000 }, () => {
      this.done++
      return Promise.resolve(answer)
    })
  }
}

function isRepeated(once: Once<number>): boolean {
  return once !== 'other-request' && once.isRepeated
}

describe('A key that is used again', () => {
  test('gets the first answer, also while that is on its way, and nothing is done', async () => {
    const deeds = new Deeds()
    const first = deeds.once('a', 'k', { answer: 7 })
    const second = deeds.once('a', 'k', { answer: 8 })
    expect([isRepeated(first), isRepeated(second), deeds.done]).toEqual([false, true, 1])
    expect(second).toMatchObject({ answer: Promise.resolve(7) })
    expect(await (second as { answer: Promise<number> }).answer).toBe(7)
  })

  test('for something else is refused', () => {
    const deeds = new Deeds()
    deeds.once('a', 'k', { print: 'p' })
    expect(deeds.once('a', 'k', { print: 'q' })).toBe('other-request')
    expect(deeds.done).toBe(1)
  })

  test('by another user is another key', () => {
    const deeds = new Deeds()
    deeds.once('a', 'k')
    deeds.once('b', 'k')
    expect(deeds.done).toBe(2)
  })

  test('after its window is a new one', () => {
    const deeds = new Deeds()
    deeds.once('a', 'k', { nowMs: 0 })
    expect(isRepeated(deeds.once('a', 'k', { nowMs: 999 }))).toBe(true)
    expect(isRepeated(deeds.once('a', 'k', { nowMs: 1_000 }))).toBe(false)
    expect(deeds.done).toBe(2)
  })

  test('after nothing was done, does it', async () => {
    const deeds = new Deeds()
    deeds.once('a', 'k', { answer: -1 })
    await new Promise((resolve) => void setImmediate(resolve))
    expect(isRepeated(deeds.once('a', 'k'))).toBe(false)
    expect(deeds.answers.size).toBe(1)
  })
})

describe('Keys that are remembered', () => {
  test('are at most 1,000 of a user, whose oldest goes first', () => {
    const deeds = new Deeds()
    for (let i = 0; i <= 1_000; i++) deeds.once('a', `${i}`)
    expect(deeds.answers.size).toBe(1_000)
    expect(isRepeated(deeds.once('a', '1'))).toBe(true)
    expect(isRepeated(deeds.once('a', '0'))).toBe(false)
  })

  test('are at most 20,000 in all: a user who came longest ago loses its oldest', () => {
    const deeds = new Deeds()
    for (let user = 0; user < 20; user++) {
      for (let i = 0; i < 1_000; i++) deeds.once(`${user}`, `${i}`)
    }
    expect(deeds.answers.size).toBe(20_000)
    deeds.once('new', 'k')
    expect(deeds.answers.size).toBe(20_000)
    expect(isRepeated(deeds.once('1', '0'))).toBe(true)
    expect(isRepeated(deeds.once('0', '0'))).toBe(false)
  })

  test('are forgotten after their window when their user comes again', () => {
    const deeds = new Deeds()
    for (let i = 0; i < 10; i++) deeds.once('a', `${i}`, { nowMs: 0 })
    deeds.once('a', 'k', { nowMs: 1_000 })
    expect(deeds.answers.size).toBe(1)
  })
})
