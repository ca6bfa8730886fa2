import { describe, expect, test } from 'vitest'
import { RespcastError } from '../../../../server/errors.ts'
import type { User } from '../../../../server/acl/user.ts'
import type { Fetch } from '../../../../server/token/verify/key-fetch.ts'
import {
  compact,
  hmac,
  jwks,
  makeKey,
  NOW,
  payload,
  testAuthenticator,
  testIssuer,
  token,
  tokenBy,
  tokenFor,
  userOf,
} from '../../../support/tokens.ts'

const remote = testIssuer({
  keys: { kind: 'jwks-url', url: 'https://auth.example/keys' },
  algorithms: ['ES256'],
})

describe('the token authenticator', () => {
  test('is off without an issuer, and refuses every token', async () => {
    const { authenticator } = testAuthenticator({ issuers: [] })
    expect(authenticator.enabled).toBe(false)
    expect(await authenticator.authenticate(token())).toHaveProperty(
      'refused.reply',
      'WRONGPASS invalid token',
    )
  })

  test('is on with one', () => {
    expect(testAuthenticator().authenticator.enabled).toBe(true)
  })

  test('names every problem of its issuers at once', () => {
    const make = (): unknown =>
      testAuthenticator({ issuers: [testIssuer({ iss: '', audience: [] })] })
    expect(make).toThrow(RespcastError)
    expect(make).toThrow(/jwt-issuer .*; jwt-audience /)
  })

  test('answers a good token with its grant', async () => {
    const { authenticator } = testAuthenticator()
    expect(await authenticator.authenticate(token())).toHaveProperty('ok.userName', 'jwt:42')
  })

  test('tells an old token from a bad one', async () => {
    const { authenticator, clock } = testAuthenticator()
    const text = token()
    clock.stepWall(3_599_999)
    expect(await authenticator.authenticate(text)).toHaveProperty('ok')
    clock.stepWall(1)
    expect(await authenticator.authenticate(text)).toHaveProperty(
      'refused.reply',
      'WRONGPASS token expired',
    )
    const forged = compact({ alg: 'HS256' }, payload(), hmac(Buffer.alloc(32)))
    expect(await authenticator.authenticate(forged)).toHaveProperty(
      'refused.reply',
      'WRONGPASS invalid token',
    )
  })

  test('starts and serves although the key endpoint is down, and says so', async () => {
    const failures: string[] = []
    const { authenticator } = testAuthenticator({
      issuers: [remote],
      fetch: () => Promise.reject(new Error('no route')),
      events: { keysFailed: (issuer, detail) => failures.push(`${issuer.iss}: ${detail}`) },
    })
    await authenticator.issuers.start()
    expect(failures).toEqual(['https://auth.example: no route'])
    const refused = await authenticator.authenticate(tokenBy(makeKey('ES256', 'k')))
    const detail = 'the keys of the issuer cannot be loaded: no route'
    expect(refused).toHaveProperty('refused.detail', detail)
    authenticator.issuers.stop()
  })

  test('tells which keys went, with the id that their sessions carry', async () => {
    const key = makeKey('ES256', 'k')
    let served = jwks(key)
    const removed: string[] = []
    const { authenticator, clock } = testAuthenticator({
      issuers: [remote],
      fetch: () => Promise.resolve(new Response(served)),
      events: { keysRemoved: (_issuer, ids) => removed.push(...ids) },
    })
    await authenticator.issuers.start()
    const result = await authenticator.authenticate(tokenBy(key))
    const keyId = 'ok' in result ? result.ok.keyId : ''
    served = jwks(makeKey('ES256', 'other'))
    clock.advance(600_000)
    await authenticator.issuers.start()
    expect(removed).toEqual([keyId])
    authenticator.issuers.stop()
  })

  test('refuses a token whose key goes while its signature is checked', async () => {
    const key = makeKey('ES256', 'k')
    let served = jwks(key)
    const { authenticator, clock } = testAuthenticator({
      issuers: [remote],
      fetch: () => Promise.resolve(new Response(served)),
    })
    await authenticator.issuers.start()
    served = jwks(makeKey('ES256', 'other'))
    const early = authenticator.authenticate(tokenBy(key))
    clock.advance(86_400_001)
    expect(await early).toHaveProperty('refused.detail', 'its key was removed meanwhile')
    authenticator.issuers.stop()
  })

  test('reads roles as they are when it answers', async () => {
    const { authenticator, roles } = testAuthenticator()
    roles.set('role:r', userOf('role:r', '+subscribe &old'))
    const pending = authenticator.authenticate(tokenFor({ roles: ['r'] }))
    roles.set('role:r', userOf('role:r', '+subscribe &new'))
    expect(await pending).toMatchObject({
      ok: { user: { selectors: [{}, { channels: [{ pattern: 'new' }] }] } },
    })
  })

  test('never rejects: a fault of the server itself is a refusal too', async () => {
    const { authenticator } = testAuthenticator({
      findUser: (): User => {
        throw new Error('boom')
      },
    })
    expect(await authenticator.authenticate(tokenFor({ roles: ['r'] }))).toMatchObject({
      refused: { reply: 'WRONGPASS invalid token', detail: 'failed: Error: boom' },
    })
  })

  test('takes the platform’s own fetch', () => {
    const own: Fetch = fetch
    expect(() => testAuthenticator({ issuers: [remote], fetch: own })).not.toThrow()
  })

  test('verifies many tokens at once, each for itself', async () => {
    const { authenticator } = testAuthenticator()
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        authenticator.authenticate(token(payload({ sub: `${at}`, exp: NOW + (at % 2) * 60 }))),
      ),
    )
    for (const [at, result] of results.entries()) {
      if (at % 2 === 1) expect(result).toHaveProperty('ok.sub', `${at}`)
      else expect(result).toHaveProperty('refused.reply', 'WRONGPASS token expired')
    }
  })
})
