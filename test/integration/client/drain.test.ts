import { createClient } from '@redis/client'
import { describe, expect, test } from 'vitest'
import type { RespcastClient } from '../../../web/client/client.ts'
import type { ConnectionState } from '../../../web/client/types.ts'
import { systemClock } from '../../../server/clock.ts'
import { mintToken } from '../../../server/token/mint.ts'
import { connectBrowser } from '../../support/browser-client.ts'
import { freePort } from '../../support/free-port.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { opener } from '../../support/opened.ts'
import { respcast } from '../../support/process.ts'
import { connectRaw, connectWebSocket, type RawClient } from '../../support/resp-client.ts'
import { TEST_AUDIENCE, TEST_ISSUER, TEST_SECRET, startServer } from '../../support/server.ts'

const open = opener()

const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms))

/** A process on ports of its own that drains as it is told. */
async function serve(graceSeconds: number, seconds: number) {
  const [port, http, admin] = [await freePort(), await freePort(), await freePort()]
  const run = respcast(
    open,
    [
      ...['--bind', '127.0.0.1', '--port', `${port}`],
      ...['--http-port', `${http}`, '--admin-port', `${admin}`],
      // For the administrator, who does not log in.
      ...['--auth-timeout', '60'],
      ...['--drain-grace-seconds', `${graceSeconds}`, '--drain-seconds', `${seconds}`],
    ],
    {
      env: {
        RESPCAST_CONF_JWT_ISSUER: TEST_ISSUER,
        RESPCAST_CONF_JWT_AUDIENCE: TEST_AUDIENCE,
        RESPCAST_CONF_JWT_SECRET: TEST_SECRET.toString(),
      },
    },
  )
  await run.says('ready to accept connections')
  return { ...run, port, admin, wsUrl: `ws://127.0.0.1:${http}/ws` }
}

function mint(sub: string): Promise<string> {
  const grants = { channels: ['*'] }
  const request = { iss: TEST_ISSUER, aud: TEST_AUDIENCE, sub, claim: 'respcast', grants }
  return mintToken(TEST_SECRET, { ...request, lifetimeSeconds: 3600 }, systemClock)
}

/** A subscriber of `a`: the numbers that it got, and why it was closed. */
interface Watcher {
  readonly numbers: number[]
  readonly closed: Promise<ConnectionState>
}

async function browser(wsUrl: string, sub: string): Promise<Watcher & { client: RespcastClient }> {
  const client = connectBrowser(wsUrl, { token: await mint(sub) })
  open.onEnd(() => client.close())
  const numbers: number[] = []
  const closed = new Promise<ConnectionState>((resolve) => {
    client.on('state', (state) => {
      if (state.status !== 'waiting') return
      client.close()
      resolve(state)
    })
  })
  await client.subscribe('a', (message) => void numbers.push(Number(message.text()))).ready
  return { client, numbers, closed }
}

/** A connection of node-redis that is not made anew. */
async function nodeRedis(port: number) {
  const client = createClient({
    disableOfflineQueue: true,
    socket: { host: '127.0.0.1', port, reconnectStrategy: false },
  })
  const closed = new Promise<void>((resolve) => void client.on('error', () => resolve()))
  await client.connect()
  open.onEnd(() => {
    if (client.isOpen) client.destroy()
  })
  return { client, closed }
}

/** Publishes numbers to `a`, each once the one before is answered, until the connection ends. @returns Those that were answered. */
async function publishNumbers(
  publish: (text: string) => Promise<number>,
  next: () => number,
): Promise<number[]> {
  const answered: number[] = []
  for (;;) {
    const number = next()
    try {
      await publish(String(number))
    } catch {
      return answered
    }
    answered.push(number)
    await sleep(10)
  }
}

