import { readFileSync } from 'node:fs'
import { Server } from 'node:http'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import { assertAlive, NO_AUTH, opener } from '../../support/opened.ts'

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

describe('an upgrade that the framework does not see', () => {
  test('is answered as one that it does', async () => {
    const server = await open.server()
    const direct = await open.upgrade(server.httpPort, { path: '/ws' })
    const routed = await open.upgrade(server.httpPort, { path: '/ws?x=1' })
    const names = ({ headers }: typeof direct): string[] => [...headers.keys()]
    expect([direct.status, routed.status]).toEqual([101, 101])
    expect(names(direct)).toEqual(names(routed))
    await assertAlive(open, server)
  })

  test('is refused as one that it does', async () => {
    const server = await open.server()
    const headers = { Origin: 'https://evil.test' }
    const direct = await open.upgrade(server.httpPort, { path: '/ws', headers })
    const routed = await open.upgrade(server.httpPort, { path: '/ws?x=1', headers })
    const shown = ({ headers: sent }: typeof direct): unknown =>
      [...sent].filter(([name]) => name !== 'date')
    expect([direct.status, routed.status]).toEqual([403, 403])
    expect(shown(direct)).toEqual(shown(routed))
    expect((await direct.ended).equals(await routed.ended)).toBe(true)
  })
})

