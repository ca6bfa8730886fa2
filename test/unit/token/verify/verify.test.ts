import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createKeySet, type KeySet } from '../../../../server/token/verify/key-set.ts'
import type { FaultCode } from '../../../../server/token/verify/refusal.ts'
import type { VerifiedToken } from '../../../../server/token/verify/verify.ts'
import { judgeAgain, looksLikeToken, verify } from '../../../../server/token/verify/verify.ts'
import { folderWith } from '../../../support/folder.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import {
  compact,
  encodePart,
  hmac,
  jwks,
  makeKey,
  noFetch,
  NOW,
  payload,
  SECRET,
  testAuthenticator,
  type IssuerChanges,
  testIssuer,
  token,
  tokenBy,
  tokenFor,
  userOf,
} from '../../../support/tokens.ts'

async function outcome(
  text: string,
  changes: IssuerChanges = {},
  clock = new FakeClock(NOW * 1000),
): Promise<VerifiedToken | string> {
  const issuer = testIssuer(changes)
  const keys = createKeySet(issuer, { clock, fetch: noFetch, listener: {} })
  const result = await verify(text, new Map([[issuer.iss, { issuer, keys }]]), clock)
  return 'ok' in result ? result.ok : `${result.refused.reply}: ${result.refused.detail}`
}

async function accepted(text: string, changes?: IssuerChanges): Promise<VerifiedToken> {
  const result = await outcome(text, changes)
  if (typeof result === 'string') throw new Error(result)
  return result
}

describe('a good token', () => {
  test('yields subject, id, times in milliseconds, key id and claims', async () => {
    const text = token(payload({ jti: 'id-1', respcast: { roles: ['member'] } }), { kid: 'k' })
    expect(await accepted(text)).toMatchObject({
      sub: '42',
      jti: 'id-1',
      kid: 'k',
      issuedAtMs: NOW * 1000,
      expiresAtMs: (NOW + 3600) * 1000,
      claimed: { roles: ['member'], channels: undefined },
    })
  })

  test('may lack iat, which counts as 0, and jti and kid', async () => {
    expect(await accepted(token(payload({ iat: undefined })))).toMatchObject({
      issuedAtMs: 0,
      jti: undefined,
      kid: undefined,
    })
  })

  test('may lack typ, or be an access token of RFC 9068', async () => {
    await accepted(compact({ alg: 'HS256' }, payload(), hmac()))
    await accepted(token(payload(), { typ: 'at+jwt' }))
    await accepted(token(payload(), { typ: 'application/AT+JWT' }))
  })

  test('may name several audiences, one of them ours', async () => {
    await accepted(token(payload({ aud: ['other', 'respcast'] })))
  })

  test('may have fractions of seconds in its times', async () => {
    const verified = await accepted(token(payload({ exp: NOW + 10.5, iat: NOW - 0.5 })))
    expect(verified.expiresAtMs).toBe((NOW + 10) * 1000 + 500)
    expect(verified.issuedAtMs).toBe(NOW * 1000 - 500)
  })

  test('may carry a subject of 256 bytes; bytes are counted, not characters', async () => {
    const sub = '\u00e9'.repeat(128)
    expect((await accepted(token(payload({ sub })))).sub).toBe('\xc3\xa9'.repeat(128))
  })

  test.each(['*', 'a{b}', '[x]', 'a\\b', 'auth0|12', '\ud83d\ude00', 'default', '__proto__'])(
    'may have the subject %s, which is data',
    async (sub) => {
      expect((await accepted(token(payload({ sub })))).sub).toBe(
        Buffer.from(sub).toString('latin1'),
      )
    },
  )

  test('may be 8192 bytes long', async () => {
    const fill = (count: number): string => token(payload({ fill: 'x'.repeat(count) }))
    let count = 5900
    while (fill(count + 1).length <= 8192) count++
    expect(fill(count).length).toBeGreaterThan(8189)
    await accepted(fill(count))
    expect(await outcome(fill(count + 3))).toContain('longer than 8192 bytes')
  })
})

