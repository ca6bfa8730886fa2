import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { helloReply } from '../../support/hello-reply.ts'
import type { Directives } from '../../support/settings.ts'
import { command, TestCore, type ConnectOptions, type TestClient } from '../../support/test-core.ts'
import { AUD, ISS, makeKey, payload, token, tokenBy, tokenFor } from '../../support/tokens.ts'

const HOUR_MS = 3_600_000
const OK = '+OK\r\n'
const NO_AUTH = '-NOAUTH Authentication required.\r\n'
const WRONG_PASSWORD = '-WRONGPASS invalid username-password pair or user is disabled.\r\n'
const NO_DEFAULT_USER = '-WRONGPASS the default user cannot log in over a WebSocket\r\n'
const INVALID = '-WRONGPASS invalid token\r\n'
const ACCEPTED =
  `>4\r\n$5\r\ntoken\r\n$6\r\nlimits\r\n:65536\r\n:128\r\n` +
  `>4\r\n$5\r\ntoken\r\n$8\r\naccepted\r\n$6\r\njwt:42\r\n:${HOUR_MS}\r\n`
const SUBSCRIBED = (channel: string, count: number): string =>
  `>3\r\n$9\r\nsubscribe\r\n$${channel.length}\r\n${channel}\r\n:${count}\r\n`
const UNSUBSCRIBED = (channel: string, count: number): string =>
  `>3\r\n$11\r\nunsubscribe\r\n$${channel.length}\r\n${channel}\r\n:${count}\r\n`

const GRANTS = { channels: ['a', 'b'] }

/** A token of somebody else. */
const OTHER = token(payload({ sub: '43', respcast: GRANTS }))
const EXPIRED = token(payload({ iat: 1_699_999_000, exp: 1_699_999_999 }))

const TCP: ConnectOptions = { transport: 'tcp', protocol: 2 }
const TCP3: ConnectOptions = { transport: 'tcp', protocol: 3 }
const PUBLIC: ConnectOptions = { transport: 'websocket' }
const ADMIN: ConnectOptions = { transport: 'websocket', listener: 'admin' }

const CONNECTIONS = [
  ['TCP in RESP2', TCP],
  ['TCP in RESP3', TCP3],
  ['a public WebSocket', PUBLIC],
  ["an administrators' WebSocket", ADMIN],
] as const

const WEBSOCKETS = CONNECTIONS.slice(2)

/** The user that a client is, or `nobody`. */
const whoIs = ({ client }: TestClient): string =>
  client.authenticated ? client.identity.user.name : 'nobody'

const closeOf = ({ sink }: TestClient): string | undefined => {
  const close = sink.ends.at(-1)
  return close && `${close.code} ${close.reason}`
}

function withPassword(directives: Directives = {}): TestCore {
  const server = new TestCore(directives)
  server.setUser('default', 'resetpass >pw')
  return server
}

describe('A new connection', () => {
  test.each([
    ['TCP in RESP2', TCP],
    ['TCP in RESP3', TCP3],
  ])('%s is the default user where that needs no password', (_name, options) => {
    const server = new TestCore({ 'tcp-auth-timeout': '5' })
    const client = server.connect(options)
    expect(whoIs(client)).toBe('default')
    expect(server.clock.pendingTimers).toBe(0)
    expect(client.send('PING')).toBe('+PONG\r\n')
  })

  test.each([
    ['has a password', 'resetpass >pw'],
    ['is off', 'off'],
  ])('TCP is nobody where the default user %s', (_name, rules) => {
    const server = new TestCore()
    server.setUser('default', rules)
    const client = server.connect(TCP)
    expect(whoIs(client)).toBe('nobody')
    expect(client.send('PING')).toBe(NO_AUTH)
    expect(client.send('HELLO', '3')).toMatch(/^-NOAUTH HELLO must be called/)
  })

  test('TCP that was nobody has to log in for HELLO, though the default user needs no password any more', () => {
    const server = withPassword()
    const client = server.connect(TCP)
    server.setUser('default', 'nopass')
    expect(client.send('PING')).toBe('+PONG\r\n')
    expect(client.send('HELLO', '3')).toMatch(/^-NOAUTH HELLO must be called/)
    expect(client.send('AUTH', 'default', 'any')).toBe(OK)
    expect(client.send('HELLO', '3')).toBe(helloReply(3, 1))
  })

  test.each(WEBSOCKETS)('%s is nobody, whoever the default user is', (_name, options) => {
    const client = new TestCore().connect(options)
    expect(whoIs(client)).toBe('nobody')
    expect(client.client.identity.user.name).toBe('')
    expect(client.send('PING')).toBe(NO_AUTH)
    expect(client.send('HELLO', '3')).toMatch(/^-NOAUTH HELLO must be called/)
  })

  test.each(WEBSOCKETS)('%s that does not log in in time is closed', (_name, options) => {
    const server = new TestCore({ 'auth-timeout': '7' })
    const client = server.connect(options)
    server.clock.advance(6_999)
    expect(client.client.closed).toBe(false)
    server.clock.advance(1)
    client.read()
    expect(closeOf(client)).toBe('4408 auth-timeout||no login within 7 s')
  })

  test.each([
    ['a login by password', TCP, ['AUTH', 'default', 'pw']],
    ['a login by token', TCP, ['AUTH', 'jwt', tokenFor(GRANTS)]],
    ['a login by token', PUBLIC, ['AUTH', 'jwt', tokenFor(GRANTS)]],
  ] as const)('has no deadline after %s', async (_name, options, args) => {
    const server = withPassword({ 'tcp-auth-timeout': '5' })
    const client = server.connect(options)
    expect(await client.sendAndWait(...args)).toMatch(/^\+OK/)
    server.clock.advance(60_000)
    expect(client.client.closed).toBe(false)
  })

  test('over TCP has as long as it likes unless `tcp-auth-timeout` is set', () => {
    const [patient, strict] = [withPassword(), withPassword({ 'tcp-auth-timeout': '3' })]
    const [stays, goes] = [patient.connect(TCP), strict.connect(TCP)]
    patient.clock.advance(HOUR_MS)
    strict.clock.advance(3_000)
    expect([stays.client.closed, goes.client.closeCause?.name]).toEqual([false, 'auth-timeout'])
  })
})