describe('an upgrade that is refused', () => {
  test.each([
    [404, { path: '/nowhere' }],
    [404, { path: '/' }],
    [403, { headers: { Origin: 'https://evil.test' } }],
    [400, { headers: { 'Sec-WebSocket-Protocol': 'other' } }],
    [400, { headers: { 'Sec-WebSocket-Key': 'short' } }],
    [400, { headers: { Host: undefined } }],
    [400, { path: '/ws%0' }],
    [400, { path: 'htthttp://a/ws' }],
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

describe('an upgrade that is served', () => {
  test('leaves nothing of its request with the WebSocket', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const server = await open.server()
    const requests: WeakRef<object>[] = []
    const emit = Reflect.get(Server.prototype, 'emit') as (
      this: Server,
      ...args: never[]
    ) => boolean
    open.onEnd(() => void Reflect.deleteProperty(Server.prototype, 'emit'))
    Server.prototype.emit = function (this: Server, name: string, ...args: object[]) {
      if (name === 'upgrade') requests.push(new WeakRef(args[0] as object))
      return Reflect.apply(emit, this, [name, ...args] as never[])
    } as typeof Server.prototype.emit
    const client = await open.session(server, '1', {})
    expect(requests).toHaveLength(1)
    for (let turn = 0; turn < 100 && requests[0]?.deref() !== undefined; turn++) {
      await setImmediate()
      collect()
    }
    expect(requests[0]?.deref()).toBeUndefined()
    await client.assertReply(['PING'], '+PONG\r\n')
  })
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

  test('an offer without resp3 is refused with 400, and not repeated', async () => {
    const server = await open.server()
    const upgrade = await open.upgrade(server.httpPort, {
      headers: { 'Sec-WebSocket-Protocol': 'graphql-ws' },
    })
    expect(upgrade.status).toBe(400)
    const body = (await upgrade.ended).toString()
    expect(body).toContain("offer 'resp3'")
    expect(body).not.toContain('graphql-ws')
    expect(upgrade.headers.has('sec-websocket-protocol')).toBe(false)
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
      'a subprotocol list with 32,000 spaces',
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

/** Filler headers, `count` of them. */
function fillers(count: number): Record<string, string> {
  return Object.fromEntries([...Array(count).keys()].map((i) => [`X-Filler-${i}`, 'y']))
}

describe('headers that could hide from a check', () => {
  const evil = { Origin: 'https://evil.test' }

  test.each([65, 70, 130])(
    'a foreign Origin behind %i others is no way in: 431 on both listeners',
    async (count) => {
      const server = await open.server()
      for (const port of [server.httpPort, server.adminPort]) {
        const upgrade = await open.upgrade(port, { headers: { ...fillers(count), ...evil } })
        expect(upgrade.status).toBe(431)
        await upgrade.ended
      }
    },
  )

  test('an upgrade that a hook refuses leaves no socket behind: a foreign Host at the admin listener', async () => {
    const server = await open.server()
    const upgrade = await open.upgrade(server.adminPort, { headers: { Host: 'evil.test' } })
    expect(upgrade.status).toBe(403)
    await upgrade.ended
  })

  test('64 headers are no problem: the Origin among them is judged', async () => {
    const server = await open.server()
    const upgrade = (headers: Record<string, string>) => open.upgrade(server.httpPort, { headers })
    expect((await upgrade(fillers(59))).status).toBe(101)
    expect((await upgrade({ ...fillers(58), ...evil })).status).toBe(403)
  })

  test.each(['/', '/ws', '/nowhere'])(
    'an ordinary request for %s is answered 431',
    async (path) => {
      const server = await open.server()
      const response = await fetch(`${server.url}${path}`, { headers: fillers(80) })
      expect(response.status).toBe(431)
      expect(response.headers.get('connection')).toBe('close')
    },
  )

  test.each([
    ['Host', 'host', '127.0.0.1'],
    ['Origin', 'origin', 'https://app.example'],
    ['Authorization', 'authorization', 'Bearer a'],
  ])('two headers %s are answered 400', async (first, second, value) => {
    const server = await open.server({ directives: { 'ws-allowed-origins': '*' } })
    const headers = { [first]: value, [second]: value }
    expect((await open.upgrade(server.httpPort, { headers })).status).toBe(400)
    expect((await open.upgrade(server.adminPort, { path: '/livez', headers })).status).toBe(400)
  })
})

describe('the address that a trusted proxy reports', () => {
  /** Connects with an X-Forwarded-For. @returns `addr` of the client without its port, and the rest of its line. */
  async function addressOf(forwarded: string): Promise<string> {
    const server = await open.server({ directives: { 'trusted-proxies': '127.0.0.1 10.0.0.0/8' } })
    await open.upgrade(server.httpPort, { headers: { 'X-Forwarded-For': forwarded } })
    const [client] = [...server.core.clients.all()]
    return client?.origin.address.replace(/:\d+$/, '') ?? ''
  }

  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:1234', '203.0.113.7'],
    ['[2001:db8::1]', '[2001:db8::1]'],
    ['[2001:db8::1]:443', '[2001:db8::1]'],
    ['198.51.100.1, 203.0.113.7', '203.0.113.7'],
    ['203.0.113.7, 10.1.1.1:80', '203.0.113.7'],
    ['1.2.3.4 user=default', '127.0.0.1'],
    ['unknown', '127.0.0.1'],
    ['evil, 10.1.1.1', '10.1.1.1'],
  ])('%j is %s', async (forwarded, address) => {
    expect(await addressOf(forwarded)).toBe(address)
  })

  test('counts for limits per address whatever port stands behind it', async () => {
    const directives = { 'trusted-proxies': '127.0.0.1', 'ws-max-connections-per-ip': '1' }
    const server = await open.server({ directives })
    const status = async (address: string): Promise<number> => {
      const headers = { 'X-Forwarded-For': address }
      return (await open.upgrade(server.httpPort, { headers })).status
    }
    expect(await status('203.0.113.7:1')).toBe(101)
    expect(await status('203.0.113.7:2')).toBe(429)
    expect(await status('::ffff:203.0.113.7')).toBe(429)
    expect(await status('203.0.113.8')).toBe(101)
  })

  test('is refused as a configuration where the proxies are not addresses', async () => {
    const directives = { 'trusted-proxies': 'proxy.example' }
    await expect(startServer({ directives })).rejects.toThrow(
      /trusted-proxies.*neither an IP address nor a network/,
    )
  })
})

describe('origins', () => {
  const FORWARDED = { 'X-Forwarded-Host': 'app.example' }

  test.each([
    [{}, 'http://OWN', {}, 101],
    [{}, undefined, {}, 101],
    [{}, 'http://evil.test', {}, 403],
    [{}, 'https://app.example', { Host: 'app.example:443' }, 101],
    [{ 'ws-allowed-origins': 'https://app.example' }, 'https://app.example', {}, 101],
    [{ 'ws-allowed-origins': 'https://app.example' }, 'http://OWN', {}, 403],
    [{ 'ws-allowed-origins': '*' }, 'null', {}, 101],
    [{}, 'https://app.example', FORWARDED, 403],
    [{ 'trusted-proxies': '10.0.0.0/8' }, 'https://app.example', FORWARDED, 403],
    [{ 'trusted-proxies': '127.0.0.0/8' }, 'https://app.example', FORWARDED, 101],
    [{ 'trusted-proxies': '127.0.0.1' }, 'https://app.example', FORWARDED, 101],
  ])(
    'with %o the origin %s with the headers %o is answered %i',
    async (directives, origin, headers, status) => {
      const server = await open.server({ directives: { ...directives } })
      const Origin = origin?.replace('OWN', `127.0.0.1:${server.httpPort}`)
      const upgrade = await open.upgrade(server.httpPort, { headers: { Origin, ...headers } })
      expect(upgrade.status).toBe(status)
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
  test('may be an Authorization header', async () => {
    const server = await open.server()
    const headers = { authorization: `Bearer ${await server.mint('42', { channels: ['a'] })}` }
    const client = await open.webSocket(server, { headers })
    await client.takeAccepted('jwt:42')
    await client.assertPong()
  })

  test('may be a subprotocol beside resp3', async () => {
    const server = await open.server()
    const client = await open.webSocket(server, { token: await server.mint('42') })
    expect(client.protocol).toBe('resp3')
    expect(await client.takeAccepted('jwt:42')).toBeGreaterThan(3_590_000)
    await client.assertPong()
  })

  test('that is bad completes the upgrade, then closes with 4401 invalid token', async () => {
    const server = await open.server()
    const [head, body, mac = ''] = (await server.mint('42')).split('.')
    for (const token of [
      'aaaa.bbbb.cccc',
      `${head}.${body}.${mac[0] === 'A' ? 'B' : 'A'}${mac.slice(1)}`,
    ]) {
      const client = await open.webSocket(server, { token })
      expect(await client.closed).toEqual({ code: 4401, reason: 'unauthorized||invalid token' })
      expect(client.takeAll()).toBe('')
    }
  })

  test('that has expired completes the upgrade, then closes with 4401 token expired', async () => {
    const server = await open.server()
    const token = await server.mint('42', {}, { lifetimeSeconds: -10 })
    const client = await open.webSocket(server, { token })
    expect(await client.closed).toEqual({ code: 4401, reason: 'unauthorized||token expired' })
  })

  test('is not read from the query unless ws-token-query says so', async () => {
    for (const [query, reply] of [
      ['no', NO_AUTH],
      ['yes', '$6\r\njwt:42\r\n'],
    ] as const) {
      const server = await open.server({ directives: { 'ws-token-query': query } })
      const token = await server.mint('42')
      const client = await open.webSocket({ ...server, wsUrl: `${server.wsUrl}?token=${token}` })
      if (query === 'yes') await client.takeAccepted('jwt:42')
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
    await client.takeAccepted('jwt:42')
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
    await client.takeExactly(NO_AUTH)
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
