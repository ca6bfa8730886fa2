import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Directives } from '../../../support/settings.ts'
import { TestCore, type TestClient } from '../../../support/test-core.ts'
import { payload, token, tokenFor } from '../../../support/tokens.ts'
import { payloadOf } from '../../../../server/delivery/segment.ts'
import { folderWith } from '../../../support/folder.ts'

const bulk = (text: string): string => `$${text.length}\r\n${text}\r\n`
const push = (...items: (string | number)[]): string =>
  `>${items.length}\r\n${items.map((item) => (typeof item === 'number' ? `:${item}\r\n` : bulk(item))).join('')}`
const message = (channel: string, text: string): string => push('message', channel, text)
const pmessage = (pattern: string, channel: string, text: string): string =>
  push('pmessage', pattern, channel, text)

const CHANGED = 'permissions changed'
const HOUR_MS = 3_600_000

/** A browser that is logged in with these grants. */
async function session(
  grants: unknown,
  options: { transport?: 'tcp' | 'websocket'; exp?: number; directives?: Directives } = {},
) {
  const server = new TestCore(options.directives)
  const client = await login(server, grants, options)
  const publisher = server.connect()
  const publish = (channel: string, text: string): string =>
    publisher.send('PUBLISH', channel, text)
  return { server, client, publish }
}

async function login(
  server: TestCore,
  grants: unknown,
  options: { transport?: 'tcp' | 'websocket'; exp?: number } = {},
): Promise<TestClient> {
  const client = server.connect({ transport: options.transport ?? 'websocket', protocol: 3 })
  const text = tokenFor(grants, options.exp === undefined ? {} : { exp: options.exp })
  expect(await client.sendAndWait('AUTH', 'jwt', text)).toMatch(/^\+OK\r\n/)
  return client
}

describe('A token session', () => {
  test('may do what its token grants, and no more', async () => {
    const { client, server } = await session({ subscribe: ['news:*'], publish: ['typing:7'] })
    expect(client.send('ACL', 'WHOAMI')).toBe(bulk('jwt:42'))
    expect(client.send('SUBSCRIBE', 'news:1')).toBe(push('subscribe', 'news:1', 1))
    expect(client.send('PUBLISH', 'typing:7', 'x')).toBe(':0\r\n')
    expect(client.send('SUBSCRIBE', 'typing:7')).toMatch(
      /^-NOPERM No permissions to access a channel/,
    )
    expect(client.send('PUBLISH', 'news:1', 'x')).toMatch(/^-NOPERM/)
    expect(client.send('CLIENT', 'LIST')).toMatch(/^-NOPERM User jwt:42 has no permissions/)
    expect(server.tokens.size).toBe(1)
    expect(server.tokens.grantOf(client.client)?.sub).toBe('42')
  })

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
  ])('may not run %s, whatever its token says', async (line) => {
    const server = new TestCore()
    server.setUser('role:all', 'off ~* &* +@all')
    const client = server.connect({ transport: 'websocket' })
    await client.sendAndWait('AUTH', 'jwt', tokenFor({ roles: ['all'], channels: ['*'] }))
    expect(client.send(...line.split(' '))).toMatch(
      /^-NOPERM User jwt:42 has no permissions to run the '/,
    )
    expect(client.send('PING')).toBe('+PONG\r\n')
  })

  test('may run what a client needs, and ask why something is refused', async () => {
    const { client } = await session({ channels: ['a'] })
    expect(client.send('ECHO', 'x')).toBe(bulk('x'))
    expect(client.send('SELECT', '3')).toBe('+OK\r\n')
    expect(client.send('CLIENT', 'SETNAME', 'me')).toBe('+OK\r\n')
    expect(client.send('CLIENT', 'SETINFO', 'LIB-NAME', 'x')).toBe('+OK\r\n')
    expect(client.send('TOKEN', 'WHY', 'subscribe', 'a')).toBe(bulk('ok'))
    expect(client.send('TOKEN', 'WHY', 'subscribe', 'b')).toBe(bulk('channel'))
  })

  test('ends with its connection', async () => {
    const { client, server } = await session({ roles: ['r'] })
    client.client.peerClosed()
    expect([server.tokens.size, server.clock.pendingTimers]).toEqual([0, 0])
    expect(server.tokens.grantOf(client.client)).toBeUndefined()
  })

  test('ends with RESET: a WebSocket is nobody then', async () => {
    const { client, server } = await session({ channels: ['a'] })
    client.send('SUBSCRIBE', 'a')
    expect(client.send('RESET')).toBe('+RESET\r\n')
    expect([server.tokens.size, client.client.protocol, client.client.authenticated]).toEqual([
      0,
      3,
      false,
    ])
    expect(client.send('PING')).toBe('-NOAUTH Authentication required.\r\n')
    expect(server.registry.subscriberCount).toBe(0)
  })
})

