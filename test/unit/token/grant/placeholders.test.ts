import { describe, expect, test } from 'vitest'
import { compileGlob } from '../../../../shared/glob.ts'
import {
  expandRolePattern,
  fixedText,
  parseRolePattern,
  validateRolePattern,
} from '../../../../server/token/grant/placeholders.ts'
import type { JsonObject } from '../../../../server/token/text.ts'

function expand(
  pattern: string,
  claims: Readonly<Record<string, unknown>> = {},
  { sub = '42', iss = 'auth', separators = ':' } = {},
): readonly string[] | undefined {
  const parsed = parseRolePattern(pattern)
  if (typeof parsed === 'string') throw new Error(parsed)
  const payload = JSON.parse(JSON.stringify(claims)) as JsonObject
  return expandRolePattern(parsed, { sub, iss, payload: () => payload, separators })
}

describe('placeholders', () => {
  const rooms = { rooms: ['a', 'b'], org: { id: 'acme', teams: ['x', 'y'] } }
  test.each([
    ['user:{sub}:*', ['user:42:*']],
    ['{iss}/{sub}', ['auth/42']],
    ['org:{claim.org.id}', ['org:acme']],
    ['room:{claim.rooms[]}', ['room:a', 'room:b']],
    ['{claim.rooms[]}-{claim.org.teams[]}', ['a-x', 'a-y', 'b-x', 'b-y']],
    ['{{{sub}}}', ['{42}']],
    ['{{sub}}:{sub}', ['{sub}:42']],
    ['[a-c]{sub}?*', ['[a-c]42?*']],
    ['\\\\{sub}', ['\\\\42']],
    ['\\[{sub}]', ['\\[42]']],
  ])('%s is filled', (pattern, expected) => {
    expect(expand(pattern, rooms)).toEqual(expected)
  })

  test('take UTF-8 values as bytes', () => {
    expect(expand('c:{claim.city}', { city: 'K\u00f6ln' })).toEqual(['c:K\xc3\xb6ln'])
  })

  test('find a claim whose name is written in UTF-8', () => {
    expect(expand('c:{claim.stra\xc3\x9fe}', { 'stra\u00dfe': 'x' })).toEqual(['c:x'])
  })

  test('try the whole path as an own key first', () => {
    expect(expand('{claim.a.b}', { 'a.b': 'own', a: { b: 'path' } })).toEqual(['own'])
    expect(expand('{claim.https://x.example/r[]}', { 'https://x.example/r': ['q'] })).toEqual(['q'])
  })
})

describe('a literal brace', () => {
  test('is written twice and makes no placeholder', () => {
    const parsed = parseRolePattern('{{tag}}:x')
    expect(typeof parsed === 'string' ? parsed : fixedText(parsed)).toBe('{tag}:x')
  })

  test('is no text of its own beside a placeholder', () => {
    const parsed = parseRolePattern('{{{sub}')
    expect(typeof parsed === 'string' ? parsed : fixedText(parsed)).toBeUndefined()
  })
})

