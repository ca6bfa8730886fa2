import { describe, expect, test } from 'vitest'
import { CommandTable } from '../../../server/command/table.ts'
import { ALL_COMMANDS } from '../../../server/command/commands.ts'
import { parseReply, stringsOf } from '../../support/transcript-values.ts'
import { TestCore } from '../../support/test-core.ts'

const containers = [...new CommandTable(ALL_COMMANDS).commands()].filter(
  ({ subcommands }) => subcommands.size > 0,
)

describe('HELP says what the specs say:', () => {
  test.each(containers.map(({ spec, subcommands }) => [spec.name, subcommands] as const))(
    '%s',
    (name, subcommands) => {
      const client = new TestCore({ 'cluster-enabled': 'yes' }).connect()
      const lines = stringsOf(parseReply(client.send(name, 'HELP')))
      expect(lines[0]).toBe(
        `${name.toUpperCase()} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:`,
      )
      expect(lines.slice(-2)).toEqual(['HELP', '    Print this help.'])
      for (const [word, { spec }] of subcommands) {
        const { help = [spec.summary], syntax = '' } = spec
        if (help.length === 0) {
          expect(lines.slice(0, -2).filter((line) => line.startsWith(word.toUpperCase()))).toEqual(
            [],
          )
          continue
        }
        const forms = typeof syntax === 'string' ? [[syntax, ...help]] : syntax
        for (const [usage, ...about] of forms) {
          const at = lines.indexOf(`${word.toUpperCase()} ${usage}`.trimEnd())
          expect([word, at > 0]).toEqual([word, true])
          expect(lines.slice(at + 1, at + 1 + about.length)).toEqual(
            about.map((line) => `    ${line}`),
          )
        }
      }
    },
  )

  test('and is headed by the name as it was typed', () => {
    const client = new TestCore().connect()
    expect(client.send('pubSub', 'help')).toMatch(/^\*\d+\r\n\+PUBSUB <subcommand>/)
  })
})
