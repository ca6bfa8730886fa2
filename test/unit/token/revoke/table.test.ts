import { describe, expect, test } from 'vitest'
import { RevocationTable } from '../../../../server/token/revoke/table.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import type { TestCore } from '../../../support/test-core.ts'
import { NOW, revocationOrder, tokenFor } from '../../../support/tokens.ts'
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

describe('A longer jwt-max-lifetime', () => {
  const LONG = { exp: NOW + 50_000 }
  const REVOKED = '-WRONGPASS token revoked\r\n'
  const enter = async (server: TestCore, text: string): Promise<string | undefined> =>
    (await login(server.connect(), text)).split('\r\n')[0]
  const short = (): ReturnType<typeof revocable> => revocable({ 'jwt-max-lifetime': '60' })

  test.each([
    ['JTI t1', { jti: 't1' }],
    ['SUB 42', {}],
    ['SUB 42 TTL 70', {}],
    ['SUB 42 HARD TTL 70', {}],
    ['GROUP g', { respcast: { group: 'g' } }],
    ['ROLE r', { respcast: { roles: ['r'] } }],
    ['ISSUER default', {}],
    ['ALL', {}],
  ])('does not bring tokens back whose record has ended: %s', async (line, claims) => {
    const { server, token } = short()
    const long = tokenFor({}, { ...LONG, ...claims })
    expect(await enter(server, long)).toBe('-WRONGPASS invalid token')
    await token(`REVOKE ${line}`)
    server.clock.advance(3_600_000)
    expect(server.tokens.revocations.size).toBe(0)
    server.set('jwt-max-lifetime', '86400')
    expect(await login(server.connect(), long)).toBe(REVOKED)
    expect(server.tokens.revocations.size).toBe(1)
    const later = { iat: NOW + 3_600, exp: NOW + 7_200 }
    expect(await enter(server, tokenFor({}, { ...claims, ...later }))).toBe('+OK')
  })

  test('spares tokens that no revocation names', async () => {
    const { server, token } = short()
    await token('REVOKE SUB 42')
    server.clock.advance(3_600_000)
    server.set('jwt-max-lifetime', '86400')
    expect(await enter(server, tokenFor({}, { ...LONG, sub: '43' }))).toBe('+OK')
  })

  test('puts off the end of a record in force, and a shorter one brings it back', async () => {
    const { server, token } = short()
    await token('REVOKE SUB 42')
    const ends = async (): Promise<number> =>
      Number(/expires\r\n:(\d+)/.exec(await token('REVOCATIONS'))?.[1]) / 1000 - NOW
    expect(await ends()).toBe(65)
    server.set('jwt-max-lifetime', '3600')
    expect(await ends()).toBe(3_605)
    server.set('jwt-max-lifetime', '600')
    expect(await ends()).toBe(605)
    server.clock.advance(604_000)
    expect(server.tokens.revocations.size).toBe(1)
    server.clock.advance(2_000)
    expect(server.tokens.revocations.size).toBe(0)
    expect(server.clock.pendingTimers).toBe(0)
  })

  test('of one issuer concerns the records that name its tokens', async () => {
    let partnerSeconds = 60
    const clock = new FakeClock(NOW * 1000)
    const table = new RevocationTable({
      clock,
      terms: () => [
        { alias: undefined, leewaySeconds: 5, maxLifetimeSeconds: 60 },
        { alias: 'partner', leewaySeconds: 5, maxLifetimeSeconds: partnerSeconds },
      ],
    })
    const times = { beforeMs: NOW * 1000, expiresAtMs: (NOW + 60) * 1000 }
    for (const changes of [
      { target: 'all' },
      { target: 'mine', issuer: 'default' },
      { target: 'theirs', issuer: 'partner' },
      { kind: 'issuer', target: 'partner' },
    ] as const) {
      table.add(revocationOrder({ ...times, ...changes }), 'admin', 0)
    }
    clock.advance(3_600_000)
    expect(table.size).toBe(0)
    partnerSeconds = 86_400
    table.followTerms()
    expect([...table.list()].map(({ target }) => target)).toEqual(['all', 'theirs', 'partner'])
  })
})

describe('A token without iat', () => {
  const NO_IAT = { iat: undefined }

  test('does not outlive the record that names it, though it is valid only later', async () => {
    const { server, token } = revocable({ 'jwt-max-lifetime': '60' })
    const late = tokenFor({}, { ...NO_IAT, exp: NOW + 3_630 })
    await token('REVOKE SUB 42')
    server.clock.advance(3_600_000)
    expect(server.tokens.revocations.size).toBe(0)
    expect(await login(server.connect(), late)).toBe('-WRONGPASS token revoked\r\n')
    const other = tokenFor({}, { ...NO_IAT, sub: '43', exp: NOW + 3_630 })
    expect(await login(server.connect(), other)).toContain('+OK')
    const dated = tokenFor({}, { iat: NOW + 3_600, exp: NOW + 3_630 })
    expect(await login(server.connect(), dated)).toContain('+OK')
    expect(await token('UNREVOKE 1')).toBe('+OK\r\n')
    expect(await login(server.connect(), late)).toContain('+OK')
  })

  test('is let in again when a TTL ends that was given regardless of iat', async () => {
    const { server, token } = revocable({ 'jwt-max-lifetime': '60' })
    await token('REVOKE SUB 42 HARD TTL 70')
    server.clock.advance(3_600_000)
    const late = tokenFor({}, { ...NO_IAT, exp: NOW + 3_630 })
    expect(await login(server.connect(), late)).toContain('+OK')
  })
})
