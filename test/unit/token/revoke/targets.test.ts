import { describe, expect, test } from 'vitest'
import { SessionIndex } from '../../../../server/token/revoke/targets.ts'
import type { TestClient } from '../../../support/test-core.ts'
import { revocable } from './support.ts'

const ALL = { channels: ['*', 'room:*', 'r*', 'hall:[ab]'] }

/** A server, and which of some sessions an order would hit there. */
function finder() {
  const parts = revocable()
  const { revocation } = parts.server.tokens
  const hit = (line: string, sessions: Readonly<Record<string, TestClient>>): string[] => {
    const read = revocation.read(line.split(' '))
    if ('error' in read) throw new Error(read.error)
    const targets = revocation.targets(read.order)
    expect(new Set(targets).size).toBe(targets.length)
    const names = Object.keys(sessions).filter((name) => {
      const client = sessions[name]?.client
      return client !== undefined && targets.includes(client)
    })
    expect(targets).toHaveLength(names.length)
    return names
  }
  return { ...parts, hit }
}

describe('The targets of an order that names tokens', () => {
  test('are found by name, whatever their `iat`, of the issuer in FROM', async () => {
    const { session, hit } = finder()
    const sessions = {
      one: await session({}, { sub: '42' }),
      two: await session({}, { sub: '42' }),
      other: await session({}, { sub: '43' }),
    }
    expect(hit('SUB 42', sessions)).toEqual(['one', 'two'])
    expect(hit('SUB 42 BEFORE 1600000000000', sessions)).toEqual(['one', 'two'])
    expect(hit('SUB 42 FROM default', sessions)).toEqual(['one', 'two'])
    expect(hit('SUB 44', sessions)).toEqual([])
    expect(hit('ALL', sessions)).toEqual(['one', 'two', 'other'])
  })
})

describe('The targets of an order for a channel', () => {
  async function subscribed() {
    const parts = finder()
    const sessions = {
      exact: await parts.session(ALL, { sub: '1' }),
      shard: await parts.session(ALL, { sub: '2' }),
      pattern: await parts.session(ALL, { sub: '3' }),
      class: await parts.session(ALL, { sub: '4' }),
      twice: await parts.session(ALL, { sub: '5' }),
      idle: await parts.session(ALL, { sub: '6' }),
    }
    sessions.exact.send('SUBSCRIBE', 'room:7')
    sessions.shard.send('SSUBSCRIBE', 'room:7')
    sessions.pattern.send('PSUBSCRIBE', 'room:*')
    sessions.class.send('PSUBSCRIBE', 'hall:[ab]')
    sessions.twice.send('SUBSCRIBE', 'room:7', 'room:8')
    sessions.twice.send('PSUBSCRIBE', 'r*')
    const backend = parts.server.connect({ protocol: 3 })
    backend.send('SUBSCRIBE', 'room:7')
    return { ...parts, sessions }
  }

  test.each([
    ['CHANNEL room:7 PERSIST', ['exact', 'shard', 'pattern', 'twice']],
    ['CHANNEL room:8 PERSIST', ['pattern', 'twice']],
    ['CHANNEL *:7 PERSIST', ['exact', 'shard', 'pattern', 'class', 'twice']],
    ['CHANNEL hall:a PERSIST', ['class']],
    ['CHANNEL * PERSIST', ['exact', 'shard', 'pattern', 'class', 'twice']],
    ['CHANNEL room:7 ONLY PUBLISH PERSIST', []],
    ['CHANNEL room:7 FOR SUB 1 PERSIST', ['exact']],
    ['CHANNEL room:7 FOR SUB 3 PERSIST', ['pattern']],
    ['CHANNEL room:7 FOR SUB 6 PERSIST', []],
    ['CHANNEL room:8 FOR SUB 1 PERSIST', []],
  ])('%s: %j', async (line, expected) => {
    const { hit, sessions } = await subscribed()
    expect(hit(line, sessions)).toEqual(expected)
  })
})

test('The index forgets sessions that are deleted', async () => {
  const { server, session } = finder()
  const [one, two] = [(await session()).client, (await session()).client]
  const [first, second] = [server.tokens.grantOf(one), server.tokens.grantOf(two)]
  if (!first || !second) throw new Error('no session')
  const index = new SessionIndex()
  index.add(one, first)
  index.add(two, second)
  index.add(two, second)
  expect([...index.find('sub', '42')]).toEqual([one, two])
  index.delete(one, first)
  expect([...index.find('sub', '42')]).toEqual([two])
  expect([...index.find('issuer', 'default')]).toEqual([two])
  index.delete(two, second)
  expect([...index.find('sub', '42')]).toEqual([])
})
