import { describe, expect, test } from 'vitest'
import { TEST_AUDIENCE, TEST_ISSUER, type TestGateway } from '../../support/server.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { encodeCommand } from '../../support/resp-client.ts'
import { compact, hmac } from '../../support/tokens.ts'
import {
  askBulk,
  assertPong,
  assertReads,
  assertReply,
  NO_AUTH,
  NO_CHANNEL,
  opener,
  push,
  subscribe,
  takeAccepted,
  takeLine,
} from '../../support/opened.ts'

const open = opener()

const INVALID = '-WRONGPASS invalid token\r\n'

async function admin(server: TestGateway, ...command: string[]): Promise<void> {
  await assertReply(await open.tcp(server), command, '+OK\r\n')
}

describe('logging in with a token', () => {
  const forms: [string, (token: string) => string[]][] = [
    ['AUTH jwt', (token) => ['AUTH', 'jwt', token]],
    ['one-argument AUTH', (token) => ['AUTH', token]],
    ['HELLO 3 AUTH jwt', (token) => ['HELLO', '3', 'AUTH', 'jwt', token]],
  ]

  test.each(forms)('%s works over TCP', async (_name, command) => {
    const server = await open.server()
    const client = await open.tcp(server)
    client.command(...command(await server.mint('42', { channels: ['a'] })))
    if (command('')[0] === 'HELLO') await client.takeUntil('*0\r\n')
    else await assertReads(client, '+OK\r\n')
    await assertReply(client, ['ACL', 'WHOAMI'], '$6\r\njwt:42\r\n')
    await assertReply(client, ['PUBLISH', 'a', 'm'], ':0\r\n')
    await assertReply(client, ['PUBLISH', 'b', 'm'], NO_CHANNEL)
  })

  test.each(forms)('%s works over WebSocket', async (_name, command) => {
    const server = await open.server()
    const client = await open.webSocket(server)
    client.command(...command(await server.mint('42', { channels: ['a'] })))
    if (command('')[0] === 'HELLO') {
      expect(await takeLine(client)).toBe('%7')
      await client.takeUntil('\r\n')
    } else {
      await assertReads(client, '+OK\r\n')
      await takeAccepted(client, 'jwt:42')
    }
    await assertPong(client)
    await assertReply(client, ['ACL', 'WHOAMI'], '$6\r\njwt:42\r\n')
    await assertReply(client, ['PUBLISH', 'b', 'm'], NO_CHANNEL)
  })

  test('over RESP2 no token push comes', async () => {
    const server = await open.server()
    const client = await open.tcp(server)
    await assertReply(client, ['AUTH', 'jwt', await server.mint('42')], '+OK\r\n')
    await assertPong(client)
  })

  test('the default password wins where a one-argument AUTH could be either', async () => {
    const server = await open.server({ directives: { requirepass: 'secret' } })
    const byPassword = await open.tcp(server)
    await assertReply(byPassword, ['AUTH', 'secret'], '+OK\r\n')
    await assertReply(byPassword, ['ACL', 'WHOAMI'], '$7\r\ndefault\r\n')
    const byToken = await open.tcp(server)
    await assertReply(byToken, ['AUTH', await server.mint('42')], '+OK\r\n')
    await assertReply(byToken, ['ACL', 'WHOAMI'], '$6\r\njwt:42\r\n')
  })

  test('without an issuer no token logs in', async () => {
    const server = await open.server({ issuer: false })
    const token = await server.mint('42')
    const client = await open.tcp(server)
    const wrong = '-WRONGPASS invalid username-password pair or user is disabled.\r\n'
    await assertReply(client, ['AUTH', 'jwt', token], wrong)
    const browser = await open.webSocket(server, { token })
    expect((await browser.closed).code).toBe(4401)
  })

  test('inside MULTI a token is refused when it is queued', async () => {
    const server = await open.server()
    const token = await server.mint('42')
    const client = await open.tcp(server, 3)
    const refused = '-ERR AUTH with a token is not allowed inside MULTI\r\n'
    for (const [, command] of forms) {
      await assertReply(client, ['MULTI'], '+OK\r\n')
      await assertReply(client, command(token), refused)
      const abort = '-EXECABORT Transaction discarded because of previous errors.\r\n'
      await assertReply(client, ['EXEC'], abort)
    }
    await assertReply(client, ['ACL', 'WHOAMI'], '$7\r\ndefault\r\n')
  })
})

