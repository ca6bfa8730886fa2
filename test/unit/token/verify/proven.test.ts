import { describe, expect, test } from 'vitest'
import { createKeySet } from '../../../../server/token/verify/key-set.ts'
import type { VerificationKey } from '../../../../server/token/verify/keys.ts'
import { digestOf, ProvenTokens } from '../../../../server/token/verify/proven.ts'
import { verify } from '../../../../server/token/verify/verify.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import {
  noFetch,
  NOW,
  payload,
  testIssuer,
  token,
  type IssuerChanges,
} from '../../../support/tokens.ts'

/** Verifies tokens with the one key of an issuer, which is the same each time. */
async function verifier() {
  const clock = new FakeClock(NOW * 1000)
  const issuer = testIssuer()
  const keys = createKeySet(issuer, { clock, fetch: noFetch, listener: {} })
  const [key] = (await keys.candidates('HS256', undefined)) as [VerificationKey]
  const fault = async (text: string, changes: IssuerChanges = {}): Promise<string | undefined> => {
    const trusted = { issuer: testIssuer(changes), keys }
    const result = await verify(text, new Map([[issuer.iss, trusted]]), clock)
    return 'ok' in result ? undefined : result.refused.code
  }
  return { clock, keys, proven: key.proven, fault }
}

describe('A token whose signature was found good', () => {
  test('is remembered, and needs no second look at its signature', async () => {
    const { proven, fault, keys } = await verifier()
    const text = token()
    expect(await fault(text)).toBeUndefined()
    expect(proven.has(digestOf(text))).toBe(true)
    const [key] = await keys.candidates('HS256', undefined)
    Object.assign(key as VerificationKey, {
      for: () => Promise.reject(new Error('not to be asked for')),
    })
    expect(await fault(text)).toBeUndefined()
    expect(await fault(token(payload({ sub: 'other' })))).toBe('signature')
  })

  test('expires all the same', async () => {
    const { clock, fault } = await verifier()
    const text = token(payload({ exp: NOW + 10 }))
    expect(await fault(text)).toBeUndefined()
    clock.advance(10_000)
    expect(await fault(text)).toBe('expired')
  })

  test.each<[string, IssuerChanges, string]>([
    ['audience', { audience: ['elsewhere'] }, 'wrong-audience'],
    ['algorithms', { algorithms: ['HS512'] }, 'algorithm'],
    ['longest life', { maxLifetimeSeconds: 60 }, 'lifetime'],
    ['need of a kid', { requireKid: true }, 'no-kid'],
  ])('is judged by the %s that its issuer has now', async (_what, changes, code) => {
    const { fault } = await verifier()
    const text = token()
    expect(await fault(text)).toBeUndefined()
    expect(await fault(text, changes)).toBe(code)
  })

  test('is refused once its key is trusted no longer', async () => {
    const { fault, keys } = await verifier()
    const text = token()
    expect(await fault(text)).toBeUndefined()
    keys.holds = () => false
    expect(await fault(text)).toBe('key-removed')
    keys.candidates = () => Promise.resolve([])
    expect(await fault(text)).toBe('unknown-key')
  })

  test('does not vouch for another with the same signature, nor for a part of it', async () => {
    const { fault, proven } = await verifier()
    const text = token()
    expect(await fault(text)).toBeUndefined()
    const [header, , signature] = text.split('.')
    const [, forged] = token(payload({ sub: 'root' })).split('.')
    expect(await fault(`${header}.${forged}.${signature}`)).toBe('signature')
    expect(await fault(text.slice(0, -1))).not.toBeUndefined()
    expect(proven.size).toBe(1)
  })

  test('is known to the key that made it alone', async () => {
    const text = token()
    const one = await verifier()
    const other = await verifier()
    expect(await one.fault(text)).toBeUndefined()
    expect(other.proven.size).toBe(0)
  })
})

describe('The memory of a key', () => {
  test('holds 10,000 tokens, without the one that was proven longest ago', () => {
    const proven = new ProvenTokens()
    for (let number = 0; number <= 10_000; number++) proven.add(digestOf(`t${number}`))
    expect(proven.size).toBe(10_000)
    expect([proven.has(digestOf('t0')), proven.has(digestOf('t1'))]).toEqual([false, true])
  })

  test('holds no text of a token', () => {
    expect(digestOf(token())).toHaveLength(32)
    expect(digestOf('a.b.c')).not.toBe(digestOf('a.b.d'))
  })
})