describe('A login by password', () => {
  /** For each connection: a user with a password, one without, and the default user in both ways. */
  test.each([
    ['TCP', TCP, 'no', ['u', 'open', 'default', 'default']],
    ['a public WebSocket', PUBLIC, 'no', ['nobody', 'nobody', 'nobody', 'nobody']],
    [
      'a public WebSocket with `ws-password-auth`',
      PUBLIC,
      'yes',
      ['u', 'nobody', 'nobody', 'nobody'],
    ],
    ["an administrators' WebSocket", ADMIN, 'no', ['u', 'nobody', 'nobody', 'nobody']],
  ] as const)('over %s', (_name, options, allowed, expected) => {
    const found = [
      ['u', 'resetpass >pw'],
      ['open', 'resetpass >pw'],
      ['default', 'resetpass >pw'],
      ['default', 'nopass'],
    ].map(([user = '', rules = '']) => {
      const server = new TestCore({ 'ws-password-auth': allowed })
      server.setUser('u', 'on >pw +@all')
      server.setUser('open', 'on nopass +@all')
      server.setUser('default', rules)
      const client = server.connect(options)
      const reply = client.send('AUTH', user, 'pw')
      expect([OK, WRONG_PASSWORD, NO_DEFAULT_USER]).toContain(reply)
      expect(reply === OK).toBe(whoIs(client) === user)
      expect(client.client.closed).toBe(false)
      return whoIs(client)
    })
    expect(found).toEqual(expected)
  })

  test.each([
    ['AUTH with a password alone', ['AUTH', 'pw']],
    ['AUTH', ['AUTH', 'default', 'pw']],
    ['HELLO', ['HELLO', '3', 'AUTH', 'default', 'pw']],
  ])('is refused on a public WebSocket in each form: %s', (_name, args) => {
    const client = withPassword().connect(PUBLIC)
    expect(client.send(...args)).toBe(WRONG_PASSWORD)
    expect(client.send('PING')).toBe(NO_AUTH)
  })

  test.each([
    ['jwt', INVALID],
    ['jwt:42', WRONG_PASSWORD],
    ['jwt@shop:1', WRONG_PASSWORD],
    ['role:r', WRONG_PASSWORD],
  ])('never takes the name %s while tokens can log in', async (name, reply) => {
    const server = new TestCore()
    if (name === 'jwt') server.setUser(name, 'on nopass')
    expect(await server.connect().sendAndWait('HELLO', '3', 'AUTH', name, 'x')).toBe(reply)
  })

  test('takes the name jwt without any issuer, as Redis does', () => {
    const server = new TestCore({ 'jwt-issuer': '' })
    server.setUser('jwt', 'on >pw')
    const client = server.connect()
    expect(client.send('AUTH', 'jwt', 'pw')).toBe(OK)
    expect(whoIs(client)).toBe('jwt')
    expect(client.send('AUTH', 'jwt', tokenFor(GRANTS))).toBe(WRONG_PASSWORD)
  })

  test.each([
    ['AUTH', ['AUTH', 'u', 'x'], 'toplevel'],
    ['HELLO', ['HELLO', '3', 'AUTH', 'u', 'x'], 'toplevel'],
    ['AUTH in a transaction', ['AUTH', 'u', 'x'], 'multi'],
  ] as const)('that fails by %s is an entry of ACL LOG', (_name, args, context) => {
    const server = new TestCore()
    const client = server.connect()
    if (context === 'multi') client.send('MULTI')
    client.send(...args)
    if (context === 'multi') client.send('EXEC')
    expect(server.aclLog.list()).toMatchObject([
      { reason: 'auth', context, object: args[0], username: 'u', count: 1 },
    ])
  })
})

