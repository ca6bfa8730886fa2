import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { LogFile } from '../../server/log-file.ts'
import { openLog } from '../../server/log.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { folderWith } from '../support/folder.ts'

function opened() {
  const path = join(folderWith(), 'log')
  const clock = new FakeClock()
  const file = new LogFile(path, clock)
  const read = (name = path): string => readFileSync(name, 'utf8')
  return { path, clock, file, read }
}

describe('A log file', () => {
  test('is appended to', () => {
    const { path, clock, file, read } = opened()
    file.write('1\n')
    new LogFile(path, clock).write('2\n')
    file.write('3\n')
    expect(read()).toBe('1\n2\n3\n')
  })

  test('that was renamed is written to until it is reopened; no line is lost', () => {
    const { path, file, read } = opened()
    file.write('1\n')
    renameSync(path, `${path}.1`)
    file.write('2\n')
    file.reopen()
    file.write('3\n')
    expect([read(`${path}.1`), read()]).toEqual(['1\n2\n', '3\n'])
  })

  test.each([
    ['renamed', (path: string) => renameSync(path, `${path}.1`)],
    ['removed', (path: string) => rmSync(path)],
    [
      'replaced',
      (path: string) => {
        renameSync(path, `${path}.1`)
        copyFileSync(`${path}.1`, path)
        truncateSync(path)
      },
    ],
  ])('that was %s is noticed within a second', (_how, rotate) => {
    const { path, clock, file, read } = opened()
    file.write('1\n')
    rotate(path)
    clock.advance(1_000)
    file.write('2\n')
    expect(read()).toBe('2\n')
  })

  test('that was copied and truncated goes on at its beginning', () => {
    const { path, clock, file, read } = opened()
    file.write('1\n')
    copyFileSync(path, `${path}.1`)
    truncateSync(path)
    clock.advance(1_000)
    file.write('2\n')
    expect([read(`${path}.1`), read()]).toEqual(['1\n', '2\n'])
  })

  test('that cannot be opened anew stays the one before, and the log says so', () => {
    const dir = folderWith()
    const path = join(dir, 'log')
    const { log, reopen } = openLog('notice', path, new FakeClock())
    renameSync(path, `${path}.1`)
    mkdirSync(path)
    reopen()
    log.info('after')
    expect(readFileSync(`${path}.1`, 'utf8')).toMatch(/logfile cannot be reopened.*\n.*"after"/)
  })

  test.runIf(process.platform === 'linux')(
    'on a full disk does not throw, and says so once',
    () => {
      const said = vi.spyOn(console, 'error').mockImplementation(() => {})
      const file = new LogFile('/dev/full', new FakeClock())
      file.write('1\n')
      file.write('2\n')
      expect(said.mock.calls).toEqual([
        [expect.stringMatching(/^\/dev\/full cannot be written: .*ENOSPC/)],
      ])
      said.mockRestore()
    },
  )
})