describe('a token that is refused', () => {
  const now = Math.floor(Date.now() / 1000)
  const good = { iss: TEST_ISSUER, aud: TEST_AUDIENCE, sub: '42', iat: now, exp: now + 60 }
  const key = hmac(Buffer.from('0123456789abcdef0123456789abcdef-test'))
  const header = { alg: 'HS256', typ: 'JWT' }

  const bad: [string, string, string][] = [
    ['that is no token', 'x', 'invalid token'],
    ['of another key', compact(header, good, hmac(Buffer.alloc(32))), 'invalid token'],
    [
      'without a signature',
      compact({ alg: 'none' }, good, key).replace(/[^.]*$/, ''),
      'invalid token',
    ],
    ['of another issuer', compact(header, { ...good, iss: 'x' }, key), 'invalid token'],
    ['for another audience', compact(header, { ...good, aud: 'x' }, key), 'invalid token'],
    ['without exp', compact(header, { ...good, exp: undefined }, key), 'invalid token'],
    ['without sub', compact(header, { ...good, sub: undefined }, key), 'invalid token'],
    ['with a blank in sub', compact(header, { ...good, sub: 'a b' }, key), 'invalid token'],
    [
      'of more than 8 KB',
      compact(header, { ...good, note: 'x'.repeat(8192) }, key),
      'invalid token',
    ],
    [
      'with an unknown key in its grants',
      compact(header, { ...good, respcast: { rooms: [] } }, key),
      'invalid token',
    ],
    [
      'that has expired',
      compact(header, { ...good, iat: now - 60, exp: now - 1 }, key),
      'token expired',
    ],
  ]

  test('is otherwise good: the one all others differ from logs in', async () => {
    const server = await open.server()
    const client = await open.tcp(server)
    await assertReply(client, ['AUTH', 'jwt', compact(header, good, key)], '+OK\r\n')
  })

  test.each(bad)('%s is answered alike over TCP, which stays open', async (_name, token, text) => {
    const server = await open.server()
    const client = await open.tcp(server)
    await assertReply(client, ['AUTH', 'jwt', token], `-WRONGPASS ${text}\r\n`)
    await assertReply(client, ['HELLO', '3', 'AUTH', 'jwt', token], `-WRONGPASS ${text}\r\n`)
    await assertReply(client, ['ACL', 'WHOAMI'], '$7\r\ndefault\r\n')
  })

  test.each(bad)('%s is answered over WebSocket, which is closed', async (_name, token, text) => {
    const server = await open.server()
    const client = await open.webSocket(server)
    client.send(
      Buffer.concat([encodeCommand('AUTH', 'jwt', token), encodeCommand('ACL', 'WHOAMI')]),
    )
    await assertReads(client, `-WRONGPASS ${text}\r\n`)
    expect(await client.closed).toEqual({ code: 4401, reason: `unauthorized||${text}` })
    expect(client.takeAll()).toBe('')
  })

  test('leaves a session as it was', async () => {
    const server = await open.server()
    const client = await open.session(server, '42', { channels: ['a'] })
    await subscribe(client, 'a')
    await assertReply(client, ['AUTH', 'jwt', 'x.y.z'], INVALID)
    await assertReply(client, ['ACL', 'WHOAMI'], '$6\r\njwt:42\r\n')
    await assertReply(await open.tcp(server), ['PUBLISH', 'a', 'm'], ':1\r\n')
    await assertReads(client, push(3, 'message', 'a', 'm'))
  })
})