describe('AUTH with a token', () => {
  test.each(WEBSOCKETS)('over %s tells who was accepted, and for how long', async (_, options) => {
    const server = new TestCore()
    const client = server.connect(options)
    expect(await client.sendAndWait('AUTH', 'jwt', tokenFor(GRANTS))).toBe(`${OK}${ACCEPTED}`)
    expect(client.send('SUBSCRIBE', 'a')).toBe(SUBSCRIBED('a', 1))
    expect(server.counters.tokensAccepted).toBe(1)
  })

  test('over TCP is an ordinary login', async () => {
    const client = withPassword().connect()
    expect(await client.sendAndWait('AUTH', 'jwt', tokenFor(GRANTS))).toBe(OK)
    expect(client.send('ACL', 'WHOAMI')).toBe('$6\r\njwt:42\r\n')
  })

  test('takes the token as its only argument, after the default password', async () => {
    const server = withPassword()
    const client = server.connect()
    expect(await client.sendAndWait('AUTH', tokenFor(GRANTS))).toBe(OK)
    expect(whoIs(client)).toBe('jwt:42')
    expect(client.send('AUTH', 'pw')).toBe(OK)
    expect(whoIs(client)).toBe('default')
    expect(server.tokens.size).toBe(0)
  })

  test('takes a token that is the default password for the password', () => {
    const server = new TestCore()
    server.setUser('default', `resetpass >${OTHER}`)
    const client = server.connect()
    expect(client.send('AUTH', OTHER)).toBe(OK)
    expect(whoIs(client)).toBe('default')
  })

  test('holds back what follows it until it is verified', async () => {
    const client = new TestCore().connect(PUBLIC)
    client.write(
      Buffer.concat([
        command('AUTH', 'jwt', tokenFor(GRANTS)),
        command('SUBSCRIBE', 'a'),
        command('PING'),
      ]),
    )
    expect(client.read()).toBe('')
    await client.settled()
    expect(client.read()).toBe(`${OK}${ACCEPTED}${SUBSCRIBED('a', 1)}+PONG\r\n`)
  })

  test('lets other clients go on meanwhile', async () => {
    const server = new TestCore()
    const [client, other] = [server.connect(PUBLIC), server.connect()]
    client.write(command('AUTH', 'jwt', tokenFor(GRANTS)))
    expect(other.send('PING')).toBe('+PONG\r\n')
    await client.settled()
    expect(client.read()).toBe(`${OK}${ACCEPTED}`)
  })

  test('that is answered after the client has gone changes nothing', async () => {
    const server = new TestCore()
    const client = server.connect(PUBLIC)
    client.write(command('AUTH', 'jwt', tokenFor(GRANTS)))
    client.client.peerClosed()
    await client.settled()
    expect([server.tokens.size, whoIs(client)]).toEqual([0, 'nobody'])
  })

  test.each([
    ['AUTH jwt', ['AUTH', 'jwt', tokenFor(GRANTS)]],
    ['one-argument AUTH', ['AUTH', tokenFor(GRANTS)]],
    ['HELLO', ['HELLO', '3', 'AUTH', 'jwt', tokenFor(GRANTS)]],
  ])('may not wait for EXEC: %s', (_name, args) => {
    const client = new TestCore().connect()
    client.send('MULTI')
    expect(client.send(...args)).toBe('-ERR AUTH with a token is not allowed inside MULTI\r\n')
    expect(client.send('EXEC')).toBe(
      '-EXECABORT Transaction discarded because of previous errors.\r\n',
    )
    expect(whoIs(client)).toBe('default')
  })

  test('is skipped by CLIENT REPLY as any other command', async () => {
    const client = new TestCore().connect(TCP3)
    client.send('CLIENT', 'REPLY', 'SKIP')
    client.write(command('AUTH', 'jwt', tokenFor(GRANTS)))
    client.write(command('PING'))
    await client.settled()
    expect(client.read()).toBe('+PONG\r\n')
  })

  test('is a password without any issuer', () => {
    const server = new TestCore({ 'jwt-issuer': '' })
    expect(server.connect().send('AUTH', 'jwt', tokenFor(GRANTS))).toBe(WRONG_PASSWORD)
  })
})

describe('HELLO with a token', () => {
  test('logs in, then chooses the protocol and the name', async () => {
    const client = new TestCore().connect()
    expect(
      await client.sendAndWait('HELLO', '3', 'AUTH', 'jwt', tokenFor(GRANTS), 'SETNAME', 'x'),
    ).toBe(helloReply(3, 1))
    expect([whoIs(client), client.client.name]).toEqual(['jwt:42', 'x'])
  })

  test('changes nothing if the token is refused', async () => {
    const client = new TestCore().connect()
    expect(await client.sendAndWait('HELLO', '3', 'AUTH', 'jwt', 'abc', 'SETNAME', 'x')).toBe(
      INVALID,
    )
    expect([client.client.protocol, client.client.name]).toEqual([2, ''])
  })
})

/** A server that refuses the token of subject 42, with the reply and what closes a WebSocket. */
const REFUSALS: readonly {
  readonly name: string
  readonly text?: string
  readonly prepare?: (server: TestCore) => void | Promise<unknown>
  readonly reply: string
  readonly close: string
  readonly counted?: boolean
}[] = [
  {
    name: 'one with a wrong signature',
    text: `${tokenFor(GRANTS)}x`,
    reply: 'WRONGPASS invalid token',
    close: '4401 unauthorized||invalid token',
  },
  {
    name: 'one that is none',
    text: 'abc',
    reply: 'WRONGPASS invalid token',
    close: '4401 unauthorized||invalid token',
  },
  {
    name: 'an expired one',
    text: EXPIRED,
    reply: 'WRONGPASS token expired',
    close: '4401 unauthorized||token expired',
  },
  {
    name: 'a revoked one',
    prepare: (server) => server.connect().sendAndWait('TOKEN', 'REVOKE', 'SUB', '42'),
    reply: 'WRONGPASS token revoked',
    close: '4403 revoked|6000|token revoked',
  },
  {
    name: 'one of a subject that is off',
    prepare: (server) => server.setUser('jwt:42', 'off'),
    reply: 'WRONGPASS invalid token',
    close: '4403 forbidden||invalid token',
    counted: false,
  },
  {
    name: 'one more than its user may have connections',
    prepare: async (server) => {
      server.set('ws-max-connections-per-user', '1')
      await server.connect(PUBLIC).sendAndWait('AUTH', 'jwt', tokenFor(GRANTS))
    },
    reply: 'ERR too many connections of this user',
    close: '4429 rate-limited||ERR too many connections of this user',
    counted: false,
  },
]

