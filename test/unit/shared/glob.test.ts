import { describe, expect, test } from 'vitest'
import { compileGlob, escapeGlob } from '../../../shared/glob.ts'
import { buildSteps } from '../../../shared/glob-automaton.ts'
import { GLOB_VERDICTS } from './glob-verdicts.ts'

describe('a glob gives the verdicts of Redis', () => {
  test('the table holds 157 verdicts', () => {
    expect(GLOB_VERDICTS).toHaveLength(157)
  })

  test.each(
    GLOB_VERDICTS.map(([pattern, subject, matches], at) => ({
      at: at + 1,
      pattern,
      subject,
      matches,
    })),
  )('$at: $pattern on $subject is $matches', ({ pattern, subject, matches }) => {
    expect(compileGlob(pattern).matches(subject)).toBe(matches)
  })

  test('1000 stars before the last one are followed, 1001 are not', () => {
    expect(compileGlob('a*'.repeat(1001)).matches('a'.repeat(1001))).toBe(true)
    expect(compileGlob('a*'.repeat(1002)).matches('a'.repeat(1002))).toBe(false)
    expect(compileGlob('*a'.repeat(1000)).matches('a'.repeat(1000))).toBe(true)
    expect(compileGlob('*a'.repeat(1001)).matches('a'.repeat(1001))).toBe(false)
  })

  test('a run of stars counts as one', () => {
    expect(compileGlob(`${'*'.repeat(5000)}a`).matches('xa')).toBe(true)
  })
})

describe('letter case is ignored on demand', () => {
  test.each([
    ['max*', 'MAXmemory', true],
    ['MAX*', 'maxmemory', true],
    ['h[A-C]t', 'hbt', true],
    ['h[a-c]t', 'HBT', true],
    ['h[bc]t', 'hCt', true],
    ['h[^bc]t', 'hCt', false],
    // An escaped member is compared as it stands.
    ['h[\\b]t', 'hBt', false],
    ['h[\\b]t', 'hbt', true],
    ['h\\bt', 'hBt', true],
    // The ends are put in order first and lowered afterwards: A to _ becomes a to _, which holds nothing.
    ['[A-_]', 'a', false],
    ['[Z-a]', 'm', false],
    // Bytes above 0x7f have no case.
    ['\xe9', '\xc9', false],
  ])('%s on %s is %s', (pattern, subject, matches) => {
    expect(compileGlob(pattern, { ignoreCase: true }).matches(subject)).toBe(matches)
  })
})

describe('the literal head is what every match starts with', () => {
  test.each([
    ['', '', true],
    ['news', 'news', true],
    ['news.*', 'news.', false],
    ['*', '', false],
    ['?x', '', false],
    ['a\\*b*', 'a*b', false],
    ['a\\*b', 'a*b', true],
    ['tail\\', 'tail\\', true],
    ['h[e]llo*', 'hello', false],
    ['h[e-e]', 'he', true],
    ['h[ae]llo', 'h', false],
    ['h[]llo', 'h', false],
  ])('%s has the head %s', (pattern, head, isLiteral) => {
    const glob = compileGlob(pattern)
    expect(glob.pattern).toBe(pattern)
    expect(glob.literalHead).toBe(head)
    expect(glob.isLiteral).toBe(isLiteral)
  })

  test('letters end the head where case is ignored', () => {
    expect(compileGlob('12-ab', { ignoreCase: true }).literalHead).toBe('12-')
    expect(compileGlob('12-ab').literalHead).toBe('12-ab')
  })

  test('a megabyte of literal bytes is a head like any other', () => {
    const name = 'n'.repeat(1_000_000)
    expect(compileGlob(`${name}*`).literalHead).toBe(name)
  })
})

