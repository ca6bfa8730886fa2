import { readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { check } from '../../../server/cli/check.ts'
import { init } from '../../../server/cli/init.ts'
import { tokenCommand } from '../../../server/cli/token.ts'
import { folderWith } from '../../support/folder.ts'
import { runHere } from '../../support/process.ts'

const initIn = (cwd: string, ...args: string[]) => runHere(cwd, () => Promise.resolve(init(args)))
const FILES = ['jwt-secret', 'respcast.conf', 'users.acl']

test('a first configuration leaves nothing open, and its files are readable by their owner only', async () => {
  const cwd = folderWith()
  const { code, output, errors } = await initIn(cwd)
  expect([code, errors]).toEqual([0, ''])
  expect(readdirSync(cwd).toSorted()).toEqual(FILES)
  for (const name of FILES) expect(statSync(join(cwd, name)).mode & 0o777).toBe(0o600)
  const password = /admin, with the password (\S{16})\n/.exec(output)?.[1] ?? 'no password'
  for (const name of FILES) expect(readFileSync(join(cwd, name), 'utf8')).not.toContain(password)
  expect(await runHere(cwd, () => check(['--strict', 'respcast.conf']))).toEqual({
    code: 0,
    output: 'The configuration is good.\n',
    errors: '',
  })
})

test('its secret signs tokens, of the issuer and audience that were named', async () => {
  const cwd = folderWith()
  await initIn(cwd, 'here', '--issuer', 'https://a.example', '--audience', 'chat')
  const folder = join(cwd, 'here')
  const mint = ['mint', 'respcast.conf', '--sub', '42', '--role', 'member']
  const { code, output } = await runHere(folder, () => tokenCommand(mint))
  expect(code).toBe(0)
  const payload = JSON.parse(
    Buffer.from(output.split('.')[1] ?? '', 'base64url').toString(),
  ) as object
  expect(payload).toMatchObject({ iss: 'https://a.example', aud: 'chat', sub: '42' })
})

test.each(FILES)('nothing is written where %s is there already', async (name) => {
  const cwd = folderWith({ [name]: 'mine' })
  await expect(initIn(cwd)).rejects.toThrow(`${name} is there already, and nothing was written`)
  expect(readdirSync(cwd)).toEqual([name])
  expect(readFileSync(join(cwd, name), 'utf8')).toBe('mine')
})

test('where one of the files cannot be written, none is left', async () => {
  const cwd = folderWith()
  symlinkSync('nowhere/users.acl', join(cwd, 'users.acl'))
  await expect(initIn(cwd)).rejects.toThrow(/cannot write into .*: EEXIST/)
  expect(readdirSync(cwd)).toEqual(['users.acl'])
})

test('a folder that cannot be written is named', async () => {
  const cwd = folderWith({ file: '' })
  await expect(initIn(cwd, 'file/below')).rejects.toThrow(
    /cannot write into .*file\/below: ENOTDIR/,
  )
})

test.each([
  [['--issuer']],
  [['--issuer', 'two words']],
  [['--issuer', 'a"b']],
  [['--audience', '']],
  [['--unknown', 'x']],
  [['folder', 'another']],
])('%j is answered with the usage, and nothing is written', async (args) => {
  const cwd = folderWith()
  const { code, output, errors } = await initIn(cwd, ...args)
  expect([code, output]).toEqual([2, ''])
  expect(errors).toMatch(/^Usage: respcast init/)
  expect(readdirSync(cwd)).toEqual([])
})