describe.each(REFUSALS)(
  'A refused token: $name',
  ({ text = tokenFor(GRANTS), prepare, reply, close, counted = true }) => {
    async function prepared(): Promise<TestCore> {
      const server = new TestCore()
      await prepare?.(server)
      return server
    }

    test.each(WEBSOCKETS)('closes %s that is nobody, after the reply', async (_name, options) => {
      const server = await prepared()
      const client = server.connect(options)
      expect(await client.sendAndWait('AUTH', 'jwt', text)).toBe(`-${reply}\r\n`)
      expect(closeOf(client)).toBe(close)
      expect(server.counters.tokensRefused).toBe(counted ? 1 : 0)
      const log = server.aclLog.list()
      expect(log).toMatchObject([{ reason: 'auth', object: 'AUTH', username: 'jwt', count: 1 }])
      expect(JSON.stringify(log)).not.toContain(text)
    })

    test('closes a WebSocket whose upgrade brought it, without a reply', async () => {
      const server = await prepared()
      const client = server.connect({ ...PUBLIC, token: text })
      client.write(command('PING'))
      await client.settled()
      expect(client.read()).toBe('')
      expect(closeOf(client)).toBe(close)
      expect(server.counters.tokensRefused).toBe(counted ? 1 : 0)
      expect(server.aclLog.list()).toMatchObject([
        { reason: 'auth', context: 'toplevel', object: 'upgrade', username: 'jwt' },
      ])
    })

    test('leaves who is logged in as it was', async () => {
      const server = new TestCore()
      const client = server.connect(ADMIN)
      server.setUser('u', 'on >pw +@all')
      client.send('AUTH', 'u', 'pw')
      await prepare?.(server)
      expect(await client.sendAndWait('AUTH', 'jwt', text)).toBe(`-${reply}\r\n`)
      expect([whoIs(client), client.client.closed]).toEqual(['u', false])
      expect(server.aclLog.list()).toMatchObject([{ reason: 'auth', username: 'jwt' }])
    })
  },
)

test('docs/errors.md tells of each refusal of a token', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/errors.md'), 'utf8')
  const replies = REFUSALS.map(({ reply }) => `| \`-${reply}\` |`)
  expect(replies.filter((row) => !page.includes(row))).toEqual([])
})

describe('A token at the upgrade', () => {
  test('logs in before anything is executed, and tells so first of all', async () => {
    const client = new TestCore().connect({ ...PUBLIC, token: tokenFor(GRANTS) })
    client.write(Buffer.concat([command('SUBSCRIBE', 'a'), command('PING')]))
    await client.settled()
    expect(client.read()).toBe(`${ACCEPTED}${SUBSCRIBED('a', 1)}+PONG\r\n`)
    expect(whoIs(client)).toBe('jwt:42')
  })

  test('is refused where no issuer is configured', async () => {
    const server = new TestCore({ 'jwt-issuer': '' })
    const client = server.connect({ ...PUBLIC, token: tokenFor(GRANTS) })
    await client.settled()
    client.read()
    expect(closeOf(client)).toBe('4401 unauthorized||invalid token')
  })

  test('changes nothing if the peer has gone meanwhile', async () => {
    const server = new TestCore()
    const client = server.connect({ ...PUBLIC, token: tokenFor(GRANTS) })
    client.client.peerClosed()
    await new Promise((resolve) => void setTimeout(resolve, 20))
    expect([server.tokens.size, server.aclLog.list()]).toEqual([0, []])
  })
})

