import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openEvents, type EventSource } from '../../support/event-source.ts'
import { folderWith } from '../../support/folder.ts'
import { HttpClient } from '../../support/http-client.ts'
import { DEFAULT_USER, eventually, opener, receiversOf } from '../../support/opened.ts'
import { seededRandom } from '../../support/random.ts'
import type { ServerOptions, TestGateway } from '../../support/server.ts'

const open = opener()

async function eventsOf(
  server: TestGateway,
  query: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventSource> {
  const source = await openEvents(server.httpPort, `/events?${query}`, headers)
  open.onEnd(() => source.destroy())
  return source
}

async function bearer(
  server: TestGateway,
  grants: Parameters<TestGateway['mint']>[1] = { channels: ['*'] },
  more: Parameters<TestGateway['mint']>[2] = {},
): Promise<{ authorization: string }> {
  return { authorization: `Bearer ${await server.mint('42', grants, more)}` }
}

/** A server, and a stream of subject 42 whose first events (its login and its subscriptions) are taken. */
async function withStream(
  query: string,
  options: ServerOptions = {},
  grants: Parameters<TestGateway['mint']>[1] = { channels: ['*'] },
): Promise<[TestGateway, EventSource]> {
  const server = await open.server(options)
  const source = await eventsOf(server, query, await bearer(server, grants))
  expect(source.status).toBe(200)
  await source.take(1 + query.split('&').length)
  return [server, source]
}

async function publish(server: TestGateway, channel: string, payload: string): Promise<void> {
  const client = await open.tcp(server)
  client.command('PUBLISH', channel, payload)
  await client.takeLine()
}

async function ask(server: TestGateway, ...words: string[]): Promise<void> {
  const client = await open.tcp(server)
  client.command(...words)
  await client.takeLine()
}

/** A stream of two channels, whose role has just lost `b`. */
async function streamOfRoleThatLosesB(server: TestGateway): Promise<EventSource> {
  await ask(server, 'ACL', 'SETUSER', 'role:r', 'off', '&a', '&b', '+subscribe')
  const headers = await bearer(server, { roles: ['r'] })
  const source = await eventsOf(server, 'channel=a&channel=b', headers)
  await source.take(3)
  await ask(server, 'ACL', 'SETUSER', 'role:r', 'resetchannels', '&a')
  return source
}

function message(channel: string, payload: string, more: object = {}): object {
  return { event: 'message', data: { ...more, channel, payload } }
}

describe('GET /events', () => {
  test('is a stream that nothing on the way may keep', async () => {
    const server = await open.server()
    const source = await eventsOf(server, 'channel=a&pattern=b*', await bearer(server))
    expect(source.status).toBe(200)
    expect(source.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      connection: 'close',
    })
    expect(source.headers['content-encoding']).toBeUndefined()
    expect(await source.take(3)).toEqual([
      {
        event: 'token',
        data: { about: 'accepted', user: 'jwt:42', leftMs: expect.any(Number) as number },
      },
      { event: 'subscribed', data: { channel: 'a' } },
      { event: 'subscribed', data: { pattern: 'b*' } },
    ])
    expect(source.text).toMatch(/^retry: 3000\n\n/)
  })

  test('carries each message once for each subscription, in order', async () => {
    const [server, source] = await withStream('channel=a&pattern=a*')
    await publish(server, 'a', '1')
    await publish(server, 'ab', 'two\nlines')
    expect(await source.take(3)).toEqual([
      message('a', '1'),
      message('a', '1', { pattern: 'a*' }),
      message('ab', 'two\nlines', { pattern: 'a*' }),
    ])
  })

  test('carries any bytes: two streams are given the same 500 payloads', async () => {
    const [server, source] = await withStream('channel=a')
    const other = await eventsOf(server, 'channel=a', await bearer(server))
    await other.take(2)
    const random = seededRandom(7)
    const below = (most: number): number => Math.floor(random() * most)
    const client = await open.tcp(server)
    const sent: string[] = []
    for (let i = 0; i < 500; i++) {
      const length = below(i % 50 === 0 ? 30_000 : 60)
      const payload = Buffer.from(Array.from({ length }, () => below(i % 2 === 0 ? 128 : 256)))
      sent.push(payload.toString('latin1'))
      client.command('PUBLISH', 'a', payload)
    }
    for (const one of [source, other]) {
      const received = (await one.take(500)).map(({ data }) => {
        const { payload, b64payload } = data as { payload?: string; b64payload?: string }
        return payload === undefined
          ? Buffer.from(b64payload ?? '', 'base64').toString('latin1')
          : Buffer.from(payload, 'utf8').toString('latin1')
      })
      expect(received).toEqual(sent)
    }
  })

  test('is a client: in CLIENT LIST, in PUBSUB, for CLIENT KILL, and gone with its connection', async () => {
    const [server, source] = await withStream('channel=a')
    const [client] = [...server.core.clients.all()]
    expect(client?.origin).toMatchObject({ transport: 'sse', listener: 'public' })
    expect(await receiversOf(open, server, 'a')).toBe(1)
    await source.take(1)
    await ask(server, 'CLIENT', 'KILL', 'TRANSPORT', 'sse')
    expect(await source.ended()).toEqual([{ event: 'close', data: { code: 1000, reason: '' } }])
    const again = await eventsOf(server, 'channel=a', await bearer(server))
    await again.take(2)
    again.destroy()
    await eventually('nobody is left', () => server.core.registry.subscriberCount === 0)
  })

  test.each([
    ['', 'a channel or a pattern is needed'],
    ['channel=%f', 'a channel has a bad percent-encoding'],
  ])('with the query %j is refused: %s', async (query, text) => {
    const server = await open.server()
    const source = await eventsOf(server, query, await bearer(server))
    await source.ended().catch(() => [])
    expect(source.status).toBe(400)
    expect(JSON.parse(source.text)).toEqual({ error: { code: 'BADREQUEST', message: text } })
  })

  test('http-events-path moves it, and turns it off', async () => {
    const moved = await open.server({ directives: { 'http-events-path': '/live' } })
    const headers = await bearer(moved)
    expect((await openEvents(moved.httpPort, '/events?channel=a', headers)).status).toBe(404)
    const source = await openEvents(moved.httpPort, '/live?channel=a', headers)
    open.onEnd(() => source.destroy())
    expect(source.status).toBe(200)
    const off = await open.server({ directives: { 'http-events-path': '' } })
    expect((await eventsOf(off, 'channel=a', await bearer(off))).status).toBe(404)
  })
})

