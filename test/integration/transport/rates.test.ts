import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { encodeCommand } from '../../support/resp-client.ts'
import { eventually, nextTurn, opener } from '../../support/opened.ts'

const open = opener()

describe('connections of one address', () => {
  test('beyond ws-max-connections-per-ip are refused with 429 and a hint; others are not', async () => {
    const server = await open.server({
      directives: { 'ws-max-connections-per-ip': '2', 'trusted-proxies': '127.0.0.1' },
    })
    const from = (address: string) =>
      open.upgrade(server.httpPort, { headers: { 'X-Forwarded-For': address } })
    const first = await from('192.0.2.1')
    expect([first.status, (await from('192.0.2.1')).status]).toEqual([101, 101])
    const refused = await from('192.0.2.1')
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    // Only the last hop before the trusted proxy counts: what is before it, a client can write itself.
    expect((await from('192.0.2.9, 192.0.2.1')).status).toBe(429)
    expect((await from('192.0.2.1, 192.0.2.9')).status).toBe(101)
    await (await open.tcp(server)).assertPong()
    first.destroy()
    await eventually('the first is gone', () => server.core.clients.size === 3)
    expect((await from('192.0.2.1')).status).toBe(101)
  })

  test('beyond tcp-max-connections-per-ip are refused with a line', async () => {
    const [server, first] = await open.withTcp({
      directives: { 'tcp-max-connections-per-ip': '1' },
    })
    await first.assertPong()
    const second = await open.tcp(server)
    expect(await second.takeUntil('\r\n')).toMatch(/^-ERR [^\r\n]+\r\n$/)
    await second.closed
    await first.assertPong()
    expect((await open.upgrade(server.httpPort)).status).toBe(101)
  })
})

describe('connections that one address opens', () => {
  test('beyond http-connection-rate-per-ip are closed before they have said anything', async () => {
    const server = await open.server({ directives: { 'http-connection-rate-per-ip': '2' } })
    const statuses: string[] = []
    for (let i = 0; i < 10; i++) {
      statuses.push(
        await open.upgrade(server.httpPort).then(
          ({ status }) => `${status}`,
          () => 'closed',
        ),
      )
    }
    expect(statuses.slice(0, 5)).toEqual(['101', '101', '101', '101', '101'])
    expect(statuses).toContain('closed')
    expect(server.core.counters.rejections.get('rate')).toBeGreaterThan(0)
    await (await open.tcp(server)).assertPong()
  })

  test('through a trusted proxy count by the address that it names, and are refused with 429', async () => {
    const server = await open.server({
      directives: { 'http-connection-rate-per-ip': '1', 'trusted-proxies': '127.0.0.1' },
    })
    const from = (address: string) =>
      open.upgrade(server.httpPort, { headers: { 'X-Forwarded-For': address } })
    const statuses = await Promise.all(
      Array.from({ length: 10 }, async () => (await from('192.0.2.1')).status),
    )
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0)
    expect((await from('192.0.2.9')).status).toBe(101)
  })

  test('beyond tcp-connection-rate-per-ip are refused with a line', async () => {
    const server = await open.server({ directives: { 'tcp-connection-rate-per-ip': '1' } })
    const texts: string[] = []
    for (let i = 0; i < 8; i++) {
      const client = await open.tcp(server)
      client.send(encodeCommand('PING'))
      texts.push(await client.takeUntil('\r\n'))
    }
    expect(texts.slice(0, 3)).toEqual(['+PONG\r\n', '+PONG\r\n', '+PONG\r\n'])
    expect(texts).toContain('-ERR too many new connections from this address\r\n')
  })
})

test('X-Forwarded-For is the address in CLIENT LIST only from trusted-proxies', async () => {
  for (const [proxies, address] of [
    ['127.0.0.1', /\baddr=192\.0\.2\.1:\d+ /],
    ['192.0.2.0/24', /\baddr=127\.0\.0\.1:\d+ /],
  ] as const) {
    const server = await open.server({ directives: { 'trusted-proxies': proxies } })
    const token = await server.mint('42')
    const client = await open.webSocket(server, {
      token,
      headers: { 'x-forwarded-for': '192.0.2.1' },
    })
    await client.takeAccepted('jwt:42')
    expect(await client.askBulk('CLIENT', 'INFO')).toMatch(address)
  }
})

test('WebSockets of one user beyond ws-max-connections-per-user are closed with 4429', async () => {
  const server = await open.server({ directives: { 'ws-max-connections-per-user': '1' } })
  const token = await server.mint('42')
  const first = await open.webSocket(server, { token })
  await first.takeAccepted('jwt:42')
  const second = await open.webSocket(server, { token })
  expect((await second.closed).code).toBe(4429)
  const inBand = await open.webSocket(server)
  await inBand.assertReply(['AUTH', 'jwt', token], '-ERR too many connections of this user\r\n')
  expect((await inBand.closed).code).toBe(4429)
  // A new token on the connection that is there is no further one.
  await first.assertReply(['AUTH', 'jwt', token], '+OK\r\n')
  await first.takeAccepted('jwt:42')
  await open.session(server, '43', {})
})

describe('commands of one WebSocket', () => {
  async function start(directives: Record<string, string>) {
    const clock = new FakeClock(Date.now())
    const [server, client] = await open.withSession(
      { channels: ['*'] },
      {
        clock,
        directives: { 'ws-ping-interval': '0', ...directives },
      },
    )
    return { clock, server, client }
  }

  test('above ws-command-rate wait their turn; none is lost, and nobody else waits', async () => {
    const { clock, server, client } = await start({ 'ws-command-rate': '10' })
    client.send(Buffer.concat(Array<Buffer>(40).fill(encodeCommand('ECHO', 'x'))))
    const other = await open.tcp(server)
    await client.take('$1\r\nx\r\n'.length * 20)
    for (let i = 0; i < 5; i++) await other.assertPong()
    expect(client.takeAll().length).toBeLessThanOrEqual('$1\r\nx\r\n'.length)
    for (let ms = 0; ms < 2_500; ms += 50) {
      clock.advance(50)
      await nextTurn()
    }
    await client.takeUntil('$1\r\nx\r\n')
    clock.advance(1_000)
    await client.assertPong()
  })

  test('that stay above it for ten seconds end with 4429', async () => {
    const { clock, client } = await start({ 'ws-command-rate': '10' })
    for (let second = 0; second < 14 && !client.isClosed; second++) {
      client.send(Buffer.concat(Array<Buffer>(50).fill(encodeCommand('PING'))))
      for (let ms = 0; ms < 1_000; ms += 50) {
        clock.advance(50)
        await nextTurn()
      }
    }
    expect((await client.closed).code).toBe(4429)
  })

  test('ws-publish-rate counts messages only', async () => {
    const { server, client } = await start({ 'ws-publish-rate': '1' })
    const witness = await open.tcp(server, 3)
    await witness.subscribe('a')
    for (let i = 0; i < 50; i++) await client.assertPong()
    client.send(Buffer.concat(Array<Buffer>(5).fill(encodeCommand('PUBLISH', 'a', 'm'))))
    await client.takeExactly(':1\r\n:1\r\n')
    for (let i = 0; i < 5; i++) await nextTurn()
    const count = witness.takeAll().split('message').length - 1
    expect(count).toBeGreaterThanOrEqual(2)
    expect(count).toBeLessThanOrEqual(3)
  })
})
