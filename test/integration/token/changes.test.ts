import { describe, expect, test } from 'vitest'
import type { TestGateway } from '../../support/server.ts'
import { DEFAULT_USER, GRANTED, NO_CHANNEL, opener, receiversOf } from '../../support/opened.ts'
import { encodeCommand, push } from '../../support/resp-client.ts'

const open = opener()

const CHANGED = { code: 4403, reason: 'permissions-changed||permissions changed' }

/** The role that most tests edit, as a directive. */
const MEMBER = ['role:member', 'off', 'resetchannels', '+subscribe', '+psubscribe', '+ssubscribe']

function serverWithRole(...rules: string[]): Promise<TestGateway> {
  return open.server({
    directives: {
      user: [DEFAULT_USER, [...MEMBER, ...rules]],
    },
  })
}

async function change(server: TestGateway, ...command: string[]): Promise<void> {
  await (await open.tcp(server)).assertReply(['ACL', ...command], '+OK\r\n')
}

const revoked = (channel: string) => push(3, 'token', 'revoked', channel, 'permissions changed')

describe('editing a role', () => {
  test('closes exactly the sessions that hold what it took away, and says why first', async () => {
    const server = await serverWithRole('&news', '&other')
    const member = { roles: ['member'] }
    const concerned = await open.session(server, '1', member)
    const backend = await open.tcpSession(server, '2', member)
    const elsewhere = await open.session(server, '3', member)
    const idle = await open.session(server, '4', member)
    const byList = await open.session(server, '5', { ...member, channels: ['news'] })
    const stranger = await open.session(server, '6', { channels: ['news'] })
    for (const client of [concerned, backend, byList, stranger]) await client.subscribe('news')
    await elsewhere.subscribe('other')

    await change(server, 'SETUSER', 'role:member', 'resetchannels', '&other')
    await concerned.takeExactly(revoked('news'))
    expect(await concerned.closed).toEqual(CHANGED)
    await backend.closed
    expect(backend.takeAll()).toBe('')
    for (const client of [elsewhere, idle, byList, stranger]) await client.assertPong()
    expect(await receiversOf(open, server, 'news')).toBe(2)
    await idle.assertReply(['SUBSCRIBE', 'news'], NO_CHANNEL)
  })

  test('a client that comes back with the same token is told what is denied', async () => {
    const server = await serverWithRole('&news', '&other')
    const token = await server.mint('1', { roles: ['member'] })
    const before = await open.webSocket(server, { token })
    await before.takeAccepted('jwt:1')
    await before.subscribe('news')
    await change(server, 'SETUSER', 'role:member', 'resetchannels', '&other')
    expect(await before.closed).toEqual(CHANGED)
    const after = await open.webSocket(server, { token })
    await after.takeAccepted('jwt:1')
    await after.assertReply(['SUBSCRIBE', 'news'], NO_CHANNEL)
    await after.subscribe('other')
  })

  test('names no channel in the push where more than one is lost', async () => {
    const server = await serverWithRole('&news', '&other')
    const client = await open.session(server, '1', { roles: ['member'] })
    await client.subscribe('news', 1)
    await client.subscribe('other', 2)
    await change(server, 'SETUSER', 'role:member', 'resetchannels')
    await client.takeExactly(revoked(''))
    expect(await client.closed).toEqual(CHANGED)
  })

  test.each([
    ['a pattern', 'PSUBSCRIBE', 'psubscribe', 'news*'],
    ['a shard channel', 'SSUBSCRIBE', 'ssubscribe', 'news'],
  ])('%s is lost like a channel', async (_name, command, word, name) => {
    const server = await serverWithRole('&news*')
    const client = await open.session(server, '1', { roles: ['member'] })
    client.command(command, name)
    await client.takeExactly(push(3, word, name, 1))
    await change(server, 'SETUSER', 'role:member', 'resetchannels')
    await client.takeExactly(revoked(name))
    expect(await client.closed).toEqual(CHANGED)
  })

  test('clearselectors takes away what only selectors gave', async () => {
    const server = await serverWithRole('&root', '(resetchannels +subscribe &news)')
    const bySelector = await open.session(server, '1', { roles: ['member'] })
    const byRoot = await open.session(server, '2', { roles: ['member'] })
    await bySelector.subscribe('news')
    await byRoot.subscribe('root')
    await change(server, 'SETUSER', 'role:member', 'clearselectors')
    await bySelector.takeExactly(revoked('news'))
    expect(await bySelector.closed).toEqual(CHANGED)
    await byRoot.assertPong()
  })

  test('taking the subscribing command away is enough, though the channel stays', async () => {
    const server = await serverWithRole('+publish', '&news')
    const client = await open.session(server, '1', { roles: ['member'] })
    await client.subscribe('news')
    await change(server, 'SETUSER', 'role:member', '-subscribe')
    await client.takeExactly(revoked('news'))
    expect(await client.closed).toEqual(CHANGED)
  })

  test('widening it, or writing it anew as it was, closes nobody', async () => {
    const server = await serverWithRole('&news')
    const client = await open.session(server, '1', { roles: ['member'] })
    await client.subscribe('news')
    await change(server, 'SETUSER', 'role:member', '&more')
    await client.takeExactly(GRANTED)
    await change(server, 'SETUSER', 'role:member', 'reset', ...MEMBER.slice(1), '&news')
    await client.assertPong()
    await client.assertReply(['SUBSCRIBE', 'more'], NO_CHANNEL)
  })

  test('a message published after the change in the same write is not delivered any more', async () => {
    const server = await serverWithRole('&news')
    const client = await open.session(server, '1', { roles: ['member'] })
    await client.subscribe('news')
    const admin = await open.tcp(server)
    admin.send(
      Buffer.concat([
        encodeCommand('ACL', 'SETUSER', 'role:member', 'resetchannels'),
        encodeCommand('PUBLISH', 'news', 'late'),
      ]),
    )
    await admin.takeExactly('+OK\r\n:0\r\n')
    await client.takeExactly(revoked('news'))
    expect(await client.closed).toEqual(CHANGED)
    expect(client.takeAll()).toBe('')
  })

  test('{sub} stands for the subject, and only its own channels are lost', async () => {
    const server = await serverWithRole('&user:{sub}:*')
    const one = await open.session(server, '1', { roles: ['member'] })
    await one.subscribe('user:1:inbox')
    await one.assertReply(['SUBSCRIBE', 'user:2:inbox'], NO_CHANNEL)
    const star = await open.session(server, '*', { roles: ['member'] })
    await star.assertReply(['SUBSCRIBE', 'user:2:inbox'], NO_CHANNEL)
    await star.subscribe('user:*:inbox')
  })
})

