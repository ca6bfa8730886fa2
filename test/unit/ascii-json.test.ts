import { expect, test } from 'vitest'
import { asciiJson } from '../../server/ascii-json.ts'

test('is printable ASCII, and reads as the value it was made of', () => {
  const value = { name: 'a\xff\n\u2028\u{1f600}\x7f', list: [null, '~'] }
  const json = asciiJson(value)
  expect(json).toMatch(/^[ -~]*$/)
  expect(JSON.parse(json)).toEqual(value)
})

test('leaves ASCII as JSON has it', () => {
  expect(asciiJson({ a: 'b "c"' })).toBe('{"a":"b \\"c\\""}')
  expect(asciiJson(null)).toBe('null')
})
