import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { DEV_ISSUER, devKey, prepareDevProfile } from '../../../server/cli/dev-profile.ts'
import { loadConfig } from '../../../server/config/load.ts'
import { Config } from '../../../server/config/store.ts'
import { folderWith } from '../../support/folder.ts'

let cwd = ''

beforeEach(() => {
  cwd = folderWith()
})

test('the development profile keeps its key, for its owner only', () => {
  const first = devKey(cwd)
  const path = join(cwd, '.respcast', 'dev-key')
  expect(first.toString()).toMatch(/^[\w-]{43}$/)
  expect(readFileSync(path)).toEqual(first)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(join(cwd, '.respcast')).mode & 0o777).toBe(0o700)
  expect(devKey(cwd)).toEqual(first)
  expect(prepareDevProfile(cwd).secret).toEqual(first)
})

test.each([0o640, 0o604, 0o620, 0o602, 0o666])(
  'a key that others can read or write is refused: %o',
  (mode) => {
    devKey(cwd)
    const path = join(cwd, '.respcast', 'dev-key')
    chmodSync(path, mode)
    expect(() => devKey(cwd)).toThrow(
      `${path} has the mode ${mode.toString(8)}, so that others could mint tokens. Remove it for a new key, or run: ` +
        `chmod 600 ${path}`,
    )
    expect(() => prepareDevProfile(cwd)).toThrow(/could mint tokens/)
  },
)

test('a folder in which others can replace the key is refused', () => {
  devKey(cwd)
  chmodSync(join(cwd, '.respcast'), 0o777)
  expect(() => devKey(cwd)).toThrow(/\.respcast has the mode 777, .* chmod 700 /)
})

test('the development profile is a configuration for this machine, with another password each time', () => {
  const profile = prepareDevProfile(cwd)
  const config = new Config(loadConfig({ argv: profile.argv, env: {}, cwd }))
  expect(config.path('dir')).toBe(join(cwd, '.respcast'))
  expect(config.text('jwt-issuer')).toBe(DEV_ISSUER.iss)
  expect(config.list('http-bind')).toEqual(['127.0.0.1', '-::1'])
  expect(config.lines('user').map(([name]) => name)).toEqual(['admin', 'role:demo'])
  expect(config.lines('user')[0]).toContain(`>${profile.adminPassword}`)
  expect(prepareDevProfile(cwd).adminPassword).not.toBe(profile.adminPassword)
})

test('the development profile says where it cannot write, and what to do', () => {
  writeFileSync(join(cwd, '.respcast'), 'a file, not a folder')
  expect(() => devKey(cwd)).toThrow(
    /the development profile cannot write .*\.respcast\/dev-key \(EEXIST|ENOTDIR\)\. Start the server where you may/,
  )
})
