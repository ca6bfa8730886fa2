import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ALL_COMMANDS } from '../../server/command/commands.ts'
import { openOracle } from '../support/oracle.ts'
import { parseReply, stringsOf, type ReplyValue } from '../support/transcript-values.ts'
import { Pair } from './differential.ts'
import { FLAG_DIFFERENCES, OWN_COMMANDS } from './rules-tables.ts'

const oracle = await openOracle()

/** The reply of COMMAND INFO for one command, its unordered parts sorted. */
interface CommandInfo {
  readonly name: string
  readonly arity: ReplyValue
  readonly flags: readonly string[]
  readonly keys: readonly ReplyValue[]
  readonly categories: readonly string[]
  readonly tips: readonly string[]
  readonly keySpecs: string
}

function commandInfo(reply: string): CommandInfo | undefined {
  const value = parseReply(reply)
  const [info] = Array.isArray(value) ? (value as readonly ReplyValue[]) : []
  if (!Array.isArray(info)) return undefined
  const [name, arity, flags, first, last, step, categories, tips, keySpecs] =
    info as readonly ReplyValue[]
  return {
    name: String(name),
    arity: arity ?? null,
    flags: stringsOf(flags ?? []).toSorted(),
    keys: [first ?? null, last ?? null, step ?? null],
    categories: stringsOf(categories ?? []).toSorted(),
    tips: stringsOf(tips ?? []),
    keySpecs: JSON.stringify(keySpecs),
  }
}

const NAMES = ALL_COMMANDS.map(({ name }) => name)

describe.skipIf(oracle === undefined)('COMMAND INFO tells of a command what Redis tells', () => {
  let pair: Pair

  beforeAll(async () => {
    if (oracle) pair = await Pair.open(oracle)
  })

  afterAll(async () => {
    await pair.close()
  })

  for (const name of NAMES) {
    test(name, async () => {
      const answers = await pair.ask('COMMAND', 'INFO', name)
      const theirs = commandInfo(answers.oracle)
      const ours = commandInfo(answers.respcast)
      expect(ours?.name).toBe(name)
      if (theirs === undefined) {
        expect(OWN_COMMANDS, 'a command that the oracle does not know').toContain(
          name.split('|')[0] ?? '',
        )
        return
      }
      const dropped = FLAG_DIFFERENCES.filter(
        ({ commands, holds }) => commands.includes(name) && holds(pair.oracle.identity),
      ).map(({ flag }) => flag)
      const flags = theirs.flags.filter((flag) => !dropped.includes(flag))
      expect(ours).toEqual({ ...theirs, flags })
    })
  }
})
