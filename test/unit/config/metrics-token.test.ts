import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readMetricsToken } from '../../../server/config/metrics-token.ts'
import { folderWith } from '../../support/folder.ts'
import { settingsOf } from '../../support/settings.ts'

const TOKEN = 'canary-0123456789'

describe('The token of /metrics', () => {
  test('is that of the file, without its line end, or that of the environment', () => {
    const path = join(folderWith({ token: `${TOKEN}\n` }), 'token')
    expect(readMetricsToken(settingsOf({ 'metrics-token-file': path }))).toBe(TOKEN)
    expect(readMetricsToken(settingsOf({}, { RESPCAST_CONF_METRICS_TOKEN: TOKEN }))).toBe(TOKEN)
    expect(readMetricsToken(settingsOf())).toBeUndefined()
  })

  test.each([
    ['', 'an empty file'],
    ['\n', 'an empty line'],
    ['canary', 'a short one'],
    ['canary 0123456789', 'a space'],
    [`${TOKEN}\n${TOKEN}`, 'two lines'],
  ])('is refused without being repeated: %j', (content) => {
    const path = join(folderWith({ token: content }), 'token')
    expect(() => readMetricsToken(settingsOf({ 'metrics-token-file': path }))).toThrow(
      /^(?!.*canary)metrics-token-file \S+: a token is at least 16 printable characters/,
    )
  })

  test('has to be in a file that can be read', () => {
    expect(() => readMetricsToken(settingsOf({ 'metrics-token-file': '/nowhere' }))).toThrow(
      'metrics-token-file /nowhere: cannot be read (ENOENT). Give the path of a readable file.',
    )
  })

  test('is neither shown nor taken on the command line', () => {
    const config = settingsOf({}, { RESPCAST_CONF_METRICS_TOKEN: TOKEN })
    expect(config.get(['metrics-*'])).toEqual([
      ['metrics-token', '(redacted)'],
      ['metrics-token-file', ''],
    ])
    expect(() => settingsOf({ 'metrics-token': TOKEN })).toThrow(
      /^(?!.*canary).*metrics-token-file/,
    )
    expect(config.set([['metrics-token', TOKEN]])).toMatch(/set metrics-token-file$/)
  })
})