describe('A token that denies a channel', () => {
  const grants = { channels: ['room:*'], deny: ['room:mods'] }

  test('keeps it from being subscribed to and published on', async () => {
    const { client } = await session(grants)
    expect(client.send('SUBSCRIBE', 'room:1', 'room:mods')).toMatch(/^-NOPERM/)
    expect(client.send('PUBLISH', 'room:mods', 'x')).toMatch(/^-NOPERM/)
    expect(client.send('PUBLISH', 'room:1', 'x')).toBe(':0\r\n')
  })

  test('filters the messages of patterns, whose receiver it then is not', async () => {
    const { client, publish } = await session(grants)
    expect(client.send('PSUBSCRIBE', 'room:*')).toBe(push('psubscribe', 'room:*', 1))
    expect([publish('room:1', 'a'), publish('room:mods', 'b')]).toEqual([':1\r\n', ':0\r\n'])
    expect(client.read()).toBe(pmessage('room:*', 'room:1', 'a'))
  })

  test('may be replaced by one that does not', async () => {
    const { client, publish } = await session(grants)
    client.send('PSUBSCRIBE', 'room:*')
    await client.sendAndWait('AUTH', 'jwt', tokenFor({ channels: ['room:*'] }))
    expect(publish('room:mods', 'b')).toBe(':1\r\n')
    expect(client.read()).toBe(pmessage('room:*', 'room:mods', 'b'))
  })
})

