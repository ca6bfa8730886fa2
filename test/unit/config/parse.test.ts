import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseConfig, readConfigFile } from '../../../server/config/parse.ts'
import { configOf, configOfFile, failureOf } from './support.ts'
import { folderWith } from '../../support/folder.ts'

describe('a configuration file', () => {
  test('holds one directive per line, comments, and blank lines', () => {
    const text = '# comment\n\n  \t# another\r\nport 7000\r\n  Bind "127.0.0.1"  -::1\nsave ""'
    expect(
      parseConfig(text, 'a.conf').map(({ name, words, where }) => [name, words, where]),
    ).toEqual([
      ['port', ['7000'], 'a.conf:4'],
      ['Bind', ['127.0.0.1', '-::1'], 'a.conf:5'],
      ['save', [''], 'a.conf:6'],
    ])
  })

  test('is read as bytes', () => {
    expect(configOfFile('logfile caf\xc3\xa9.log\n').text('logfile')).toBe('caf\xc3\xa9.log')
  })

  test('that cannot be read is named', () => {
    expect(failureOf(() => configOf({ argv: ['none.conf'], cwd: '/nowhere' })).message).toBe(
      'command line: none.conf: cannot read the file: ENOENT. Give the path of a readable configuration file.',
    )
  })
})

describe('include', () => {
  test('puts a file in the place of its line, so that later lines win', () => {
    const cwd = folderWith({
      'main.conf': 'timeout 1\ninclude other.conf\nport 2\n',
      'other.conf': 'timeout 3\nport 3\n',
    })
    const config = configOf({ argv: ['main.conf'], cwd })
    expect(config.get(['timeout', 'port'])).toEqual([
      ['timeout', '3'],
      ['port', '2'],
    ])
    expect(config.source('timeout').where).toBe('other.conf:1')
  })

  test('is relative to where the server was started, not to the file', () => {
    const cwd = folderWith({ 'other.conf': 'timeout 4\n' })
    mkdirSync(join(cwd, 'etc'))
    writeFileSync(join(cwd, 'etc/main.conf'), 'include other.conf\n')
    expect(configOf({ argv: ['etc/main.conf'], cwd }).seconds('timeout')).toBe(4)
  })

  test('takes a glob: files in order of their names, no hidden ones, maybe none', () => {
    const cwd = folderWith({
      'b.inc': 'timeout 2',
      'a.inc': 'timeout 1',
      '.c.inc': 'timeout 3',
      'd.txt': 'timeout 4',
    })
    writeFileSync(join(cwd, 'main.conf'), 'include *.inc\ninclude none/*.inc\n')
    const statements = readConfigFile('main.conf', cwd)
    expect(statements.map(({ words, where }) => [where, words[0]])).toEqual([
      ['a.inc:1', '1'],
      ['b.inc:1', '2'],
    ])
    const rooted = folderWith({ 'main.conf': `include ${cwd}/?.inc\n` })
    expect(configOf({ argv: ['main.conf'], cwd: rooted }).seconds('timeout')).toBe(2)
  })

  test('of a missing file, or in a circle, names the line that includes', () => {
    expect(failureOf(() => configOfFile('port 1\ninclude none.conf\n')).message).toBe(
      'respcast.conf:2: include none.conf: cannot read the file: ENOENT. Give the path of a readable file, relative to where the server was started.',
    )
    const error = failureOf(() => configOfFile('include respcast.conf\n'))
    expect([error.where, error.reason]).toEqual(['respcast.conf:1', 'the file includes itself'])
  })
})

describe('a line that cannot be used is answered with one line: place, line, reason, remedy', () => {
  test.each([
    [
      '\nport abc',
      "respcast.conf:2: port abc: argument couldn't be parsed into an integer. Give a whole number from 0 to 65535.",
    ],
    [
      'prot 5',
      "respcast.conf:1: prot ...: neither Redis, Valkey nor Respcast know a directive 'prot'. Did you mean 'port'?",
    ],
    [
      'colour red',
      "respcast.conf:1: colour ...: neither Redis, Valkey nor Respcast know a directive 'colour'. See docs/directives.md.",
    ],
    [
      'timeout',
      'respcast.conf:1: timeout: wrong number of arguments. Give a whole number from 0 to 2147483647.',
    ],
    [
      'port 5 # five',
      'respcast.conf:1: port 5 # five: wrong number of arguments. A comment needs a line of its own.',
    ],
    [
      'logfile a b',
      'respcast.conf:1: logfile a b: wrong number of arguments. Put a value that holds spaces in quotes.',
    ],
    [
      'appendonly 1',
      "respcast.conf:1: appendonly 1: argument must be 'yes' or 'no'. Write yes or no.",
    ],
    [
      'maxmemory 1.5gb',
      'respcast.conf:1: maxmemory 1.5gb: argument must be a memory value. Give bytes, or a number with kb, mb or gb.',
    ],
    [
      'appendfsync never',
      'respcast.conf:1: appendfsync never: argument(s) must be one of the following: everysec, always, no. Write one of everysec, always, no.',
    ],
    [
      'client-output-buffer-limit normal 1',
      'respcast.conf:1: client-output-buffer-limit normal 1: Wrong number of arguments in buffer limit configuration. Give a class (normal, replica, pubsub, websocket), a hard limit, a soft limit and seconds.',
    ],
    [
      'rename-command a',
      'respcast.conf:1: rename-command a: wrong number of arguments. See docs/directives.md.',
    ],
    [
      'port \x1b[31m\0',
      "respcast.conf:1: port \\x1b[31m\\x00: argument couldn't be parsed into an integer. Give a whole number from 0 to 65535.",
    ],
    [
      'port "6',
      'respcast.conf:1: port ...: unbalanced quotes in configuration line. Close each quote; a space or the end of the line must follow it.',
    ],
  ])('%j', (text, message) => {
    const error = failureOf(() => configOfFile(text))
    expect(error.message).toBe(message)
    expect(error.code).toBe('ERR_CONFIG')
  })

  test.each([
    'requirepass hunter2 x',
    'requirepas hunter2',
    'requirepass "hunter2',
    'jwt-secret hunter2 x',
    'issuer acme secret hunter2 x',
    'user alice on >hunter2\nuser alice on >hunter2',
  ])('%j: a secret is not repeated', (text) => {
    expect(failureOf(() => configOfFile(text)).message).not.toContain('hunter2')
  })
})
