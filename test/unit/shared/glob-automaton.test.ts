import { describe, expect, test } from 'vitest'
import { ANY, GlobAutomaton, STAR } from '../../../shared/glob-automaton.ts'

const bytes = (text: string): number[] => Array.from(text, (char) => char.charCodeAt(0))

/** Reports whether an automaton of tokens finds them in a text, and in how many steps. */
function find(tokens: readonly number[], subject: string) {
  const meter = { steps: 0 }
  const automaton = new GlobAutomaton(Int32Array.from(tokens), 0, tokens.length, [])
  const found = automaton.finds(subject, 0, subject.length, meter)
  return { found, steps: meter.steps, words: automaton.words }
}

describe('An automaton of the tokens between two stars', () => {
  test('finds them anywhere in a subject', () => {
    expect(find(bytes('ab'), 'xxabxx').found).toBe(true)
    expect(find(bytes('ab'), 'xxaxbx').found).toBe(false)
    expect(find([], 'a').found).toBe(true)
    expect(find([ANY, ANY, ANY], 'ab').found).toBe(false)
  })

  test('finds what a star separates in its order', () => {
    const tokens = [...bytes('ab'), STAR, ...bytes('cd')]
    expect(find(tokens, 'xabxxcdx').found).toBe(true)
    expect(find(tokens, 'xabcdx').found).toBe(true)
    expect(find(tokens, 'xcdxabx').found).toBe(false)
  })

  test.each([30, 31, 32, 33, 62, 63, 64, 65])(
    'crosses the words of its state at %i tokens',
    (count) => {
      const tokens = [...Array<number>(count - 1).fill(ANY), ...bytes('b')]
      expect(find(tokens, `${'a'.repeat(count)}b`).found).toBe(true)
      expect(find(tokens, `${'a'.repeat(count - 2)}ba`).found).toBe(false)
      const starred = [...tokens, STAR, ...tokens]
      expect(find(starred, `${'a'.repeat(count)}b${'a'.repeat(count - 1)}b`).found).toBe(true)
      expect(find(starred, `${'a'.repeat(count)}b${'a'.repeat(count - 2)}b`).found).toBe(false)
    },
  )

  test('takes a step per byte and word at most', () => {
    const { found, steps, words } = find(
      [...bytes('a'.repeat(200)), ...bytes('b')],
      'a'.repeat(500),
    )
    expect([found, words]).toEqual([false, 7])
    expect(steps).toBeGreaterThan(500)
    expect(steps).toBeLessThanOrEqual(500 * 7)
  })

  test('forgets the attempts before the latest star that was reached', () => {
    const long = bytes('a'.repeat(300))
    const { steps } = find([...long, STAR, ...bytes('b'), STAR, ...bytes('c')], 'a'.repeat(10_000))
    expect(steps).toBeLessThan(10_000 * 2 + 300 * 10)
  })
})
