import { readFileSync } from 'node:fs'
import https from 'node:https'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeCertificates, type Certificates } from '../../support/certificates.ts'
import { openEvents, type EventSource } from '../../support/event-source.ts'
import { folderWith } from '../../support/folder.ts'
import { eventually, opener } from '../../support/opened.ts'
import {
  isInstalled,
  PROXY_KINDS,
  snippetsOf,
  type ProxyKind,
  type ProxyOptions,
  type RunningProxy,
} from '../../support/proxies.ts'
import { LOCAL_HEADER } from '../../support/proxy-header.ts'
import {
  connectRaw,
  connectWebSocket,
  push,
  type RawClient,
  type RawWebSocket,
  type WebSocketOptions,
} from '../../support/resp-client.ts'
import type { TestGateway } from '../../support/server.ts'
import type { Directives } from '../../support/settings.ts'

/** Time that a connection stays silent, in ms: `PROXY_IDLE_MS=180000` with the timeouts of the snippets. */
const IDLE_MS = Number(process.env['PROXY_IDLE_MS'] ?? 0)

const open = opener()
let certificates: Certificates

beforeAll(() => {
  certificates = makeCertificates()
})

afterAll(() => certificates.remove())

/** The directives that docs/proxies.md gives to the server. */
const DIRECTIVES: Directives = Object.fromEntries(
  [...(snippetsOf('conf')[0] ?? '').matchAll(/^(\S+) (.*)$/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ]),
)

const ORIGIN = 'https://app.example.com'

/** A server, a proxy before it, and clients that come through the proxy. */
interface Stage {
  readonly server: TestGateway
  readonly proxy: RunningProxy
  /** A WebSocket that is logged in as 42 and subscribed to `news`. */
  readonly subscriber: (options?: WebSocketOptions) => Promise<RawWebSocket>
  /** A stream of the events of `news`, whose first two have been taken. */
  readonly events: () => Promise<EventSource>
  /** RESP through the proxy. */
  readonly resp: (localAddress?: string) => Promise<RawClient>
  /** Publishes past the proxy. @returns The number of receivers. */
  readonly publish: (text: string) => Promise<number>
}

async function stage(
  kind: ProxyKind,
  directives: Directives = {},
  changes: ProxyOptions['changes'] = {},
): Promise<Stage> {
  const server = await open.server({
    directives: { ...DIRECTIVES, 'protected-mode': 'no', ...directives },
  })
  const proxy = await kind.start({
    httpPort: server.httpPort,
    adminPort: server.adminPort,
    respPort: server.port,
    certificate: certificates.server,
    folder: folderWith(),
    changes,
  })
  open.onEnd(() => proxy.stop())
  return {
    server,
    proxy,
    subscriber: async (options = {}) => {
      const token = await server.mint('42', { channels: ['news'] })
      const client = await webSocket(proxy, { token, ...options })
      await client.takeAccepted('jwt:42')
      await client.subscribe('news')
      return client
    },
    events: async () => {
      const token = await server.mint('42', { channels: ['news'] })
      const headers = { Authorization: `Bearer ${token}`, Origin: ORIGIN }
      const ca = readFileSync(certificates.ca)
      const source = await openEvents(proxy.httpsPort, '/events?channel=news', headers, ca)
      open.onEnd(() => source.destroy())
      await source.take(2)
      return source
    },
    resp: async (localAddress) => {
      const client = await connectRaw(proxy.respPort, '127.0.0.1', localAddress)
      open.onEnd(() => client.destroy())
      return client
    },
    publish: async (text) => {
      const client = await connectRaw(server.port)
      client.send(LOCAL_HEADER)
      client.command('PUBLISH', 'news', text)
      const receivers = Number((await client.takeLine()).slice(1))
      client.destroy()
      return receivers
    },
  }
}

async function webSocket(proxy: RunningProxy, options: WebSocketOptions): Promise<RawWebSocket> {
  const ca = readFileSync(certificates.ca)
  const url = `wss://127.0.0.1:${proxy.httpsPort}/ws`
  const client = await connectWebSocket(url, { ca, origin: ORIGIN, ...options })
  open.onEnd(() => client.destroy())
  return client
}

/** The status of a request over HTTPS. */
function statusOf(proxy: RunningProxy, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const url = `https://127.0.0.1:${proxy.httpsPort}${path}`
    https
      .get(url, { ca: readFileSync(certificates.ca), agent: false }, (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
      })
      .on('error', reject)
  })
}

const message = (text: string) => push(3, 'message', 'news', text)

