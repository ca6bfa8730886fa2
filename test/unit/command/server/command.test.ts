import { describe, expect, test } from 'vitest'
import { ALL_COMMANDS } from '../../../../server/command/commands.ts'
import { TestCore } from '../../../support/test-core.ts'

test('COMMAND COUNT counts commands without their subcommands, as COMMAND lists them', () => {
  const client = new TestCore().connect()
  const topLevel = ALL_COMMANDS.filter(({ name }) => !name.includes('|')).length
  expect(client.send('COMMAND', 'COUNT')).toBe(`:${topLevel}\r\n`)
  expect(client.send('COMMAND').slice(0, 6)).toBe(`*${topLevel}\r\n*`)
})

test('COMMAND GETKEYSANDFLAGS answers each key with what is done with it', () => {
  const client = new TestCore().connect({ protocol: 3 })
  const ask = (...args: string[]): string => client.send('COMMAND', 'GETKEYSANDFLAGS', ...args)
  expect(ask('WATCH', 'a', 'b')).toBe(
    '*2\r\n*2\r\n$1\r\na\r\n~1\r\n+RO\r\n*2\r\n$1\r\nb\r\n~1\r\n+RO\r\n',
  )
  expect(ask('MEMORY', 'USAGE', 'k')).toBe('*1\r\n*2\r\n$1\r\nk\r\n~1\r\n+RO\r\n')
  expect(ask('SPUBLISH', 'a', 'b')).toBe('-ERR The command has no key arguments\r\n')
  expect(ask('NOTHING')).toBe('-ERR Invalid command specified\r\n')
  expect(ask('WATCH')).toBe('-ERR Invalid number of arguments specified for command\r\n')
})

test('COMMAND INFO and COMMAND DOCS know no name of two levels that is none, and none of three', () => {
  const client = new TestCore().connect()
  const names = ['client|nothing', 'publish|x', 'client|id|x', '|', 'nothing']
  expect(client.send('COMMAND', 'INFO', ...names)).toBe(`*5\r\n${'$-1\r\n'.repeat(5)}`)
  expect(client.send('COMMAND', 'DOCS', ...names)).toBe('*0\r\n')
})

describe('COMMAND DOCS', () => {
  const docs = (name: string, protocol: 2 | 3 = 3): string =>
    new TestCore().connect({ protocol }).send('COMMAND', 'DOCS', name)

  test('describes arguments as nested maps', () => {
    expect(docs('client|pause')).toContain(
      '$9\r\narguments\r\n*2\r\n' +
        '%3\r\n$4\r\nname\r\n$7\r\ntimeout\r\n$4\r\ntype\r\n$7\r\ninteger\r\n$12\r\ndisplay_text\r\n$7\r\ntimeout\r\n' +
        '%5\r\n$4\r\nname\r\n$4\r\nmode\r\n$4\r\ntype\r\n$5\r\noneof\r\n$5\r\nsince\r\n$5\r\n6.2.0\r\n' +
        '$5\r\nflags\r\n~1\r\n+optional\r\n$9\r\narguments\r\n*2\r\n' +
        '%4\r\n$4\r\nname\r\n$5\r\nwrite\r\n$4\r\ntype\r\n$10\r\npure-token\r\n$12\r\ndisplay_text\r\n$5\r\nwrite\r\n$5\r\ntoken\r\n$5\r\nWRITE\r\n',
    )
    expect(docs('watch')).toContain(
      '$4\r\ntype\r\n$3\r\nkey\r\n$12\r\ndisplay_text\r\n$3\r\nkey\r\n$14\r\nkey_spec_index\r\n:0\r\n',
    )
    expect(docs('echo', 2)).toContain(
      '$9\r\narguments\r\n*1\r\n*6\r\n$4\r\nname\r\n$7\r\nmessage\r\n',
    )
  })

  test('tells of a deprecated command since when, and what replaces it', () => {
    expect(docs('quit')).toContain(
      '$9\r\ndoc_flags\r\n~1\r\n+deprecated\r\n$16\r\ndeprecated_since\r\n$5\r\n7.2.0\r\n' +
        '$11\r\nreplaced_by\r\n$27\r\njust closing the connection\r\n',
    )
    expect(docs('debug')).toContain('$9\r\ndoc_flags\r\n~1\r\n+syscmd\r\n')
  })

  test('tells what changed, and when', () => {
    expect(docs('auth')).toContain('$7\r\nhistory\r\n~1\r\n*2\r\n$5\r\n6.0.0\r\n')
  })
})

test('a command that takes arguments says in COMMAND DOCS which', () => {
  const silent = ALL_COMMANDS.filter(
    (spec) =>
      spec.syntax !== undefined &&
      spec.arguments === undefined &&
      // Of these the subcommands say it, or nobody may use them.
      !ALL_COMMANDS.some(({ name }) => name.startsWith(`${spec.name}|`)) &&
      spec.forbidden === undefined,
  )
  expect(silent.map(({ name }) => name)).toEqual([])
})
