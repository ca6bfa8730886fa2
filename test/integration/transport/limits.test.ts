import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { encodeCommand, push, type RawClient } from '../../support/resp-client.ts'
import type { TestGateway } from '../../support/server.ts'
import { eventually, NO_AUTH, opener } from '../../support/opened.ts'
import { closeCode } from '../../support/raw-upgrade.ts'

const open = opener()

/** Names that differ, `count` of them. */
function names(count: number): string[] {
  return [...Array(count).keys()].map((number) => `c${number}`)
}

async function assertNothingSubscribed(server: TestGateway): Promise<void> {
  const admin = await open.tcp(server)
  await admin.assertReply(['PUBSUB', 'CHANNELS'], '*0\r\n')
  await admin.assertReply(['PUBSUB', 'SHARDCHANNELS'], '*0\r\n')
  await admin.assertReply(['PUBSUB', 'NUMPAT'], ':0\r\n')
}

/** Takes the confirmations of one SUBSCRIBE-family command. */
async function assertConfirmed(client: RawClient, word: string, list: string[]): Promise<void> {
  const pushes = list.map((name, index) => push(3, word, name, index + 1))
  await client.takeExactly(Buffer.concat(pushes))
}

describe('what one WebSocket may subscribe to', () => {
  test.each(['SUBSCRIBE', 'PSUBSCRIBE', 'SSUBSCRIBE'])(
    '%s with more than 64 names is refused whole',
    async (command) => {
      const [server, client] = await open.withSession(
        { channels: ['*'] },
        { directives: { 'ws-max-patterns': '0' } },
      )
      const error = '-ERR at most 64 names in one command are allowed on this connection\r\n'
      await client.assertReply([command, ...names(65)], error)
      await assertNothingSubscribed(server)
      client.command(command, ...names(64))
      await assertConfirmed(client, command.toLowerCase(), names(64))
    },
  )

  test.each([
    ['SUBSCRIBE', 'channel name', 256],
    ['SSUBSCRIBE', 'channel name', 256],
    ['PSUBSCRIBE', 'pattern', 512],
  ])('%s with a %s of more than %i bytes is refused whole', async (command, what, most) => {
    const [server, client] = await open.withSession({ channels: ['*'] })
    const error = `-ERR a ${what} of more than ${most} bytes is not allowed on this connection\r\n`
    await client.assertReply([command, 'good', 'x'.repeat(most + 1)], error)
    await assertNothingSubscribed(server)
    client.command(command, 'x'.repeat(most))
    await assertConfirmed(client, command.toLowerCase(), ['x'.repeat(most)])
  })

  test('channels and shard channels count together; a command that goes beyond is refused whole', async () => {
    const [server, client] = await open.withSession(
      { channels: ['*'] },
      { directives: { 'ws-max-subscriptions': '4' } },
    )
    client.command('SUBSCRIBE', 'a', 'b')
    await assertConfirmed(client, 'subscribe', ['a', 'b'])
    client.command('SSUBSCRIBE', 's')
    await assertConfirmed(client, 'ssubscribe', ['s'])
    const error = '-ERR at most 4 subscriptions are allowed on this connection\r\n'
    await client.assertReply(['SUBSCRIBE', 'c', 'd'], error)
    await client.assertReply(['SSUBSCRIBE', 't', 'u'], error)
    await (await open.tcp(server)).assertReply(['PUBSUB', 'NUMSUB', 'c'], '*2\r\n$1\r\nc\r\n:0\r\n')
    await client.assertReply(['SUBSCRIBE', 'a', 'c', 'c'], push(3, 'subscribe', 'a', 2))
    await client.takeExactly(push(3, 'subscribe', 'c', 3))
    await client.takeExactly(push(3, 'subscribe', 'c', 3))
    await client.assertReply(['UNSUBSCRIBE', 'b'], push(3, 'unsubscribe', 'b', 2))
    await client.subscribe('d', 3)
  })

  test('patterns have a limit of their own, 16 by default', async () => {
    const [server, client] = await open.withSession({ channels: ['*'] })
    const error = '-ERR at most 16 patterns are allowed on this connection\r\n'
    await client.assertReply(['PSUBSCRIBE', ...names(17)], error)
    await assertNothingSubscribed(server)
    client.command('PSUBSCRIBE', ...names(16))
    await assertConfirmed(client, 'psubscribe', names(16))
    await client.assertReply(['PSUBSCRIBE', 'one-more'], error)
  })

  test('CONFIG SET changes the limits of connections that are open', async () => {
    const [server, admin] = await open.withTcp()
    const client = await open.session(server, '42', { channels: ['*'] })
    await admin.assertReply(['CONFIG', 'SET', 'ws-max-subscriptions', '1'], '+OK\r\n')
    const error = '-ERR at most 1 subscriptions are allowed on this connection\r\n'
    await client.assertReply(['SUBSCRIBE', 'a', 'b'], error)
  })

  test('over TCP none of these limits holds', async () => {
    const [, client] = await open.withTcp({}, 3)
    const many = [...names(2000), 'x'.repeat(70_000)]
    client.command('SUBSCRIBE', ...many)
    await assertConfirmed(client, 'subscribe', many)
    await client.assertPong()
  })
})