describe('What happens while a token is verified', () => {
  async function verified(options: ConnectOptions = PUBLIC) {
    const server = new TestCore()
    const client = server.connect(options)
    const verdict = await server.login.verify(client.client, tokenFor(GRANTS))
    return { server, client, settle: () => server.login.settle(client.client, verdict, 'AUTH') }
  }

  test('a revocation refuses it', async () => {
    const { server, client, settle } = await verified()
    await server.connect().sendAndWait('TOKEN', 'REVOKE', 'SUB', '42')
    expect(settle()).toEqual({ error: 'WRONGPASS token revoked' })
    client.read()
    expect(closeOf(client)).toBe('4403 revoked|6000|token revoked')
    expect([server.tokens.size, server.aclLog.list().length]).toEqual([0, 1])
  })

  test('an issuer that accepts it no longer ends the connection', async () => {
    const { server, client, settle } = await verified(TCP)
    server.set('jwt-audience', 'another')
    expect(settle()).toEqual({ pushes: [] })
    expect(client.client.closeCause?.close?.reason).toBe(
      'revoked||the issuer of the token was changed',
    )
    expect([server.tokens.size, server.counters.tokensAccepted]).toEqual([0, 0])
  })

  test.each([
    ['another login', (client: TestClient) => client.send('AUTH', 'default', 'x')],
    ['RESET', (client: TestClient) => client.send('RESET')],
  ])('%s makes it void', async (_name, act) => {
    const { server, client, settle } = await verified(TCP)
    act(client)
    expect(settle()).toEqual({ error: 'WRONGPASS invalid token' })
    expect([whoIs(client), server.tokens.size, server.aclLog.list()]).toEqual(['default', 0, []])
  })

  test('an edit of its role counts', async () => {
    const server = new TestCore()
    server.setUser('role:r', 'off resetchannels +subscribe &a')
    const client = server.connect(PUBLIC)
    const verdict = await server.login.verify(client.client, tokenFor({ roles: ['r'] }))
    server.setUser('role:r', 'resetchannels &b')
    server.login.settle(client.client, verdict, 'AUTH')
    expect(client.send('SUBSCRIBE', 'a')).toMatch(/-NOPERM/)
    expect(client.send('SUBSCRIBE', 'b')).toBe(SUBSCRIBED('b', 1))
  })
})

describe('A refresh', () => {
  async function refreshed(transport: 'tcp' | 'websocket' = 'websocket') {
    const server = new TestCore()
    const client = server.connect({ transport, protocol: 3 })
    await client.sendAndWait('AUTH', 'jwt', tokenFor(GRANTS))
    client.send('SUBSCRIBE', 'a', 'b')
    return { server, client }
  }

  test('swaps the grants and takes what they do not cover, before its OK', async () => {
    const { client } = await refreshed()
    expect(await client.sendAndWait('AUTH', 'jwt', tokenFor({ channels: ['a', 'c'] }))).toBe(
      `${UNSUBSCRIBED('b', 1)}${OK}${ACCEPTED}`,
    )
    expect(client.send('SUBSCRIBE', 'c')).toBe(SUBSCRIBED('c', 2))
    expect(client.client.closed).toBe(false)
  })

  test('counts down what is lost as unsubscribing does', async () => {
    const { client } = await refreshed()
    client.send('PSUBSCRIBE', 'a')
    expect(await client.sendAndWait('AUTH', 'jwt', tokenFor({}))).toBe(
      `${UNSUBSCRIBED('a', 2)}${UNSUBSCRIBED('b', 1)}>3\r\n$12\r\npunsubscribe\r\n$1\r\na\r\n:0\r\n${OK}${ACCEPTED}`,
    )
  })

  test('tells of what is lost though replies are off', async () => {
    const { client } = await refreshed('tcp')
    client.send('CLIENT', 'REPLY', 'OFF')
    client.client.replyMode = 'off'
    expect(await client.sendAndWait('AUTH', 'jwt', tokenFor({ channels: ['a'] }))).toBe(
      UNSUBSCRIBED('b', 1),
    )
  })

  test('that fails keeps the old token until its own end', async () => {
    const { client } = await refreshed()
    expect(await client.sendAndWait('AUTH', 'jwt', EXPIRED)).toBe('-WRONGPASS token expired\r\n')
    expect(client.client.closed).toBe(false)
    expect(client.send('UNSUBSCRIBE', 'b')).toBe(UNSUBSCRIBED('b', 1))
    expect(client.send('SUBSCRIBE', 'b')).toBe(SUBSCRIBED('b', 2))
  })

  test('does not count against the connections of its own user', async () => {
    const { server, client } = await refreshed()
    server.set('ws-max-connections-per-user', '1')
    expect(await client.sendAndWait('AUTH', 'jwt', tokenFor(GRANTS))).toBe(`${OK}${ACCEPTED}`)
  })

  test('is refused to another subject while there are subscriptions', async () => {
    const { server, client } = await refreshed()
    expect(await client.sendAndWait('AUTH', 'jwt', OTHER)).toBe(
      '-ERR AUTH with a token of another subject is not allowed while there are subscriptions\r\n',
    )
    expect([whoIs(client), server.aclLog.list()]).toEqual(['jwt:42', []])
    client.send('UNSUBSCRIBE')
    expect(await client.sendAndWait('AUTH', 'jwt', OTHER)).toMatch(/^\+OK\r\n.*jwt:43/s)
  })

  test('is refused to a password user with subscriptions', async () => {
    const client = new TestCore().connect(TCP3)
    client.send('SUBSCRIBE', 'a')
    expect(await client.sendAndWait('AUTH', 'jwt', tokenFor(GRANTS))).toMatch(
      /^-ERR AUTH with a token of another subject/,
    )
    expect(whoIs(client)).toBe('default')
  })

  test('is no way for a token session with subscriptions to become a password user', async () => {
    const { server, client } = await refreshed('tcp')
    server.setUser('u', 'on >pw +@all')
    expect(client.send('AUTH', 'u', 'pw')).toBe(
      '-ERR AUTH as another user is not allowed while a token session has subscriptions\r\n',
    )
    expect(server.aclLog.list()).toEqual([])
    client.send('UNSUBSCRIBE')
    expect(client.send('AUTH', 'u', 'pw')).toBe(OK)
    expect(server.tokens.size).toBe(0)
  })
})

