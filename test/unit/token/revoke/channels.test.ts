import { describe, expect, test } from 'vitest'
import { command } from '../../../support/test-core.ts'
import { tokenFor } from '../../../support/tokens.ts'
import { payloadOf } from '../../../../server/delivery/segment.ts'
import { closeOf, login, message, NO_CHANNEL, pmessage, revocable, revokedPush } from './support.ts'

const unsubscribed = (word: string, name: string, left: number): string =>
  `>3\r\n$${word.length}\r\n${word}\r\n$${name.length}\r\n${name}\r\n:${left}\r\n`

const ALL = { channels: ['*', 'room:*', 'r*'] }
const KEEPS = { 'ws-revocation': 'unsubscribe' }

const GRANTED = '>2\r\n$5\r\ntoken\r\n$7\r\ngranted\r\n'

describe('TOKEN REVOKE CHANNEL', () => {
  test('denies SUBSCRIBE, SSUBSCRIBE, PUBLISH and SPUBLISH on the channels that match', async () => {
    const { session, token } = revocable()
    const client = await session(ALL)
    expect(await token('REVOKE CHANNEL room:* TTL 60')).toBe(':0\r\n')
    for (const word of ['SUBSCRIBE', 'SSUBSCRIBE'])
      expect(client.send(word, 'room:7')).toBe(NO_CHANNEL)
    for (const word of ['PUBLISH', 'SPUBLISH']) {
      expect(client.send(word, 'room:7', 'x')).toBe(NO_CHANNEL)
      expect(client.send(word, 'hall', 'x')).toBe(':0\r\n')
    }
    expect(client.send('SUBSCRIBE', 'hall')).toBe(unsubscribed('subscribe', 'hall', 1))
  })

  test('leaves password users alone', async () => {
    const { server, token } = revocable()
    const backend = server.connect({ protocol: 3 })
    backend.send('SUBSCRIBE', 'room:7')
    expect(await token('REVOKE CHANNEL room:* TTL 60')).toBe(':0\r\n')
    expect(backend.send('PUBLISH', 'room:7', 'x')).toBe(`:1\r\n${message('room:7', 'x')}`)
  })

  test('ends a WebSocket that is subscribed to such a channel: 4403 `permissions-changed`', async () => {
    const { session, token } = revocable()
    const client = await session(ALL)
    const other = await session(ALL, { sub: '43' })
    client.send('SUBSCRIBE', 'room:7')
    other.send('SUBSCRIBE', 'hall')
    expect(await token('REVOKE CHANNEL room:* TTL 60')).toBe(':1\r\n')
    expect(client.read()).toBe(revokedPush('room:7', 'channel revoked'))
    expect(closeOf(client)).toEqual({ code: 4403, reason: 'permissions-changed||channel revoked' })
    expect(other.client.closed).toBe(false)
    expect(other.read()).toBe('')
  })

  test('closes TCP without a line', async () => {
    const { session, token } = revocable()
    const client = await session(ALL, {}, { protocol: 3 })
    client.send('SSUBSCRIBE', 'room:7')
    await token('REVOKE CHANNEL room:7 PERSIST')
    expect([client.read(), client.sink.terminated]).toEqual(['', true])
  })

  test('with `ws-revocation unsubscribe` takes the subscriptions and leaves the socket', async () => {
    const { session, token } = revocable(KEEPS)
    const client = await session(ALL)
    client.send('SUBSCRIBE', 'room:7', 'hall')
    client.send('SSUBSCRIBE', 'room:8')
    expect(await token('REVOKE CHANNEL room:* TTL 60')).toBe(':1\r\n')
    expect(client.read()).toBe(
      unsubscribed('unsubscribe', 'room:7', 1) +
        unsubscribed('sunsubscribe', 'room:8', 0) +
        revokedPush('', 'channel revoked'),
    )
    expect(client.client.closed).toBe(false)
    expect([...client.client.subscriptions.names('channel').keys()]).toEqual(['hall'])
  })

  test('keeps a pattern that may overlap, filters it, and does not count it as a receiver', async () => {
    const { session, token, publish } = revocable()
    const client = await session(ALL)
    client.send('PSUBSCRIBE', 'room:*')
    expect(await token('REVOKE CHANNEL room:7 TTL 60')).toBe(':1\r\n')
    expect(client.read()).toBe(revokedPush('room:7', 'channel revoked'))
    expect(publish('room:7', 'secret')).toBe(':0\r\n')
    expect(publish('room:8', 'open')).toBe(':1\r\n')
    expect(client.read()).toBe(pmessage('room:*', 'room:8', 'open'))
    expect(client.client.closed).toBe(false)
  })

  test('filters a pattern that is subscribed to afterwards', async () => {
    const { session, token, publish } = revocable()
    const client = await session(ALL)
    await token('REVOKE CHANNEL room:7 TTL 60')
    client.send('PSUBSCRIBE', 'r*')
    expect(publish('room:7', 'secret')).toBe(':0\r\n')
    expect(publish('room:8', 'open')).toBe(':1\r\n')
    expect(client.read()).toBe(pmessage('r*', 'room:8', 'open'))
  })

  test('holds for those who log in afterwards', async () => {
    const { session, token } = revocable()
    await token('REVOKE CHANNEL * PERSIST')
    const client = await session(ALL)
    expect(client.send('SUBSCRIBE', '')).toBe(NO_CHANNEL)
    expect(client.send('PUBLISH', 'x', 'y')).toBe(NO_CHANNEL)
  })

  test('ends with its TTL: patterns get everything again', async () => {
    const { server, session, token, publish } = revocable()
    const client = await session(ALL)
    client.send('PSUBSCRIBE', '*')
    await token('REVOKE CHANNEL room:7 TTL 60')
    client.read()
    server.clock.advance(59_000)
    expect(publish('room:7', 'a')).toBe(':0\r\n')
    server.clock.advance(2_000)
    expect(publish('room:7', 'b')).toBe(':1\r\n')
    expect(client.read()).toBe(GRANTED + pmessage('*', 'room:7', 'b'))
    expect(client.send('SUBSCRIBE', 'room:7')).toBe(unsubscribed('subscribe', 'room:7', 2))
  })

  test('is taken back by UNREVOKE', async () => {
    const { session, token, publish } = revocable()
    const client = await session(ALL)
    client.send('PSUBSCRIBE', '*')
    await token('REVOKE CHANNEL room:7 PERSIST')
    client.read()
    await token('UNREVOKE 1')
    expect(publish('room:7', 'b')).toBe(':1\r\n')
    expect(client.read()).toBe(GRANTED + pmessage('*', 'room:7', 'b'))
  })

  test('ONLY SUBSCRIBE leaves publishing', async () => {
    const { session, token } = revocable()
    const client = await session(ALL)
    await token('REVOKE CHANNEL room:* ONLY SUBSCRIBE TTL 60')
    expect(client.send('SUBSCRIBE', 'room:7')).toBe(NO_CHANNEL)
    expect(client.send('PUBLISH', 'room:7', 'x')).toBe(':0\r\n')
  })

  test('ONLY PUBLISH leaves subscribing, and hits nobody', async () => {
    const { session, token, publish } = revocable()
    const client = await session(ALL)
    client.send('SUBSCRIBE', 'room:7')
    client.send('PSUBSCRIBE', '*')
    expect(await token('REVOKE CHANNEL room:* ONLY PUBLISH TTL 60')).toBe(':0\r\n')
    expect(client.send('PUBLISH', 'room:7', 'x')).toBe(NO_CHANNEL)
    expect(publish('room:7', 'y')).toBe(':2\r\n')
  })

  test.each([
    ['FOR SUB 42', { sub: '42' }, { sub: '43' }],
    ['FOR ROLE member', { respcast: { ...ALL, roles: ['member'] } }, {}],
    ['FOR GROUP acme', { respcast: { ...ALL, group: 'acme' } }, {}],
    ['FOR SUB 42 FROM default', { sub: '42' }, { sub: '43' }],
  ])('%s is for those sessions alone', async (scope, claims, others) => {
    const { session, token } = revocable()
    const hit = await session(ALL, claims)
    const spared = await session(ALL, others)
    hit.send('PSUBSCRIBE', 'room:*')
    spared.send('PSUBSCRIBE', 'room:*')
    expect(await token(`REVOKE CHANNEL room:* ${scope} TTL 60`)).toBe(':1\r\n')
    expect(hit.read()).toBe(revokedPush('room:*', 'channel revoked'))
    expect(spared.read()).toBe('')
    expect(hit.send('PUBLISH', 'room:7', 'x')).toBe(NO_CHANNEL)
    expect(spared.send('PUBLISH', 'room:7', 'x')).toMatch(/^:1\r\n/)
  })

  test('outlasts a refresh: the subscription that a new group loses is unsubscribed before +OK', async () => {
    const { session, token } = revocable()
    const client = await session(ALL)
    client.send('SUBSCRIBE', 'room:7')
    await token('REVOKE CHANNEL room:* FOR GROUP acme TTL 60')
    const answer = await login(client, tokenFor({ ...ALL, group: 'acme' }))
    expect(answer.startsWith(`${unsubscribed('unsubscribe', 'room:7', 0)}+OK\r\n`)).toBe(true)
  })

  test('refuses what waits in MULTI when EXEC runs it', async () => {
    const { session, token } = revocable()
    const client = await session(ALL)
    client.send('MULTI')
    client.send('SUBSCRIBE', 'room:7')
    await token('REVOKE CHANNEL room:7 TTL 60')
    expect(client.send('EXEC')).toMatch(/^\*1\r\n-NOPERM /)
    expect(client.client.subscriptions.any).toBe(false)
  })
})

