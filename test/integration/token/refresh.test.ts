import { describe, expect, test } from 'vitest'
import {
  assertPong,
  assertReads,
  assertReply,
  NO_CHANNEL,
  opener,
  push,
  receiversOf,
  subscribe,
  takeAccepted,
} from '../../support/opened.ts'

const open = opener()

describe('a new token on a live connection', () => {
  test('keeps the subscriptions it allows and ends the others before +OK, without a close', async () => {
    const server = await open.server()
    const client = await open.session(server, '42', { channels: ['a', 'b', 'p*'] })
    await subscribe(client, 'a', 1)
    await subscribe(client, 'b', 2)
    await assertReply(client, ['PSUBSCRIBE', 'p*'], push(3, 'psubscribe', 'p*', 3))
    await assertReply(client, ['SSUBSCRIBE', 'b'], push(3, 'ssubscribe', 'b', 1))
    client.command('AUTH', 'jwt', await server.mint('42', { channels: ['a'] }))
    client.command('PING')
    const lost = await client.takeUntil('+PONG\r\n')
    const [pushes = '', behind = ''] = lost.split('+OK\r\n')
    expect(pushes.match(/unsubscribe\r\n/g)).toHaveLength(3)
    expect(pushes).toContain('$11\r\nunsubscribe\r\n$1\r\nb\r\n')
    expect(pushes).toContain('$12\r\npunsubscribe\r\n$2\r\np*\r\n')
    expect(pushes).toContain('$12\r\nsunsubscribe\r\n$1\r\nb\r\n')
    expect(behind).toMatch(/^>4\r\n\$5\r\ntoken\r\n\$8\r\naccepted\r\n/)
    expect(await receiversOf(open, server, 'a')).toBe(1)
    await assertReads(client, push(3, 'message', 'a', 'm'))
    for (const channel of ['b', 'px']) expect(await receiversOf(open, server, channel)).toBe(0)
    await assertPong(client)
  })

  test('of another subject is refused while there are subscriptions', async () => {
    const server = await open.server()
    const client = await open.session(server, '42', { channels: ['a'] })
    await subscribe(client, 'a')
    const other = await server.mint('43', { channels: ['a'] })
    const error =
      'AUTH with a token of another subject is not allowed while there are subscriptions'
    await assertReply(client, ['AUTH', 'jwt', other], `-ERR ${error}\r\n`)
    await assertReply(client, ['ACL', 'WHOAMI'], '$6\r\njwt:42\r\n')
    await assertReply(client, ['UNSUBSCRIBE'], push(3, 'unsubscribe', 'a', 0))
    await assertReply(client, ['AUTH', 'jwt', other], '+OK\r\n')
    await takeAccepted(client, 'jwt:43')
    await assertReply(client, ['ACL', 'WHOAMI'], '$6\r\njwt:43\r\n')
  })

  test('widens what the session may do', async () => {
    const server = await open.server()
    const client = await open.session(server, '42', { channels: ['a'] })
    await assertReply(client, ['SUBSCRIBE', 'b'], NO_CHANNEL)
    client.command('AUTH', 'jwt', await server.mint('42', { channels: ['b'] }))
    await assertReads(client, '+OK\r\n')
    await takeAccepted(client, 'jwt:42')
    await subscribe(client, 'b')
  })
})

describe('the claim deny', () => {
  test('wins over every allow, at the command and at the delivery through a pattern', async () => {
    const server = await open.server()
    const grants = { channels: ['room:*'], deny: ['room:7:mods'] }
    for (const client of [
      await open.session(server, '42', grants),
      await open.tcpSession(server, '43', grants),
    ]) {
      await assertReply(client, ['SUBSCRIBE', 'room:7:mods'], NO_CHANNEL)
      await assertReply(client, ['SSUBSCRIBE', 'room:7:mods'], NO_CHANNEL)
      await assertReply(client, ['PUBLISH', 'room:7:mods', 'm'], NO_CHANNEL)
      await assertReply(client, ['PSUBSCRIBE', 'room:*'], push(3, 'psubscribe', 'room:*', 1))
      expect(await receiversOf(open, server, 'room:7:mods')).toBe(0)
      expect(await receiversOf(open, server, 'room:7')).toBe(1)
      await assertReads(client, push(3, 'pmessage', 'room:*', 'room:7', 'm'))
      await assertPong(client)
      await assertReply(client, ['PUNSUBSCRIBE'], push(3, 'punsubscribe', 'room:*', 0))
    }
  })

  test('does not touch others with the same pattern', async () => {
    const server = await open.server()
    const denied = await open.session(server, '42', { channels: ['*'], deny: ['x'] })
    const free = await open.session(server, '43', { channels: ['*'] })
    for (const client of [denied, free]) {
      await assertReply(client, ['PSUBSCRIBE', '*'], push(3, 'psubscribe', '*', 1))
    }
    expect(await receiversOf(open, server, 'x')).toBe(1)
    await assertReads(free, push(3, 'pmessage', '*', 'x', 'm'))
    await assertPong(denied)
  })
})
