import { describe, expect, test } from 'vitest'
import { encodeCommand, push, type RawClient } from '../../support/resp-client.ts'
import { unframe } from '../../support/recording-sink.ts'
import { DEFAULT_USER, eventually, NO_CHANNEL, opener } from '../../support/opened.ts'
import { slowIssuer, type SlowIssuer } from '../../support/key-server.ts'
import { clientFrame } from '../../support/raw-upgrade.ts'

const open = opener()

const GRANTS = { channels: ['a'] }

async function connected(
  { server }: SlowIssuer,
  transport: 'TCP' | 'WebSocket',
): Promise<RawClient> {
  return transport === 'TCP' ? open.tcp(server, 3) : open.webSocket(server)
}

describe.each(['TCP', 'WebSocket'] as const)('while a token is verified, over %s', (transport) => {
  test('commands after it wait and run as the new user; others are answered meanwhile', async () => {
    const issuer = await slowIssuer(open)
    const other = await open.tcp(issuer.server)
    const client = await connected(issuer, transport)
    client.send(
      Buffer.concat([
        encodeCommand('AUTH', 'jwt', issuer.unknown('42', GRANTS)),
        encodeCommand('ACL', 'WHOAMI'),
        encodeCommand('SUBSCRIBE', 'a'),
        encodeCommand('PUBLISH', 'b', 'm'),
      ]),
    )
    await issuer.asked()
    client.command('PING')
    for (let i = 0; i < 10; i++) await other.assertPong()
    expect(client.takeAll()).toBe('')
    issuer.answer()
    await client.takeExactly('+OK\r\n')
    if (transport === 'WebSocket') await client.takeAccepted('jwt:42')
    await client.takeExactly('$6\r\njwt:42\r\n')
    await client.takeExactly(push(3, 'subscribe', 'a', 1))
    await client.takeExactly(`${NO_CHANNEL}+PONG\r\n`)
  })

  test('a client that is killed gets nothing executed, neither then nor later', async () => {
    const issuer = await slowIssuer(open)
    const witness = await open.tcp(issuer.server, 3)
    await witness.subscribe('a')
    const client = await connected(issuer, transport)
    client.send(
      Buffer.concat([
        encodeCommand('AUTH', 'jwt', issuer.unknown('42', GRANTS)),
        // Less than the 16 KiB that a WebSocket may send before it has logged in.
        ...Array<Buffer>(300).fill(encodeCommand('PUBLISH', 'a', 'late')),
      ]),
    )
    await issuer.asked()
    const admin = await open.tcp(issuer.server)
    const filter = transport === 'TCP' ? ['TYPE', 'normal'] : ['TRANSPORT', 'websocket']
    await admin.assertReply(['CLIENT', 'KILL', ...filter], ':1\r\n')
    await client.closed
    issuer.answer()
    await witness.assertPong()
    expect(client.takeAll()).toBe('')
    expect(issuer.server.core.tokens.size).toBe(0)
  })

  test('a client that leaves becomes no session', async () => {
    const issuer = await slowIssuer(open)
    const client = await connected(issuer, transport)
    client.command('AUTH', 'jwt', issuer.unknown('42', GRANTS))
    await issuer.asked()
    client.destroy()
    const { clients, tokens } = issuer.server.core
    issuer.answer()
    await eventually('the client is forgotten', () => clients.size === 0)
    const next = await open.tcp(issuer.server)
    await next.assertReply(['AUTH', 'jwt', issuer.unknown('42', GRANTS)], '+OK\r\n')
    expect(tokens.size).toBe(1)
  })

  test('a role that is narrowed holds for the login that was under way', async () => {
    const issuer = await slowIssuer(open, {
      user: [DEFAULT_USER, ['role:member', 'off', 'resetchannels', '+subscribe', '&a', '&b']],
    })
    const client = await connected(issuer, transport)
    client.command('AUTH', 'jwt', issuer.unknown('42', { roles: ['member'] }))
    client.command('SUBSCRIBE', 'a')
    client.command('SUBSCRIBE', 'b')
    await issuer.asked()
    const admin = await open.tcp(issuer.server)
    await admin.assertReply(['ACL', 'SETUSER', 'role:member', 'resetchannels', '&b'], '+OK\r\n')
    issuer.answer()
    await client.takeExactly('+OK\r\n')
    if (transport === 'WebSocket') await client.takeAccepted('jwt:42')
    await client.takeExactly(NO_CHANNEL)
    await client.takeExactly(push(3, 'subscribe', 'b', 1))
  })

  test('a ceiling that is set to off refuses the login that was under way', async () => {
    const issuer = await slowIssuer(open)
    const client = await connected(issuer, transport)
    client.command('AUTH', 'jwt', issuer.unknown('42', GRANTS))
    await issuer.asked()
    const admin = await open.tcp(issuer.server)
    await admin.assertReply(['ACL', 'SETUSER', 'jwt:42', 'off'], '+OK\r\n')
    issuer.answer()
    await client.takeExactly('-WRONGPASS invalid token\r\n')
    if (transport === 'WebSocket') expect((await client.closed).code).toBe(4403)
    else await client.assertPong()
  })

  test('a key that turns out not to be there refuses the token', async () => {
    const issuer = await slowIssuer(open)
    const client = await connected(issuer, transport)
    client.command('AUTH', 'jwt', issuer.unknown('42', GRANTS))
    await issuer.asked()
    issuer.answer('known')
    await client.takeExactly('-WRONGPASS invalid token\r\n')
  })

  test('a key that is taken out of the set ends the sessions it let in', async () => {
    const issuer = await slowIssuer(open)
    const client = await connected(issuer, transport)
    await client.assertReply(['AUTH', 'jwt', issuer.known('42', GRANTS)], '+OK\r\n')
    if (transport === 'WebSocket') await client.takeAccepted('jwt:42')
    const next = await open.tcp(issuer.server)
    next.command('AUTH', 'jwt', issuer.unknown('43', GRANTS))
    await issuer.asked()
    issuer.answer('unknown')
    await next.takeExactly('+OK\r\n')
    const { code, reason } = await client.closed
    if (transport === 'WebSocket') {
      expect(code).toBe(4403)
      expect(reason).toMatch(/^revoked\|/)
      const word = push(3, 'token', 'revoked', '', 'the key of the token was removed')
      expect(client.takeAll()).toBe(word.toString('latin1'))
    }
    await next.assertPong()
  })
})

