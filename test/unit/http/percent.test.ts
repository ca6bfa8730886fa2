import { expect, test } from 'vitest'
import { percentDecoded } from '../../../server/http/percent.ts'

test.each([
  ['news', 'news'],
  ['news:a/b+c', 'news:a/b+c'],
  ['%6eews%3A', 'news:'],
  ['%ff%00%25', '\xff\0%'],
  ['', ''],
])('%j in a path is the bytes %j', (text, bytes) => {
  expect(percentDecoded(text)).toBe(bytes)
})

test('a plus is a space in a query, and %2B a plus', () => {
  expect(percentDecoded('a+b%2B', true)).toBe('a b+')
})

test.each(['%', 'a%4', '%zz', '%%41', '%4g'])('%j is no percent-encoding', (text) => {
  expect(percentDecoded(text)).toBeUndefined()
})