describe('before login', () => {
  test('a WebSocket may send eight commands, each answered by one error, then it is closed', async () => {
    const server = await open.server()
    const client = await open.webSocket(server)
    for (let i = 0; i < 8; i++) await client.assertReply(['PING'], NO_AUTH)
    client.command('PING')
    expect(await client.closed).toEqual({ code: 4401, reason: 'unauthorized||log in first' })
    expect(client.takeAll()).toBe('')
  })

  test('eight commands in one message are answered before the ninth ends it', async () => {
    const server = await open.server()
    const client = await open.webSocket(server)
    client.send(Buffer.concat(Array(20).fill(encodeCommand('SUBSCRIBE', 'a'))))
    expect((await client.closed).code).toBe(4401)
    expect(client.takeAll()).toBe(NO_AUTH.repeat(8))
    await assertNothingSubscribed(server)
  })

  test('a WebSocket may send 16 KiB, then it is closed, though no command is whole', async () => {
    const server = await open.server()
    const client = await open.webSocket(server)
    client.send(`*2\r\n$4\r\nECHO\r\n$16384\r\n${'x'.repeat(16_000)}`)
    client.send('x'.repeat(384))
    expect((await client.closed).code).toBe(4401)
    expect(client.takeAll()).toBe('')
  })

  test('the counts begin anew after a login', async () => {
    const server = await open.server()
    const client = await open.webSocket(server)
    for (let i = 0; i < 7; i++) await client.assertReply(['PING'], NO_AUTH)
    client.command('AUTH', 'jwt', await server.mint('42'))
    await client.takeExactly('+OK\r\n')
    await client.takeAccepted('jwt:42')
    for (let i = 0; i < 20; i++) await client.assertPong()
    await client.assertReply(['RESET'], '+RESET\r\n')
    for (let i = 0; i < 8; i++) await client.assertReply(['PING'], NO_AUTH)
    client.command('PING')
    expect((await client.closed).code).toBe(4401)
  })

  test.each([
    ['eleven arguments', '*11\r\n', 'unauthenticated multibulk length'],
    [
      'an argument of more than 16 KiB',
      '*2\r\n$4\r\nAUTH\r\n$16385\r\n',
      'unauthenticated bulk length',
    ],
  ])('a TCP client that must log in may not send %s', async (_name, bytes, error) => {
    const [, client] = await open.withTcp({ directives: { requirepass: 'secret' } })
    client.send(bytes)
    await client.takeExactly(`-ERR Protocol error: ${error}\r\n`)
    await client.closed
  })

  test('a TCP client that must log in and does not read is cut while little waits for it', async () => {
    const [server, client] = await open.withTcp({ directives: { requirepass: 'secret' } })
    client.pause()
    client.send('PING\r\n'.repeat(400_000))
    await eventually('the client is cut', () => server.core.clients.size === 0)
    const admin = await open.tcp(server)
    await admin.assertReply(['AUTH', 'secret'], '+OK\r\n')
  })
})