for (const kind of PROXY_KINDS) {
  describe.skipIf(!isInstalled(kind))(
    `Behind ${kind.name}, configured as docs/proxies.md says,`,
    () => {
      test('a WebSocket over TLS logs in with a token, and has the address of the client, whatever it claims', async () => {
        const { server, subscriber, publish, proxy } = await stage(kind)
        const client = await subscriber({
          localAddress: '127.0.0.2',
          headers: { 'X-Forwarded-For': '203.0.113.9' },
        })
        expect(await publish('hello')).toBe(1)
        await client.takeExactly(message('hello'))
        const [browser] = [...server.core.clients.all()].filter(({ isWebSocket }) => isWebSocket)
        expect(browser?.origin.address).toMatch(/^127\.0\.0\.2:\d+$/)
        expect(await statusOf(proxy, '/client/client.js')).toBe(200)
      })

      test('events come one by one while their stream is open, and the server learns of its end', async () => {
        const { server, events, publish } = await stage(kind)
        const source = await events()
        for (const payload of ['one', 'two', 'three']) {
          expect(await publish(payload)).toBe(1)
          const event = { event: 'message', data: { channel: 'news', payload } }
          expect(await source.take(1)).toEqual([event])
        }
        expect(source.isEnded).toBe(false)
        source.destroy()
        for (let times = 0; !kind.endsStreams && times < 2; times++) {
          await new Promise((resolve) => setTimeout(resolve, 300))
          expect(await publish('to nobody')).toBe(1)
        }
        await eventually('the server knows that it is gone', () => server.core.clients.size === 0)
      })

      test('refusals of the server reach the client, and those of a token its close code', async () => {
        const { proxy, server } = await stage(kind)
        const opened = (options: WebSocketOptions) =>
          webSocket(proxy, options).then(
            () => 'open',
            (error: Error) => error.message,
          )
        expect(await opened({ origin: 'https://evil.example' })).toBe(
          'Unexpected server response: 403',
        )
        expect(await statusOf(proxy, '/ws')).toBe(426)
        expect(await statusOf(proxy, '/nowhere')).toBe(404)
        const refused = await webSocket(proxy, { token: 'no.token.atall' })
        expect(await refused.closed).toMatchObject({ code: 4401 })
        await server.stop()
        expect(await opened({})).toBe(`Unexpected server response: ${kind.goneStatus}`)
      })

      test.runIf(kind.forwardsTcp)('a RESP client has its own address', async () => {
        const { resp, subscriber } = await stage(kind)
        const client = await subscriber()
        const publisher = await resp('127.0.0.3')
        expect(await publisher.askBulk('CLIENT', 'INFO')).toMatch(/ addr=127\.0\.0\.3:\d+ /)
        await publisher.assertReply(['PUBLISH', 'news', 'hello'], ':1\r\n')
        await client.takeExactly(message('hello'))
      })

      test(`a reload of the proxy ${
        kind.keepsClients
          ? 'leaves those alone who are connected'
          : 'closes WebSockets, which may return at once'
      }, and newcomers get in`, async () => {
        const { proxy, subscriber, publish, resp } = await stage(kind)
        const client = await subscriber()
        const tcp = kind.forwardsTcp ? await resp() : undefined
        await tcp?.assertPong()
        await proxy.reload()
        if (!kind.keepsClients) expect(await client.closed).toMatchObject({ code: 1001 })
        const newcomer = await subscriber()
        expect(await publish('hello')).toBe(kind.keepsClients ? 2 : 1)
        await newcomer.takeExactly(message('hello'))
        if (kind.keepsClients) await client.takeExactly(message('hello'))
        await tcp?.assertPong()
        if (kind.forwardsTcp) await (await resp()).assertPong()
      })
    },
  )
}

describe('A silent connection', () => {
  const kinds = PROXY_KINDS.filter(isInstalled)

  /** Tells whether a WebSocket, a stream of events and a RESP client still receive after a silence. */
  async function outlasts(
    kind: ProxyKind,
    silentMs: number,
    ...changes: [Directives?, ProxyOptions['changes']?]
  ): Promise<boolean[]> {
    const { subscriber, publish, resp, events } = await stage(kind, ...changes)
    const browser = await subscriber()
    const source = await events()
    const tcp = kind.forwardsTcp ? await resp() : undefined
    await tcp?.subscribe('news', 1, 2)
    await new Promise((resolve) => setTimeout(resolve, silentMs))
    await publish('hello')
    const receives = async (client: RawClient, protocol: 2 | 3): Promise<boolean> => {
      if (client.isClosed) return false
      await client.takeExactly(push(protocol, 'message', 'news', 'hello'))
      return true
    }
    const hears = source.isEnded ? false : (await source.take(1)).length === 1
    return [await receives(browser, 3), hears, ...(tcp ? [await receives(tcp, 2)] : [])]
  }

  test.runIf(IDLE_MS === 0)(
    'is kept open by the pings of WebSockets and the comments of streams where a proxy waits four seconds, and by nothing else',
    async () => {
      const outcomes = kinds.map(async (kind) => {
        const of = (interval: string) =>
          outlasts(kind, 6_500, { 'ws-ping-interval': interval }, kind.impatience)
        const [pinged, silent] = await Promise.all([of('1'), of('0')])
        return [kind.name, pinged, silent]
      })
      expect(await Promise.all(outcomes)).toEqual(
        kinds.map(({ name }) =>
          name === 'caddy'
            ? [name, [true, true], [true, true]]
            : [name, [true, true, false], [false, false, false]],
        ),
      )
    },
  )

  test.runIf(IDLE_MS > 0)(
    `lasts for PROXY_IDLE_MS with the timeouts of docs/proxies.md`,
    async () => {
      const outcomes = kinds.map((kind) => outlasts(kind, IDLE_MS))
      expect(await Promise.all(outcomes)).toEqual(
        kinds.map(({ forwardsTcp }) => [true, true, ...(forwardsTcp ? [true] : [])]),
      )
    },
    IDLE_MS + 60_000,
  )
})
