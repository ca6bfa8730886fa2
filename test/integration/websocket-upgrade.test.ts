import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { assertAlive, assertPong, opener, takeAccepted } from './support/opened.ts'

const open = opener()

describe('the path of the WebSocket', () => {
  test.each(['/', '/index.html', '/client/client.js', '/favicon.ico', '/ws/', '/ws/x', '/wsx'])(
    'an upgrade of %s on the public listener is refused, never 101',
    async (path) => {
      const server = await open.server()
      const upgrade = await open.upgrade(server.httpPort, { path })
      expect(upgrade.status).toBe(404)
      await assertAlive(open, server)
    },
  )

  test.each(['/livez', '/readyz', '/metrics', '/'])(
    "an upgrade of %s on the administrators' listener is refused, never 101",
    async (path) => {
      const server = await open.server()
      const upgrade = await open.upgrade(server.adminPort, { path })
      expect(upgrade.status).toBe(404)
    },
  )

  test('an ordinary request for it is answered 426 with the protocol to upgrade to', async () => {
    const server = await open.server()
    const response = await fetch(`${server.url}/ws`)
    expect(response.status).toBe(426)
    expect(response.headers.get('upgrade')).toBe('websocket')
  })

  test('ws-path moves it, and the old path is gone', async () => {
    const server = await open.server({ directives: { 'ws-path': '/live' } })
    expect((await open.upgrade(server.httpPort, { path: '/live' })).status).toBe(101)
    expect((await open.upgrade(server.httpPort, { path: '/ws' })).status).toBe(404)
  })
})

describe('an upgrade that is refused', () => {
  test.each([
    [404, { path: '/nowhere' }],
    [404, { path: '/' }],
    [403, { headers: { Origin: 'https://evil.test' } }],
    [400, { headers: { 'Sec-WebSocket-Protocol': 'other' } }],
    [400, { headers: { 'Sec-WebSocket-Key': 'short' } }],
  ])(
    'with %i leaves no connection behind on which more could be smuggled',
    async (status, request) => {
      const server = await open.server()
      const early = Buffer.from('GET /ws HTTP/1.1\r\nHost: a\r\n\r\n')
      const upgrade = await open.upgrade(server.httpPort, { ...request, early })
      expect(upgrade.status).toBe(status)
      expect((await upgrade.ended).toString('latin1')).not.toContain('HTTP/1.1')
    },
  )
})

describe('subprotocols', () => {
  test.each([
    ['resp3', 'resp3'],
    ['bearer.aaaa, resp3', 'resp3'],
    ['other,resp3 , more', 'resp3'],
    [undefined, undefined],
  ])('an offer of %s is answered %s', async (offered, chosen) => {
    const server = await open.server()
    const upgrade = await open.upgrade(server.httpPort, {
      headers: { 'Sec-WebSocket-Protocol': offered },
    })
    expect(upgrade.status).toBe(101)
    expect(upgrade.headers.get('sec-websocket-protocol')).toBe(chosen)
  })

  test.each(['graphql-ws', 'bearer.aaaa', 'RESP3', 'eyJhbGciOiJIUzI1NiJ9.e30.x'])(
    'an offer of %s alone is refused with 400, naming resp3 and not what was offered',
    async (offered) => {
      const server = await open.server()
      const upgrade = await open.upgrade(server.httpPort, {
        headers: { 'Sec-WebSocket-Protocol': offered },
      })
      expect(upgrade.status).toBe(400)
      const body = (await upgrade.ended).toString()
      expect(body).toContain("offer 'resp3'")
      expect(body).not.toContain(offered)
      expect(upgrade.headers.has('sec-websocket-protocol')).toBe(false)
    },
  )

  test('more than 16 are refused, though resp3 is among them', async () => {
    const server = await open.server()
    const offer = (count: number) =>
      open.upgrade(server.httpPort, {
        headers: {
          'Sec-WebSocket-Protocol': ['resp3', ...Array(count - 1).keys()]
            .map((name) => (name === 'resp3' ? name : `p${name}`))
            .join(','),
        },
      })
    expect((await offer(16)).status).toBe(101)
    expect((await offer(17)).status).toBe(400)
  })

  test('no header of the response repeats the token', async () => {
    const server = await open.server()
    const token = await server.mint('1')
    const upgrade = await open.upgrade(server.httpPort, {
      headers: { 'Sec-WebSocket-Protocol': `bearer.${token}, resp3` },
    })
    expect([...upgrade.headers.values()].join('\n')).not.toContain(token)
  })
})