describe('SETUSER refuses', () => {
  test.each([
    ['an unknown placeholder', '{jti}', /unknown placeholder/],
    ['a placeholder in capitals', '{SUB}', /unknown placeholder/],
    ['an empty placeholder', '{}', /unknown placeholder/],
    ['a claim without a path', '{claim.}', /unknown placeholder/],
    ['an empty step of a path', '{claim.a..b}', /unknown placeholder/],
    ['a path that ends in a dot', '{claim.a.}', /unknown placeholder/],
    ['brackets inside a path', '{claim.a[].b}', /unknown placeholder/],
    ['brackets after sub', '{sub[]}', /unknown placeholder/],
    ['a filter', '{sub|raw}', /unknown placeholder/],
    ['an open brace', 'a{sub', /unknown placeholder/],
    ['a brace in a placeholder', '{su{b}', /unknown placeholder/],
    ['a closing brace alone', 'a}b', /'}' stands alone/],
    ['one after a placeholder', '{sub}}', /'}' stands alone/],
    ['a placeholder in a class', '[{sub}]', /inside \[/],
    ['in a negated class', '[^{sub}]', /inside \[/],
    ['after other members', '[ab{sub}', /inside \[/],
    ['in a class that is never closed', 'x[abc{sub}', /inside \[/],
    ['as the end of a range', '[a-{sub}]', /inside \[/],
    ['after a range that takes the bracket', '[a-]{sub}]', /inside \[/],
    ['after an escaped bracket in a class', '[\\]{sub}]', /inside \[/],
    ['after a brace in a class', '[{{{sub}]', /inside \[/],
    ['after a range between braces that takes the bracket', '[{{-]{sub}', /inside \[/],
    ['a placeholder after a backslash', '\\{sub}', /after a backslash/],
    ['after three backslashes', '\\\\\\{sub}', /after a backslash/],
  ])('%s: %s', (_name, pattern, text) => {
    expect(validateRolePattern(pattern)).toMatch(text)
  })

  test.each(['', '*', 'a', '{sub}', '[]{sub}', '[a-c]{sub}', '\\\\{sub}', '\\[{sub}', '{{', '}}'])(
    'nothing about %s',
    (pattern) => {
      expect(validateRolePattern(pattern)).toBeUndefined()
    },
  )
})

describe('values are escaped', () => {
  test('sub * grants the one channel user:*:x and nothing more', () => {
    const patterns = expand('user:{sub}:x', {}, { sub: '*' })
    expect(patterns).toEqual(['user:\\*:x'])
    const glob = compileGlob('user:\\*:x')
    expect(glob.matches('user:*:x')).toBe(true)
    expect(glob.matches('user:1:x')).toBe(false)
  })

  test.each(['*', '?', '[a]', '[^a]', '\\', 'a\\', '[', ']', '^', '-', '{sub}', '}'])(
    '%s matches itself alone',
    (value) => {
      const [pattern = ''] = expand('x/{claim.v}/y', { v: value }) ?? []
      const glob = compileGlob(pattern)
      expect(glob.matches(`x/${value}/y`)).toBe(true)
      for (const other of ['a', '42', '', 'b', '\\a']) {
        if (other !== value) expect(glob.matches(`x/${other}/y`)).toBe(false)
      }
    },
  )

  test('what means nothing in a pattern stays as it is, so that PSUBSCRIBE can name it', () => {
    const uuid = '0b9e-4d^1]'
    expect(expand('user:{sub}:*', {}, { sub: uuid })).toEqual([`user:${uuid}:*`])
  })
})

describe('a pattern vanishes, and nothing widens,', () => {
  test.each<[string, Record<string, unknown>]>([
    ['where the claim is missing', {}],
    ['where it is empty', { v: '' }],
    ['where it is a number', { v: 7 }],
    ['where it is null', { v: null }],
    ['where it is true', { v: true }],
    ['where it is an object', { v: { toString: 'x' } }],
    ['where it is an array and [] was not written', { v: ['a'] }],
    ['where it holds a separator', { v: '42:admin' }],
    ['where it holds white space', { v: 'a b' }],
    ['where it holds a control', { v: 'a\nb' }],
    ['where it holds NUL', { v: 'a\0' }],
    ['where it holds half a surrogate pair', { v: '\ud800' }],
    ['where it makes the pattern longer than 256 bytes', { v: 'x'.repeat(251) }],
  ])('%s', (_name, claims) => {
    expect(expand('room:{claim.v}:', claims)).toEqual([])
  })

  test('where one of two values is missing', () => {
    expect(expand('{sub}/{claim.v}')).toEqual([])
  })

  test('where an array was asked for and a text is there', () => {
    expect(expand('{claim.v[]}', { v: 'a' })).toEqual([])
    expect(expand('{claim.v[]}', { v: { 0: 'a' } })).toEqual([])
    expect(expand('{claim.v[]}', { v: [] })).toEqual([])
  })

  test('one by one where elements of an array are unfit', () => {
    expect(expand('r:{claim.v[]}', { v: ['a', 'b:c', 7, '', ['d'], 'e'] })).toEqual(['r:a', 'r:e'])
  })

  test.each(['{claim.constructor.name}', '{claim.__proto__}', '{claim.toString}'])(
    'where only an inherited key would be there: %s',
    (pattern) => {
      expect(expand(pattern)).toEqual([])
    },
  )

  test('where sub or iss holds a separator', () => {
    expect(expand('user:{sub}', {}, { sub: '42:admin' })).toEqual([])
    expect(expand('{iss}/x', {}, { iss: 'https://auth' })).toEqual([])
  })
})

test('placeholder-separators says which characters are separators', () => {
  expect(expand('u:{sub}', {}, { sub: 'a:b', separators: '/.' })).toEqual(['u:a:b'])
  expect(expand('u:{sub}', {}, { sub: 'a.b', separators: '/.' })).toEqual([])
  expect(expand('u:{sub}', {}, { sub: 'a:b', separators: '' })).toEqual(['u:a:b'])
})

describe('the product of arrays is bounded by 256', () => {
  const list = (count: number): string[] => Array.from({ length: count }, (_, at) => `${at}`)

  test('256 patterns are made, 257 are not', () => {
    expect(expand('{claim.v[]}', { v: list(256) })).toHaveLength(256)
    expect(expand('{claim.v[]}', { v: list(257) })).toBeUndefined()
    expect(expand('{claim.v[]}{claim.v[]}', { v: list(16) })).toHaveLength(256)
    expect(expand('{claim.v[]}{claim.v[]}', { v: list(17) })).toBeUndefined()
  })

  test('without making them first', () => {
    expect(expand('{claim.v[]}'.repeat(40), { v: list(1000) })).toBeUndefined()
  })

  test('an empty array makes none, whatever the others hold', () => {
    expect(expand('{claim.v[]}{claim.w[]}', { v: list(1000), w: [] })).toEqual([])
  })
})
