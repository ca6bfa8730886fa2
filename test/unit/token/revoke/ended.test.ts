import { describe, expect, test } from 'vitest'
import { EndedRevocations, MOST_ENDED } from '../../../../server/token/revoke/ended.ts'
import type { Revocation } from '../../../../server/token/revoke/revocation.ts'
import { revocationOrder } from '../../../support/tokens.ts'

function record(id: number, changes: Partial<Revocation> = {}): Revocation {
  const order = revocationOrder({ target: `s${id}`, beforeMs: id, expiresAtMs: id + 10 })
  return { ...order, id, by: 'ops', atMs: id, hit: 1, ...changes }
}

describe('Ended revocations', () => {
  test('are taken out where they are in force again', () => {
    const ended = new EndedRevocations(() => 100)
    for (const id of [1, 2, 3]) ended.add(record(id))
    expect(ended.take(({ id }) => id > 1).map(({ id }) => id)).toEqual([2, 3])
    expect([...ended.list()].map(({ id }) => id)).toEqual([1])
  })

  test('can be lifted', () => {
    const ended = new EndedRevocations(() => 100)
    ended.add(record(1))
    expect(ended.delete(1)?.target).toBe('s1')
    expect(ended.delete(1)).toBeUndefined()
    expect(ended.size).toBe(0)
  })

  test('are none of channels, which name no token', () => {
    const ended = new EndedRevocations(() => 100)
    ended.add(record(1, { kind: 'channel' }))
    expect(ended.size).toBe(0)
  })

  test('beyond the most are put together, each issuer for itself, and none is forgotten', () => {
    let nextId = MOST_ENDED + 2
    const ended = new EndedRevocations(() => nextId++)
    for (let id = 1; id <= MOST_ENDED + 1; id++) {
      ended.add(record(id, { issuer: id % 2 === 0 ? 'partner' : undefined }))
    }
    const half = MOST_ENDED / 2
    expect(ended.size).toBe(half + 1 + 2)
    expect([...ended.list()].slice(-2)).toMatchObject([
      { id: MOST_ENDED + 2, kind: 'all', target: '', beforeMs: half - 1, hit: half / 2 },
      { id: MOST_ENDED + 3, kind: 'issuer', target: 'partner', beforeMs: half, hit: half / 2 },
    ])
  })
})
