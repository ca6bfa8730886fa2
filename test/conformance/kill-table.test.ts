import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openOracle } from '../support/oracle.ts'
import type { Session } from '../support/oracle-session.ts'
import { commandStep, splitWords } from '../support/transcript.ts'
import { Pair } from './differential.ts'
import { KILL_CASES, type KillCase } from './kill-table.ts'

const oracle = await openOracle()

async function outcome(session: Session, { before, subscribed, change }: KillCase, resp3: boolean) {
  const { control } = session
  await control.ask('ACL', 'SETUSER', 'u', 'reset', 'on', 'nopass', '+@all', ...splitWords(before))
  const hello = resp3 ? ['HELLO', '3', 'AUTH', 'u', 'x'] : ['AUTH', 'u', 'x']
  await session.run(commandStep('A', [hello]))
  if (subscribed !== '') await session.run(commandStep('A', [splitWords(subscribed)]))
  await control.ask('ACL', 'SETUSER', 'u', ...splitWords(change))
  const after = await session.run(commandStep('A', [['PING']]))
  const text = after.get('A') ?? ''
  expect(text === '' || text === '<EOF>' || !text.includes('unsubscribe'), text).toBe(true)
  const result = session.isClosed('A') ? 'dead' : 'alive'
  await session.end()
  return result
}

describe.skipIf(oracle === undefined)('losing channels closes those who use them', () => {
  let pair: Pair

  beforeAll(async () => {
    if (oracle) pair = await Pair.open(oracle)
  })

  afterAll(async () => {
    await pair.close()
  })

  for (const protocol of ['RESP2', 'RESP3']) {
    for (const row of KILL_CASES) {
      const { before, subscribed, change, result } = row
      const what = subscribed === '' ? 'nothing subscribed' : subscribed
      test(`${protocol}: ${before}, ${what}, then ${change}: ${result}`, async () => {
        const sessions = pair.sessions()
        const found = {
          oracle: await outcome(sessions.oracle, row, protocol === 'RESP3'),
          respcast: await outcome(sessions.respcast, row, protocol === 'RESP3'),
        }
        await pair.restore()
        expect(found).toEqual({ oracle: result, respcast: result })
      })
    }
  }
})