describe('Who reads events', () => {
  async function refusal(source: EventSource): Promise<unknown> {
    await source.ended()
    return [source.status, JSON.parse(source.text)]
  }

  const refused = (status: number, code: string, text: string): unknown => [
    status,
    { error: { code, message: text } },
  ]

  test('has to log in, and may nothing that its token does not grant: all names, or none', async () => {
    const server = await open.server()
    expect(await refusal(await eventsOf(server, 'channel=a'))).toEqual(
      refused(401, 'NOAUTH', 'Authentication required.'),
    )
    const headers = await bearer(server, { subscribe: ['a'] })
    expect(await refusal(await eventsOf(server, 'channel=a&channel=b', headers))).toEqual(
      refused(403, 'NOPERM', 'No permissions to access a channel'),
    )
    expect(await refusal(await eventsOf(server, 'channel=a&pattern=a*', headers))).toEqual(
      refused(403, 'NOPERM', 'No permissions to access a channel'),
    )
    expect(server.core.aclLog.denied.channel).toBe(2)
    await eventually('nobody is left', () => server.core.clients.size === 0)
    expect(server.core.registry.subscriberCount).toBe(0)
  })

  test('by a revoked token is refused', async () => {
    const server = await open.server()
    const headers = await bearer(server)
    await ask(server, 'TOKEN', 'REVOKE', 'SUB', '42')
    expect(await refusal(await eventsOf(server, 'channel=a', headers))).toEqual(
      refused(401, 'WRONGPASS', 'token revoked'),
    )
  })

  test('by password is a user of the ACL, where ws-password-auth allows it', async () => {
    const server = await open.server({
      directives: {
        user: [DEFAULT_USER, ['app', 'on', '>pw', 'resetchannels', '&a*', '+subscribe']],
        'ws-password-auth': 'yes',
      },
    })
    const authorization = `Basic ${Buffer.from('app:pw').toString('base64')}`
    const source = await eventsOf(server, 'channel=a', { authorization })
    expect(await source.take(1)).toEqual([{ event: 'subscribed', data: { channel: 'a' } }])
  })

  test('may send the token in the query only where ws-token-query allows it', async () => {
    for (const [allowed, status] of [
      ['yes', 200],
      ['no', 401],
    ] as const) {
      const server = await open.server({ directives: { 'ws-token-query': allowed } })
      const token = await server.mint('42', { channels: ['*'] })
      expect((await eventsOf(server, `channel=a&token=${token}`)).status).toBe(status)
    }
  })

  test('has no log that repeats its token, wherever that came', async () => {
    const logFile = join(folderWith(), 'log')
    const server = await open.server({ directives: { 'ws-token-query': 'yes' }, logFile })
    const good = await server.mint('42', { channels: ['a'] })
    const bad = `${good.slice(0, -4)}AAAA`
    for (const token of [good, bad]) {
      const source = await eventsOf(server, `channel=b&token=${token}`)
      await source.ended()
      const http = new HttpClient(server.httpPort, { authorization: `Bearer ${token}` })
      open.onEnd(() => http.close())
      await http.post(`/publish/a?token=${token}`, 'x')
    }
    const log = readFileSync(logFile, 'utf8')
    const [, claims = '', signature = ''] = good.split('.')
    expect(log).toContain('jwt:42')
    expect(log).not.toContain(claims)
    expect(log).not.toContain(signature.slice(0, 20))
  })

  test('may rely on a cookie on a page that is known: of an allowed origin, or of this one', async () => {
    const server = await open.server({
      directives: { 'ws-allowed-origins': 'https://app.test', 'ws-token-cookie': 'session' },
    })
    const cookie = `session=${await server.mint('42', { channels: ['*'] })}`
    const statusOf = async (headers: Record<string, string>): Promise<number> =>
      (await eventsOf(server, 'channel=a', { cookie, ...headers })).status
    expect(await statusOf({ origin: 'https://app.test' })).toBe(200)
    expect(await statusOf({ 'sec-fetch-site': 'same-origin' })).toBe(200)
    expect(await statusOf({ origin: 'https://evil.test' })).toBe(403)
    expect(await statusOf({ 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect(await statusOf({})).toBe(403)
  })

  test('from a page of another origin is told that the page may read it', async () => {
    const server = await open.server({ directives: { 'ws-allowed-origins': 'https://app.test' } })
    const source = await eventsOf(server, 'channel=a', {
      ...(await bearer(server)),
      origin: 'https://app.test',
    })
    expect(source.headers['access-control-allow-origin']).toBe('https://app.test')
  })

  test.each([
    ['ws-max-connections-per-ip', 'TOOFAST'],
    ['ws-max-connections-per-user', 'ERR'],
  ])('counts against %s, together with WebSockets', async (directive, code) => {
    const server = await open.server({ directives: { [directive]: '2' } })
    await open.session(server, '42', { channels: ['*'] })
    await (await eventsOf(server, 'channel=a', await bearer(server))).take(2)
    const source = await eventsOf(server, 'channel=a', await bearer(server))
    await source.ended()
    expect(source.status).toBe(429)
    expect(source.text).toContain(`"code":"${code}"`)
  })
})

describe('The end of a stream', () => {
  test('says that its token was revoked, with the code and the reason of a WebSocket', async () => {
    const [server, source] = await withStream('channel=a')
    await ask(server, 'TOKEN', 'REVOKE', 'SUB', '42')
    await publish(server, 'a', 'nobody hears this')
    expect(await source.ended()).toEqual([
      { event: 'token', data: { about: 'revoked', channel: '', message: 'token revoked' } },
      {
        event: 'close',
        data: {
          code: 4403,
          reason: expect.stringMatching(/^revoked\|\d+\|token revoked$/) as string,
        },
      },
    ])
  })

  test('comes when its role loses a channel', async () => {
    const server = await open.server()
    const source = await streamOfRoleThatLosesB(server)
    await publish(server, 'a', 'x')
    expect((await source.ended()).at(-1)).toMatchObject({ event: 'close', data: { code: 4403 } })
  })

  test('does not come in the gentle mode, which takes the subscription alone', async () => {
    const server = await open.server({ directives: { 'ws-revocation': 'unsubscribe' } })
    const source = await streamOfRoleThatLosesB(server)
    await publish(server, 'a', 'x')
    await publish(server, 'b', 'y')
    expect(await source.take(3)).toEqual([
      { event: 'unsubscribed', data: { channel: 'b' } },
      { event: 'token', data: { about: 'revoked', channel: 'b', message: 'permissions changed' } },
      message('a', 'x'),
    ])
  })

  test('comes with the token', async () => {
    const server = await open.server({
      directives: { 'jwt-leeway': '0', 'token-expiry-grace': '0' },
    })
    const headers = await bearer(server, { channels: ['*'] }, { lifetimeSeconds: 2 })
    const source = await eventsOf(server, 'channel=a', headers)
    await source.take(2)
    expect((await source.ended()).at(-1)).toMatchObject({ event: 'close', data: { code: 4401 } })
  })

  test('is told to those who are here when the server ends', async () => {
    const [server, source] = await withStream('channel=a')
    await server.gateway.stop()
    expect(await source.ended()).toMatchObject([
      {
        event: 'close',
        data: { code: 4503, reason: expect.stringMatching(/^draining\|\d+\|/) as string },
      },
    ])
    expect(source.text).toMatch(/retry: \d+\nevent: close/)
  })

  test('comes for one that does not read, at the output limit of browsers; others get every message', async () => {
    const [server, slow] = await withStream('channel=a', {
      directives: { 'client-output-buffer-limit': 'websocket 1mb 0 0' },
    })
    const quick = await eventsOf(server, 'channel=a', await bearer(server))
    await quick.take(2)
    slow.pause()
    const client = await open.tcp(server)
    const payload = 'x'.repeat(50_000)
    for (let i = 0; i < 400; i++) client.command('PUBLISH', 'a', payload)
    await quick.take(400)
    await eventually(
      'the slow one is closed',
      () => server.core.counters.outputLimitDisconnections === 1,
    )
    expect(
      [...server.core.clients.all()].filter(({ origin }) => origin.transport === 'sse'),
    ).toHaveLength(1)
  })
})

test('a silent stream gets a comment', async () => {
  const [, source] = await withStream('channel=a', { directives: { 'ws-ping-interval': '1' } })
  await eventually('a comment came', () => source.text.includes('\n\n:\n\n'))
  expect(source.events).toHaveLength(2)
})

test('a request that follows on the connection of a stream is not answered into it', async () => {
  const server = await open.server()
  const { authorization } = await bearer(server)
  const lines = `Host: a\r\nAuthorization: ${authorization}\r\n\r\n`
  const socket = await open.tcp({ ...server, port: server.httpPort })
  socket.send(Buffer.from(`GET /events?channel=a HTTP/1.1\r\n${lines}`))
  await eventually('it is there', () => server.core.registry.subscriberCount === 1)
  socket.send(Buffer.from(`GET /client/client.js HTTP/1.1\r\n${lines}`))
  await publish(server, 'a', 'x')
  await socket.takeUntil('data: {"channel":"a","payload":"x"}\n\n')
})
