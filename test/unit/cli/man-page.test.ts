import { expect, test } from 'vitest'
import { manPage } from '../../../server/cli/man-page.ts'
import { DIRECTIVES } from '../../../server/config/directives.ts'

const page = manPage()

test('the manual page has every directive with an effect, and its default', () => {
  for (const { name, hidden, effect } of DIRECTIVES) {
    const line = `.B ${name.replaceAll('-', '\\-')}`
    const isShown = page.split('\n').some((text) => text === line || text.startsWith(`${line} `))
    expect([name, isShown]).toEqual([name, hidden !== true && effect !== 'none'])
  }
  expect(page).toContain('.B port \\fR(6380)')
})

test('no text of it is taken for a request of the formatter', () => {
  const begun = page.split('\n').filter((line) => /^[.']/.test(line))
  const requests = new Set(begun.map((line) => line.split(' ', 1)[0] ?? ''))
  expect(requests).toEqual(new Set(['.B', '.BR', '.SH', '.SS', '.TH', '.TP', '.PP', '.br']))
})
