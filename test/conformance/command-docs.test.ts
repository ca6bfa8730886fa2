import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ALL_COMMANDS } from '../../server/command/commands.ts'
import { openOracle } from '../support/oracle.ts'
import { parseReply, type ReplyValue } from '../support/transcript-values.ts'
import { Pair } from './differential.ts'
import { DOCS_DIFFERENCES, OWN_COMMANDS } from './rules-tables.ts'

const oracle = await openOracle()

/** The fields of COMMAND DOCS for one command, in their order. */
function docsOf(reply: string): Map<string, ReplyValue> | undefined {
  const [, fields] = parseReply(reply) as readonly ReplyValue[]
  if (!Array.isArray(fields)) return undefined
  const docs = new Map<string, ReplyValue>()
  for (let i = 0; i < fields.length; i += 2) docs.set(String(fields[i]), fields[i + 1] ?? null)
  return docs
}

/** What both should say alike: texts are Respcast's own, and subcommands have tests of their own. */
function comparable(name: string, docs: ReadonlyMap<string, ReplyValue>): [string, ReplyValue][] {
  const differing = DOCS_DIFFERENCES.get(name)?.fields ?? []
  return [...docs].flatMap(([field, value]): [string, ReplyValue][] => {
    if (['summary', 'complexity', 'subcommands', ...differing].includes(field)) return []
    if (field !== 'history' || !Array.isArray(value)) return [[field, value]]
    return [[field, value.map((change: readonly ReplyValue[]) => change[0] ?? null)]]
  })
}

describe.skipIf(oracle === undefined)('COMMAND DOCS tells of a command what Redis tells', () => {
  let pair: Pair

  beforeAll(async () => {
    if (oracle) pair = await Pair.open(oracle)
  })

  afterAll(async () => {
    await pair.close()
  })

  for (const { name } of ALL_COMMANDS) {
    if (OWN_COMMANDS.includes(name.split('|')[0] ?? '')) continue
    test(name, async () => {
      const answers = await pair.ask('COMMAND', 'DOCS', name)
      const [theirs, ours] = [docsOf(answers.oracle), docsOf(answers.respcast)]
      if (!theirs || !ours) throw new Error('a command that one of them does not know')
      expect(comparable(name, ours)).toEqual(comparable(name, theirs))
    })
  }
})