describe('names that belong to tokens', () => {
  test.each(['jwt:1', 'jwt@other:1', 'role:member', 'jwt'])(
    'while an issuer is configured %s cannot log in by password',
    async (name) => {
      const server = await open.server()
      if (name === 'jwt') await admin(server, 'ACL', 'SETUSER', 'jwt', 'on', '>pw', '+@all')
      const client = await open.tcp(server)
      client.command('AUTH', name, 'pw')
      expect(await takeLine(client)).toMatch(/^-WRONGPASS /)
      await assertReply(client, ['ACL', 'WHOAMI'], '$7\r\ndefault\r\n')
    },
  )
})

describe('no path of a WebSocket leads to the default user', () => {
  test('not the beginning', async () => {
    const server = await open.server()
    const client = await open.webSocket(server)
    await assertReply(client, ['PING'], NO_AUTH)
    await assertReply(client, ['ACL', 'WHOAMI'], NO_AUTH)
    await assertReply(client, ['PUBLISH', 'a', 'm'], NO_AUTH)
  })

  test('not a password: on the public listener only tokens log in', async () => {
    const server = await open.server({ directives: { requirepass: 'secret' } })
    for (const command of [
      ['AUTH', 'secret'],
      ['AUTH', 'default', 'secret'],
      ['HELLO', '3', 'AUTH', 'default', 'secret'],
    ]) {
      const client = await open.webSocket(server)
      client.command(...command)
      const wrong = '-WRONGPASS invalid username-password pair or user is disabled.\r\n'
      await assertReads(client, wrong)
      await assertReply(client, ['PING'], NO_AUTH)
    }
  })

  test('not nopass, even where passwords may log in', async () => {
    const server = await open.server({ directives: { 'ws-password-auth': 'yes' } })
    await admin(server, 'ACL', 'SETUSER', 'free', 'on', 'nopass', '+@all', '&*')
    const client = await open.webSocket(server)
    for (const command of [
      ['AUTH', 'default', ''],
      ['AUTH', 'default', 'x'],
      ['AUTH', 'free', 'x'],
    ]) {
      client.command(...command)
      expect(await takeLine(client)).toMatch(/^-WRONGPASS /)
    }
    await assertReply(client, ['PING'], NO_AUTH)
  })

  test("not the administrators' listener: there passwords log in, but nopass does not", async () => {
    const server = await open.server()
    await admin(server, 'ACL', 'SETUSER', 'ops', 'on', '>pw', '+@all', '&*')
    const client = await open.adminSocket(server)
    client.command('AUTH', 'default', '')
    expect(await takeLine(client)).toMatch(/^-WRONGPASS /)
    await assertReply(client, ['AUTH', 'ops', 'pw'], '+OK\r\n')
    await assertReply(client, ['ACL', 'WHOAMI'], '$3\r\nops\r\n')
    await assertReply(client, ['RESET'], '+RESET\r\n')
    await assertReply(client, ['ACL', 'WHOAMI'], NO_AUTH)
  })

  test('not HELLO 3', async () => {
    const server = await open.server()
    const client = await open.webSocket(server)
    client.command('HELLO', '3')
    expect(await takeLine(client)).toMatch(/^-NOAUTH HELLO must be called/)
  })

  test('not RESET: it leaves the connection without a login, under a new deadline', async () => {
    const clock = new FakeClock(Date.now())
    const server = await open.server({ clock })
    const client = await open.session(server, '42', { channels: ['a'] })
    await subscribe(client, 'a')
    await assertReply(client, ['CLIENT', 'SETNAME', 'me'], '+OK\r\n')
    await assertReply(client, ['MULTI'], '+OK\r\n')
    await assertReply(client, ['RESET'], '+RESET\r\n')
    await assertReply(client, ['PING'], NO_AUTH)
    await assertReply(await open.tcp(server), ['PUBLISH', 'a', 'm'], ':0\r\n')
    clock.advance(4_900)
    client.command('AUTH', 'jwt', await server.mint('7'))
    await assertReads(client, '+OK\r\n')
    await takeAccepted(client, 'jwt:7')
    await assertReply(client, ['CLIENT', 'GETNAME'], '_\r\n')
    await assertReply(client, ['RESET'], '+RESET\r\n')
    clock.advance(5_000)
    expect((await client.closed).code).toBe(4408)
  })

  test('not the end of a token', async () => {
    const clock = new FakeClock(Date.now())
    const server = await open.server({ clock, directives: { 'token-expiry-grace': '0' } })
    const token = await server.mint('42', {}, { lifetimeSeconds: 10 })
    const client = await open.webSocket(server, { token })
    await takeAccepted(client, 'jwt:42')
    clock.advance(10_500)
    expect((await client.closed).code).toBe(4401)
  })

  test('not ACL LOAD', async () => {
    const server = await open.server()
    const client = await open.session(server, '42', {})
    await admin(server, 'ACL', 'SETUSER', 'default', 'on', 'nopass', '+@all')
    await assertReply(client, ['ACL', 'WHOAMI'], '$6\r\njwt:42\r\n')
    client.command('CONFIG', 'GET', '*')
    expect(await takeLine(client)).toMatch(/^-NOPERM /)
  })
})

