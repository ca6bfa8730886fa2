import { describe, expect, test, vi } from 'vitest'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { calculateJwkThumbprint } from 'jose'
import { encodeEntry, LOG_HEADER } from '../../../../server/token/revoke/log.ts'
import { folderWith } from '../../../support/folder.ts'
import type { TestClient } from '../../../support/test-core.ts'
import {
  AUD,
  compact,
  hmac,
  ISS,
  jwks,
  makeKey,
  NOW,
  payload,
  revocationOrder,
  SECRET,
  token as tokenWith,
  tokenBy,
  tokenFor,
  type TestKey,
} from '../../../support/tokens.ts'
import { closeOf, login, revocable, revokedPush } from './support.ts'

const REVOKED = '-WRONGPASS token revoked\r\n'

describe('TOKEN REVOKE of identities', () => {
  test.each([
    ['JTI t1', { jti: 't1' }, { jti: 't2' }],
    ['SUB 42', { sub: '42' }, { sub: '43' }],
    ['GROUP acme', { respcast: { group: 'acme' } }, { respcast: { group: 'other' } }],
    ['ROLE member', { respcast: { roles: ['member'] } }, { respcast: { roles: ['guest'] } }],
    ['ROLE role:member', { respcast: { roles: ['member'] } }, {}],
  ])('%s cuts the sessions that it names and no others', async (line, claims, others) => {
    const { session, token, admin, server } = revocable()
    const hit = await session({}, claims)
    const spared = await session({}, others)
    expect(await token(`REVOKE ${line}`)).toBe(':1\r\n')
    expect(hit.client.closed).toBe(true)
    expect(spared.client.closed).toBe(false)
    expect(server.tokens.size).toBe(1)
    expect(await token(`REVOKE ${line}`)).toBe(':0\r\n')
    expect(admin.client.closed).toBe(false)
  })

  test('KID, ISSUER and ALL', async () => {
    const { session, token } = revocable()
    const session1 = await session()
    expect(await token('REVOKE KID k1')).toBe(':0\r\n')
    expect(await token('REVOKE ISSUER default')).toBe(':1\r\n')
    expect(session1.client.closed).toBe(true)
    expect(await token('REVOKE ALL')).toBe(':0\r\n')
  })

  test('are pushed and closed with 4403 `revoked`, and a hint past BEFORE', async () => {
    const { session, token } = revocable()
    const client = await session()
    await token('REVOKE SUB 42')
    expect(client.read()).toBe(revokedPush('', 'token revoked'))
    // Now is NOW.000; BEFORE is 5 s later, and the first whole second after that is NOW + 6.
    expect(closeOf(client)).toEqual({ code: 4403, reason: 'revoked|6000|token revoked' })
  })

  test('are told MESSAGE', async () => {
    const { session, admin } = revocable()
    const client = await session()
    await admin.sendAndWait('TOKEN', 'REVOKE', 'JTI', 'x', 'MESSAGE', 'unused')
    await admin.sendAndWait('TOKEN', 'REVOKE', 'SUB', '42', 'MESSAGE', 'signed out everywhere')
    expect(client.read()).toBe(revokedPush('', 'signed out everywhere'))
    expect(closeOf(client)?.reason).toBe('revoked|6000|signed out everywhere')
  })

  test.each([2, 3] as const)('over TCP are closed without a byte, in RESP%i', async (protocol) => {
    const { session, token, publish } = revocable()
    const client = await session(undefined, {}, { protocol })
    client.send('SUBSCRIBE', 'news')
    client.sink.blocks = true
    publish('news', 'in flight')
    client.read()
    publish('news', 'queued behind it')
    await token('REVOKE SUB 42')
    expect(client.read()).toBe('')
    expect(client.sink.terminated).toBe(true)
  })

  test('live sessions are cut whatever their iat, and may come back with it if it is past BEFORE', async () => {
    const { server, session, token } = revocable()
    const client = await session({}, { iat: NOW })
    expect(await token(`REVOKE SUB 42 BEFORE ${(NOW - 100) * 1000}`)).toBe(':1\r\n')
    expect(client.client.closed).toBe(true)
    const again = server.connect({ transport: 'websocket' })
    expect(await login(again, tokenFor({}, { iat: NOW }))).toMatch(/^\+OK\r\n/)
    const old = server.connect({ transport: 'websocket' })
    expect(await login(old, tokenFor({}, { iat: NOW - 100 }))).toBe(REVOKED)
  })

  test('refuse tokens with iat at or before BEFORE, by default now and the leeway', async () => {
    const { server, token } = revocable()
    await token('REVOKE SUB 42')
    const iat = async (seconds: number | undefined): Promise<string> => {
      const answer = await login(server.connect(), tokenFor({}, { iat: seconds, exp: NOW + 3600 }))
      return answer.slice(0, -2)
    }
    expect(await iat(NOW - 50)).toBe('-WRONGPASS token revoked')
    expect(await iat(NOW + 5)).toBe('-WRONGPASS token revoked')
    expect(await iat(undefined)).toBe('-WRONGPASS token revoked')
    server.clock.advance(1_000)
    expect(await iat(NOW + 6)).toBe('+OK')
  })

  test('with HARD refuse whatever the iat is', async () => {
    const { server, token } = revocable()
    await token('REVOKE SUB 42 HARD PERSIST')
    server.clock.advance(60_000)
    expect(await login(server.connect(), tokenFor({}, { iat: NOW + 60 }))).toBe(REVOKED)
    const client = server.connect({ transport: 'websocket' })
    expect(await login(client, tokenFor({}, { iat: NOW + 60 }))).toBe(REVOKED)
    expect(closeOf(client)).toEqual({ code: 4403, reason: 'revoked||token revoked' })
  })

  test('JTI and KID never look at iat', async () => {
    const { server, token } = revocable()
    await token('REVOKE JTI t1')
    server.clock.advance(60_000)
    expect(await login(server.connect(), tokenFor({}, { jti: 't1', iat: NOW + 60 }))).toBe(REVOKED)
    expect(await login(server.connect(), tokenFor({}, { jti: 't2' }))).toBe('+OK\r\n')
  })

  test('a WebSocket that is logged in already keeps its token where a revoked one is refused', async () => {
    const { session, token } = revocable()
    const client = await session({}, { jti: 'old' })
    await token('REVOKE JTI new')
    expect(await login(client, tokenFor({}, { jti: 'new' }))).toBe(REVOKED)
    expect(client.client.closed).toBe(false)
  })

  test('refuse a token that was being verified when they came', async () => {
    const { server, token } = revocable()
    const client = server.connect({ transport: 'websocket' })
    const answer = login(client, tokenFor({}))
    expect(await token('REVOKE SUB 42')).toBe(':0\r\n')
    expect(await answer).toBe(REVOKED)
    expect(closeOf(client)).toEqual({ code: 4403, reason: 'revoked|6000|token revoked' })
    expect(server.tokens.size).toBe(0)
  })

  test('FROM names the issuer, `default` the one without an alias', async () => {
    const { session, token } = revocable()
    await session()
    expect(await token('REVOKE SUB 42 FROM partner')).toMatch(/^-ERR No issuer 'partner'/)
    expect(await token('REVOKE SUB 42 FROM default')).toBe(':1\r\n')
  })

  test('DRYRUN answers whom it would hit, and changes nothing', async () => {
    const { session, admin, token } = revocable()
    const client = await session()
    const answer = await token('REVOKE SUB 42 DRYRUN')
    expect(answer).toMatch(/^%2\r\n\$8\r\nsessions\r\n:1\r\n\$6\r\nsample\r\n\*1\r\n\$\d+\r\nid=2 /)
    expect(answer).toContain(' jwt-sub=42 ')
    expect(client.client.closed).toBe(false)
    expect(admin.send('TOKEN', 'REVOCATIONS')).toBe('*0\r\n')
  })

  test('UNREVOKE lets the tokens in again', async () => {
    const { server, token } = revocable()
    await token('REVOKE SUB 42')
    expect(await login(server.connect(), tokenFor({}))).toBe(REVOKED)
    expect(await token('UNREVOKE 1')).toBe('+OK\r\n')
    expect(await login(server.connect(), tokenFor({}))).toBe('+OK\r\n')
    expect(await token('UNREVOKE 1')).toBe('-ERR No revocation with id 1 is in force\r\n')
    expect(await token('UNREVOKE x')).toBe('-ERR value is not an integer or out of range\r\n')
  })

  test('REVOCATIONS shows every record with its fields', async () => {
    const { admin, token } = revocable()
    await token('REVOKE SUB 42 REASON stolen')
    await token('REVOKE CHANNEL room:* FOR ROLE member ONLY PUBLISH PERSIST')
    const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`
    const map = (fields: readonly (readonly [string, string | number | null])[]): string =>
      `%${fields.length}\r\n${fields
        .map(([name, value]) => {
          const shown =
            value === null ? '_\r\n' : typeof value === 'number' ? `:${value}\r\n` : bulk(value)
          return bulk(name) + shown
        })
        .join('')}`
    const nowMs = NOW * 1000
    const first = map([
      ['id', 1],
      ['kind', 'sub'],
      ['target', '42'],
      ['issuer', null],
      ['before', nowMs + 5_000],
      ['hard', 0],
      ['expires', nowMs + 86_405_000],
      ['by', 'default'],
      ['at', nowMs],
      ['reason', 'stolen'],
      ['hit', 0],
    ])
    const second = map([
      ['id', 2],
      ['kind', 'channel'],
      ['target', 'room:*'],
      ['issuer', null],
      ['before', null],
      ['hard', 0],
      ['expires', null],
      ['by', 'default'],
      ['at', nowMs],
      ['reason', ''],
      ['hit', 0],
      ['for', 'role member'],
      ['only', 'publish'],
    ])
    expect(admin.send('TOKEN', 'REVOCATIONS')).toBe(`*2\r\n${first}${second}`)
  })

  test('are not for token sessions, nor for MULTI', async () => {
    const { session, admin } = revocable()
    const client = await session()
    expect(client.send('TOKEN', 'REVOKE', 'ALL')).toMatch(/^-NOPERM .*'token\|revoke'/)
    admin.send('MULTI')
    expect(admin.send('TOKEN', 'REVOKE', 'ALL')).toBe(
      '-ERR Command not allowed inside a transaction\r\n',
    )
  })

  test('have the categories @admin, @slow and @dangerous, and a summary', () => {
    const { server } = revocable()
    for (const name of ['revoke', 'unrevoke', 'revocations']) {
      const spec = server.table.named(`token|${name}`)?.spec
      expect(spec?.categories).toEqual(['admin', 'slow', 'dangerous'])
      expect(spec?.summary).toMatch(/^[A-Z].*\.$/)
    }
  })

  test('HELP names every form', () => {
    const { admin } = revocable()
    const help = admin.send('TOKEN', 'HELP')
    for (const word of ['EXPLAIN', 'REVOKE CHANNEL', 'REVOCATIONS', 'UNREVOKE', 'WHY', 'DRYRUN']) {
      expect(help).toContain(word)
    }
  })
})

test('More revocations than there may be are refused', async () => {
  const { server, token } = revocable()
  vi.spyOn(server.tokens.revocations, 'isFull', 'get').mockReturnValue(true)
  expect(await token('REVOKE SUB 42')).toBe(
    '-ERR too many revocations are in force. Lift some, or give them a TTL\r\n',
  )
  expect(server.tokens.revocations.size).toBe(0)
})

const SESSIONS = 150

describe('A revocation that hits very many sessions', () => {
  test('cuts them in slices, lets others in between, and answers when all are gone', async () => {
    const { server, admin, session, token } = revocable()
    const clients = await Promise.all(Array.from({ length: SESSIONS }, () => session({})))
    const last = clients.at(-1) as (typeof clients)[number]
    let nowMs = 0
    // Each look at the clock finds that a slice is over.
    vi.spyOn(server.clock, 'monotonicMs').mockImplementation(() => (nowMs += 10))
    let answer = ''
    const done = token('REVOKE SUB 42').then((text) => (answer = text))
    expect(server.tokens.size).toBe(SESSIONS - 63)
    expect(admin.client.closed).toBe(false)

    // Nobody that it names comes in meanwhile, and whoever leaves the subject is spared.
    const late = server.connect()
    expect(await login(late, tokenFor({}))).toBe('-WRONGPASS token revoked\r\n')
    last.send('RESET')
    expect(await login(last, tokenFor({}, { sub: '43' }))).toMatch(/^\+OK\r\n/)
    expect(answer).toBe('')

    vi.restoreAllMocks()
    server.clock.advance(1)
    await done
    expect(answer).toBe(`:${SESSIONS}\r\n`)
    expect(server.tokens.size).toBe(1)
    expect(last.client.closed).toBe(false)
  })
})

describe('The problems that /readyz reports', () => {
  test('are none until a log fails', () => {
    const { server } = revocable()
    expect(server.tokens.revocation.problems).toEqual([])
    vi.spyOn(server.tokens.revocations, 'problem', 'get').mockReturnValue('broken')
    expect(server.tokens.revocation.problems).toEqual(['broken'])
  })
})

/** A server whose default issuer has a key set in a file; `rotate` replaces the set, and lets the server read it. */
function withKeys(...keys: readonly (TestKey | Readonly<Record<string, unknown>>)[]) {
  const path = join(folderWith(), 'keys.json')
  writeFileSync(path, jwks(...keys))
  const options = { 'jwt-jwks-file': path, 'jwt-algorithms': 'ES256 EdDSA' }
  const made = revocable(options, {})
  const rotate = async (...next: typeof keys): Promise<void> => {
    writeFileSync(path, jwks(...next))
    made.server.set('jwt-jwks-file', path)
    await Promise.resolve()
  }
  /** Logs a token of a key in. */
  const enter = async (key: TestKey, header: object, claims: object = {}) => {
    const client = made.server.connect({ transport: 'websocket' })
    const answer = await login(client, tokenBy(key, payload({ sub: key.alg, ...claims }), header))
    return { client, answer: answer.split('\r\n')[0] }
  }
  return { ...made, rotate, enter, start: () => made.server.authenticator.issuers.start() }
}

const NO_KID = { kid: undefined }
const k1 = makeKey('ES256', 'k1')
const k2 = makeKey('EdDSA', 'k2')
const thumbprintOf = (key: TestKey): Promise<string> => calculateJwkThumbprint(key.jwk)

describe('TOKEN REVOKE of a key', () => {
  const both = async (key: TestKey): Promise<readonly string[]> => [
    `KID ${key.kid}`,
    `KEY ${await thumbprintOf(key)}`,
  ]

  test.each([0, 1])('cuts and refuses tokens that do not name it (%i)', async (way) => {
    const { enter, start, token } = withKeys(k1, k2)
    await start()
    const named = await enter(k1, {})
    const thief = await enter(k1, NO_KID)
    const other = await enter(k2, NO_KID)
    expect([named, thief, other].map(({ answer }) => answer)).toEqual(['+OK', '+OK', '+OK'])
    expect(await token(`REVOKE ${(await both(k1))[way]}`)).toBe(':2\r\n')
    expect(named.client.client.closed).toBe(true)
    expect(thief.client.client.closed).toBe(true)
    expect(other.client.client.closed).toBe(false)
    expect((await enter(k1, {})).answer).toBe('-WRONGPASS token revoked')
    expect((await enter(k1, NO_KID)).answer).toBe('-WRONGPASS token revoked')
    expect((await enter(k2, {})).answer).toBe('+OK')
  })

  test('refuses the refresh of a session with a token of it', async () => {
    const { enter, start, token } = withKeys(k1, k2)
    await start()
    const { client } = await enter(k2, {}, { sub: '42' })
    client.send('SUBSCRIBE', 'a')
    await token('REVOKE KID k1')
    const refresh = tokenBy(k1, payload(), NO_KID)
    expect(await login(client, refresh)).toBe('-WRONGPASS token revoked\r\n')
    expect(client.client.closed).toBe(false)
  })

  test('finds it under the other ids that its set has for it', async () => {
    const twin = { ...k1.jwk, kid: 'twin' }
    const { enter, start, token } = withKeys(k1, twin, k2)
    await start()
    const session = await enter(k1, { kid: 'twin' })
    expect(session.answer).toBe('+OK')
    expect(await token('REVOKE KID k1')).toBe(':1\r\n')
    expect(session.client.client.closed).toBe(true)
    expect((await enter(k1, { kid: 'twin' })).answer).toBe('-WRONGPASS token revoked')
  })

  test('revokes every key of that id in a set', async () => {
    const twin = makeKey('ES256', 'k1')
    const { enter, start, token } = withKeys(k1, twin)
    await start()
    await token('REVOKE KID k1')
    expect((await enter(k1, NO_KID)).answer).toBe('-WRONGPASS token revoked')
    expect((await enter(twin, NO_KID)).answer).toBe('-WRONGPASS token revoked')
  })

  test('follows it when its set renames it, before and after a login', async () => {
    const { enter, rotate, start, token } = withKeys(k1, k2)
    await start()
    await token('REVOKE KID k1')
    await rotate({ ...k1.jwk, kid: 'k9' }, k2)
    expect((await enter(k1, { kid: 'k9' })).answer).toBe('-WRONGPASS token revoked')
    expect((await enter(k1, NO_KID)).answer).toBe('-WRONGPASS token revoked')
  })

  test('holds against a key that gets the id later, and then by another id', async () => {
    const { enter, rotate, start, token } = withKeys({ ...k1.jwk, kid: 'old' }, k2)
    await start()
    const session = await enter(k1, { kid: 'old' })
    expect(await token('REVOKE KID k1')).toBe(':0\r\n')
    expect(session.client.client.closed).toBe(false)
    await rotate(k1, k2)
    expect(session.client.client.closed).toBe(true)
    await rotate({ ...k1.jwk, kid: 'new' }, k2)
    expect((await enter(k1, { kid: 'new' })).answer).toBe('-WRONGPASS token revoked')
  })

  test('holds until it is lifted, also against the keys that it found', async () => {
    const { enter, rotate, start, token } = withKeys(k1)
    await start()
    await token('REVOKE KID k1')
    await rotate({ ...k1.jwk, kid: 'k9' })
    await token('UNREVOKE 1')
    expect((await enter(k1, { kid: 'k9' })).answer).toBe('+OK')
  })

  test('compares ids as bytes', async () => {
    const accented = makeKey('ES256', 'caf\u00e9')
    const { admin, enter, start } = withKeys(accented)
    await start()
    const session = await enter(accented, NO_KID)
    const revoke = (kid: string): Promise<string> => {
      const bytes = Buffer.from(kid, 'utf8').toString('latin1')
      return admin.sendAndWait('TOKEN', 'REVOKE', 'KID', bytes)
    }
    // Neither another case nor another normal form.
    expect(await revoke('CAF\u00c9')).toBe(':0\r\n')
    expect(await revoke('cafe\u0301')).toBe(':0\r\n')
    expect(session.client.client.closed).toBe(false)
    expect(await revoke('caf\u00e9')).toBe(':1\r\n')
  })

  test('is limited to the keys and tokens of an issuer by FROM', async () => {
    const folder = folderWith({ 'a.json': jwks(k1), 'b.json': jwks(makeKey('ES256', 'k1')) })
    const theirs = makeKey('EdDSA', 'k1')
    writeFileSync(join(folder, 'b.json'), jwks(theirs))
    const { server, token } = revocable(
      {
        'jwt-jwks-file': join(folder, 'a.json'),
        'jwt-algorithms': 'ES256',
        issuer: [
          ['partner', 'issuer', 'https://partner.example'],
          ['partner', 'audience', AUD],
          ['partner', 'jwks-file', join(folder, 'b.json')],
          ['partner', 'algorithms', 'EdDSA'],
        ],
      },
      {},
    )
    await server.authenticator.issuers.start()
    const enter = async (key: TestKey, iss: string) =>
      (await login(server.connect(), tokenBy(key, payload({ iss }), NO_KID))).split('\r\n')[0]
    await token('REVOKE KID k1 FROM default')
    expect(await enter(k1, ISS)).toBe('-WRONGPASS token revoked')
    expect(await enter(theirs, 'https://partner.example')).toBe('+OK')
    await token('REVOKE KID k1')
    expect(await enter(theirs, 'https://partner.example')).toBe('-WRONGPASS token revoked')
  })

  test('revokes a key that is listed in a set and in a PEM file at both issuers', async () => {
    const folder = folderWith({ 'a.json': jwks(k1), 'b.pem': k1.pem })
    const { server, token } = revocable(
      {
        'jwt-jwks-file': join(folder, 'a.json'),
        'jwt-algorithms': 'ES256',
        issuer: [
          ['partner', 'issuer', 'https://partner.example'],
          ['partner', 'audience', AUD],
          ['partner', 'public-key-file', join(folder, 'b.pem')],
          ['partner', 'algorithms', 'ES256'],
        ],
      },
      {},
    )
    await server.authenticator.issuers.start()
    const enter = async (iss: string, header: object) =>
      (await login(server.connect(), tokenBy(k1, payload({ iss }), header))).split('\r\n')[0]
    expect(await enter('https://partner.example', {})).toBe('+OK')
    expect(await token('REVOKE KID k1')).toBe(':1\r\n')
    expect(await enter(ISS, {})).toBe('-WRONGPASS token revoked')
    expect(await enter('https://partner.example', { kid: 'any' })).toBe('-WRONGPASS token revoked')
  })
})

describe('TOKEN REVOKE of a secret', () => {
  const withKid = (kid?: string): string => tokenWith(payload(), kid === undefined ? {} : { kid })

  test('by its thumbprint, or a digest of it, refuses its tokens whatever they call it', async () => {
    const digests = [
      createHash('sha256').update(SECRET).digest('hex'),
      await calculateJwkThumbprint({ kty: 'oct', k: SECRET.toString('base64url') }),
    ]
    for (const digest of [undefined, ...digests]) {
      const { server, token } = revocable()
      const client = server.connect()
      await login(client, withKid('k7'))
      const thumbprint = server.tokens.grantOf(client.client)?.key.thumbprint as string
      expect(await token(`REVOKE KEY ${digest ?? thumbprint}`)).toBe(':1\r\n')
      expect(client.client.closed).toBe(true)
      expect(await login(server.connect(), withKid())).toBe('-WRONGPASS token revoked\r\n')
      expect(await login(server.connect(), withKid('k8'))).toBe('-WRONGPASS token revoked\r\n')
    }
  })

  test('by the id that a live session has for it cuts those that call it otherwise', async () => {
    const { server, token } = revocable()
    const sessions = [server.connect(), server.connect(), server.connect()]
    for (const [i, kid] of ['k1', 'k2', undefined].entries()) {
      await login(sessions[i] as TestClient, withKid(kid))
    }
    expect(await token('REVOKE KID k1')).toBe(':3\r\n')
    expect(await login(server.connect(), withKid())).toBe('-WRONGPASS token revoked\r\n')
  })

  test('by the id that a later token has for it does so from then on', async () => {
    const { server, token } = revocable()
    const thief = server.connect()
    await login(thief, withKid())
    expect(await token('REVOKE KID k1')).toBe(':0\r\n')
    expect(await login(server.connect(), withKid('k1'))).toBe('-WRONGPASS token revoked\r\n')
    expect(thief.client.closed).toBe(true)
    expect(await login(server.connect(), withKid('k2'))).toBe('-WRONGPASS token revoked\r\n')
  })

  test('spares the tokens of its successor', async () => {
    const { server, token } = revocable(
      {},
      {
        RESPCAST_CONF_JWT_SECRET: 'n'.repeat(32),
        RESPCAST_CONF_JWT_PREVIOUS_SECRET: SECRET.toString('latin1'),
        RESPCAST_CONF_JWT_PREVIOUS_SECRET_UNTIL: String(NOW + 100_000),
      },
    )
    const successor = compact(
      { alg: 'HS256' },
      payload({ sub: 'new' }),
      hmac(Buffer.alloc(32, 'n')),
    )
    const [old, fresh] = [server.connect(), server.connect()]
    await login(old, withKid())
    await login(fresh, successor)
    const thumbprint = server.tokens.grantOf(old.client)?.key.thumbprint as string
    expect(await token(`REVOKE KEY ${thumbprint}`)).toBe(':1\r\n')
    expect(fresh.client.closed).toBe(false)
    expect(await login(server.connect(), withKid())).toBe('-WRONGPASS token revoked\r\n')
  })
})

test('A revocation of a key survives a restart with the keys that it found', async () => {
  const folder = folderWith({ 'keys.json': jwks(k1, k2) })
  const path = join(folder, 'keys.json')
  const options = {
    dir: folder,
    'token-log-file': 'token.log',
    'jwt-jwks-file': path,
    'jwt-algorithms': 'ES256 EdDSA',
  }
  const first = revocable(options, {})
  await first.server.start()
  expect(await first.token('REVOKE KID k1')).toBe(':0\r\n')
  await first.server.tokens.revocations.close()
  await first.server.stop()
  writeFileSync(path, jwks({ ...k1.jwk, kid: 'renamed' }, k2))
  const second = revocable(options, {})
  await second.server.start()
  const answer = await login(second.server.connect(), tokenBy(k1, payload(), { kid: 'renamed' }))
  expect(answer).toBe('-WRONGPASS token revoked\r\n')
  expect(await second.token('REVOCATIONS')).toContain(
    `$4\r\nkeys\r\n$43\r\n${await thumbprintOf(k1)}`,
  )
  await second.server.stop()
})

test('A log of a version that did not keep keys holds against those of now', async () => {
  const record = {
    ...revocationOrder({ kind: 'kid', target: 'k1' }),
    id: 1,
    by: 'ops',
    atMs: 1,
    hit: 0,
  }
  const log = Buffer.concat([Buffer.from(LOG_HEADER), encodeEntry({ op: 'revoke', record })])
  const folder = folderWith({ 'keys.json': jwks(k1), 'token.log': log.toString('latin1') })
  const { server } = revocable(
    {
      dir: folder,
      'token-log-file': 'token.log',
      'jwt-jwks-file': join(folder, 'keys.json'),
      'jwt-algorithms': 'ES256',
    },
    {},
  )
  await server.start()
  expect(await login(server.connect(), tokenBy(k1, payload(), NO_KID))).toBe(
    '-WRONGPASS token revoked\r\n',
  )
  expect([...server.tokens.revocations.list()][0]?.keys).toEqual([await thumbprintOf(k1)])
  await server.stop()
})

test('CLIENT LIST and TOKEN EXPLAIN name the key', async () => {
  const { admin, enter, start } = withKeys(k1)
  await start()
  const { client } = await enter(k1, NO_KID)
  const thumbprint = await thumbprintOf(k1)
  expect(admin.send('CLIENT', 'LIST')).toContain(` jwt-kid=k1 jwt-key=${thumbprint} origin=`)
  const explained = admin.send('TOKEN', 'EXPLAIN', 'CLIENT', String(client.client.id))
  expect(explained).toContain(`$3\r\nkid\r\n$2\r\nk1\r\n$3\r\nkey\r\n$43\r\n${thumbprint}\r\n`)
  const expired = tokenBy(k1, payload({ exp: NOW - 1 }), NO_KID)
  expect(await admin.sendAndWait('TOKEN', 'EXPLAIN', expired)).toContain(
    `$3\r\nkey\r\n$43\r\n${thumbprint}\r\n`,
  )
})