describe('connections in all', () => {
  test('maxclients holds for both listeners together, and is free again when somebody leaves', async () => {
    const [server, first] = await open.withTcp({ directives: { maxclients: '2' } })
    await first.assertPong()
    const second = await open.session(server, '42', {})
    const third = await open.tcp(server)
    await third.takeExactly('-ERR max number of clients reached\r\n')
    await third.closed
    const refused = await open.upgrade(server.httpPort)
    expect(refused.status).toBe(503)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    second.destroy()
    await eventually('room for one', () => server.core.clients.size === 1)
    const next = await open.webSocket(server)
    await next.assertReply(['PING'], NO_AUTH)
    await first.assertPong()
  })

  test('260 WebSockets that do not log in keep nobody out: not RESP, not administrators, not browsers', async () => {
    const server = await open.server({ directives: { maxclients: '200' } })
    const strangers = await Promise.all(
      Array.from({ length: 260 }, () => open.upgrade(server.httpPort)),
    )
    expect(strangers.map(({ status }) => status)).toEqual(Array(260).fill(101))
    expect(server.core.clients.size).toBe(150)
    await (await open.tcp(server)).assertPong()
    await (await open.adminSocket(server)).assertReply(['PING'], NO_AUTH)
    const browser = await open.session(server, '42', { channels: ['a'] })
    await Promise.all(Array.from({ length: 200 }, () => open.upgrade(server.httpPort)))
    await browser.subscribe('a')
    const evicted = await strangers[0]?.ended
    expect(closeCode(evicted ?? Buffer.alloc(0))).toBe(4429)
  })

  test('a TCP client that gives way to another is told why', async () => {
    const directives = { requirepass: 'secret', 'tcp-max-unauthenticated': '1' }
    const server = await open.server({ directives })
    const first = await open.tcp(server)
    await first.assertReply(['PING'], NO_AUTH)
    const second = await open.tcp(server)
    await first.takeExactly('-ERR max number of clients reached\r\n')
    await first.closed
    await second.assertReply(['AUTH', 'secret'], '+OK\r\n')
  })

  test('more refused TCP clients than may take their time are told as well', async () => {
    const [server] = await open.withTcp({ directives: { maxclients: '1' } })
    const refused = await Promise.all(Array.from({ length: 50 }, () => open.tcp(server)))
    for (const client of refused) {
      await client.takeExactly('-ERR max number of clients reached\r\n')
      await client.closed
    }
  })
})

describe('connections over HTTP', () => {
  test('beyond http-max-connections the one that has waited longest is closed', async () => {
    const server = await open.server({ directives: { 'http-max-connections': '2' } })
    const idle = () => {
      const socket = connect(server.httpPort, '127.0.0.1')
      open.onEnd(() => void socket.destroy())
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      socket.on('error', () => {}).resume()
      return { closed }
    }
    const { http } = server.core.counters
    const first = idle()
    await eventually('the first is counted', () => http.public.open === 1)
    idle()
    idle()
    await first.closed
    expect((await fetch(`${server.url}/nowhere`)).status).toBe(404)
    expect(http.public.open).toBe(2)
    const upgrade = await open.upgrade(server.httpPort)
    expect(upgrade.status).toBe(101)
    expect(http.public.open).toBe(1)
    expect(http.public.evicted).toBeGreaterThanOrEqual(3)
  })
})