describe('whatever a token says', () => {
  test.each([
    'CONFIG GET *',
    'CLIENT LIST',
    'CLIENT KILL ID 1',
    'CLIENT REPLY OFF',
    'ACL LIST',
    'ACL SETUSER x',
    'PUBSUB CHANNELS',
    'MONITOR',
    'INFO',
    'COMMAND',
    'SHUTDOWN',
    'TOKEN REVOKE ALL',
    'RESPCAST AUDIT',
  ])('its session may not run %s', async (command) => {
    const server = await open.server({
      directives: {
        user: [
          ['default', 'on', 'nopass', '+@all'],
          ['role:all', 'off', '~*', '&*', '+@all'],
        ],
      },
    })
    const client = await open.session(server, '42', { roles: ['all'], channels: ['*'] })
    client.command(...command.split(' '))
    expect(await takeLine(client)).toMatch(/^-NOPERM User jwt:42 has no permissions to run the '/)
    await assertPong(client)
  })

  test('its session may run what a client needs, and ask why something is refused', async () => {
    const server = await open.server()
    const client = await open.session(server, '42', { channels: ['a'] })
    await assertReply(client, ['ECHO', 'x'], '$1\r\nx\r\n')
    await assertReply(client, ['SELECT', '3'], '+OK\r\n')
    await assertReply(client, ['CLIENT', 'SETNAME', 'me'], '+OK\r\n')
    await assertReply(client, ['CLIENT', 'SETINFO', 'LIB-NAME', 'x'], '+OK\r\n')
    await assertReply(client, ['TOKEN', 'WHY', 'subscribe', 'a'], '$2\r\nok\r\n')
    await assertReply(client, ['TOKEN', 'WHY', 'subscribe', 'b'], '$7\r\nchannel\r\n')
  })
})

describe('a token session in lists', () => {
  test('shows its claims behind the fields of Redis, backslashes escaped', async () => {
    const server = await open.server()
    const token = await server.mint('42', {}, { jti: 'a=b\\c' })
    const client = await open.webSocket(server, { token, origin: server.url })
    await takeAccepted(client, 'jwt:42')
    const line = await askBulk(client, 'CLIENT', 'INFO')
    expect(line).toMatch(/ user=jwt:42 redir=-1 resp=3 /)
    expect(line).toContain(' jwt-sub=42 jwt-iss=https://issuer.test jwt-jti=a=b\\x5cc jwt-exp=')
    expect(line).toMatch(new RegExp(` origin=${server.url} transport=websocket\n$`))
  })
})
