import { describe, expect, test } from 'vitest'
import { command, TestCore } from '../../../support/test-core.ts'
import { helloReply } from '../../../support/hello-reply.ts'
import { payload, token, tokenFor } from '../../../support/tokens.ts'

const HOUR_MS = 3_600_000
const ACCEPTED = `>4\r\n$5\r\ntoken\r\n$8\r\naccepted\r\n$6\r\njwt:42\r\n:${HOUR_MS}\r\n`
const SUBSCRIBED = (channel: string, count: number): string =>
  `>3\r\n$9\r\nsubscribe\r\n$${channel.length}\r\n${channel}\r\n:${count}\r\n`
const UNSUBSCRIBED = (channel: string, count: number): string =>
  `>3\r\n$11\r\nunsubscribe\r\n$${channel.length}\r\n${channel}\r\n:${count}\r\n`

const GRANTS = { channels: ['a', 'b'] }

/** A token of somebody else. */
const OTHER = token(payload({ sub: '43', respcast: GRANTS }))
const EXPIRED = token(payload({ iat: 1_699_999_000, exp: 1_699_999_999 }))

describe('AUTH with a token', () => {
  test('over WebSocket tells who was accepted, and for how long', async () => {
    const client = new TestCore().connect({ transport: 'websocket' })
    expect(await client.sendAndWait('AUTH', 'jwt', tokenFor(GRANTS))).toBe(`+OK\r\n${ACCEPTED}`)
    expect(client.send('SUBSCRIBE', 'a')).toBe(SUBSCRIBED('a', 1))
  })

  test('over TCP is an ordinary login', async () => {
    const server = new TestCore()
    server.setUser('default', 'resetpass >pw')
    const client = server.connect()
    expect(await client.sendAndWait('AUTH', 'jwt', tokenFor(GRANTS))).toBe('+OK\r\n')
    expect(client.send('ACL', 'WHOAMI')).toBe('$6\r\njwt:42\r\n')
  })

  test('takes the token as its only argument, behind the default password', async () => {
    const server = new TestCore()
    server.setUser('default', 'resetpass >pw')
    const client = server.connect()
    expect(await client.sendAndWait('AUTH', tokenFor(GRANTS))).toBe('+OK\r\n')
    expect(client.client.identity.user.name).toBe('jwt:42')
    expect(client.send('AUTH', 'pw')).toBe('+OK\r\n')
    expect(client.client.identity.user.name).toBe('default')
    expect(server.tokens.size).toBe(0)
  })

  test('holds back what stands behind it until it is verified', async () => {
    const client = new TestCore().connect({ transport: 'websocket' })
    client.write(
      Buffer.concat([
        command('AUTH', 'jwt', tokenFor(GRANTS)),
        command('SUBSCRIBE', 'a'),
        command('PING'),
      ]),
    )
    expect(client.read()).toBe('')
    await client.settled()
    expect(client.read()).toBe(`+OK\r\n${ACCEPTED}${SUBSCRIBED('a', 1)}+PONG\r\n`)
  })

  test('lets other clients go on meanwhile', async () => {
    const server = new TestCore()
    const [client, other] = [server.connect({ transport: 'websocket' }), server.connect()]
    client.write(command('AUTH', 'jwt', tokenFor(GRANTS)))
    expect(other.send('PING')).toBe('+PONG\r\n')
    await client.settled()
    expect(client.read()).toBe(`+OK\r\n${ACCEPTED}`)
  })

  test('that is answered after the client has gone changes nothing', async () => {
    const server = new TestCore()
    const client = server.connect({ transport: 'websocket' })
    client.write(command('AUTH', 'jwt', tokenFor(GRANTS)))
    client.client.peerClosed()
    await client.settled()
    expect([server.tokens.size, client.client.authenticated]).toEqual([0, false])
  })

  test('may not wait for EXEC', async () => {
    const client = new TestCore().connect()
    client.send('MULTI')
    const refused = '-ERR AUTH with a token is not allowed inside MULTI\r\n'
    expect(client.send('AUTH', 'jwt', tokenFor(GRANTS))).toBe(refused)
    expect(client.send('HELLO', '3', 'AUTH', 'jwt', tokenFor(GRANTS))).toBe(refused)
    expect(client.send('EXEC')).toMatch(/^-EXECABORT/)
  })

  test('is skipped by CLIENT REPLY as any other command', async () => {
    const client = new TestCore().connect({ protocol: 3 })
    client.send('CLIENT', 'REPLY', 'SKIP')
    client.write(command('AUTH', 'jwt', tokenFor(GRANTS)))
    client.write(command('PING'))
    await client.settled()
    expect(client.read()).toBe('+PONG\r\n')
  })

  test('is a password without any issuer', () => {
    const server = new TestCore({ 'jwt-issuer': '' })
    expect(server.connect().send('AUTH', 'jwt', tokenFor(GRANTS))).toMatch(
      /^-WRONGPASS invalid username/,
    )
  })

  test('keeps the names of tokens from logging in by password', () => {
    const server = new TestCore()
    server.setUser('jwt', 'on nopass')
    expect(server.connect().send('HELLO', '3', 'AUTH', 'jwt:42', 'x')).toMatch(/^-WRONGPASS/)
  })
})

