import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { HttpClient, type HttpAnswer } from '../../support/http-client.ts'
import { DEFAULT_USER, eventually, opener } from '../../support/opened.ts'
import type { ServerOptions, TestGateway } from '../../support/server.ts'

const open = opener()

const APP_USER = ['app', 'on', '>pw', 'resetchannels', '&a*', '+publish']
const BASIC = `Basic ${Buffer.from('app:pw').toString('base64')}`

function httpOf(server: TestGateway, headers: Readonly<Record<string, string>> = {}): HttpClient {
  const client = new HttpClient(server.httpPort, headers)
  open.onEnd(() => client.close())
  return client
}

/** A server, and a connection whose requests carry a token of subject 42 with these grants. */
async function withToken(
  grants: Parameters<TestGateway['mint']>[1] = { channels: ['*'] },
  options: ServerOptions = {},
  more: Parameters<TestGateway['mint']>[2] = {},
): Promise<[TestGateway, HttpClient]> {
  const server = await open.server(options)
  const token = await server.mint('42', grants, more)
  return [server, httpOf(server, { authorization: `Bearer ${token}` })]
}

async function withPassword(
  more: ServerOptions['directives'] = {},
): Promise<[TestGateway, HttpClient]> {
  const server = await open.server({
    directives: { user: [DEFAULT_USER, APP_USER], 'ws-password-auth': 'yes', ...more },
  })
  return [server, httpOf(server, { authorization: BASIC })]
}

function outcomeOf({ status, json }: HttpAnswer): unknown {
  return [status, json]
}

function failed(status: number, code: string, message: string): unknown {
  return [status, { error: { code, message } }]
}

const NO_CHANNEL = failed(403, 'NOPERM', 'No permissions to access a channel')

describe('POST /publish/<channel>', () => {
  test('publishes the body, whatever its bytes, and is answered with the receivers', async () => {
    const [server, http] = await withToken()
    const subscriber = await open.tcp(server)
    await subscriber.assertReply(
      ['SUBSCRIBE', 'a/b\xff'],
      '*3\r\n$9\r\nsubscribe\r\n$4\r\na/b\xff\r\n:1\r\n',
    )
    const answer = await http.post('/publish/a/b%ff?x=1', Buffer.from([0, 0xff, 0x0d, 0x0a]), {
      'content-type': 'application/json',
    })
    expect(outcomeOf(answer)).toEqual([200, { receivers: 1 }])
    await subscriber.takeUntil('*3\r\n$7\r\nmessage\r\n$4\r\na/b\xff\r\n$4\r\n\0\xff\r\n\r\n')
  })

  test('takes an empty body, and one in chunks', async () => {
    const [server, http] = await withToken()
    const subscriber = await open.tcp(server)
    await subscriber.assertReply(['SUBSCRIBE', 'a'], '*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n')
    expect(outcomeOf(await http.send('/publish/a', { method: 'POST' }))).toEqual([
      200,
      { receivers: 1 },
    ])
    const chunked = await http.send('/publish/a', { method: 'POST', body: 'xyz', chunked: true })
    expect(outcomeOf(chunked)).toEqual([200, { receivers: 1 }])
    await subscriber.takeUntil(
      '*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$0\r\n\r\n*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$3\r\nxyz\r\n',
    )
  })

  test.each([
    ['/publish/', 'a channel is needed'],
    ['/publish/%', 'the channel has a bad percent-encoding'],
    ['/publish/a%4', 'the channel has a bad percent-encoding'],
  ])('%s is refused: %s', async (path, message) => {
    const [, http] = await withToken()
    expect(outcomeOf(await http.post(path, 'x'))).toEqual(failed(400, 'BADREQUEST', message))
  })

  test('a channel longer than browsers may name is refused with the words of PUBLISH', async () => {
    const [, http] = await withToken()
    expect(outcomeOf(await http.post(`/publish/${'a'.repeat(257)}`, 'x'))).toMatchObject([
      400,
      { error: { code: 'ERR' } },
    ])
  })

  test.each([false, true])(
    'a body over http-max-payload is refused, in chunks: %s',
    async (chunked) => {
      const [server, http] = await withToken(
        { channels: ['*'] },
        { directives: { 'http-max-payload': '2kb' } },
      )
      const send = (bytes: number): Promise<HttpAnswer> =>
        http.send('/publish/a', { method: 'POST', body: Buffer.alloc(bytes), chunked })
      expect((await send(2_048)).status).toBe(200)
      const tooLarge = await send(2_049)
      expect(outcomeOf(tooLarge)).toEqual(
        failed(413, 'TOOLARGE', 'the body has more than 2048 bytes'),
      )
      expect(tooLarge.headers.connection).toBe('close')
      server.core.config.set([['http-max-payload', '4kb']])
      expect((await send(4_096)).status).toBe(200)
    },
  )

  test('a compressed body is refused: it would be published as it is', async () => {
    const [, http] = await withToken()
    const answer = await http.post('/publish/a', 'x', { 'content-encoding': 'gzip' })
    expect(outcomeOf(answer)).toEqual(failed(415, 'UNSUPPORTED', 'the body may not be compressed'))
  })

  test('http-publish-path moves it, and turns it off', async () => {
    const [, moved] = await withToken(
      { channels: ['*'] },
      { directives: { 'http-publish-path': '/api/pub' } },
    )
    expect((await moved.post('/api/pub/a', 'x')).status).toBe(200)
    expect((await moved.post('/publish/a', 'x')).status).toBe(404)
    const [, off] = await withToken(
      { channels: ['*'] },
      { directives: { 'http-publish-path': '' } },
    )
    expect((await off.post('/publish/a', 'x')).status).toBe(404)
  })

  test("is not there on the administrators' listener", async () => {
    const [server] = await withToken()
    const http = new HttpClient(server.adminPort)
    open.onEnd(() => http.close())
    expect((await http.post('/publish/a', 'x')).status).toBe(404)
  })
})

