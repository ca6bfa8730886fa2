import { describe, expect, test } from 'vitest'
import { tokenFor } from '../../../support/tokens.ts'
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
