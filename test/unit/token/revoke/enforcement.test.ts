import { describe, expect, test, vi } from 'vitest'
import { NOW, tokenFor } from '../../../support/tokens.ts'
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