describe('POST /publish', () => {
  test('publishes a list in its order, and says of each what became of it', async () => {
    const [server, http] = await withToken({ channels: ['a*'] })
    const subscriber = await open.tcp(server)
    await subscriber.assertReply(
      ['PSUBSCRIBE', '*'],
      '*3\r\n$10\r\npsubscribe\r\n$1\r\n*\r\n:1\r\n',
    )
    const answer = await http.post(
      '/publish',
      JSON.stringify([
        { channel: 'a', payload: '1' },
        { channel: 'z', payload: '2' },
        { b64channel: 'Yf8=', b64payload: '/w==' },
      ]),
    )
    expect(outcomeOf(answer)).toEqual([
      200,
      {
        results: [
          { receivers: 1 },
          { error: { code: 'NOPERM', message: 'No permissions to access a channel' } },
          { receivers: 1 },
        ],
      },
    ])
    await subscriber.takeUntil(
      '$1\r\na\r\n$1\r\n1\r\n*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$2\r\na\xff\r\n$1\r\n\xff\r\n',
    )
  })

  test('publishes nothing of a list with a message that is none', async () => {
    const [server, http] = await withToken()
    const answer = await http.post('/publish', '[{"channel":"a","payload":"1"},{"channel":"a"}]')
    expect(answer.status).toBe(400)
    expect(server.core.counters.messagesPublished).toBe(0)
  })
})