describe('while the token of an upgrade is verified', () => {
  test('early messages wait for it and are executed once, in order', async () => {
    const issuer = await slowIssuer(open)
    const upgrade = await open.upgrade(issuer.server.httpPort, {
      headers: { Authorization: `Bearer ${issuer.unknown('42', GRANTS)}` },
      early: Buffer.concat([
        clientFrame(encodeCommand('ACL', 'WHOAMI')),
        clientFrame(encodeCommand('SUBSCRIBE', 'a')),
        clientFrame(encodeCommand('PUBLISH', 'a', 'm')),
      ]),
    })
    await issuer.asked()
    expect(upgrade.status).toBe(101)
    expect(upgrade.received()).toHaveLength(0)
    issuer.answer()
    const end = push(3, 'message', 'a', 'm')
    await eventually('the message', () => upgrade.received().includes(end))
    const text = Buffer.concat(unframe(upgrade.received())).toString('latin1')
    expect(text).toMatch(
      /^>4\r\n\$5\r\ntoken\r\n\$6\r\nlimits\r\n:\d+\r\n:\d+\r\n>4\r\n\$5\r\ntoken\r\n\$8\r\naccepted\r\n\$6\r\njwt:42\r\n:\d+\r\n\$6\r\njwt:42\r\n>3\r\n\$9\r\nsubscribe/,
    )
    expect(text).toMatch(/\r\n:1\r\n:1\r\n>3\r\n\$7\r\nmessage\r\n\$1\r\na\r\n\$1\r\nm\r\n$/)
  })

  test('auth-timeout still holds', async () => {
    const issuer = await slowIssuer(open)
    const token = issuer.unknown('42', GRANTS)
    const client = await open.webSocket(issuer.server, {
      headers: { authorization: `Bearer ${token}` },
    })
    client.command('PUBLISH', 'a', 'late')
    await issuer.asked()
    // The fetch is given up at its own bound, which is the same five seconds.
    issuer.clock.advance(4_999)
    expect(client.isClosed).toBe(false)
    issuer.clock.advance(1)
    expect([4401, 4408]).toContain((await client.closed).code)
    issuer.answer()
    expect(client.takeAll()).toBe('')
  })
})

describe('a refresh that is under way', () => {
  test('is of no avail where the connection was reset before its answer', async () => {
    const issuer = await slowIssuer(open)
    const client = await open.tcp(issuer.server, 3)
    client.command('AUTH', 'jwt', issuer.unknown('42', GRANTS))
    client.command('RESET')
    client.command('ACL', 'WHOAMI')
    await issuer.asked()
    issuer.answer()
    // RESET waits for the login, and undoes it.
    await client.takeExactly('+OK\r\n+RESET\r\n$7\r\ndefault\r\n')
    await client.assertPong()
  })
})
