import { expect, test } from 'vitest'
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