describe('two globs may overlap', () => {
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
    // A class of one byte is that byte; one of several counts as any.
    ['[a]', 'b', false],
    ['[ab]', 'c', true],
    ['[^a]', 'a', true],
    ['[a-]b', 'x', true],
  ])('%s and %s: %s', (one, other, expected) => {
    expect(compileGlob(one).mayOverlap(compileGlob(other))).toBe(expected)
    expect(compileGlob(other).mayOverlap(compileGlob(one))).toBe(expected)
  })

  test('takes no time to speak of for long patterns', () => {
    const long = compileGlob(`${'*a'.repeat(512)}*`)
    expect(long.mayOverlap(compileGlob(`${'*b'.repeat(512)}*`))).toBe(true)
  })
})

test('comparisons that share a meter end in "may overlap" once they have taken a million steps', () => {
  const meter = { steps: 0 }
  const [one, other] = [`${'*a'.repeat(60)}*x`, `${'*b'.repeat(60)}*x?`].map((text) =>
    compileGlob(text),
  )
  const apart = [compileGlob('*aa*x'), compileGlob('*??y')] as const
  expect(apart[0].mayOverlap(apart[1], meter)).toBe(false)
  for (let i = 0; i < 100; i++) one?.mayOverlap(other as never, meter)
  expect(meter.steps).toBeGreaterThan(1_000_000)
  expect(meter.steps).toBeLessThan(1_020_000)
  expect(compileGlob('a').mayOverlap(compileGlob('b'), meter)).toBe(false)
  expect(compileGlob('?*a').mayOverlap(compileGlob('b?'), meter)).toBe(true)
})

describe('a match whose steps are limited', () => {
  const pattern = `*${'?'.repeat(200)}${'a'.repeat(50)}b*`
  const subject = `${'a'.repeat(255)}b`
  const match = (glob: ReturnType<typeof compileGlob>, most: number) => {
    const meter = { steps: 0, most, gaveUp: false }
    return { fits: glob.matches(subject, meter), gaveUp: meter.gaveUp, steps: meter.steps }
  }

  test('gives up before it builds an automaton that would take more, and before one takes more', () => {
    const glob = compileGlob(pattern)
    const { steps } = match(compileGlob(pattern), Number.POSITIVE_INFINITY)
    expect(match(glob, 2_000)).toEqual({ fits: false, gaveUp: true, steps: expect.any(Number) })
    expect(match(glob, steps)).toMatchObject({ fits: true, gaveUp: false })
    const known = match(glob, Number.POSITIVE_INFINITY).steps
    expect(known).toBeLessThan(steps)
    expect(match(glob, known)).toMatchObject({ fits: true, gaveUp: false })
    expect(match(glob, known - 1)).toMatchObject({ fits: false, gaveUp: true })
  })

  test('is decided where no automaton is needed', () => {
    expect(match(compileGlob('*a*b'), 0)).toMatchObject({ fits: true, gaveUp: false })
  })
})

test.each([50, 100, 1_000, 100_000])(
  'a pattern of %i letters costs a name no more than the automaton of a pattern as long as the name',
  (letters) => {
    const name = 'a'.repeat(256)
    const glob = compileGlob(`*${'a'.repeat(100)}b${'a'.repeat(letters)}*`)
    const meter = { steps: 0 }
    expect(glob.matches(name, meter)).toBe(false)
    // A few looks at each byte, the table, and a run through it.
    expect(meter.steps).toBeLessThan(
      name.length * 8 + buildSteps(name.length) + (name.length / 32 + 1) * name.length,
    )
  },
)

describe('an escaped text', () => {
  test.each([
    ['news', 'news'],
    ['*', '\\*'],
    ['a?b', 'a\\?b'],
    ['[x]', '\\[x]'],
    ['back\\', 'back\\\\'],
    ['', ''],
  ])('%s becomes %s', (text, escaped) => {
    expect(escapeGlob(text)).toBe(escaped)
    expect(compileGlob(escaped).isLiteral).toBe(true)
    expect(compileGlob(escaped).literalHead).toBe(text)
  })
})