describe('An edit of a role', () => {
  const ROLE = 'off resetchannels +subscribe +psubscribe +ssubscribe &news &user:{sub} &a*'

  async function member(options: Parameters<typeof session>[1] = {}) {
    const server = new TestCore(options.directives)
    server.setUser('role:member', ROLE)
    const client = await login(server, { roles: ['member'] }, options)
    const publisher = server.connect()
    return {
      server,
      client,
      publish: (...args: [string, string]) => publisher.send('PUBLISH', ...args),
    }
  }

  test('holds for live sessions at once', async () => {
    const { client, server } = await member()
    expect(client.send('SUBSCRIBE', 'user:42')).toBe(push('subscribe', 'user:42', 1))
    expect(client.send('SUBSCRIBE', 'late')).toMatch(/^-NOPERM/)
    server.setUser('role:member', '&late')
    expect(client.read()).toBe(push('token', 'granted'))
    expect(client.send('SUBSCRIBE', 'late')).toBe(push('subscribe', 'late', 2))
  })

  test.each([
    ['gives a channel', '&late', true],
    ['gives a command', '+publish', true],
    ['gives all channels', 'allchannels', true],
    ['gives a selector', '(+publish &chat)', true],
    ['gives what it has in another selector', '(+subscribe &news)', false],
    ['takes a command', '-ssubscribe', false],
    ['takes a channel', 'resetchannels &user:{sub} &a*', false],
    ['takes a channel and gives another', 'resetchannels &late', true],
    ['gives a command that tokens cannot have', '+config', false],
  ])('that %s tells a session so: %s, %s', async (_what, rules, isTold) => {
    const { client, server } = await member()
    const tcp = await login(server, { roles: ['member'] }, { transport: 'tcp' })
    const other = await login(server, { roles: ['other'] })
    server.setUser('role:member', rules)
    const told = isTold ? push('token', 'granted') : ''
    expect([client.read(), tcp.read(), other.read()]).toEqual([told, told, ''])
  })

  test('that takes a subscription and gives another channel tells both, the loss first', async () => {
    const { client, server } = await member({ directives: { 'ws-revocation': 'unsubscribe' } })
    client.send('SUBSCRIBE', 'news')
    server.setUser('role:member', 'resetchannels &late')
    expect(client.read()).toBe(
      push('unsubscribe', 'news', 0) +
        push('token', 'revoked', 'news', CHANGED) +
        push('token', 'granted'),
    )
  })

  test('that closes very many sessions spreads their returns; one alone returns at once', async () => {
    const { client: first, server } = await member({
      directives: { 'ws-max-connections-per-user': '0' },
    })
    const sessions = [first]
    for (let i = 1; i < 150; i++) sessions.push(await login(server, { roles: ['member'] }))
    for (const one of sessions) one.send('SUBSCRIBE', 'news')
    server.setUser('role:member', 'resetchannels &a*')
    server.turn.end()
    const hints = sessions.map((one) => one.sink.ends.at(-1)?.reason.split('|')[1])
    expect(hints.slice(0, 100)).toEqual(Array.from({ length: 100 }, () => ''))
    expect(hints.slice(100)).toEqual(Array.from({ length: 50 }, (_, i) => String(200 + 2 * i)))
    server.clock.advance(300)
    const late = await login(server, { roles: ['member'] })
    late.send('SUBSCRIBE', 'a1')
    server.setUser('role:member', 'resetchannels')
    server.turn.end()
    expect(late.sink.ends).toEqual([{ code: 4403, reason: `permissions-changed||${CHANGED}` }])
  })

  test('closes a WebSocket that loses a subscription, after the push that says so', async () => {
    const { client, server, publish } = await member()
    client.send('SUBSCRIBE', 'news')
    publish('news', 'read')
    client.read()
    server.setUser('role:member', 'resetchannels &a*')
    expect(publish('news', 'secret')).toBe(':0\r\n')
    expect(client.read()).toBe(push('token', 'revoked', 'news', CHANGED))
    expect(client.sink.ends).toEqual([{ code: 4403, reason: `permissions-changed||${CHANGED}` }])
    expect(server.tokens.size).toBe(0)
  })

  test('drops what was still waiting for a client that is closed', async () => {
    const { client, server, publish } = await member()
    client.send('SUBSCRIBE', 'news')
    client.sink.blocks = true
    publish('news', 'in flight')
    publish('news', 'secret')
    server.setUser('role:member', 'resetchannels')
    client.sink.drain()
    client.client.output.onWritable()
    expect(client.read()).toBe(
      message('news', 'in flight') + push('token', 'revoked', 'news', CHANGED),
    )
  })

  test('closes a TCP client without a byte', async () => {
    const { client, server } = await member({ transport: 'tcp' })
    client.send('SUBSCRIBE', 'news')
    server.setUser('role:member', 'resetchannels')
    expect(client.sink.terminated).toBe(true)
    expect(client.read()).toBe('')
  })

  test('leaves alone who loses nothing, and who does not have the role', async () => {
    const { client, server } = await member()
    const other = await login(server, { channels: ['news'] })
    client.send('SUBSCRIBE', 'a1')
    other.send('SUBSCRIBE', 'news')
    server.setUser('role:member', 'resetchannels &a*')
    expect([client.client.closed, other.client.closed]).toEqual([false, false])
    expect(client.read() + other.read()).toBe('')
  })

  test('that deletes it takes everything it gave', async () => {
    const { client, server } = await member()
    client.send('SUBSCRIBE', 'news')
    client.send('SSUBSCRIBE', 'a')
    server.users.deleteUsers(['role:member'])
    expect(client.read()).toBe(push('token', 'revoked', '', CHANGED))
    expect(client.client.closeCause?.name).toBe('permissions-changed')
  })

  test('with `ws-revocation unsubscribe` takes the subscriptions and leaves the socket', async () => {
    const { client, server, publish } = await member({
      directives: { 'ws-revocation': 'unsubscribe' },
    })
    client.send('SUBSCRIBE', 'news', 'user:42')
    client.send('PSUBSCRIBE', 'a*')
    client.send('SSUBSCRIBE', 'news')
    publish('news', 'read')
    server.setUser('role:member', 'resetchannels &user:{sub}')
    expect(publish('news', 'secret')).toBe(':0\r\n')
    expect(client.read()).toBe(
      message('news', 'read') +
        push('unsubscribe', 'news', 2) +
        push('punsubscribe', 'a*', 1) +
        push('sunsubscribe', 'news', 0) +
        push('token', 'revoked', '', CHANGED),
    )
    expect(publish('user:42', 'still')).toBe(':1\r\n')
    expect(client.read()).toBe(message('user:42', 'still'))
  })

  test('stops messages in the middle of a turn, those that wait included', async () => {
    const { client, server, publish } = await member({
      directives: { 'ws-revocation': 'unsubscribe' },
    })
    const other = await login(server, { channels: ['news'] })
    for (const one of [client, other]) one.send('SUBSCRIBE', 'news')
    const { registry } = server
    const deliver = (text: string): number =>
      registry.publish('channel', 'news', payloadOf(Buffer.from(text)))
    expect(deliver('1')).toBe(2)
    server.setUser('role:member', 'resetchannels')
    expect(deliver('2')).toBe(1)
    expect(client.read()).toBe(
      push('unsubscribe', 'news', 0) + push('token', 'revoked', 'news', CHANGED),
    )
    expect(other.read()).toBe(message('news', '1') + message('news', '2'))
    expect(publish('news', '3')).toBe(':1\r\n')
  })
})