describe('A token that is refused', () => {
  test.each([
    ['a broken one', `${tokenFor(GRANTS)}x`, 'invalid token'],
    ['one that is none', 'abc', 'invalid token'],
    ['an expired one', EXPIRED, 'token expired'],
    ['an empty one', '', 'invalid token'],
  ])('closes a WebSocket behind the reply: %s', async (_name, text, why) => {
    const server = new TestCore()
    const client = server.connect({ transport: 'websocket' })
    expect(await client.sendAndWait('AUTH', 'jwt', text)).toBe(`-WRONGPASS ${why}\r\n`)
    expect(client.sink.ends).toEqual([{ code: 4401, reason: `unauthorized||${why}` }])
    expect(server.counters.tokensRefused).toBe(1)
    expect(server.aclLog.list()).toMatchObject([
      { reason: 'auth', object: 'AUTH', username: 'jwt' },
    ])
    expect(JSON.stringify(server.aclLog.list())).not.toContain(text === '' ? 'eyJ' : text)
  })

  test('leaves a TCP client as it was', async () => {
    const client = new TestCore().connect()
    expect(await client.sendAndWait('AUTH', 'jwt', 'abc')).toBe('-WRONGPASS invalid token\r\n')
    expect(client.send('PING')).toBe('+PONG\r\n')
  })

  test('keeps the old token until its own end', async () => {
    const server = new TestCore()
    const client = server.connect({ transport: 'websocket' })
    await client.sendAndWait('AUTH', 'jwt', tokenFor(GRANTS))
    client.send('SUBSCRIBE', 'a')
    expect(await client.sendAndWait('AUTH', 'jwt', EXPIRED)).toBe('-WRONGPASS token expired\r\n')
    expect(client.client.closed).toBe(false)
    expect(client.send('SUBSCRIBE', 'b')).toBe(SUBSCRIBED('b', 2))
  })

  test('changes nothing of HELLO', async () => {
    const client = new TestCore().connect()
    expect(await client.sendAndWait('HELLO', '3', 'AUTH', 'jwt', 'abc', 'SETNAME', 'x')).toBe(
      '-WRONGPASS invalid token\r\n',
    )
    expect([client.client.protocol, client.client.name]).toEqual([2, ''])
  })
})

describe('HELLO with a token', () => {
  test('logs in, then chooses the protocol and the name', async () => {
    const client = new TestCore().connect()
    expect(
      await client.sendAndWait('HELLO', '3', 'AUTH', 'jwt', tokenFor(GRANTS), 'SETNAME', 'x'),
    ).toBe(helloReply(3, 1))
    expect([client.client.identity.user.name, client.client.name]).toEqual(['jwt:42', 'x'])
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
      `${UNSUBSCRIBED('b', 1)}+OK\r\n${ACCEPTED}`,
    )
    expect(client.send('SUBSCRIBE', 'c')).toBe(SUBSCRIBED('c', 2))
    expect(client.client.closed).toBe(false)
  })

  test('counts down what is lost as unsubscribing does', async () => {
    const { client } = await refreshed()
    client.send('PSUBSCRIBE', 'a')
    expect(await client.sendAndWait('AUTH', 'jwt', tokenFor({}))).toBe(
      `${UNSUBSCRIBED('a', 2)}${UNSUBSCRIBED('b', 1)}>3\r\n$12\r\npunsubscribe\r\n$1\r\na\r\n:0\r\n+OK\r\n${ACCEPTED}`,
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

  test('is refused to another subject while there are subscriptions', async () => {
    const { client } = await refreshed()
    expect(await client.sendAndWait('AUTH', 'jwt', OTHER)).toBe(
      '-ERR AUTH with a token of another subject is not allowed while there are subscriptions\r\n',
    )
    expect(client.client.identity.user.name).toBe('jwt:42')
    client.send('UNSUBSCRIBE')
    expect(await client.sendAndWait('AUTH', 'jwt', OTHER)).toMatch(/^\+OK\r\n.*jwt:43/s)
  })

  test('is no way for a token session with subscriptions to become a password user', async () => {
    const { server, client } = await refreshed('tcp')
    server.setUser('u', 'on >pw +@all')
    expect(client.send('AUTH', 'u', 'pw')).toBe(
      '-ERR AUTH as another user is not allowed while a token session has subscriptions\r\n',
    )
    client.send('UNSUBSCRIBE')
    expect(client.send('AUTH', 'u', 'pw')).toBe('+OK\r\n')
    expect(server.tokens.size).toBe(0)
  })
})