describe('a ceiling', () => {
  test('resetchannels on jwt:<sub> takes all channels of one subject, whatever its tokens say', async () => {
    const server = await open.server()
    const [concerned, other] = [
      await open.session(server, '42', { channels: ['news'] }),
      await open.session(server, '43', { channels: ['news'] }),
    ]
    const backend = await open.tcpSession(server, '42', { channels: ['news'] })
    for (const client of [concerned, other, backend]) await client.subscribe('news')
    await change(server, 'SETUSER', 'jwt:42', 'resetchannels')
    await concerned.takeExactly(revoked('news'))
    expect(await concerned.closed).toEqual(CHANGED)
    await backend.closed
    expect(backend.takeAll()).toBe('')
    await other.assertPong()
    expect(await receiversOf(open, server, 'news')).toBe(1)
    const again = await open.session(server, '42', { channels: ['*'] })
    await again.assertReply(['SUBSCRIBE', 'news'], NO_CHANNEL)
    await again.assertReply(['PUBLISH', 'news', 'm'], NO_CHANNEL)
  })
})

describe('a user that takes its own channel away', () => {
  test.each([2, 3] as const)('gets the reply, then the close, over RESP%i', async (protocol) => {
    const server = await open.server()
    await change(server, 'SETUSER', 'u', 'on', '>p', '+@all', '&a', '&b')
    const client = await open.tcp(server)
    client.command('HELLO', String(protocol), 'AUTH', 'u', 'p')
    await client.takeUntil('*0\r\n')
    client.command('MULTI')
    client.command('SUBSCRIBE', 'a')
    client.command('ACL', 'SETUSER', 'u', 'resetchannels')
    client.command('PUBLISH', 'b', 'm')
    client.command('EXEC')
    await client.assertReply(['PING'], '+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n')
    await client.closed
    const text = client.takeAll()
    expect(text).toMatch(/^\*3\r\n[*>]3\r\n\$9\r\nsubscribe\r\n\$1\r\na\r\n:1\r\n\+OK\r\n/)
    expect(text).not.toContain('PONG')
  })

  test('has nothing executed that it sent afterwards', async () => {
    const server = await open.server()
    await change(server, 'SETUSER', 'u', 'on', '>p', '+@all', '&a', '&b')
    const witness = await open.tcp(server, 3)
    await witness.subscribe('b')
    const client = await open.tcp(server)
    client.command('HELLO', '3', 'AUTH', 'u', 'p')
    await client.takeUntil('*0\r\n')
    await client.subscribe('a')
    client.send(
      Buffer.concat([
        encodeCommand('ACL', 'SETUSER', 'u', 'resetchannels', '&b'),
        encodeCommand('PUBLISH', 'b', 'late'),
      ]),
    )
    await client.takeExactly('+OK\r\n')
    await client.closed
    expect(client.takeAll()).toBe('')
    await witness.assertPong()
  })
})