describe('Who publishes', () => {
  test('has to log in', async () => {
    const server = await open.server()
    const answer = await httpOf(server).post('/publish/a', 'x')
    expect(outcomeOf(answer)).toEqual(failed(401, 'NOAUTH', 'Authentication required.'))
    expect(answer.headers['www-authenticate']).toBe('Bearer')
    expect(answer.headers.connection).toBe('close')
  })

  test.each([
    ['Bearer eyJhbGciOiJIUzI1NiJ9.e30.AAAA', 'invalid token'],
    [BASIC.replace('OnB3', 'OnB4'), 'invalid username-password pair or user is disabled.'],
  ])('as %s is refused, and named in ACL LOG', async (authorization, message) => {
    const [server] = await withPassword()
    const answer = await httpOf(server, { authorization }).post('/publish/a', 'x')
    expect(outcomeOf(answer)).toEqual(failed(401, 'WRONGPASS', message))
    expect(server.core.aclLog.denied.auth).toBe(1)
    await eventually('nobody is left', () => server.core.clients.size === 0)
  })

  test('by password is a user of the ACL, where ws-password-auth allows it', async () => {
    const [server, http] = await withPassword()
    expect(outcomeOf(await http.post('/publish/a', 'x'))).toEqual([200, { receivers: 0 }])
    expect(outcomeOf(await http.post('/publish/z', 'x'))).toEqual(NO_CHANNEL)
    server.core.config.set([['ws-password-auth', 'no']])
    expect((await httpOf(server, { authorization: BASIC }).post('/publish/a', 'x')).status).toBe(
      401,
    )
  })

  test('is never the default user', async () => {
    const [server] = await withPassword({ user: [['default', 'on', '>pw', '~*', '&*', '+@all']] })
    const authorization = `Basic ${Buffer.from('default:pw').toString('base64')}`
    expect((await httpOf(server, { authorization }).post('/publish/a', 'x')).status).toBe(401)
  })

  test('by token may publish what the token grants, and is refused in words of Redis', async () => {
    const [server, http] = await withToken({ publish: ['a*'], deny: ['ab*'] })
    expect((await http.post('/publish/a', 'x')).status).toBe(200)
    expect(outcomeOf(await http.post('/publish/abc', 'x'))).toEqual(NO_CHANNEL)
    expect(outcomeOf(await http.post('/publish/b', 'x'))).toEqual(NO_CHANNEL)
    expect(server.core.aclLog.denied.channel).toBe(2)
  })

  test('with a token as the password of the user jwt is logged in by it', async () => {
    const server = await open.server()
    const token = await server.mint('42', { channels: ['*'] })
    const authorization = `Basic ${Buffer.from(`jwt:${token}`).toString('base64')}`
    expect((await httpOf(server, { authorization }).post('/publish/a', 'x')).status).toBe(200)
  })

  test('a token in the query is not taken: it would stand in logs', async () => {
    const server = await open.server({ directives: { 'ws-token-query': 'yes' } })
    const token = await server.mint('42', { channels: ['*'] })
    expect((await httpOf(server).post(`/publish/a?token=${token}`, 'x')).status).toBe(401)
  })
})

describe('The pages that may publish', () => {
  const directives = { 'ws-allowed-origins': 'https://app.test', 'ws-token-cookie': 'session' }

  test('are those of allowed origins, also before anything is sent', async () => {
    const [, http] = await withToken({ channels: ['*'] }, { directives })
    const ask = (origin: string): Promise<HttpAnswer> =>
      http.send('/publish/a', {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST' },
      })
    const allowed = await ask('https://app.test')
    expect(allowed.status).toBe(204)
    expect(allowed.headers).toMatchObject({
      'access-control-allow-origin': 'https://app.test',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization, content-type, idempotency-key',
      vary: 'origin',
    })
    const refused = await ask('https://evil.test')
    expect(refused.status).toBe(403)
    expect(refused.headers['access-control-allow-origin']).toBeUndefined()
    const answer = await http.post('/publish/a', 'x', { origin: 'https://app.test' })
    expect(answer.headers['access-control-allow-origin']).toBe('https://app.test')
    const foreign = await http.post('/publish/a', 'x', { origin: 'https://evil.test' })
    expect(outcomeOf(foreign)).toEqual(failed(403, 'FORBIDDEN', 'this origin may not connect'))
  })

  test('may rely on a cookie, which counts with an allowed Origin only', async () => {
    const server = await open.server({ directives })
    const cookie = `session=${await server.mint('42', { channels: ['*'] })}`
    const http = httpOf(server, { cookie })
    expect((await http.post('/publish/a', 'x', { origin: 'https://app.test' })).status).toBe(200)
    expect((await http.post('/publish/a', 'x', { origin: 'https://evil.test' })).status).toBe(403)
    expect(outcomeOf(await http.post('/publish/a', 'x'))).toEqual(
      failed(403, 'FORBIDDEN', 'a cookie counts only with an Origin'),
    )
    expect(server.core.counters.messagesPublished).toBe(1)
  })
})

