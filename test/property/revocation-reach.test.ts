import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileGlob } from '../../shared/glob.ts'
import { mayOverlap } from '../../server/token/revoke/reach.ts'

/** Every word of up to `length` letters. */
function words(letters: string, length: number): readonly string[] {
  const all = ['']
  for (let from = 0, end = 1; length > 0; length--) {
    for (; from < end; from++) for (const letter of letters) all.push(`${all[from]}${letter}`)
    end = all.length
  }
  return all
}

const WORDS = words('ab]', 5)

const part = fc.constantFrom(
  'a',
  'b',
  ']',
  '*',
  '?',
  '[a]',
  '[^a]',
  '[ab',
  '[',
  '\\',
  '\\*',
  '[a-b]',
  '**',
)
const pattern = fc.array(part, { maxLength: 5 }).map((parts) => parts.join(''))

describe('The overlap of two globs', () => {
  test('never misses a channel that both match', () => {
    fc.assert(
      fc.property(pattern, pattern, (one, other) => {
        const [a, b] = [compileGlob(one), compileGlob(other)]
        const common = WORDS.find((word) => a.matches(word) && b.matches(word))
        if (common !== undefined) expect(mayOverlap(one, other)).toBe(true)
        expect(mayOverlap(one, other)).toBe(mayOverlap(other, one))
      }),
      { numRuns: 3_000 },
    )
  })

  test('is exact where there are no classes', () => {
    const plain = fc.constantFrom('a', 'b', '*', '?')
    // Two such globs that share a word share one of at most eight letters.
    const longWords = words('ab', 8)
    const simple = fc.array(plain, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(simple, simple, (one, other) => {
        const [a, b] = [compileGlob(one), compileGlob(other)]
        const common = longWords.some((word) => a.matches(word) && b.matches(word))
        expect(mayOverlap(one, other)).toBe(common)
      }),
      { numRuns: 3_000 },
    )
  })

  test.each([
    ['room:*', 'room:7', true],
    ['room:*', 'hall:*', false],
    ['*', 'secret:*', true],
    ['*:a', '*:b', false],
    ['a*b', 'a*c', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['user:*:inbox', 'user:42:*', true],
    ['\\*', 'x', false],
    ['*foo*', '*bar*', true],
  ])('of %s and %s is %s', (one, other, expected) => {
    expect(mayOverlap(one, other)).toBe(expected)
  })

  test('takes no time to speak of for long patterns', () => {
    const long = '*a'.repeat(512)
    expect(mayOverlap(`${long}*`, `${'*b'.repeat(512)}*`)).toBe(true)
  })
})
