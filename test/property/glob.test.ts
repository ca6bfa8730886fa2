import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileGlob, escapeGlob, readGlob } from '../../shared/glob.ts'
import { validateRolePattern } from '../../server/token/grant/placeholders.ts'
import { GLOB_VERDICTS } from '../unit/shared/glob-verdicts.ts'

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

/** A glob as text again, out of its tokens: what the tokenizer calls a literal is escaped. */
function rebuilt(pattern: string): string {
  let text = ''
  const unit = (byte: number): string => String.fromCharCode(byte)
  readGlob(pattern, {
    literal: (byte) => (text += `\\${unit(byte)}`),
    any: () => (text += '?'),
    star: () => (text += '*'),
    beginClass: (negated) => (text += negated ? '[^' : '['),
    member: (byte) => (text += `\\${unit(byte)}`),
    range: (from, to) => (text += `${unit(from)}-${unit(to)}`),
    endClass: () => (text += ']'),
  })
  return text
}

describe('the tokens of a glob', () => {
  test('say all that it means: put together again they match the same subjects', () => {
    fc.assert(
      fc.property(patternText, subjectText, (pattern, subject) => {
        const expected = redisMatches(bytes(pattern), bytes(subject))
        expect(redisMatches(bytes(rebuilt(pattern)), bytes(subject))).toBe(expected)
      }),
      { numRuns: 5_000 },
    )
  })

  test.each(GLOB_VERDICTS)('put together again give %s on %s: %s', (pattern, subject, matches) => {
    expect(compileGlob(rebuilt(pattern)).matches(subject)).toBe(matches)
  })

  test('come once for each byte of the pattern, the syntax included', () => {
    fc.assert(
      fc.property(patternText, (pattern) => {
        let read = 0
        readGlob(pattern, {
          literal: (_byte, escaped) => (read += escaped ? 2 : 1),
          any: () => read++,
          star: () => read++,
          beginClass: (negated) => (read += negated ? 2 : 1),
          member: (_byte, escaped) => (read += escaped ? 2 : 1),
          range: () => (read += 3),
          endClass() {},
        })
        // The `]` of a closed class has no token of its own.
        expect(read).toBeLessThanOrEqual(pattern.length)
        expect(read).toBeGreaterThanOrEqual(pattern.replaceAll(']', '').length)
      }),
    )
  })
})

describe('a placeholder of a role', () => {
  const piece = fc.constantFrom('{sub}', '{sub}', '{{', 'a', '[', '[', ']', '^', '-', '\\', '?')
  const rolePattern = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))

  test('is accepted exactly where an escaped value is read as a literal', () => {
    fc.assert(
      fc.property(rolePattern, (pattern) => {
        const placeholders = pattern.split('{sub}').length - 1
        let literals = 0
        readGlob(pattern.replaceAll('{sub}', escapeGlob('*')).replaceAll('{{', '{'), {
          literal: (byte) => void (byte === 0x2a && literals++),
          any() {},
          star() {},
          beginClass() {},
          member() {},
          range() {},
          endClass() {},
        })
        expect(validateRolePattern(pattern) === undefined).toBe(literals === placeholders)
      }),
      { numRuns: 5_000 },
    )
  })
})

describe('patterns and subjects of many words of state', () => {
  /** A part of a pattern, and a text that it matches. */
  const unit = fc.constantFrom(
    ['a', 'a'],
    ['a', 'a'],
    ['b', 'b'],
    ['?', 'b'],
    ['*', 'aab'],
    ['[ab]', 'a'],
    ['[^b]', 'a'],
    ['[^\xff]', 'b'],
    ['\xff', '\xff'],
  )
  const units = fc.array(unit, { minLength: 20, maxLength: 90 })
  const change = fc.record({ at: fc.nat(60), text: fc.constantFrom('', '', 'a', 'ab') })

  test('get the verdicts of Redis, at the first subject and after a costly one', () => {
    const costly = `${'a'.repeat(199)}c`
    let matched = 0
    fc.assert(
      fc.property(units, change, (parts, { at, text }) => {
        const pattern = `*${parts.map(([part]) => part).join('')}*`
        const fitting = parts.map(([, match]) => match).join('')
        const subject = fitting.slice(0, at) + text + fitting.slice(at)
        const glob = compileGlob(pattern)
        const expected = redisMatches(bytes(pattern), bytes(subject))
        expect(glob.matches(subject)).toBe(expected)
        expect(glob.matches(costly)).toBe(redisMatches(bytes(pattern), bytes(costly)))
        expect(glob.matches(subject)).toBe(expected)
        if (expected) matched++
      }),
      { numRuns: 1_000 },
    )
    expect(matched).toBeGreaterThan(50)
  })
})