describe('headers meant to hurt', () => {
  test.each([
    [
      '2000 headers',
      Object.fromEntries([...Array(2000).keys()].map((i) => [`X-Filler-${i}`, 'y'])),
    ],
    [
      'a subprotocol list with 32,000 blanks',
      { 'Sec-WebSocket-Protocol': `b${' '.repeat(32_000)}x` },
    ],
  ])('%s are refused at once', async (_name, headers) => {
    const server = await open.server()
    const upgrade = await open.upgrade(server.httpPort, { headers })
    expect(upgrade.status).toBe(431)
    await assertAlive(open, server)
  })

  test.each(['constructor', '__proto__', 'permessage-deflate; constructor'])(
    'the extension %s does no harm',
    async (extension) => {
      const server = await open.server()
      const upgrade = await open.upgrade(server.httpPort, {
        headers: { 'Sec-WebSocket-Extensions': extension },
      })
      expect(upgrade.headers.has('sec-websocket-extensions')).toBe(false)
      await assertAlive(open, server)
    },
  )

  test.each(['7', '12', 'x'])('version %s of the protocol is refused', async (version) => {
    const server = await open.server()
    const upgrade = await open.upgrade(server.httpPort, {
      headers: { 'Sec-WebSocket-Version': version },
    })
    expect(upgrade.status).toBe(400)
    await upgrade.ended
  })
})

describe('origins', () => {
  /** The status of an upgrade that says it comes from a page of `origin`. */
  async function statusFor(
    directives: Record<string, string>,
    origin: string | undefined,
    headers: Record<string, string> = {},
  ): Promise<number> {
    const server = await open.server({ directives })
    const own = origin?.replace('OWN', `127.0.0.1:${server.httpPort}`)
    const upgrade = await open.upgrade(server.httpPort, { headers: { Origin: own, ...headers } })
    return upgrade.status
  }

  test.each([
    ['http://OWN', 101],
    ['https://OWN', 101],
    [undefined, 101],
    ['null', 403],
    ['http://127.0.0.1', 403],
    ['http://localhost:1', 403],
    ['http://OWN.evil.example', 403],
    ['http://user@OWN', 403],
    ['http://OWN/', 403],
    ['http://OWN/path', 403],
    ['file://', 403],
    ['chrome-extension://OWN', 403],
    ['', 403],
  ])('without a list the origin %s of a page is answered %i', async (origin, status) => {
    expect(await statusFor({}, origin)).toBe(status)
  })

  test.each([
    ['http://app.example', 'app.example', 101],
    ['https://app.example', 'app.example', 101],
    ['https://app.example', 'app.example:443', 101],
    ['http://app.example', 'app.example:80', 101],
    ['https://app.example', 'app.example:80', 403],
    ['http://app.example:8080', 'app.example', 403],
    ['http://app.example', 'APP.example', 101],
    ['http://APP.example', 'app.example', 403],
    ['http://app.example.', 'app.example', 403],
    ['http://app.example.evil.test', 'app.example', 403],
    ['http://evil.test', 'app.example', 403],
  ])('without a list %s on the host %s is answered %i', async (origin, host, status) => {
    expect(await statusFor({}, origin, { Host: host })).toBe(status)
  })

  test.each([
    ['https://app.example', 101],
    ['https://other.example:8443', 101],
    [undefined, 101],
    ['http://app.example', 403],
    ['https://app.example:443', 403],
    ['https://other.example', 403],
    ['https://APP.example', 403],
    ['https://app.example.', 403],
    ['https://app.example.evil.test', 403],
    ['https://evil.test/https://app.example', 403],
    ['null', 403],
    ['http://OWN', 403],
  ])('with ws-allowed-origins the origin %s is answered %i', async (origin, status) => {
    const list = 'https://app.example https://other.example:8443'
    expect(await statusFor({ 'ws-allowed-origins': list }, origin)).toBe(status)
  })

  test.each(['https://any.example', 'null'])(
    'with ws-allowed-origins * the origin %s may connect',
    async (origin) => {
      expect(await statusFor({ 'ws-allowed-origins': '*' }, origin)).toBe(101)
    },
  )

  test.each([
    ['', 403],
    ['10.0.0.0/8', 403],
    ['127.0.0.0/8', 101],
    ['127.0.0.1', 101],
  ])(
    'X-Forwarded-Host counts only from trusted-proxies: %s is answered %i',
    async (list, status) => {
      const headers = { 'X-Forwarded-Host': 'app.example' }
      const directives = list === '' ? {} : { 'trusted-proxies': list }
      expect(await statusFor(directives, 'https://app.example', headers)).toBe(status)
    },
  )

  test('CONFIG SET ws-allowed-origins holds for the next upgrade', async () => {
    const server = await open.server()
    const upgrade = () =>
      open.upgrade(server.httpPort, { headers: { Origin: 'https://app.example' } })
    expect((await upgrade()).status).toBe(403)
    const admin = await open.tcp(server)
    admin.command('CONFIG', 'SET', 'ws-allowed-origins', 'https://app.example')
    await admin.takeExactly('+OK\r\n')
    expect((await upgrade()).status).toBe(101)
  })

  test('the log names the directive and the value that would allow a refused origin', async () => {
    const server = await open.server()
    const logFile = join(server.dir, 'log')
    const logging = await open.server({ logFile })
    await open.upgrade(logging.httpPort, { headers: { Origin: 'https://app.example' } })
    const line = readFileSync(logFile, 'utf8')
      .split('\n')
      .find((text) => text.includes('origin refused'))
    expect(line).toContain('ws-allowed-origins')
    expect(line).toContain('https://app.example')
  })
})