describe('The end of a revocation of a channel', () => {
  /** Sessions that the revocation concerns over WebSocket and TCP, one of RESP2, and one that may not use the channel. */
  async function sessions() {
    const { session, token, server } = revocable()
    const room = { channels: ['room:*'] }
    const all = [
      await session(room),
      await session(room, {}, { transport: 'tcp', protocol: 3 }),
      await session(room, {}, { transport: 'tcp', protocol: 2 }),
      await session({ channels: ['other'] }),
    ]
    return { server, token, read: () => all.map((one) => one.read()), all }
  }

  test('by UNREVOKE is told to those who may use it again', async () => {
    const { token, read } = await sessions()
    await token('REVOKE CHANNEL room:7 PERSIST')
    expect(read()).toEqual(['', '', '', ''])
    expect(await token('UNREVOKE 1')).toBe('+OK\r\n')
    expect(read()).toEqual([GRANTED, GRANTED, '', ''])
  })

  test('by its TTL is told to them, once they may', async () => {
    const { server, token, read, all } = await sessions()
    await token('REVOKE CHANNEL room:7 TTL 60')
    server.clock.advance(61_000)
    expect(read()).toEqual([GRANTED, GRANTED, '', ''])
    expect(all[0]?.send('SUBSCRIBE', 'room:7')).toMatch(/^>3\r\n\$9\r\nsubscribe/)
  })

  test('is told of publishing as well, and within its scope only', async () => {
    const { session, token } = revocable()
    const inside = await session({ channels: ['room:*'], group: 'acme' })
    const outside = await session({ channels: ['room:*'] })
    await token('REVOKE CHANNEL room:* FOR GROUP acme ONLY PUBLISH PERSIST')
    await token('UNREVOKE 1')
    expect([inside.read(), outside.read()]).toEqual([GRANTED, ''])
  })

  test('of identities is told to nobody', async () => {
    const { session, token } = revocable()
    const client = await session({ channels: ['room:*'] })
    await token('REVOKE SUB other')
    await token('UNREVOKE 1')
    expect(client.read()).toBe('')
  })
})