describe('RESET', () => {
  test.each([
    ['the default user', 'nopass', 'default'],
    ['nobody, where the default user has a password', 'resetpass >pw', 'nobody'],
  ])('makes a token session over TCP %s', async (_name, rules, user) => {
    const server = new TestCore({ 'tcp-auth-timeout': '5' })
    const client = server.connect(TCP3)
    await client.sendAndWait('AUTH', 'jwt', tokenFor(GRANTS))
    server.setUser('default', rules)
    expect(client.send('RESET')).toBe('+RESET\r\n')
    expect([whoIs(client), server.tokens.size, client.client.protocol]).toEqual([user, 0, 2])
    server.clock.advance(60_000)
    expect(client.client.closed).toBe(false)
  })

  test.each(WEBSOCKETS)('makes %s nobody, with a deadline as before', async (_name, options) => {
    const server = new TestCore()
    const client = server.connect(options)
    await client.sendAndWait('AUTH', 'jwt', tokenFor(GRANTS))
    server.clock.advance(60_000)
    expect(client.send('RESET')).toBe('+RESET\r\n')
    expect([whoIs(client), server.tokens.size, client.client.protocol]).toEqual(['nobody', 0, 3])
    expect(client.send('SUBSCRIBE', 'a')).toBe(NO_AUTH)
    expect(await client.sendAndWait('AUTH', 'jwt', tokenFor(GRANTS))).toMatch(/^\+OK/)
    client.send('RESET')
    server.clock.advance(5_000)
    client.read()
    expect(closeOf(client)).toBe('4408 auth-timeout||no login within 5 s')
  })
})

/** Every way in which a peer might ask to be the default user, whose password is `pw`. */
const WAYS_TO_DEFAULT: readonly (readonly [string, readonly (readonly string[])[]])[] = [
  ['AUTH with the password alone', [['AUTH', 'pw']]],
  ['AUTH', [['AUTH', 'default', 'pw']]],
  ['AUTH with an empty password', [['AUTH', 'default', '']]],
  ['HELLO', [['HELLO', '3', 'AUTH', 'default', 'pw']]],
  ['HELLO alone', [['HELLO', '3']]],
  ['RESET', [['RESET']]],
  ['RESET after a login', [['AUTH', 'u', 'pw'], ['RESET']]],
  [
    'AUTH after a login',
    [
      ['AUTH', 'u', 'pw'],
      ['AUTH', 'default', 'pw'],
    ],
  ],
  ['AUTH inside MULTI', [['AUTH', 'u', 'pw'], ['MULTI'], ['AUTH', 'default', 'pw'], ['EXEC']]],
  ['a token of the subject default', [['AUTH', 'jwt', token(payload({ sub: 'default' }))]]],
  ['such a token alone', [['AUTH', token(payload({ sub: 'default' }))]]],
  ['HELLO with such a token', [['HELLO', '3', 'AUTH', 'jwt', token(payload({ sub: 'default' }))]]],
  ['a role of the name default', [['AUTH', 'jwt', tokenFor({ roles: ['default'] })]]],
  ['the name of such a role', [['AUTH', 'role:default', 'pw']]],
  ['the name of such a token', [['AUTH', 'jwt:default', 'pw']]],
  ['the empty name', [['AUTH', '', 'pw']]],
]

describe.each([
  ['a public WebSocket', PUBLIC, 'no'],
  ['a public WebSocket with `ws-password-auth`', PUBLIC, 'yes'],
  ["an administrators' WebSocket", ADMIN, 'no'],
] as const)('The default user is never who is logged in on %s', (_name, options, allowed) => {
  describe.each([
    ['a password', 'resetpass >pw'],
    ['no password', 'nopass'],
  ])('where it has %s', (_has, rules) => {
    test.each(WAYS_TO_DEFAULT)('by %s', async (_way, commands) => {
      const server = new TestCore({ 'ws-password-auth': allowed })
      server.setUser('default', `on ${rules} ~* &* +@all`)
      server.setUser('u', 'on >pw +@all')
      server.setUser('role:default', 'off +@all &*')
      const client = server.connect(options)
      for (const args of commands) await client.sendAndWait(...args)
      expect(whoIs(client)).not.toBe('default')
      expect(client.client.identity.user).not.toBe(server.users.default)
      expect(server.clients.ofUser('default').size).toBe(0)
    })

    test.each([
      ['of the subject default', token(payload({ sub: 'default' }))],
      ['with a role of the name default', tokenFor({ roles: ['default'] })],
    ])('by a token at the upgrade %s', async (_way, text) => {
      const server = new TestCore({ 'ws-password-auth': allowed })
      server.setUser('default', `on ${rules} ~* &* +@all`)
      server.setUser('role:default', 'off +@all &*')
      const client = server.connect({ ...options, token: text })
      await client.settled()
      expect(whoIs(client)).toMatch(/^jwt:/)
    })
  })
})

/** Logs in wrongly so many times. @returns The replies that came at once. */
function fail(client: TestClient, times: number): string[] {
  return Array.from({ length: times }, () => client.send('AUTH', 'u', 'wrong'))
}

/** Lets promises that are settled go on. */
const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

