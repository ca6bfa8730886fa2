import { describe, expect, test } from 'vitest'
import { RevocationTable } from '../../../../server/token/revoke/table.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { tokenFor } from '../../../support/tokens.ts'
import { revocationOrder } from '../../../support/tokens.ts'
import { login, revocable } from './support.ts'

describe('A record in force', () => {
  test('ends when the tokens that it names have ended, and not before', async () => {
    const { server, token } = revocable()
    await token('REVOKE JTI t1')
    server.clock.advance(86_404_000)
    expect(server.tokens.revocations.size).toBe(1)
    server.clock.advance(2_000)
    expect(server.tokens.revocations.size).toBe(0)
    expect(server.clock.pendingTimers).toBe(0)
  })

  test('is not ended by a wall clock that steps forwards and back', async () => {
    const { server, token } = revocable()
    await token('REVOKE JTI t1')
    server.clock.stepWall(100_000_000)
    server.clock.advance(5_000)
    server.clock.stepWall(-100_000_000)
    expect(await login(server.connect(), tokenFor({}, { jti: 't1' }))).toBe(
      '-WRONGPASS token revoked\r\n',
    )
  })

  test('of a key persists by default', async () => {
    const { server, token } = revocable()
    await token('REVOKE KID k1')
    server.clock.advance(10 * 86_400_000)
    expect(server.tokens.revocations.size).toBe(1)
  })
})

describe('The time until a new token can be good', () => {
  const retryAfterMs = (beforeMs: number | undefined, nowMs: number, hard = false) => {
    const table = new RevocationTable({ clock: new FakeClock(nowMs) })
    const order = revocationOrder({ beforeMs, hard })
    return table.retryAfterMs(table.add(order, 'admin', 0))
  }

  test('lies past BEFORE, in whole seconds', () => {
    expect(retryAfterMs(10_000, 9_500)).toBe(1_500)
    expect(retryAfterMs(10_999, 9_500)).toBe(1_500)
    expect(retryAfterMs(10_000, 20_000)).toBe(0)
  })

  test('does not exist where waiting does not help', () => {
    expect(retryAfterMs(undefined, 0)).toBeUndefined()
    expect(retryAfterMs(5, 0, true)).toBeUndefined()
  })
})
