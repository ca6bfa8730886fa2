import { expect, test } from 'vitest'
import { missingText } from '../../support/missing-reporter.ts'

const FILES = [
  { file: 'test/a.test.ts', skipped: 12 },
  { file: 'test/b.test.ts', skipped: 0 },
  { file: 'test/c.test.ts', skipped: 1 },
]

test('tests that were skipped are counted by file, with what is not installed', () => {
  const missing = [
    [['chromium', 'google-chrome'], 'chromium'],
    [['cc'], 'gcc libc6-dev'],
  ] as const
  expect(missingText(FILES, missing)).toBe(
    [
      'Skipped: 13 tests in 2 files',
      '    12 test/a.test.ts',
      '     1 test/c.test.ts',
      'Not installed here: chromium, cc',
      'On Debian: apt-get install chromium gcc libc6-dev',
      '',
    ].join('\n'),
  )
})

test('nothing is said where nothing was skipped, or nothing is missing', () => {
  expect(missingText(FILES.slice(1, 2), [[['cc'], 'gcc']])).toBe('')
  expect(missingText(FILES, [])).toBe('')
})
