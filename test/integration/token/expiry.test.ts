import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { push, type RawClient } from '../../support/resp-client.ts'
import type { TestGateway } from '../../support/server.ts'
import { opener } from '../../support/opened.ts'

const open = opener()

const LIFE_SECONDS = 100

async function start(directives: Record<string, string> = {}) {
  const clock = new FakeClock()
  const server = await open.server({
    clock,
    directives: { 'ws-ping-interval': '0', ...directives },
  })
  return { clock, server }
}

function mint(server: TestGateway, lifetimeSeconds = LIFE_SECONDS): Promise<string> {
  return server.mint('42', { channels: ['a'] }, { lifetimeSeconds })
}

async function session(server: TestGateway, transport: 'TCP' | 'WebSocket'): Promise<RawClient> {
  const token = await mint(server)
  if (transport === 'WebSocket') {
    const client = await open.webSocket(server, { token })
    expect(await client.takeAccepted('jwt:42')).toBe(LIFE_SECONDS * 1000)
    return client
  }
  const client = await open.tcp(server, 3)
  await client.assertReply(['AUTH', 'jwt', token], '+OK\r\n')
  return client
}

async function assertDelivers(server: TestGateway, client: RawClient): Promise<void> {
  await (await open.tcp(server)).assertReply(['PUBLISH', 'a', 'm'], ':1\r\n')
  await client.takeExactly(push(3, 'message', 'a', 'm'))
}

describe.each(['TCP', 'WebSocket'] as const)('the end of a token, RESP3 over %s', (transport) => {
  test('is told of at 60 to 85 % of its life, at exp, and comes after the grace', async () => {
    const { clock, server } = await start()
    const client = await session(server, transport)
    await client.subscribe()
    clock.advance(59_000)
    await client.assertPong()
    clock.advance(27_000)
    await client.takeExactly('>3\r\n$5\r\ntoken\r\n$8\r\nexpiring\r\n:')
    const leftMs = Number.parseInt(await client.takeLine(), 10)
    expect(leftMs).toBeGreaterThanOrEqual(14_000)
    expect(leftMs).toBeLessThanOrEqual(40_000)
    clock.advance(13_900)
    await client.assertPong()
    clock.advance(400)
    await client.takeExactly(push(3, 'token', 'expired', 25_000))
    await assertDelivers(server, client)
    clock.advance(24_500)
    await assertDelivers(server, client)
    clock.advance(500)
    const { code, reason } = await client.closed
    if (transport === 'WebSocket')
      expect({ code, reason }).toEqual({ code: 4401, reason: 'unauthorized||token expired' })
    expect(client.takeAll()).toBe('')
    await (await open.tcp(server)).assertReply(['PUBLISH', 'a', 'm'], ':0\r\n')
  })

  test('is not put off by a token that is refused', async () => {
    const { clock, server } = await start()
    const client = await session(server, transport)
    clock.advance(90_000)
    await client.takeUntil('\r\n')
    const expired = await mint(server, -1)
    await client.assertReply(['AUTH', 'jwt', expired], '-WRONGPASS token expired\r\n')
    await client.assertReply(['AUTH', 'jwt', 'x'], '-WRONGPASS invalid token\r\n')
    clock.advance(35_500)
    await client.closed
  })

  test('comes at once where the wall clock is set forwards', async () => {
    const { clock, server } = await start()
    const client = await session(server, transport)
    await client.subscribe()
    clock.stepWall(3_600_000)
    clock.advance(500)
    await client.closed
    await (await open.tcp(server)).assertReply(['PUBLISH', 'a', 'm'], ':0\r\n')
  })
})

describe('lives of tokens', () => {
  test('a token that has expired logs nobody in, also within the grace', async () => {
    const { clock, server } = await start()
    const token = await mint(server)
    clock.advance(100_000)
    const client = await open.tcp(server)
    await client.assertReply(['AUTH', 'jwt', token], '-WRONGPASS token expired\r\n')
    const browser = await open.webSocket(server, { token })
    expect((await browser.closed).reason).toBe('unauthorized||token expired')
  })

  test('a life of more than 24.8 days, the longest of a timer, does not end at once', async () => {
    const server = await open.server({ directives: { 'jwt-max-lifetime': '2678400' } })
    const client = await open.webSocket(server, { token: await mint(server, 2_600_000) })
    await client.takeAccepted('jwt:42')
    await client.subscribe()
    // Longer than the wheel takes for a tick.
    await new Promise((resolve) => setTimeout(resolve, 600))
    await client.assertPong()
  })

  test('a life beyond jwt-max-lifetime is invalid', async () => {
    const [server, client] = await open.withTcp()
    const refused = '-WRONGPASS invalid token\r\n'
    await client.assertReply(['AUTH', 'jwt', await mint(server, 86_401)], refused)
    await client.assertReply(['AUTH', 'jwt', await mint(server, 86_400)], '+OK\r\n')
  })
})
