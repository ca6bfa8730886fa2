import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { escapeInvisible, hasInvisible, quoteWord, splitWords } from '../../../shared/words.ts'

describe('characters that do not show', () => {
  test.each([
    ['a\u200bb', String.raw`a\u{200b}b`],
    ['\u202eevil', String.raw`\u{202e}evil`],
    ['\u2066x\u2069', String.raw`\u{2066}x\u{2069}`],
    ['\ufeff', String.raw`\u{feff}`],
    ['\u{e0041}', String.raw`\u{e0041}`],
    ['\u2028', String.raw`\u{2028}`],
    ['\u3164', String.raw`\u{3164}`],
    ['\ud800', String.raw`\u{d800}`],
    ['\x1b[31m\x9b', String.raw`\x1b[31m\x9b`],
  ])('%j become %s', (text, escaped) => {
    expect(hasInvisible(text)).toBe(true)
    expect(escapeInvisible(text)).toBe(escaped)
  })

  test('are none of a text that shows', () => {
    for (const text of ['', 'Zo\u00eb', '\u05e9\u05dc\u05d5\u05dd', '\u{1f600}\ufe0f', 'a b']) {
      expect(hasInvisible(text)).toBe(false)
      expect(escapeInvisible(text)).toBe(text)
    }
  })
})

describe('splitting a line into words', () => {
  test.each([
    ['port 6380', ['port', '6380']],
    ['  bind\t127.0.0.1   -::1 ', ['bind', '127.0.0.1', '-::1']],
    ['a\vb \v c', ['a\vb', 'c']],
    ['', []],
    ['save ""', ['save', '']],
    ["save ''", ['save', '']],
    ['x "a b"', ['x', 'a b']],
    [String.raw`x "\x41\n\r\t\b\a\q\x4\"\\"`, ['x', 'A\n\r\t\b\x07qx4"\\']],
    [String.raw`x '\x41\''`, ['x', String.raw`\x41'`]],
    ['foo"bar baz"', ['foobar baz']],
    [String.raw`a\b "c"`, [String.raw`a\b`, 'c']],
    ['caf\xc3\xa9\xa0x', ['caf\xc3\xa9\xa0x']],
    ['a\0b c', ['a']],
  ])('%j has the words %j', (line, words) => {
    expect(splitWords(line)).toEqual(words)
  })

  test.each(['"a', "'a", '"a"b', "'a'b", String.raw`'a\'`, String.raw`"a\"`, 'a "b c', '"a""b"'])(
    '%j has unbalanced quotes',
    (line) => {
      expect(splitWords(line)).toBeUndefined()
    },
  )
})

describe('quoting a word', () => {
  test.each([
    ['6380', '6380'],
    ['-::1', '-::1'],
    ['', '""'],
    ['a b', '"a b"'],
    ['#x', '"#x"'],
    ['"', String.raw`"\""`],
    ['\n\x00\xff', String.raw`"\n\x00\xff"`],
  ])('%j is written %s', (word, quoted) => {
    expect(quoteWord(word)).toBe(quoted)
  })

  test('what is quoted is read back as it was, whatever its bytes', () => {
    const word = fc
      .array(fc.integer({ min: 0, max: 255 }))
      .map((bytes) => String.fromCharCode(...bytes))
    fc.assert(
      fc.property(fc.array(word), (words) => {
        expect(splitWords(words.map(quoteWord).join(' '))).toEqual(words)
      }),
    )
  })
})
