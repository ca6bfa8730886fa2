import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { readConfig } from '../../../server/cli/configuration.ts'
import { folderWith } from '../../support/folder.ts'

/** Reads a command line in a folder of its own. */
function read(...argv: readonly string[]): ReturnType<typeof readConfig> & { cwd: string } {
  const cwd = folderWith({ 'a.conf': 'port 7000\nupstream redis://10.0.0.1\n' })
  const spy = vi.spyOn(process, 'cwd').mockReturnValue(cwd)
  try {
    return { ...readConfig(argv), cwd }
  } finally {
    spy.mockRestore()
  }
}

test('without anything the development profile holds', () => {
  const { config, dev, cwd } = read()
  expect(dev).toBeDefined()
  expect(config.path('dir')).toBe(join(cwd, '.respcast'))
})

test('with nothing but an upstream the development profile holds, before that upstream', () => {
  const { config, dev, cwd } = read(
    '--upstream',
    'redis://127.0.0.1:6379',
    '--upstream-linger',
    '3',
  )
  expect(dev).toBeDefined()
  expect(config.text('upstream')).toBe('redis://127.0.0.1:6379')
  expect(config.seconds('upstream-linger')).toBe(3)
  expect(config.path('dir')).toBe(join(cwd, '.respcast'))
  expect(config.lines('user').map(([name]) => name)).toEqual(['admin', 'role:demo'])
})

test('with flags that do not say who may come in the development profile holds, and they count', () => {
  const { config, dev } = read('--port', '7000', '--drain-seconds', '9')
  expect(dev).toBeDefined()
  expect(config.integer('port')).toBe(7000)
  expect(config.seconds('drain-seconds')).toBe(9)
})

test.each([
  [['--upstream', 'redis://127.0.0.1', '--port', '7000', '--dir', '.']],
  [['--port', '7000', '--bind', '*', '--upstream', 'redis://127.0.0.1']],
  [['a.conf']],
])('with %j it does not', (argv) => {
  const { config, dev } = read(...argv)
  expect(dev).toBeUndefined()
  expect(config.integer('port')).toBe(7000)
  expect(config.text('upstream')).toMatch(/^redis:/)
  expect(config.lines('user')).toEqual([])
})