describe('hostile patterns cost a bounded number of steps', () => {
  test.each([
    {
      name: 'a* thirty times, then b',
      pattern: `${'a*'.repeat(30)}b`,
      subject: 'a'.repeat(10_000),
      maxSteps: 1,
    },
    {
      name: '*a nine hundred times',
      pattern: '*a'.repeat(900),
      subject: `${'a'.repeat(10_000)}b`,
      maxSteps: 1,
    },
    {
      name: 'a class of 100,000 members',
      pattern: `*[${'b'.repeat(100_000)}c]`,
      subject: 'a'.repeat(20_000),
      maxSteps: 1,
    },
    {
      name: '*? nine hundred times',
      pattern: '*?'.repeat(900),
      subject: 'a'.repeat(10_000),
      maxSteps: 10_000,
    },
    {
      name: 'one star between two long ends',
      pattern: `${'?'.repeat(10_000)}*${'[ab]'.repeat(10_000)}`,
      subject: 'a'.repeat(30_000),
      maxSteps: 20_000,
    },
    {
      name: 'a long segment that nearly fits everywhere',
      pattern: `*${'a'.repeat(255)}b*`,
      subject: 'a'.repeat(512),
      maxSteps: 10_000,
    },
    {
      name: 'a long segment of classes that nearly fits everywhere',
      pattern: `*${'[a-y]'.repeat(90)}b*`,
      subject: 'a'.repeat(256),
      maxSteps: 5_000,
    },
    {
      name: '20,000 tokens on 40,000 bytes',
      pattern: `*${'?'.repeat(10_000)}${'a'.repeat(10_000)}b*`,
      subject: 'a'.repeat(40_000),
      maxSteps: 26_000_000,
    },
  ])('$name', ({ pattern, subject, maxSteps }) => {
    const meter = { steps: 0 }
    compileGlob(pattern).matches(subject, meter)
    expect(meter.steps).toBeGreaterThan(0)
    expect(meter.steps).toBeLessThanOrEqual(maxSteps)
  })
})

/** Every word of up to `length` letters. */
function words(letters: string, length: number): readonly string[] {
  const all = ['']
  for (let from = 0, end = 1; length > 0; length--) {
    for (; from < end; from++) for (const letter of letters) all.push(`${all[from]}${letter}`)
    end = all.length
  }
  return all
}

const overlaps = (one: string, other: string): boolean =>
  compileGlob(one).mayOverlap(compileGlob(other))

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
        if (common !== undefined) expect(overlaps(one, other)).toBe(true)
        expect(overlaps(one, other)).toBe(overlaps(other, one))
      }),
      { numRuns: 3_000 },
    )
  })

  test('never misses a subject that a plain reading of Redis matches to both', () => {
    fc.assert(
      fc.property(patternText, patternText, subjectText, (one, other, subject) => {
        const [a, b, text] = [bytes(one), bytes(other), bytes(subject)]
        if (redisMatches(a, text) && redisMatches(b, text)) expect(overlaps(one, other)).toBe(true)
        if (redisMatches(a, text)) expect(overlaps(one, escapeGlob(subject))).toBe(true)
      }),
      { numRuns: 5_000 },
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
        expect(overlaps(one, other)).toBe(common)
      }),
      { numRuns: 3_000 },
    )
  })
})