describe('A connection', () => {
  test('logs in once for all of its requests with the same credentials', async () => {
    const [server, http] = await withToken()
    const ports = new Set<number>()
    for (let i = 0; i < 5; i++) ports.add((await http.post('/publish/a', 'x')).localPort)
    expect(ports.size).toBe(1)
    expect(server.core.counters.tokensAccepted).toBe(1)
    const clients = [...server.core.clients.all()]
    expect(clients.map(({ origin }) => origin.transport)).toEqual(['http'])
    http.close()
    await eventually('its client is gone', () => server.core.clients.size === 0)
  })

  test('logs in anew where the credentials change', async () => {
    const [server, http] = await withToken()
    expect((await http.post('/publish/a', 'x')).status).toBe(200)
    const authorization = `Bearer ${await server.mint('43', { channels: ['b'] })}`
    expect(outcomeOf(await http.post('/publish/a', 'x', { authorization }))).toEqual(NO_CHANNEL)
    expect((await http.post('/publish/a', 'x')).status).toBe(200)
    expect(server.core.counters.tokensAccepted).toBe(3)
    await eventually('one client is left', () => server.core.clients.size === 1)
  })

  test('has its next message refused once its token is revoked, and no other message', async () => {
    const [server, http] = await withToken()
    const other = httpOf(server, {
      authorization: `Bearer ${await server.mint('43', { channels: ['*'] })}`,
    })
    expect((await http.post('/publish/a', 'x')).status).toBe(200)
    const admin = await open.tcp(server)
    admin.command('TOKEN', 'REVOKE', 'SUB', '42')
    await admin.takeLine()
    expect(outcomeOf(await http.post('/publish/a', 'x'))).toEqual(
      failed(401, 'WRONGPASS', 'token revoked'),
    )
    expect((await other.post('/publish/a', 'x')).status).toBe(200)
    expect(server.core.counters.messagesPublished).toBe(2)
  })

  test('follows its role at the next message, either way', async () => {
    const [server, http] = await withToken({ roles: ['r'] })
    const setRole = async (...rules: string[]): Promise<void> => {
      const admin = await open.tcp(server)
      await admin.assertReply(['ACL', 'SETUSER', 'role:r', 'off', 'reset', ...rules], '+OK\r\n')
    }
    await setRole('&a', '+publish')
    expect((await http.post('/publish/a', 'x')).status).toBe(200)
    await setRole('&b', '+publish')
    expect(outcomeOf(await http.post('/publish/a', 'x'))).toEqual(NO_CHANNEL)
    expect((await http.post('/publish/b', 'x')).status).toBe(200)
  })

  test('has a changed password checked again', async () => {
    const [server, http] = await withPassword()
    expect((await http.post('/publish/a', 'x')).status).toBe(200)
    const admin = await open.tcp(server)
    await admin.assertReply(['ACL', 'SETUSER', 'app', 'resetpass', '>new'], '+OK\r\n')
    expect((await http.post('/publish/a', 'x')).status).toBe(401)
  })

  test('that is killed logs in anew', async () => {
    const [server, http] = await withToken()
    expect((await http.post('/publish/a', 'x')).status).toBe(200)
    const admin = await open.tcp(server)
    await admin.assertReply(['CLIENT', 'KILL', 'TRANSPORT', 'http'], ':1\r\n')
    expect((await http.post('/publish/a', 'x')).status).toBe(200)
    expect(server.core.counters.tokensAccepted).toBe(2)
  })

  test('is refused once the token has expired', async () => {
    const [server, http] = await withToken(
      { channels: ['*'] },
      {
        directives: { 'jwt-leeway': '0', 'token-expiry-grace': '60' },
      },
      { lifetimeSeconds: 1 },
    )
    expect((await http.post('/publish/a', 'x')).status).toBe(200)
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    expect(outcomeOf(await http.post('/publish/a', 'x'))).toEqual(
      failed(401, 'WRONGPASS', 'token expired'),
    )
    expect(server.core.clients.size).toBe(0)
  })
})