describe('A ceiling', () => {
  test('that is widened, or turned on, tells its sessions that they may do more', async () => {
    const server = new TestCore()
    server.setUser('jwt:42', 'on resetchannels &room:1 +@all')
    const client = await login(server, { channels: ['room:*'] })
    server.setUser('jwt:42', '&room:2')
    expect(client.read()).toBe(push('token', 'granted'))
    server.setUser('jwt:42', 'resetchannels &room:2')
    server.setUser('jwt:42', 'off')
    expect(client.read()).toBe('')
    server.setUser('jwt:42', 'on')
    expect(client.read()).toBe(push('token', 'granted'))
  })

  test('bounds live sessions of its subject at once, however many there are', async () => {
    const { client, server } = await session({ channels: ['room:*'] })
    const second = await login(server, { channels: ['room:*'] })
    const third = await login(server, { channels: ['room:*'] })
    client.send('SUBSCRIBE', 'room:7')
    second.send('SUBSCRIBE', 'room:8')
    server.setUser('jwt:42', 'resetchannels &room:7')
    expect([client, second, third].map((one) => one.client.closed)).toEqual([false, true, false])
    expect(client.send('PUBLISH', 'room:8', 'x')).toMatch(/^-NOPERM/)
    expect(third.send('SUBSCRIBE', 'room:7')).toBe(push('subscribe', 'room:7', 1))
  })

  test('that is off refuses new logins and leaves live ones', async () => {
    const { client, server } = await session({ channels: ['a'] })
    server.setUser('jwt:42', 'off')
    expect(client.send('PING')).toBe('+PONG\r\n')
    const late = server.connect({ transport: 'websocket' })
    expect(await late.sendAndWait('AUTH', 'jwt', tokenFor({}))).toBe('-WRONGPASS invalid token\r\n')
    expect(late.sink.ends).toEqual([{ code: 4403, reason: 'forbidden||invalid token' }])
  })

  test('that is deleted cuts the sessions of its subject', async () => {
    const { client, server } = await session({ channels: ['a'] })
    server.setUser('jwt:42', '')
    server.users.deleteUsers(['jwt:42'])
    client.read()
    expect(client.sink.ends).toEqual([
      { code: 4403, reason: 'permissions-changed||the user was deleted' },
    ])
  })
})

