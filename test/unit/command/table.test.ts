import { describe, expect, test } from 'vitest'
import { ALL_COMMANDS } from '../../../server/command/commands.ts'
import type { CommandSpec } from '../../../server/command/spec.ts'
import { CommandTable } from '../../../server/command/table.ts'
import { DIRECTIVES } from '../../../server/config/directives.ts'
import { ArgumentList } from '../../../server/resp/request.ts'

const spec = (name: string, arity = 1): CommandSpec => ({
  name,
  arity,
  flags: [],
  categories: [],
  group: 'server',
  since: '1.0.0',
  summary: '',
  handler: () => {},
})

const find = (table: CommandTable, ...args: string[]): string | undefined =>
  table.find(ArgumentList.of(...args))?.spec.name

describe('The command table', () => {
  const table = new CommandTable([spec('ping'), spec('client', -2), spec('client|id', 2)])

  test('finds commands in any case, by their second word too', () => {
    expect(find(table, 'PiNg')).toBe('ping')
    expect(find(table, 'CLIENT', 'Id')).toBe('client|id')
    expect(find(table, 'ping', 'id')).toBe('ping')
  })

  test('answers a container that stands alone with itself', () => {
    expect(find(table, 'client')).toBe('client')
    expect(find(table, 'client', 'x')).toBeUndefined()
  })

  test('knows no full name on the wire, and names of no length', () => {
    expect(find(table, 'client|id')).toBeUndefined()
    expect(find(table, '')).toBeUndefined()
    expect(find(table, 'ping'.repeat(1_000))).toBeUndefined()
    expect(find(table, 'client', 'id'.repeat(1_000))).toBeUndefined()
    expect(find(table, '__proto__')).toBeUndefined()
  })

  test('knows commands by their full name', () => {
    expect(table.named('CLIENT|ID')?.spec.name).toBe('client|id')
    expect(table.named('client')?.spec.name).toBe('client')
    expect(table.named('ping|id')).toBeUndefined()
    expect(table.named('nothing')).toBeUndefined()
  })

  test('tells a container from other words', () => {
    const names = (...args: string[]): boolean => table.namesContainer(ArgumentList.of(...args))
    expect([names('Client', 'x'), names('ping', 'x'), names('client|id'), names('x')]).toEqual([
      true,
      false,
      false,
      false,
    ])
  })

  test('lists containers before their subcommands', () => {
    expect([...table.all()].map((one) => one.spec.name)).toEqual(['ping', 'client', 'client|id'])
    expect([...table.commands()].map((one) => one.spec.name)).toEqual(['ping', 'client'])
    expect(table.size).toBe(2)
  })

  test('takes no name twice, and no subcommand before its container', () => {
    expect(() => new CommandTable([spec('a'), spec('a')])).toThrow("Command 'a'")
    expect(() => new CommandTable([spec('a|b'), spec('a')])).toThrow("Subcommand 'a|b'")
  })

  test('goes on finding names after more spellings than it remembers', () => {
    for (let i = 0; i < 16; i++) {
      for (const word of ['ping', 'client']) {
        const spelling = Array.from(word, (char, at) =>
          (i >> (at % 4)) & 1 ? char.toUpperCase() : char,
        )
        expect(find(table, spelling.join(''))).toBe(word)
      }
    }
  })

  test('renames commands, and takes them away', () => {
    const renamed = new CommandTable(
      [spec('ping'), spec('echo'), spec('client', -2), spec('client|id', 2)],
      [
        ['PING', 'Pong'],
        ['echo', ''],
        ['client', 'peer'],
        ['nothing', 'x'],
      ],
    )
    expect(find(renamed, 'pong')).toBe('ping')
    expect(find(renamed, 'ping')).toBeUndefined()
    expect(find(renamed, 'echo')).toBeUndefined()
    expect(find(renamed, 'peer', 'id')).toBe('client|id')
    expect(find(renamed, 'x')).toBeUndefined()
  })
})

describe('A number of arguments', () => {
  test('is exact, or at least so many where it is negative', () => {
    const table = new CommandTable([spec('two', 2), spec('more', -2)])
    const accepts = (name: string): boolean[] =>
      [1, 2, 3].map((n) => table.named(name)?.accepts(n) ?? false)
    expect(accepts('two')).toEqual([false, true, false])
    expect(accepts('more')).toEqual([false, true, true])
  })
})

describe('Every command of the server', () => {
  const table = new CommandTable(ALL_COMMANDS)

  test('has a handler, or is a container with subcommands', () => {
    for (const { spec: one, subcommands } of table.all()) {
      expect([one.name, one.handler !== undefined || subcommands.size > 0]).toEqual([
        one.name,
        true,
      ])
    }
  })

  test('has a sentence, a version and categories', () => {
    for (const { spec: one } of table.all()) {
      expect(one.summary).toMatch(/^[A-Z].*\.$/)
      expect(one.since).toMatch(/^\d+\.\d+\.\d+$/)
      expect([one.name, one.categories.length > 0]).toEqual([one.name, true])
      expect([one.name, one.categories.includes('fast')]).not.toEqual([
        one.name,
        one.categories.includes('slow'),
      ])
    }
  })

  test('that is flagged admin is dangerous to the ACL', () => {
    for (const { spec: one } of table.all()) {
      if (!one.flags.includes('admin')) continue
      expect([one.name, one.categories.includes('admin')]).toEqual([one.name, true])
    }
  })
})

describe('An argument is shown', () => {
  const table = new CommandTable(ALL_COMMANDS)

  /** The command as MONITOR and the slow log show it. */
  const shown = (...args: string[]): string => {
    const request = ArgumentList.of(...args)
    const command = table.find(request)
    return args.map((_arg, index) => command?.shown(request, index)).join(' ')
  }

  test('as it is, but for AUTH and the users of ACL, of which all is secret', () => {
    expect(shown('PING', 'x')).toBe('PING x')
    expect(shown('AUTH', 'pw')).toBe('AUTH (redacted)')
    expect(shown('AUTH', 'u', 'pw')).toBe('AUTH (redacted) (redacted)')
    expect(shown('ACL', 'SETUSER', 'u', '>pw', 'on')).toBe(
      'ACL SETUSER (redacted) (redacted) (redacted)',
    )
  })

  test('but for the two words after AUTH in HELLO', () => {
    expect(shown('HELLO', '3')).toBe('HELLO 3')
    expect(shown('HELLO', '3', 'SETNAME', 'n', 'auth', 'u', 'pw')).toBe(
      'HELLO 3 SETNAME n auth (redacted) (redacted)',
    )
    expect(shown('HELLO', '3', 'AUTH', 'u', 'pw', 'SETNAME', 'n')).toBe(
      'HELLO 3 AUTH (redacted) (redacted) SETNAME n',
    )
  })

  test('but for the values of directives that hold secrets', () => {
    expect(shown('CONFIG', 'SET', 'port', '1', 'RequirePass', 'pw', 'dir', 'x')).toBe(
      'CONFIG SET port 1 RequirePass (redacted) dir x',
    )
    expect(shown('CONFIG', 'SET', 'port', 'requirepass')).toBe('CONFIG SET port requirepass')
  })

  test('but for the value of each directive that its table calls secret', () => {
    for (const { name, aliases = [], sensitive, secret } of DIRECTIVES) {
      const value = (sensitive ?? secret ?? false) ? '(redacted)' : 'x'
      for (const each of [name, ...aliases]) {
        expect(shown('CONFIG', 'SET', each, 'x')).toBe(`CONFIG SET ${each} ${value}`)
      }
    }
  })
})