describe('input that is not read to its end', () => {
  test('a TCP client over client-query-buffer-limit is closed without a reply', async () => {
    const [server, other] = await open.withTcp({
      directives: { 'client-query-buffer-limit': '1mb' },
    })
    const client = await open.tcp(server)
    client.send('*2\r\n$4\r\nECHO\r\n$2000000\r\n')
    client.send(Buffer.alloc(1_000_000))
    client.send(Buffer.alloc(100_000))
    await client.closed
    expect(client.takeAll()).toBe('')
    await other.assertPong()
  })

  test('what waits for EXEC counts: a TCP client is closed at client-query-buffer-limit', async () => {
    const [, client] = await open.withTcp({
      directives: { 'client-query-buffer-limit': '1mb' },
    })
    await client.assertReply(['MULTI'], '+OK\r\n')
    const payload = 'x'.repeat(100_000)
    for (let i = 0; i < 10; i++) await client.assertReply(['PUBLISH', 'a', payload], '+QUEUED\r\n')
    client.command('PUBLISH', 'a', payload)
    await client.closed
  })

  test('what waits for EXEC counts: a WebSocket is closed with 4413 at 1 MiB', async () => {
    const [, client] = await open.withSession({ channels: ['*'] })
    await client.assertReply(['MULTI'], '+OK\r\n')
    const payload = 'x'.repeat(60_000)
    for (let i = 0; i < 17; i++) await client.assertReply(['PUBLISH', 'a', payload], '+QUEUED\r\n')
    client.command('PUBLISH', 'a', payload)
    expect(await client.closed).toMatchObject({ code: 4413 })
  })

  test('CONFIG SET ws-max-payload holds for the connections that come then', async () => {
    const [server, admin] = await open.withTcp()
    await admin.assertReply(['CONFIG', 'SET', 'ws-max-payload', '1mb'], '+OK\r\n')
    const payload = 'x'.repeat(1_000_000)
    const wide = await open.session(server, '42', { channels: ['*'] })
    await wide.assertReply(['PUBLISH', 'a', payload], ':0\r\n')
    await admin.assertReply(['CONFIG', 'SET', 'ws-max-payload', '1kb'], '+OK\r\n')
    const narrow = await open.session(server, '42', { channels: ['*'] })
    narrow.command('PUBLISH', 'a', 'x'.repeat(1024))
    expect((await narrow.closed).code).toBe(1009)
    wide.command('PUBLISH', 'a', 'x'.repeat(1024))
    expect((await wide.closed).code).toBe(4413)
  })

  test('what a TCP peer sent before it ended its side is still answered', async () => {
    const server = await open.server()
    const socket = connect(server.port, '127.0.0.1')
    open.onEnd(() => void socket.destroy())
    socket.end(Buffer.concat([encodeCommand('ECHO', 'a'), encodeCommand('PING')]))
    const chunks: Buffer[] = []
    for await (const chunk of socket) chunks.push(chunk as Buffer)
    expect(Buffer.concat(chunks).toString()).toBe('$1\r\na\r\n+PONG\r\n')
  })
})

describe('messages out', () => {
  test('a message over ws-max-message-out is not delivered to WebSockets, and only to them', async () => {
    const [server, browser] = await open.withSession(
      { channels: ['a'] },
      { directives: { 'ws-max-message-out': '1kb' } },
    )
    const backend = await open.tcp(server, 3)
    for (const client of [browser, backend]) {
      await client.subscribe('a')
    }
    const publisher = await open.tcp(server)
    const large = 'x'.repeat(1025)
    publisher.command('PUBLISH', 'a', large)
    expect(await publisher.takeLine()).toBe(':1')
    await publisher.assertReply(['PUBLISH', 'a', 'small'], ':2\r\n')
    await backend.takeExactly(push(3, 'message', 'a', large))
    for (const client of [browser, backend]) {
      await client.takeExactly(push(3, 'message', 'a', 'small'))
      await client.assertPong()
    }
  })
})