describe('Messages that are queued after the write in flight', () => {
  /** A session that does not read: one message is in flight, whatever comes next is queued. */
  async function blocked(subscribe: readonly string[]) {
    const parts = revocable(KEEPS)
    const client = await parts.session(ALL)
    for (const line of subscribe) client.send(...line.split(' '))
    client.sink.blocks = true
    parts.admin.send('PUBLISH', 'hall', 'in flight')
    client.read()
    const drain = (): string => {
      client.sink.drain()
      client.sink.blocks = false
      client.client.output.onWritable()
      return client.read()
    }
    return { ...parts, client, drain }
  }

  test('are dropped for a channel that is lost, and others stay in order', async () => {
    const { client, publish, token, drain } = await blocked(['SUBSCRIBE hall room:7'])
    publish('room:7', 'dropped')
    publish('hall', 'first')
    client.write(command('PING'))
    publish('room:7', 'dropped too')
    publish('hall', 'second')
    await token('REVOKE CHANNEL room:7 TTL 60')
    expect(drain()).toBe(
      message('hall', 'first') +
        '+PONG\r\n' +
        message('hall', 'second') +
        unsubscribed('unsubscribe', 'room:7', 1) +
        revokedPush('room:7', 'channel revoked'),
    )
    expect(client.client.output.heldBytes).toBe(0)
  })

  test('are dropped one by one where a pattern brought them', async () => {
    const { publish, token, drain } = await blocked(['PSUBSCRIBE *'])
    publish('room:7', 'dropped')
    publish('room:8', 'kept')
    publish('room:7', 'dropped too')
    publish('room:7', 'x'.repeat(20_000))
    publish('room:9', 'y'.repeat(20_000))
    await token('REVOKE CHANNEL room:7 TTL 60')
    expect(drain()).toBe(
      pmessage('*', 'room:8', 'kept') +
        pmessage('*', 'room:9', 'y'.repeat(20_000)) +
        revokedPush('room:7', 'channel revoked'),
    )
  })

  test('are dropped within one turn as well, and what comes later in it is not delivered', async () => {
    const { server, session, token } = revocable(KEEPS)
    const client = await session(ALL)
    client.send('PSUBSCRIBE', '*')
    const publish = (channel: string): void => {
      server.registry.publish('channel', channel, payloadOf(Buffer.from(channel)))
    }
    publish('room:7')
    publish('room:8')
    const order = server.tokens.revocation.read(['CHANNEL', 'room:7', 'TTL', '60'])
    if ('error' in order) throw new Error(order.error)
    const done = server.tokens.revocation.revoke(order.order, { user: 'a', address: '' })
    publish('room:7')
    publish('room:9')
    await done
    expect(client.read()).toBe(
      pmessage('*', 'room:8', 'room:8') +
        revokedPush('room:7', 'channel revoked') +
        pmessage('*', 'room:9', 'room:9'),
    )
    expect(await token('UNREVOKE 1')).toBe('+OK\r\n')
  })

  test('are dropped for the whole pattern when a role loses it', async () => {
    const parts = revocable(KEEPS)
    parts.server.setUser('role:m', 'off resetchannels &hall &r* +subscribe +psubscribe')
    const client = await parts.session({ roles: ['m'] })
    client.send('PSUBSCRIBE', 'r*')
    client.send('SUBSCRIBE', 'hall')
    client.sink.blocks = true
    parts.publish('hall', 'in flight')
    client.read()
    parts.publish('room', 'dropped')
    parts.publish('hall', 'kept')
    parts.server.setUser('role:m', 'resetchannels &hall')
    client.sink.blocks = false
    client.client.output.onWritable()
    expect(client.read()).toBe(
      message('hall', 'kept') +
        unsubscribed('punsubscribe', 'r*', 1) +
        revokedPush('r*', 'permissions changed'),
    )
  })

  test('are all dropped where the session ends', async () => {
    const { client, publish, token, drain } = await blocked(['PSUBSCRIBE *'])
    publish('room:7', 'dropped')
    await token('REVOKE ALL')
    expect(drain()).toBe(revokedPush('', 'token revoked'))
    expect(closeOf(client)?.code).toBe(4403)
  })
})
