import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileGlob, escapeGlob } from '../../shared/glob.ts'

/** A byte as the `char` of x86-64. */
const char = (byte: number): number => (byte > 127 ? byte - 256 : byte)

/** Redis' matcher, step by step: slow, recursive, and plain enough to be compared with the text. Bytes as numbers. */
function redisMatches(
  pattern: readonly number[],
  subject: readonly number[],
  nocase = false,
): boolean {
  const state = { skip: false }
  const fold = (byte: number): number => (nocase && byte >= 65 && byte <= 90 ? byte + 32 : byte)

  const walk = (p: readonly number[], s: readonly number[], depth: number): boolean => {
    if (depth > 1000) return false
    while (p.length > 0 && s.length > 0) {
      const [first = 0] = p
      const [byte = 0] = s
      if (first === 0x2a) {
        while (p[1] === 0x2a) p = p.slice(1)
        if (p.length === 1) return true
        for (; s.length > 0; s = s.slice(1)) {
          if (walk(p.slice(1), s, depth + 1)) return true
          if (state.skip) return false
        }
        state.skip = true
        return false
      } else if (first === 0x3f) {
        s = s.slice(1)
      } else if (first === 0x5b) {
        p = p.slice(1)
        const negated = p[0] === 0x5e
        if (negated) p = p.slice(1)
        let member = false
        for (;;) {
          if (p[0] === 0x5c && p.length >= 2) {
            p = p.slice(1)
            if (p[0] === byte) member = true
          } else if (p[0] === 0x5d || p.length === 0) {
            break
          } else if (p.length >= 3 && p[1] === 0x2d) {
            const ends = [char(p[0] as number), char(p[2] as number)].toSorted((a, b) => a - b)
            const [low = 0, high = 0] = ends.map(fold)
            if (fold(char(byte)) >= low && fold(char(byte)) <= high) member = true
            p = p.slice(2)
          } else if (fold(p[0] as number) === fold(byte)) {
            member = true
          }
          p = p.slice(1)
        }
        if (member === negated) return false
        s = s.slice(1)
      } else {
        if (first === 0x5c && p.length >= 2) p = p.slice(1)
        if (fold(p[0] as number) !== fold(byte)) return false
        s = s.slice(1)
      }
      p = p.slice(1)
      if (s.length === 0) while (p[0] === 0x2a) p = p.slice(1)
    }
    return p.length === 0 && s.length === 0
  }
  return walk(pattern, subject, 0)
}

const bytes = (text: string): number[] => Array.from(text, (unit) => unit.charCodeAt(0))

/** Few letters and all the signs, so that patterns and subjects meet. */
const patternText = fc.string({
  unit: fc.constantFrom('a', 'b', 'B', '*', '?', '[', ']', '^', '-', '\\', '\x80', '\xff', '\x00'),
  maxLength: 14,
})
const subjectText = fc.string({
  unit: fc.constantFrom('a', 'b', 'B', '-', ']', '\\', '\x80', '\xff', '\x00'),
  maxLength: 10,
})
const anyBytes = fc.string({
  unit: fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte)),
  maxLength: 20,
})

describe('a compiled glob', () => {
  test('agrees with a plain reading of Redis on every pattern and subject', () => {
    fc.assert(
      fc.property(patternText, subjectText, fc.boolean(), (pattern, subject, ignoreCase) => {
        const expected = redisMatches(bytes(pattern), bytes(subject), ignoreCase)
        expect(compileGlob(pattern, { ignoreCase }).matches(subject)).toBe(expected)
      }),
      { numRuns: 20_000 },
    )
  })

  test('has a head that starts every match', () => {
    fc.assert(
      fc.property(patternText, subjectText, fc.boolean(), (pattern, subject, ignoreCase) => {
        const glob = compileGlob(pattern, { ignoreCase })
        expect(!glob.matches(subject) || subject.startsWith(glob.literalHead)).toBe(true)
        expect(!glob.isLiteral || glob.matches(glob.literalHead)).toBe(true)
      }),
      { numRuns: 5000 },
    )
  })

  test('of an escaped text matches that text alone', () => {
    fc.assert(
      fc.property(anyBytes, anyBytes, (text, other) => {
        const glob = compileGlob(escapeGlob(text))
        expect(glob.matches(text)).toBe(true)
        expect(glob.matches(other)).toBe(other === text)
      }),
    )
  })
})

describe('hostile patterns cost a bounded number of steps', () => {
  /** A subject that counts how often a byte of it is looked at: once per step of the matcher. */
  class Subject {
    readonly #text: string
    steps = 0

    constructor(text: string) {
      this.#text = text
    }

    get length(): number {
      return this.#text.length
    }

    charCodeAt(at: number): number {
      this.steps++
      return this.#text.charCodeAt(at)
    }
  }

  test.each([
    {
      name: 'a* thirty times, then b',
      pattern: `${'a*'.repeat(30)}b`,
      subject: 'a'.repeat(10_000),
      maxSteps: 30_000,
    },
    {
      name: '*a nine hundred times',
      pattern: '*a'.repeat(900),
      subject: `${'a'.repeat(10_000)}b`,
      maxSteps: 30_000,
    },
    {
      name: 'a class of 100,000 members',
      pattern: `*[${'b'.repeat(100_000)}c]`,
      subject: 'a'.repeat(20_000),
      maxSteps: 30_000,
    },
    {
      name: '*? nine hundred times',
      pattern: '*?'.repeat(900),
      subject: 'a'.repeat(10_000),
      maxSteps: 30_000,
    },
    {
      name: 'a long segment that nearly fits everywhere',
      pattern: `*${'a'.repeat(255)}b*`,
      subject: 'a'.repeat(512),
      maxSteps: 512 * 257,
    },
  ])('$name', ({ pattern, subject, maxSteps }) => {
    const counted = new Subject(subject)
    compileGlob(pattern).matches(counted as unknown as string)
    expect(counted.steps).toBeGreaterThan(0)
    expect(counted.steps).toBeLessThanOrEqual(maxSteps)
  })
})