describe('Rates', () => {
  test('of an address count tries, and leave other addresses alone', async () => {
    const [server, http] = await withToken(
      { channels: ['*'] },
      {
        clock: new FakeClock(Date.now()),
        directives: { 'http-publish-rate-per-ip': '2', 'trusted-proxies': '127.0.0.1' },
      },
    )
    const from = (ip: string): Promise<HttpAnswer> =>
      http.post('/publish/a', 'x', { 'x-forwarded-for': ip })
    for (let i = 0; i < 5; i++) expect((await from('192.0.2.1')).status).toBe(200)
    const refused = await from('192.0.2.1')
    expect(outcomeOf(refused)).toEqual(failed(429, 'TOOFAST', 'too many messages'))
    expect(refused.headers['retry-after']).toBe('1')
    expect((await from('192.0.2.2')).status).toBe(200)
    expect(server.core.counters.messagesPublished).toBe(6)
  })

  test('of a user count messages, over all of its connections', async () => {
    const [server, http] = await withToken(
      { channels: ['*'] },
      {
        clock: new FakeClock(Date.now()),
        directives: { 'http-publish-rate-per-user': '2' },
      },
    )
    const list = JSON.stringify(Array.from({ length: 4 }, () => ({ channel: 'a', payload: 'x' })))
    expect((await http.post('/publish', list)).status).toBe(200)
    const again = httpOf(server, {
      authorization: `Bearer ${await server.mint('42', { channels: ['*'] })}`,
    })
    expect((await again.post('/publish/a', 'x')).status).toBe(200)
    expect(outcomeOf(await again.post('/publish/a', 'x'))).toEqual(
      failed(429, 'TOOFAST', 'too many messages'),
    )
    expect(server.core.counters.messagesPublished).toBe(5)
  })
})

describe('An Idempotency-Key', () => {
  test('has a message published once, also over two connections', async () => {
    const [server, http] = await withToken()
    const other = httpOf(server, {
      authorization: `Bearer ${await server.mint('42', { channels: ['*'] })}`,
    })
    const first = await http.post('/publish/a', 'x', { 'idempotency-key': 'k' })
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    const second = await other.post('/publish/a', 'x', { 'idempotency-key': 'k' })
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(second.json).toEqual(first.json)
    expect(server.core.counters.messagesPublished).toBe(1)
    const reused = await http.post('/publish/a', 'y', { 'idempotency-key': 'k' })
    expect(outcomeOf(reused)).toEqual(
      failed(422, 'KEYREUSED', 'this Idempotency-Key was used for another message'),
    )
  })

  test('of a message that was refused may be used again', async () => {
    const [server, http] = await withPassword()
    const headers = { 'idempotency-key': 'k' }
    expect((await http.post('/publish/z', 'x', headers)).status).toBe(403)
    const admin = await open.tcp(server)
    await admin.assertReply(['ACL', 'SETUSER', 'app', '&z'], '+OK\r\n')
    expect((await http.post('/publish/z', 'x', headers)).status).toBe(200)
  })

  test('has 1 to 255 characters', async () => {
    const [, http] = await withToken()
    for (const key of ['', 'k'.repeat(256)]) {
      expect((await http.post('/publish/a', 'x', { 'idempotency-key': key })).status).toBe(400)
    }
    const longest = { 'idempotency-key': 'k'.repeat(255) }
    expect((await http.post('/publish/a', 'x', longest)).status).toBe(200)
  })
})

test('a server that drains takes no new publishers', async () => {
  const [server, http] = await withToken()
  expect((await http.post('/publish/a', 'x')).status).toBe(200)
  server.core.admission.drain()
  const other = httpOf(server, {
    authorization: `Bearer ${await server.mint('43', { channels: ['*'] })}`,
  })
  expect(outcomeOf(await other.post('/publish/a', 'x'))).toEqual(
    failed(503, 'NOROOM', 'no room for another client'),
  )
})
