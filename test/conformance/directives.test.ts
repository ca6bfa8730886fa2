import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openOracle } from '../support/oracle.ts'
import type { Control } from '../support/oracle-session.ts'
import { parseReply, stringsOf } from '../support/transcript-values.ts'
import { Pair } from './differential.ts'
import { applyRules } from './rules.ts'
import { DEFAULT_DIFFERENCES, SET_DIFFERENCES, SET_TEXTS } from './rules-tables.ts'

const oracle = await openOracle()

async function allDirectives(control: Control): Promise<Map<string, string>> {
  const words = stringsOf(parseReply(await control.ask('CONFIG', 'GET', '*')))
  const directives = new Map<string, string>()
  for (let i = 0; i < words.length; i += 2) directives.set(words[i] ?? '', words[i + 1] ?? '')
  return directives
}

describe.skipIf(oracle === undefined)('directives that both have', () => {
  let pair: Pair

  beforeAll(async () => {
    if (oracle) pair = await Pair.open(oracle)
  })

  afterAll(async () => {
    await pair.close()
  })

  test('have the same defaults', async () => {
    const theirs = await allDirectives(pair.oracleControl)
    const ours = await allDirectives(pair.control)
    const different: Record<string, { oracle: string; respcast: string }> = {}
    let compared = 0
    for (const [name, value] of ours) {
      const expected = theirs.get(name)
      if (expected === undefined || DEFAULT_DIFFERENCES.has(name)) continue
      compared++
      if (expected !== value) different[name] = { oracle: expected, respcast: value }
    }
    expect(different).toEqual({})
    expect(compared).toBeGreaterThan(100)
  })

  test('refuse a bad value with the same text', async () => {
    const theirs = await allDirectives(pair.oracleControl)
    const ours = await allDirectives(pair.control)
    const different: Record<string, { oracle: string; respcast: string }> = {}
    let compared = 0
    for (const name of ours.keys()) {
      if (!theirs.has(name) || SET_DIFFERENCES.has(name)) continue
      for (const value of ['nonsense', '-99999999999999999999']) {
        const answers = await pair.ask('CONFIG', 'SET', name, value)
        compared++
        if (answers.oracle !== answers.respcast) different[`${name} ${value}`] = answers
      }
      for (const control of [pair.oracleControl, pair.control]) {
        const before = control === pair.control ? ours.get(name) : theirs.get(name)
        await control.ask('CONFIG', 'SET', name, before ?? '')
      }
    }
    expect(different).toEqual({})
    expect(compared).toBeGreaterThan(100)
  })

  for (const [first = '', ...others] of SET_TEXTS) {
    test(`CONFIG SET ${[first, ...others].join(' ')}`, async () => {
      const answers = await pair.ask('CONFIG', 'SET', first, ...others)
      expect(answers.respcast).toBe(answers.oracle)
      const values = await pair.ask('CONFIG', 'GET', first)
      expect(values.respcast).toBe(applyRules(pair.oracle.identity, values.oracle))
    })
  }
})