describe('a token that comes with the upgrade', () => {
  test('may be an Authorization header, in any case of its scheme', async () => {
    const server = await open.server()
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const token = await server.mint('42', { channels: ['a'] })
      const client = await open.webSocket(server, {
        headers: { authorization: `${scheme} ${token}` },
      })
      await takeAccepted(client, 'jwt:42')
      await assertPong(client)
    }
  })

  test('may be a subprotocol beside resp3', async () => {
    const server = await open.server()
    const client = await open.webSocket(server, { token: await server.mint('42') })
    expect(client.protocol).toBe('resp3')
    expect(await takeAccepted(client, 'jwt:42')).toBeGreaterThan(3_590_000)
    await assertPong(client)
  })

  test.each([
    ['invalid token', async () => 'aaaa.bbbb.cccc'],
    ['invalid token', async (token: string) => token.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A'))],
  ])('that is bad completes the upgrade, then closes with 4401 %s', async (text, spoil) => {
    const server = await open.server()
    // The last digit but the padding bits of an HMAC is significant, so a changed first one surely is.
    const good = await server.mint('42')
    const [head = '', body = '', mac = ''] = good.split('.')
    const bad = text === 'invalid token' ? await spoil(`${head}.${body}.A${mac.slice(1)}`) : good
    const client = await open.webSocket(server, { token: bad })
    expect(await client.closed).toEqual({ code: 4401, reason: `unauthorized||${text}` })
    expect(client.takeAll()).toBe('')
  })

  test('that has expired completes the upgrade, then closes with 4401 token expired', async () => {
    const server = await open.server()
    const token = await server.mint('42', {}, { lifetimeSeconds: -10 })
    const client = await open.webSocket(server, { token })
    expect(await client.closed).toEqual({ code: 4401, reason: 'unauthorized||token expired' })
  })

  test('is not read from the query unless ws-token-query says so', async () => {
    for (const [query, reply] of [
      ['no', '-NOAUTH Authentication required.\r\n'],
      ['yes', '$6\r\njwt:42\r\n'],
    ] as const) {
      const server = await open.server({ directives: { 'ws-token-query': query } })
      const token = await server.mint('42')
      const client = await open.webSocket({ ...server, wsUrl: `${server.wsUrl}?token=${token}` })
      if (query === 'yes') await takeAccepted(client, 'jwt:42')
      client.command('ACL', 'WHOAMI')
      await client.takeExactly(reply)
    }
  })
})

describe('a token in a cookie', () => {
  const ORIGIN = 'https://app.example'
  const directives = { 'ws-token-cookie': 'session', 'ws-allowed-origins': ORIGIN }

  test('logs in a page of an allowed origin', async () => {
    const server = await open.server({ directives })
    const cookie = `a=b; session=${await server.mint('42')}; c=d`
    const client = await open.webSocket(server, { origin: ORIGIN, headers: { cookie } })
    await takeAccepted(client, 'jwt:42')
  })

  test('is refused with 403 where there is no Origin, and where it is another', async () => {
    const server = await open.server({ directives })
    const Cookie = `session=${await server.mint('42')}`
    expect((await open.upgrade(server.httpPort, { headers: { Cookie } })).status).toBe(403)
    const Origin = 'https://evil.test'
    expect((await open.upgrade(server.httpPort, { headers: { Cookie, Origin } })).status).toBe(403)
  })

  test('does not count without the directive', async () => {
    const server = await open.server({ directives: { 'ws-allowed-origins': ORIGIN } })
    const cookie = `session=${await server.mint('42')}`
    const client = await open.webSocket(server, { origin: ORIGIN, headers: { cookie } })
    client.command('PING')
    await client.takeExactly('-NOAUTH Authentication required.\r\n')
  })

  test.each([{}, { 'ws-allowed-origins': '*' }, { 'ws-allowed-origins': `${ORIGIN} *` }])(
    'refuses to start with the origins %o',
    async (origins) => {
      await expect(
        startServer({ directives: { 'ws-token-cookie': 'session', ...origins } }),
      ).rejects.toThrow(/ws-token-cookie needs ws-allowed-origins/)
    },
  )
})