describe('ACL LOAD', () => {
  const DEFAULT = 'user default on nopass ~* &* +@all'
  const USERS = [
    DEFAULT,
    'user role:member off resetchannels +subscribe &news',
    'user jwt:42 on resetchannels &news +@all',
  ]

  /** A session whose role and ceiling are out of the ACL file. */
  async function loaded() {
    const aclfile = join(folderWith({ 'users.acl': USERS.join('\n') }), 'users.acl')
    const server = new TestCore({ aclfile })
    const admin = server.connect()
    const load = (...lines: string[]): void => {
      writeFileSync(aclfile, lines.join('\n'))
      expect(admin.send('ACL', 'LOAD')).toBe('+OK\r\n')
    }
    const client = await login(server, { roles: ['member'] })
    client.send('SUBSCRIBE', 'news')
    return { server, client, load }
  }

  test('does not touch a session whose role and ceiling stay as they were', async () => {
    const { server, client, load } = await loaded()
    const { identity } = client.client
    const grant = server.tokens.grantOf(client.client)
    load(...USERS, 'user other on', 'user role:other off &x', 'user jwt:7 off')
    load(...USERS)
    expect(client.client.identity).toBe(identity)
    expect(server.tokens.grantOf(client.client)).toBe(grant)
    expect(client.client.closed).toBe(false)
    expect(client.read()).toBe('')
    expect(server.connect().send('PUBLISH', 'news', 'x')).toBe(':1\r\n')
  })

  test('never makes a session the default user', async () => {
    const { server, client, load } = await loaded()
    const bare = await login(server, { publish: ['own'], roles: ['member'] })
    load(DEFAULT, ...USERS.slice(2))
    expect(client.client.closeCause?.name).toBe('permissions-changed')
    expect(bare.send('ACL', 'WHOAMI')).toBe(bulk('jwt:42'))
    expect(bare.send('PUBLISH', 'elsewhere', 'x')).toMatch(/^-NOPERM/)
    load(DEFAULT)
    expect(bare.client.closeCause?.name).toBe('permissions-changed')
    expect(bare.client.identity.user.name).toBe('jwt:42')
    expect(server.tokens.size).toBe(0)
  })
})

describe('A token expires', () => {
  test('after a warning and a grace, then its session is closed', async () => {
    const { client, server } = await session({ channels: ['a'] })
    server.clock.advance(0.6 * HOUR_MS)
    expect(client.read()).toBe(push('token', 'expiring', 0.4 * HOUR_MS))
    server.clock.advance(0.4 * HOUR_MS)
    expect(client.read()).toBe(push('token', 'expired', 25_000))
    expect(client.send('PING')).toBe('+PONG\r\n')
    server.clock.advance(24_999)
    expect(client.client.closed).toBe(false)
    server.clock.advance(251)
    client.read()
    expect(client.sink.ends).toEqual([{ code: 4401, reason: 'unauthorized||token expired' }])
    expect(server.tokens.size).toBe(0)
  })

  test('without a grace at once', async () => {
    const { client, server } = await session({}, { directives: { 'token-expiry-grace': '0' } })
    server.clock.advance(HOUR_MS)
    expect(client.client.closeCause?.name).toBe('unauthorized')
  })

  test('over TCP in RESP2 without a push', async () => {
    const { client, server } = await session({ channels: ['a'] }, { transport: 'tcp' })
    client.send('HELLO', '2')
    client.send('SUBSCRIBE', 'a')
    server.clock.advance(HOUR_MS + 26_000)
    expect(client.read()).toBe('')
    expect(client.sink.ends).toEqual([{ code: 4401, reason: 'unauthorized||token expired' }])
  })

  test('later if it was refreshed', async () => {
    const { client, server } = await session({ channels: ['a'] })
    const exp = payload()['exp'] as number
    await client.sendAndWait('AUTH', 'jwt', token(payload({ respcast: {}, exp: exp + 3_600 })))
    server.clock.advance(HOUR_MS + 26_000)
    expect(client.client.closed).toBe(false)
    server.clock.advance(HOUR_MS)
    expect(client.client.closed).toBe(true)
  })
})

describe('Keys that are trusted no longer', () => {
  test('cut the sessions they admitted', async () => {
    const { client, server } = await session({ channels: ['a'] })
    const keyId = server.tokens.grantOf(client.client)?.keyId as string
    server.tokens.keysRemoved(['another'])
    expect(client.client.closed).toBe(false)
    server.tokens.keysRemoved([keyId])
    expect(client.read()).toBe(push('token', 'revoked', '', 'the key of the token was removed'))
    expect(client.sink.ends).toEqual([
      { code: 4403, reason: 'revoked||the key of the token was removed' },
    ])
  })
})
