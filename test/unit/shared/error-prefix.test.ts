import { describe, expect, test } from 'vitest'
import { errorPrefix } from '../../../shared/error-prefix.ts'

describe('the code of an error reply', () => {
  test.each([
    ['NOPERM no permissions', 'NOPERM'],
    ['ERR unknown command', 'ERR'],
    ['NOAUTH', 'NOAUTH'],
    ['something went wrong', 'ERR'],
    ['Error: x', 'ERR'],
    ['', 'ERR'],
  ])('of %j is %s', (text, prefix) => {
    expect(errorPrefix(text)).toBe(prefix)
  })
})
