import { afterEach, beforeAll } from 'vitest'
import {
  push,
  connectRaw,
  connectWebSocket,
  type RawClient,
  type RawWebSocket,
  type WebSocketOptions,
} from './resp-client.ts'
import { startServer, type ServerOptions, type TestGateway } from './server.ts'
import { openUpgrade, type UpgradeRequest, type UpgradedSocket } from './raw-upgrade.ts'

export const NO_AUTH = '-NOAUTH Authentication required.\r\n'
/** The push that a session may do more than before. */
export const GRANTED = push(3, 'token', 'granted')

export const NO_CHANNEL = '-NOPERM No permissions to access a channel\r\n'

/** The `default` user without restrictions, as a directive beside others. */
export const DEFAULT_USER = ['default', 'on', 'nopass', '~*', '&*', '+@all']

/** The ways in which a client may be connected, for tables of cases. */
export const TRANSPORTS = ['RESP2 over TCP', 'RESP3 over TCP', 'RESP3 over WebSocket'] as const

export type Transport = (typeof TRANSPORTS)[number]

/** Opens servers and connections, and closes them when the test is over. */
export interface Opener {
  server(options?: ServerOptions): Promise<TestGateway>
  /** RESP2, or RESP3 with its HELLO answered. */
  tcp(server: TestGateway, protocol?: 2 | 3): Promise<RawClient>
  webSocket(server: TestGateway, options?: WebSocketOptions): Promise<RawWebSocket>
  /** A WebSocket that is logged in as `sub`; its `accepted` push is taken. */
  session(
    server: TestGateway,
    sub: string,
    grants: Parameters<TestGateway['mint']>[1],
  ): Promise<RawWebSocket>
  /** A token session over RESP3 TCP. */
  tcpSession(
    server: TestGateway,
    sub: string,
    grants: Parameters<TestGateway['mint']>[1],
  ): Promise<RawClient>
  /** A WebSocket to the administrators' listener, where passwords log in. */
  adminSocket(server: TestGateway): Promise<RawWebSocket>
  /** A client that may subscribe and publish anywhere. */
  client(server: TestGateway, transport: Transport): Promise<RawClient>
  /** A socket under its own WebSocket frames. */
  upgrade(port: number, request?: UpgradeRequest): Promise<UpgradedSocket>
  /** A server, and a client of it over RESP2 or RESP3. */
  withTcp(options?: ServerOptions, protocol?: 2 | 3): Promise<[TestGateway, RawClient]>
  /** A server, and a WebSocket that is logged in as `42`. */
  withSession(
    grants: Parameters<TestGateway['mint']>[1],
    options?: ServerOptions,
  ): Promise<[TestGateway, RawWebSocket]>
  /** Has something run after the test. */
  onEnd(end: () => void | Promise<void>): void
}

/** Registers the clean-up; call it once at the top of a test file. */
export function opener(): Opener {
  let ends: (() => void | Promise<void>)[] = []
  afterEach(async () => {
    const last = ends.toReversed()
    ends = []
    for (const end of last) await end()
  })
  const self: Opener = {
    onEnd: (end) => void ends.push(end),
    server: async (options) => {
      const server = await startServer(options)
      ends.push(() => server.stop())
      return server
    },
    tcp: async (server, protocol = 2) => {
      const client = await connectRaw(server.port)
      ends.push(() => client.destroy())
      if (protocol === 3) {
        client.command('HELLO', '3')
        await client.takeUntil('*0\r\n')
      }
      return client
    },
    webSocket: async (server, options) => {
      const client = await connectWebSocket(server.wsUrl, options)
      ends.push(() => client.destroy())
      return client
    },
    session: async (server, sub, grants) => {
      const token = await server.mint(sub, grants)
      const client = await self.webSocket(server, { token })
      await client.takeAccepted(`jwt:${sub}`)
      client.takeMessages()
      return client
    },
    tcpSession: async (server, sub, grants) => {
      const client = await self.tcp(server, 3)
      await client.assertReply(['AUTH', 'jwt', await server.mint(sub, grants)], '+OK\r\n')
      return client
    },
    adminSocket: async (server) => {
      const client = await connectWebSocket(`ws://127.0.0.1:${server.adminPort}/ws`)
      ends.push(() => client.destroy())
      return client
    },
    client: (server, transport) => {
      if (transport === 'RESP3 over WebSocket')
        return self.session(server, '1', { channels: ['*'] })
      return self.tcp(server, transport === 'RESP2 over TCP' ? 2 : 3)
    },
    withTcp: async (options, protocol) => {
      const server = await self.server(options)
      return [server, await self.tcp(server, protocol)]
    },
    withSession: async (grants, options) => {
      const server = await self.server(options)
      return [server, await self.session(server, '42', grants)]
    },
    upgrade: async (port, request) => {
      const upgraded = await openUpgrade(port, request)
      ends.push(() => upgraded.destroy())
      return upgraded
    },
  }
  return self
}

/** Publishes from a client of its own. @returns The number of receivers. */
export async function receiversOf(
  open: Opener,
  server: TestGateway,
  channel: string,
): Promise<number> {
  const client = await open.tcp(server)
  client.command('PUBLISH', channel, 'm')
  return Number((await client.takeLine()).slice(1))
}

/** Proves that a server lives: a new client is answered. */
export async function assertAlive(open: Opener, server: TestGateway): Promise<void> {
  const client = await open.tcp(server)
  await client.assertPong()
}

/** Waits until something holds that nobody tells of. @throws Error It did not within 15 seconds. */
export async function eventually(what: string, holds: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 15_000
  while (!holds()) {
    if (performance.now() > deadlineMs) throw new Error(`waited in vain for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Lets everything that is readable now be handled. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}

/** A server for all tests of a file or `describe`; it is there once they run. */
export function sharedServer(options?: ServerOptions): TestGateway {
  const server = {} as TestGateway
  beforeAll(async () => {
    Object.assign(server, await startServer(options))
    return () => server.stop()
  })
  return server
}