describe('Failed logins over TCP', () => {
  function failing(directives: Directives = {}) {
    const server = withPassword(directives)
    server.setUser('u', 'on >pw +@all')
    const client = server.connect({ ...TCP, address: '203.0.113.7:1' })
    return { server, client }
  }

  test('are answered at once ten times; the next one waits, and holds what follows it', async () => {
    const { server, client } = failing()
    expect(fail(client, 10)).toEqual(Array(10).fill(WRONG_PASSWORD))
    client.write(Buffer.concat([command('AUTH', 'u', 'wrong'), command('AUTH', 'u', 'pw')]))
    await settle()
    expect(client.read()).toBe('')
    server.clock.advance(62)
    await settle()
    expect(client.read()).toBe('')
    server.clock.advance(1)
    await settle()
    expect(client.read()).toBe(`${WRONG_PASSWORD}${OK}`)
    expect(client.client.closed).toBe(false)
  })

  test('are verified one by one: a connection that sends a thousand has one answered a second', async () => {
    const { server, client } = failing()
    client.write(Buffer.concat(Array<Buffer>(1_000).fill(command('AUTH', 'u', 'wrong'))))
    for (let waits = 0; waits < 14; waits++) {
      server.clock.advance(1_000)
      await settle()
    }
    expect(client.read().split(WRONG_PASSWORD)).toHaveLength(10 + 14 + 1)
    expect(server.aclLog.denied.auth).toBe(10 + 14 + 1)
    expect(client.sink.paused).toBe(true)
  })

  test('hold no other connection of the address, and delay no good login', async () => {
    const { server, client } = failing()
    fail(client, 12)
    const other = server.connect({ ...TCP, address: '203.0.113.7:2' })
    expect(other.send('AUTH', 'u', 'pw')).toBe(OK)
    expect(other.send('PING')).toBe('+PONG\r\n')
    expect(await other.sendAndWait('AUTH', 'jwt', tokenFor(GRANTS))).toBe(OK)
    expect(fail(server.connect({ ...TCP, address: '203.0.113.8:1' }), 1)).toEqual([WRONG_PASSWORD])
    const third = server.connect({ ...TCP, address: '203.0.113.7:3' })
    expect(fail(third, 1)).toEqual([''])
    await settle()
  })

  test('wait by HELLO and by token too', async () => {
    const { server } = failing()
    fail(server.connect({ ...TCP, address: '203.0.113.7:1' }), 10)
    const ways = [
      ['HELLO', '3', 'AUTH', 'u', 'wrong'],
      ['AUTH', 'jwt', 'abc'],
      ['HELLO', '3', 'AUTH', 'jwt', 'abc'],
      ['AUTH', 'wrong'],
    ]
    for (const args of ways) {
      const client = server.connect({ ...TCP, address: '203.0.113.7:9' })
      client.write(command(...args))
      await settle()
      expect(client.read()).toBe('')
      server.clock.advance(1_000)
      await client.settled()
      expect(client.read()).toMatch(/^-WRONGPASS/)
      expect(client.client.protocol).toBe(2)
    }
  })

  test('that wait are answered by nobody once the client is gone', async () => {
    const { server, client } = failing()
    fail(client, 11)
    client.client.peerClosed()
    server.clock.advance(1_000)
    await settle()
    expect(client.read()).toBe('')
    expect(server.clock.pendingTimers).toBe(0)
  })

  test('are refused inside EXEC, which cannot wait, once they would have to; outside a good one is not', () => {
    const { server, client } = failing()
    client.send('AUTH', 'u', 'pw')
    client.send('MULTI')
    for (let i = 0; i < 100; i++) client.send('AUTH', 'u', 'wrong')
    client.send('AUTH', 'u', 'pw')
    const refused =
      '-ERR AUTH inside MULTI is refused after too many failed logins from this address\r\n'
    expect(client.send('EXEC')).toBe(
      `*101\r\n${WRONG_PASSWORD.repeat(10)}${refused.repeat(90)}${refused}`,
    )
    expect(server.aclLog.denied.auth).toBe(10)
    expect(server.counters.loginFailures.get('throttled')).toBe(91)
    expect(client.send('AUTH', 'u', 'pw')).toBe(OK)
  })

  test('with auth-failure-delay 0 are answered at once, however many', () => {
    const { client } = failing({ 'auth-failure-delay': '0' })
    expect(fail(client, 100)).toEqual(Array(100).fill(WRONG_PASSWORD))
  })
})