describe('A process that drains', () => {
  test(
    'closes WebSockets and clients of node-redis one after another, none of which loses a message or a reply',
    { timeout: 90_000 },
    async () => {
      const server = await serve(1, 4)
      const browsers = await Promise.all(
        Array.from({ length: 10 }, (_, at) => browser(server.wsUrl, `user${at}`)),
      )
      const raw = await connectWebSocket(server.wsUrl, { token: await mint('raw') })
      open.onEnd(() => raw.destroy())
      const admin = await connectWebSocket(`ws://127.0.0.1:${server.admin}/ws`)
      open.onEnd(() => admin.destroy())
      const backends = await Promise.all(Array.from({ length: 6 }, () => nodeRedis(server.port)))
      let last = 0
      const next = (): number => ++last
      const publishing = [
        ...backends.map(({ client }) => publishNumbers((text) => client.publish('a', text), next)),
        publishNumbers(
          (text) => (browsers[9] as { client: RespcastClient }).client.publish('a', text),
          next,
        ),
      ]
      await sleep(100)

      const order: string[] = []
      void admin.closed.then(() => order.push('admin'))
      for (const { closed } of [...browsers, ...backends])
        void closed.then(() => order.push('client'))
      server.child.kill('SIGTERM')
      for (const { closed } of browsers) {
        const state = await closed
        expect(state).toMatchObject({ cause: { code: 4503, name: 'draining' } })
        // The hint, and as much again by chance.
        expect(state.status === 'waiting' && state.retryInMs).toBeLessThan(2_000)
      }
      expect((await raw.closed).reason).toMatch(/^draining\|\d{1,3}\|the server is going away$/)
      await Promise.all(backends.map(({ closed }) => closed))
      expect((await admin.closed).code).toBe(4503)
      expect(order.indexOf('admin')).toBeGreaterThan(10)
      expect(await server.ended).toMatchObject({ code: 0, errors: '' })

      const answered = new Set((await Promise.all(publishing)).flat())
      const received = browsers.map(({ numbers }) => numbers)
      // What was executed was answered, in order, and each got all of it up to its end.
      for (const numbers of received) {
        expect(numbers.filter((number) => !answered.has(number))).toEqual([])
      }
      const longest = received.toSorted((a, b) => b.length - a.length)[0] ?? []
      for (const numbers of received) expect(numbers).toEqual(longest.slice(0, numbers.length))
      // Messages went on between the closes.
      expect(new Set(received.map(({ length }) => length)).size).toBeGreaterThan(5)
    },
  )

  test('is ended at once by a second signal, with exit code 0 and whole frames', async () => {
    const server = await serve(60, 60)
    const { closed } = await browser(server.wsUrl, '42')
    const tcp = await connectRaw(server.port)
    open.onEnd(() => tcp.destroy())
    await tcp.subscribe('a', 1, 2)
    server.child.kill('SIGTERM')
    await server.says('draining')
    await tcp.assertReply(['PING'], '*2\r\n$4\r\npong\r\n$0\r\n\r\n')
    server.child.kill('SIGTERM')
    expect(await closed).toMatchObject({ cause: { code: 4503, name: 'draining' } })
    await tcp.closed
    expect(tcp.takeAll()).toBe('')
    expect(await server.ended).toMatchObject({ code: 0, errors: '' })
  })

  test('without clients is not waited for at a terminal', async () => {
    const server = await serve(60, 60)
    server.child.kill('SIGINT')
    expect(await server.ended).toMatchObject({ code: 0, errors: '' })
  })
})

/** Reports whether a RESP port takes connections. */
async function isOpen(port: number): Promise<boolean> {
  return connectRaw(port).then(
    (client: RawClient) => {
      client.destroy()
      return true
    },
    () => false,
  )
}

test('After the grace only the port for administrators is open, and says why', async () => {
  const clock = new FakeClock(Date.now())
  const server = await startServer({ clock })
  open.onEnd(() => server.stop())
  const [first, second] = [await open.tcp(server), await open.tcp(server)]
  server.core.drain.begin()
  clock.advance(4_999)
  expect(await isOpen(server.port)).toBe(true)
  expect((await open.upgrade(server.httpPort)).status).toBe(101)
  clock.advance(1)
  expect(await isOpen(server.port)).toBe(false)
  await expect(fetch(server.url)).rejects.toThrow('fetch failed')
  const ready = await fetch(`http://127.0.0.1:${server.adminPort}/readyz`)
  expect([ready.status, await ready.json()]).toEqual([
    503,
    { status: 'not ready', problems: ['draining, and ends within 30 s'] },
  ])
  await first.closed
  await second.assertPong()
})