describe('times', () => {
  const cases: [string, Record<string, unknown>, string | undefined][] = [
    ['one second before exp', { exp: NOW + 1 }, undefined],
    ['at exp', { exp: NOW }, 'WRONGPASS token expired'],
    ['within the leeway after exp, which has none', { exp: NOW - 1 }, 'WRONGPASS token expired'],
    ['long after exp', { exp: NOW - 3000, iat: NOW - 4000 }, 'WRONGPASS token expired'],
    ['exp in 1970', { exp: 0, iat: 0 }, 'WRONGPASS token expired'],
    ['nbf within the leeway', { nbf: NOW + 5 }, undefined],
    ['nbf after the leeway', { nbf: NOW + 6 }, 'WRONGPASS invalid token'],
    ['iat within the leeway', { iat: NOW + 5 }, undefined],
    ['iat after the leeway', { iat: NOW + 6 }, 'WRONGPASS invalid token'],
    ['exp - iat of exactly the longest life', { exp: NOW + 86_400 }, undefined],
    ['exp - iat above the longest life', { exp: NOW + 86_401 }, 'WRONGPASS invalid token'],
    ['exp - now, without iat', { exp: NOW + 86_400, iat: undefined }, undefined],
    [
      'exp - now above, without iat',
      { exp: NOW + 86_401, iat: undefined },
      'WRONGPASS invalid token',
    ],
    [
      'an old token whose whole life was too long',
      { iat: NOW - 86_000, exp: NOW + 401 },
      'WRONGPASS invalid token',
    ],
    ['exp 1e20', { exp: 1e20 }, 'WRONGPASS invalid token'],
    ['iat far in the past', { iat: -1e11 }, 'WRONGPASS invalid token'],
  ]
  test.each(cases)('%s', async (_name, changes, reply) => {
    const result = await outcome(token(payload(changes)))
    if (reply === undefined) expect(result).toBeTypeOf('object')
    else expect(result).toContain(reply)
  })

  test('jwt-max-lifetime of a century takes a token of a century', async () => {
    const century = 3_155_760_000
    const verified = await accepted(token(payload({ exp: NOW + century })), {
      maxLifetimeSeconds: century,
    })
    expect(verified.expiresAtMs).toBe((NOW + century) * 1000)
  })

  test('only a token that is good but for its age is called expired', async () => {
    const old = { exp: NOW - 1 }
    expect(await outcome(token(payload({ ...old, aud: 'x' })))).toContain('invalid token')
    expect(await outcome(token(payload({ ...old, respcast: [] })))).toContain('invalid token')
    const forged = compact({ alg: 'HS256' }, payload(old), hmac(Buffer.alloc(32)))
    expect(await outcome(forged)).toContain('invalid token')
  })
})

