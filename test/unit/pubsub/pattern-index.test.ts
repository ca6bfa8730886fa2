import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { compileGlob, Glob } from '../../../shared/glob.ts'
import type { StepMeter } from '../../../shared/glob-automaton.ts'
import { PatternIndex } from '../../../server/pubsub/pattern-index.ts'

describe('The pattern index', () => {
  test('finds the patterns that match, in the order in which they came', () => {
    const index = new PatternIndex()
    for (const pattern of ['news*', 'x*', '*', 'n?ws', 'news', '']) index.add(pattern)
    const found = index.matching('news').map(({ name }) => name)
    expect(found).toEqual(['news*', '*', 'n?ws', 'news'])
    expect(index.matching('').map(({ name }) => name)).toEqual([''])
    expect(index.matching('y').map(({ name }) => name)).toEqual(['*'])
  })

  test('counts distinct patterns and lists them in their order', () => {
    const index = new PatternIndex()
    const [a, b] = [index.add('b*'), index.add('a*')]
    expect([...index.entries()]).toEqual([a, b])
    expect([index.size, index.get('a*'), index.get('c')]).toEqual([2, b, undefined])
    index.delete(a)
    expect([index.size, index.get('b*')]).toEqual([1, undefined])
  })

  test('answers anew after each change', () => {
    const index = new PatternIndex()
    expect(index.matching('ab')).toEqual([])
    const entry = index.add('a*')
    expect(index.matching('ab')).toEqual([entry])
    const other = index.add('?b')
    expect(index.matching('ab')).toEqual([entry, other])
    index.delete(entry)
    expect(index.matching('ab')).toEqual([other])
    index.delete(other)
    expect(index.matching('ab')).toEqual([])
  })

  test('puts a pattern that comes again after the others', () => {
    const index = new PatternIndex()
    const first = index.add('a*')
    index.add('*')
    index.delete(first)
    index.add('a*')
    expect(index.matching('a').map(({ name }) => name)).toEqual(['*', 'a*'])
  })

  test('goes on answering for more channels than it remembers', () => {
    const index = new PatternIndex()
    index.add('c1*')
    let found = 0
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 5_000; i++) found += index.matching(`c${i}`).length
    }
    expect(found).toBe(2 * 1_111)
  })

  test('files a pattern without a head by its tail', () => {
    const index = new PatternIndex()
    for (const pattern of ['*:a', '?:b', '*', '*[ab]', '*:a*', '*\\*']) index.add(pattern)
    expect(index.matching('x:a').map(({ name }) => name)).toEqual(['*:a', '*', '*[ab]', '*:a*'])
    expect(index.matching('x:b').map(({ name }) => name)).toEqual(['?:b', '*', '*[ab]'])
    expect(index.matching('*').map(({ name }) => name)).toEqual(['*', '*\\*'])
  })

  test('heads and tails longer than those it files by are compared whole', () => {
    const index = new PatternIndex()
    const long = 'x'.repeat(300)
    for (const pattern of [`${long}a*`, `${long}b*`, `*a${long}`, `*b${long}`]) index.add(pattern)
    expect(index.matching(`${long}a`).map(({ name }) => name)).toEqual([`${long}a*`])
    expect(index.matching(`b${long}`).map(({ name }) => name)).toEqual([`*b${long}`])
  })

  test('tries the patterns of a busy channel once, whatever other names are asked for', () => {
    const index = new PatternIndex()
    const entry = index.add('*a*')
    const busy = index.matching('a')
    expect(busy).toEqual([entry])
    for (let i = 0; i < 10_000; i++) {
      index.matching(`n${i}`)
      expect(index.matching('a')).toBe(busy)
    }
  })

  test('keeps what it knows of a channel while other patterns come and go', () => {
    const index = new PatternIndex()
    const first = index.add('*a*')
    let tried = 0
    const { glob } = first
    const matches = glob.matches.bind(glob)
    glob.matches = (channel) => {
      tried++
      return matches(channel)
    }
    expect(index.matching('a')).toEqual([first])
    for (let i = 0; i < 100; i++) {
      const other = index.add(`*${i}*`)
      expect(index.matching('a')).toEqual([first])
      index.delete(other)
    }
    expect(tried).toBe(1)
  })

  test('does what trying all patterns does', () => {
    const letters = fc.constantFrom('a', 'b', '*', '?', '[', ']', 'a-b', '\\', '^', '\xff')
    const pattern = fc.string({ unit: letters, maxLength: 5 })
    const channel = fc.string({ unit: fc.constantFrom('a', 'b', '*', '\xff', '\\'), maxLength: 4 })
    const change = fc.oneof(
      fc.record({ add: pattern }),
      fc.record({ remove: fc.nat(20) }),
      fc.record({ match: channel }),
    )
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const index = new PatternIndex()
        const patterns: string[] = []
        for (const one of changes) {
          if ('add' in one && !patterns.includes(one.add)) {
            patterns.push(one.add)
            index.add(one.add)
          } else if ('remove' in one && patterns.length > 0) {
            const [gone = ''] = patterns.splice(one.remove % patterns.length, 1)
            const entry = index.get(gone)
            if (entry) index.delete(entry)
          } else if ('match' in one) {
            const expected = patterns.filter((text) => compileGlob(text).matches(one.match))
            expect(index.matching(one.match).map(({ name }) => name)).toEqual(expected)
          }
          expect(index.size).toBe(patterns.length)
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('A message that meets very many hostile patterns', () => {
  afterEach(() => vi.restoreAllMocks())

  const NAME = 'a'.repeat(256)
  const BUDGET = 100_000
  /** Of an attempt that finds out that an automaton is needed: each byte is looked at a few times. */
  const ATTEMPT_STEPS = NAME.length * 8
  const hostile = (i: number): string => `*${'?'.repeat(200)}${'a'.repeat(50)}b${i}*`

  /** An index with a budget, and the steps of all matches so far. */
  function open() {
    const dropped: string[] = []
    let steps = 0
    type Matches = (this: Glob, subject: string, meter?: StepMeter) => boolean
    const matches = Object.getOwnPropertyDescriptor(Glob.prototype, 'matches')?.value as Matches
    vi.spyOn(Glob.prototype, 'matches').mockImplementation(function (
      this: Glob,
      subject: string,
      meter: StepMeter = { steps: 0 },
    ) {
      const before = meter.steps
      const fits = matches.call(this, subject, meter)
      steps += meter.steps - before
      return fits
    })
    const index = new PatternIndex({
      maxPatternSteps: BUDGET,
      dropPattern: (pattern) => void dropped.push(pattern),
    })
    return { index, dropped, steps: () => steps }
  }

  test.each([
    ['new', () => {}],
    ['cached', (index: PatternIndex) => void index.matching(NAME)],
  ])('takes its budget, and of each pattern an attempt: a %s name', (_, prepare) => {
    const { index, dropped, steps } = open()
    const honest = index.add('*a*a*')
    prepare(index)
    const before = steps()
    for (let i = 0; i < 250; i++) index.add(hostile(i))
    expect(index.matching(NAME)).toEqual([honest])
    expect(dropped).toHaveLength(250)
    expect(steps() - before).toBeGreaterThan(BUDGET)
    // To build all of the automata alone would take three times as much.
    expect(steps() - before).toBeLessThan(BUDGET + 251 * ATTEMPT_STEPS)
  })

  test('leaves those that it has dropped alone, until somebody restores them', () => {
    const { index, steps } = open()
    for (let i = 0; i < 250; i++) index.add(hostile(i))
    index.matching(NAME)
    const before = steps()
    expect(index.matching(`${NAME}b`)).toEqual([])
    expect(steps()).toBe(before)
    const matching = `${'a'.repeat(250)}b7`
    expect(index.matching(matching)).toEqual([])
    const entry = index.get(hostile(7))
    if (entry) index.restore(entry)
    expect(index.matching(matching)).toEqual([entry])
  })
})
