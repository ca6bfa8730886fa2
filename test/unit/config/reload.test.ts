import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { reloadConfiguration } from '../../../server/cli/configuration.ts'
import { loadConfig } from '../../../server/config/load.ts'
import { Config } from '../../../server/config/store.ts'
import type { Logger } from '../../../server/log.ts'
import { folderWith } from '../../support/folder.ts'

/** A configuration over a file that a test replaces. */
function reloadable(text: string, argv: readonly string[] = []) {
  const cwd = folderWith({ 'respcast.conf': text })
  const input = { argv: ['respcast.conf', ...argv], env: {}, cwd }
  const config = new Config(loadConfig(input))
  const reload = (next: string) => {
    writeFileSync(join(cwd, 'respcast.conf'), next, 'latin1')
    return config.reload(loadConfig(input))
  }
  return { config, input, reload, cwd }
}

describe('a configuration that is read again', () => {
  test('changes what is live, and names what waits for the next start', () => {
    const { config, reload } = reloadable('timeout 5\nport 7000\njwt-leeway 3\n')
    expect(reload('timeout 6\nport 7001\n')).toMatchObject({
      changed: expect.arrayContaining(['timeout', 'jwt-leeway']) as unknown,
      atNextStart: ['port'],
    })
    expect(config.seconds('timeout')).toBe(6)
    expect(config.seconds('jwt-leeway'), 'what is gone from the file is the default again').toBe(5)
    expect(config.integer('port')).toBe(7000)
  })

  test('leaves what stands on the command line, which wins as at start', () => {
    const { config, reload } = reloadable('timeout 5\n', ['--timeout', '9'])
    reload('timeout 6\n')
    expect(config.seconds('timeout')).toBe(9)
  })

  test('takes secrets, which CONFIG SET does not', () => {
    const { config, reload } = reloadable(`jwt-secret ${'a'.repeat(32)}\n`)
    const next = 'b'.repeat(32)
    expect(reload(`jwt-secret ${next}\nissuer x secret ${next}\n`)).toMatchObject({
      changed: ['jwt-secret', 'issuer'],
    })
    expect(config.text('jwt-secret')).toBe(next)
    expect(config.lines('issuer')).toEqual([['x', 'secret', next]])
  })

  test('says that a file is to be read again, though its name is the same', () => {
    const { reload } = reloadable('jwt-secret-file key\n')
    expect(reload('jwt-secret-file key\n')).toEqual({
      changed: ['jwt-secret-file'],
      atNextStart: [],
    })
  })

  test('is refused as a whole by a validator, and nothing has changed', () => {
    const { config, reload } = reloadable('timeout 5\n')
    config.addValidator(['maxclients'], (settings) =>
      settings.integer('maxclients') < 10 ? 'too few' : undefined,
    )
    expect(reload('timeout 6\nmaxclients 9\n')).toBe('maxclients: too few')
    expect([config.seconds('timeout'), config.integer('maxclients')]).toEqual([5, 10_000])
  })

  test('is rolled back where somebody cannot put it in force, and nobody who follows hears of it', () => {
    const { config, reload } = reloadable('timeout 5\n')
    const followed: string[] = []
    config.onChange(['tcp-keepalive'], () => 'no')
    config.afterChange(['timeout'], () => followed.push('timeout'))
    expect(reload('timeout 6\ntcp-keepalive 7\n')).toBe('tcp-keepalive: no')
    expect(config.seconds('timeout')).toBe(5)
    expect(reload('timeout 6\n')).toMatchObject({ changed: ['timeout'] })
    expect(followed).toEqual(['timeout'])
  })
})

describe('what follows a change', () => {
  test('is called once everybody has accepted it, with the new values', () => {
    const { config } = reloadable('timeout 5\n')
    const seen: (string | number)[] = []
    config.afterChange(['timeout'], (settings) => seen.push('after', settings.seconds('timeout')))
    config.onChange(['timeout'], () => void seen.push('applied'))
    expect(config.set([['timeout', '8']])).toBeUndefined()
    expect(seen).toEqual(['applied', 'after', 8])
  })

  test('is not called for other directives', () => {
    const { config } = reloadable('')
    let calls = 0
    config.afterChange(['timeout'], () => calls++)
    config.set([['tcp-keepalive', '7']])
    expect(calls).toBe(0)
  })
})

describe('SIGHUP', () => {
  function recording(): { log: Logger; lines: unknown[][] } {
    const lines: unknown[][] = []
    const at = (level: string) => (fields: unknown, text?: string) => {
      lines.push(text === undefined ? [level, fields] : [level, fields, text])
    }
    const log = { info: at('info'), warn: at('warn'), error: at('error') } as unknown as Logger
    return { log, lines }
  }

  test('logs what it changed, and what waits', () => {
    const { config, input, cwd } = reloadable('timeout 5\n')
    const { log, lines } = recording()
    writeFileSync(join(cwd, 'respcast.conf'), 'timeout 6\nport 1\n')
    reloadConfiguration(config, log, input)
    expect(lines).toEqual([
      ['info', { changed: ['timeout'] }, 'the configuration was read again'],
      ['warn', { directives: ['port'] }, 'directives that differ count from the next start on'],
    ])
  })

  test('logs why a file is not used, and changes nothing', () => {
    const { config, input, cwd } = reloadable('timeout 5\n')
    const { log, lines } = recording()
    writeFileSync(join(cwd, 'respcast.conf'), 'timeout 6\ntimeout abc\n')
    reloadConfiguration(config, log, input)
    expect(config.seconds('timeout')).toBe(5)
    expect(lines).toEqual([
      [
        'error',
        { reason: expect.stringContaining('respcast.conf:2: timeout abc') as unknown },
        'the configuration was not read again: nothing was changed',
      ],
    ])
  })

  test('has nothing to read where there is no file', () => {
    const input = { argv: ['--timeout', '5'], env: {}, cwd: '/' }
    const { log, lines } = recording()
    reloadConfiguration(new Config(loadConfig(input)), log, input)
    expect(lines).toEqual([['warn', 'there is no configuration file to read again']])
  })
})