describe('Failed logins over a WebSocket', () => {
  const TOO_MANY = '4401 unauthorized|10000|too many failed logins'

  test('end it at the fifth, after its reply', () => {
    const server = new TestCore()
    const client = server.connect(ADMIN)
    expect(fail(client, 4)).toEqual(Array(4).fill(WRONG_PASSWORD))
    expect(client.client.closed).toBe(false)
    expect(fail(client, 1)).toEqual([WRONG_PASSWORD])
    expect(closeOf(client)).toBe(TOO_MANY)
    expect(server.counters.closes.get('unauthorized')).toBe(1)
  })

  test('end one that is logged in too: by password, and by tokens for a refresh', async () => {
    const server = new TestCore()
    server.setUser('u', 'on >pw +@all')
    const admin = server.connect(ADMIN)
    admin.send('AUTH', 'u', 'pw')
    fail(admin, 5)
    expect(closeOf(admin)).toBe(TOO_MANY)
    const page = server.connect(PUBLIC)
    await page.sendAndWait('AUTH', 'jwt', tokenFor(GRANTS))
    for (let i = 0; i < 5; i++) {
      expect(page.client.closed).toBe(false)
      expect(await page.sendAndWait('AUTH', 'jwt', 'abc')).toBe(INVALID)
    }
    expect(closeOf(page)).toBe(TOO_MANY)
  })

  test('wait after ten of an address, by password and by token, at the upgrade too', async () => {
    const server = new TestCore()
    const address = '203.0.113.7:1'
    for (let i = 0; i < 10; i++) await server.connect({ ...PUBLIC, address, token: 'x' }).settled()
    const clients = [
      server.connect({ ...PUBLIC, address, token: 'x' }),
      server.connect({ ...PUBLIC, address }),
      server.connect({ ...ADMIN, address }),
    ]
    clients[1]?.write(command('AUTH', 'jwt', 'x'))
    clients[2]?.write(command('AUTH', 'u', 'x'))
    await settle()
    await settle()
    expect(clients.map((client) => client.read() + String(closeOf(client)))).toEqual(
      Array(3).fill('undefined'),
    )
    server.clock.advance(1_000)
    await settle()
    await settle()
    expect(clients.map((client) => client.read())).toEqual(['', INVALID, WRONG_PASSWORD])
    expect(clients.map(closeOf)).toEqual([
      '4401 unauthorized||invalid token',
      '4401 unauthorized||invalid token',
      undefined,
    ])
    const good = server.connect({ ...PUBLIC, address, token: tokenFor(GRANTS) })
    await good.settled()
    expect(whoIs(good)).toBe('jwt:42')
  })

  test('do not go on inside EXEC once they have ended it', () => {
    const server = new TestCore()
    server.setUser('u', 'on >pw +@all')
    const client = server.connect(ADMIN)
    client.send('AUTH', 'u', 'pw')
    client.send('MULTI')
    for (let i = 0; i < 9; i++) client.send('AUTH', 'u', 'wrong')
    client.send('EXEC')
    expect(closeOf(client)).toBe(TOO_MANY)
    expect(server.aclLog.denied.auth).toBe(5)
  })
})

describe('The reason of a failed login', () => {
  test.each([
    ['unknown-user', ADMIN, ['AUTH', 'nosuch', 'pw']],
    ['wrong-password', ADMIN, ['AUTH', 'u', 'wrong']],
    ['wrong-password', ADMIN, ['AUTH', 'none', 'wrong']],
    ['user-disabled', ADMIN, ['AUTH', 'off', 'pw']],
    ['not-allowed', ADMIN, ['AUTH', 'open', 'pw']],
    ['not-allowed', PUBLIC, ['AUTH', 'u', 'pw']],
    ['not-allowed', TCP, ['AUTH', 'role:r', 'pw']],
  ] as const)('is %s for the metric alone', (reason, options, args) => {
    const server = new TestCore()
    server.setUser('u', 'on >pw')
    server.setUser('off', 'off >pw')
    server.setUser('none', 'on resetpass')
    server.setUser('open', 'on nopass')
    server.setUser('role:r', 'off')
    expect(server.connect(options).send(...args)).toBe(WRONG_PASSWORD)
    expect([...server.counters.loginFailures]).toEqual([[reason, 1]])
  })

  test.each([
    ['token-signature', `${tokenFor(GRANTS)}x`],
    ['token-malformed', 'abc'],
    ['token-expired', EXPIRED],
    ['token-revoked', OTHER],
    ['token-subject-disabled', token(payload({ sub: '44' }))],
  ])('is %s', async (reason, text) => {
    const server = new TestCore()
    server.setUser('jwt:44', 'off')
    await server.connect().sendAndWait('TOKEN', 'REVOKE', 'SUB', '43')
    await server.connect(PUBLIC).sendAndWait('AUTH', 'jwt', text)
    expect([...server.counters.loginFailures]).toEqual([[reason, 1]])
  })
})

describe('While the keys of the issuer cannot be loaded', () => {
  const server = () =>
    new TestCore({
      'jwt-issuer': '',
      issuer: [
        ['corp', 'issuer', ISS],
        ['corp', 'audience', AUD],
        ['corp', 'algorithms', 'ES256'],
        ['corp', 'jwks-url', 'https://auth.example/keys'],
      ],
    })
  const someToken = tokenBy(makeKey('ES256', 'k'))

  test.each(WEBSOCKETS)(
    '%s is told to come back later, with the same token',
    async (_name, options) => {
      const core = server()
      const client = core.connect(options)
      const reply = await client.sendAndWait('AUTH', 'jwt', someToken)
      expect(reply).toBe('-TRYAGAIN the keys of the issuer cannot be loaded now\r\n')
      expect(closeOf(client)).toBe('4503 unavailable|5000|the keys of the issuer cannot be loaded')
      expect([...core.counters.loginFailures]).toEqual([['token-keys-unavailable', 1]])
      expect(core.aclLog.list()).toEqual([])
    },
  )

  test('TCP stays connected, and is not slowed down', async () => {
    const client = server().connect(TCP)
    for (let tries = 0; tries < 20; tries++) {
      expect(await client.sendAndWait('AUTH', 'jwt', someToken)).toMatch(/^-TRYAGAIN /)
    }
    expect(client.client.closed).toBe(false)
  })
})