describe('a refusal', () => {
  const refused = async (text: string): Promise<Record<string, unknown>> => {
    const result = await verify(text, new Map(), new FakeClock(NOW * 1000))
    return 'refused' in result ? { ...result.refused } : {}
  }

  test('has a code, kid and a short hash, never the token', async () => {
    const text = token(payload({ jti: 'secret-id' }), { kid: 'k1' })
    const refusal = await refused(text)
    expect(refusal).toEqual({
      reply: 'WRONGPASS invalid token',
      code: 'unknown-issuer',
      detail: 'no issuer of this name is configured',
      kid: 'k1',
      tokenHash: expect.stringMatching(/^[0-9a-f]{16}$/) as unknown,
    })
    expect((await refused(`${text}x`))['tokenHash']).not.toBe(refusal['tokenHash'])
  })

  test.each([
    ['malformed', 'no token'],
    ['header', token(payload(), { crit: ['x'] })],
    ['no-issuer', token(payload({ iss: undefined }))],
    ['unknown-issuer', token(payload({ iss: 'stranger' }))],
    ['algorithm', token(payload(), { alg: 'HS512' })],
    ['signature', compact({ alg: 'HS256' }, payload(), hmac(Buffer.alloc(32)))],
    ['claim', token(payload({ sub: 'a b' }))],
    ['no-audience', token(payload({ aud: undefined }))],
    ['wrong-audience', token(payload({ aud: 'other' }))],
    ['no-expiry', token(payload({ exp: undefined }))],
    ['lifetime', token(payload({ exp: NOW + 86_401 }))],
    ['issued-in-future', token(payload({ iat: NOW + 6 }))],
    ['not-yet-valid', token(payload({ nbf: NOW + 6 }))],
    ['expired', token(payload({ exp: NOW }))],
    ['grants', token(payload({ respcast: { channel: [] } }))],
    ['too-many-names', token(payload({ respcast: { roles: Array(257).fill('r') } }))],
    ['unknown-key', token(), { candidates: () => Promise.resolve([]) }],
    ['key-removed', token(), { holds: () => false }],
    ['internal', token(), { candidates: () => Promise.reject(new Error('boom')) }],
  ] as [FaultCode, string, Partial<KeySet>?][])('has the code %s', async (code, text, keySet) => {
    const clock = new FakeClock(NOW * 1000)
    const issuer = testIssuer({ algorithms: ['HS256'] })
    const keys = createKeySet(issuer, { clock, fetch: noFetch, listener: {} })
    Object.assign(keys, keySet)
    const result = await verify(text, new Map([[issuer.iss, { issuer, keys }]]), clock)
    expect(result).toHaveProperty('refused.code', code)
  })

  test('has the code role-expansion where its roles make too many patterns', async () => {
    const { authenticator, roles } = testAuthenticator()
    roles.set('role:r', userOf('role:r', '+subscribe &room:{claim.rooms[]}'))
    const rooms = Array.from({ length: 257 }, (_, at) => `${at}`)
    const result = await authenticator.authenticate(tokenFor({ roles: ['r'] }, { rooms }))
    expect(result).toHaveProperty('refused.code', 'role-expansion')
  })

  test('has the code no-kid where its issuer demands one, also when it does so later', async () => {
    const clock = new FakeClock(NOW * 1000)
    const key = makeKey('ES256', 'k')
    const path = join(folderWith({ 'keys.json': jwks(key) }), 'keys.json')
    const issuer = testIssuer({ keys: { kind: 'jwks-file', path }, algorithms: ['ES256'] })
    const keys = createKeySet(issuer, { clock, fetch: noFetch, listener: {} })
    await keys.start()
    const verified = (requireKid: boolean, kid: string | undefined) =>
      verify(
        tokenBy(key, payload(), { kid }),
        new Map([[issuer.iss, { issuer: { ...issuer, requireKid }, keys }]]),
        clock,
      )
    expect(await verified(true, 'k')).toHaveProperty('ok')
    expect(await verified(true, undefined)).toHaveProperty('refused.code', 'no-kid')
    expect(await verified(true, '')).toHaveProperty('refused.code', 'no-kid')
    const result = await verified(false, undefined)
    if (!('ok' in result)) throw new Error('refused')
    expect(() => judgeAgain(result.ok, { ...issuer, requireKid: true }, clock)).toThrow("no 'kid'")
  })

  test('names jti only once the signature is good', async () => {
    const clock = new FakeClock(NOW * 1000)
    const issuer = testIssuer()
    const keys = createKeySet(issuer, { clock, fetch: noFetch, listener: {} })
    const issuers = new Map([[issuer.iss, { issuer, keys }]])
    const old = payload({ jti: 'id', exp: NOW })
    const good = await verify(token(old), issuers, clock)
    const forged = await verify(
      compact({ alg: 'HS256' }, old, hmac(Buffer.alloc(32))),
      issuers,
      clock,
    )
    expect(good).toHaveProperty('refused.jti', 'id')
    expect(forged).not.toHaveProperty('refused.jti')
  })

  test('costs no more for 5 MB than for 8 KB', async () => {
    expect((await refused('e'.repeat(5_000_000)))['detail']).toBe('longer than 8192 bytes')
  })
})

describe('a previous secret', () => {
  const previous = Buffer.from('fedcba9876543210fedcba9876543210')
  const keys = {
    kind: 'secret',
    secret: SECRET,
    previous: { secret: previous, validUntilMs: (NOW + 60) * 1000 },
  } as const
  const old = compact({ alg: 'HS256' }, payload(), hmac(previous))

  test('verifies beside its successor until its end, and not at it', async () => {
    const clock = new FakeClock(NOW * 1000)
    expect(await outcome(token(), { keys }, clock)).toBeTypeOf('object')
    expect(await outcome(old, { keys }, clock)).toBeTypeOf('object')
    clock.stepWall(59_999)
    expect(await outcome(old, { keys }, clock)).toBeTypeOf('object')
    clock.stepWall(1)
    expect(await outcome(old, { keys }, clock)).toContain('invalid token')
    expect(await outcome(token(), { keys }, clock)).toBeTypeOf('object')
  })

  test('is another key to the sessions it admits', async () => {
    const one = await accepted(old, { keys })
    const other = await accepted(token(), { keys })
    expect(one.keyId).not.toBe(other.keyId)
  })
})

describe('several issuers', () => {
  test('are told apart by the exact iss', async () => {
    const clock = new FakeClock(NOW * 1000)
    const shopSecret = Buffer.alloc(32, 's')
    const all = [
      testIssuer(),
      testIssuer({
        alias: 'shop',
        iss: 'shop',
        audience: ['shop-api'],
        keys: { kind: 'secret', secret: shopSecret },
      }),
    ]
    const issuers = new Map(
      all.map((issuer) => [
        issuer.iss,
        { issuer, keys: createKeySet(issuer, { clock, fetch: noFetch, listener: {} }) },
      ]),
    )
    const shop = (body: Record<string, unknown>, secret: Uint8Array): string =>
      compact({ alg: 'HS256' }, body, hmac(secret))
    const good = payload({ iss: 'shop', aud: 'shop-api' })
    expect(await verify(shop(good, shopSecret), issuers, clock)).toHaveProperty(
      'ok.issuer.alias',
      'shop',
    )
    // Each issuer's own key and audience hold: neither opens the other's name.
    expect(await verify(shop(good, SECRET), issuers, clock)).toHaveProperty('refused')
    expect(await verify(shop(payload(), shopSecret), issuers, clock)).toHaveProperty('refused')
    const crossed = payload({ iss: 'shop', aud: 'respcast' })
    expect(await verify(shop(crossed, shopSecret), issuers, clock)).toHaveProperty('refused')
  })
})

describe('a one-argument AUTH looks like a token', () => {
  test('if the part before the first dot is a JOSE header', () => {
    expect(looksLikeToken(token())).toBe(true)
    expect(looksLikeToken(`${encodePart({ alg: 'none' })}.`)).toBe(true)
    expect(looksLikeToken(`${token()}${'x'.repeat(10_000)}`)).toBe(true)
  })

  test.each([
    '',
    '.',
    'secret',
    'secret.password',
    'eyJ',
    encodePart({ alg: 'HS256' }),
    `${encodePart({ typ: 'JWT' })}.x.y`,
    `${encodePart([])}.x.y`,
    `${encodePart('{"alg":')}.x.y`,
    `${encodePart({ alg: 'HS256' })}=.x.y`,
    `${'A'.repeat(9000)}.x.y`,
  ])('but not %s', (text) => {
    expect(looksLikeToken(text)).toBe(false)
  })
})
