import { afterEach } from 'vitest'
import {
  connectRaw,
  connectWebSocket,
  type RawClient,
  type RawWebSocket,
  type WebSocketOptions,
} from './resp-client.ts'
import { startServer, type ServerOptions, type TestGateway } from './server.ts'
import { openUpgrade, type UpgradeRequest, type UpgradedSocket } from './raw-upgrade.ts'

export const NO_AUTH = '-NOAUTH Authentication required.\r\n'
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
      await takeAccepted(client, `jwt:${sub}`)
      client.takeMessages()
      return client
    },
    tcpSession: async (server, sub, grants) => {
      const client = await self.tcp(server, 3)
      await assertReply(client, ['AUTH', 'jwt', await server.mint(sub, grants)], '+OK\r\n')
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
    upgrade: async (port, request) => {
      const upgraded = await openUpgrade(port, request)
      ends.push(() => upgraded.destroy())
      return upgraded
    },
  }
  return self
}

/** Takes the push with which a token session begins. @returns The milliseconds that the token has left. */
export async function takeAccepted(client: RawClient, user: string): Promise<number> {
  const length = Buffer.byteLength(user)
  await client.takeExactly(`>4\r\n$5\r\ntoken\r\n$8\r\naccepted\r\n$${length}\r\n${user}\r\n:`)
  return Number.parseInt(await takeLine(client), 10)
}

/** Takes bytes up to the next line end, and returns them without it. */
export async function takeLine(client: RawClient): Promise<string> {
  let line = ''
  while (!line.endsWith('\r\n')) line += (await client.take(1)).toString('latin1')
  return line.slice(0, -2)
}

/** Takes one bulk or verbatim string, and returns what it holds. */
export async function takeBulk(client: RawClient): Promise<string> {
  const header = await takeLine(client)
  if (!/^[$=]\d+$/.test(header)) throw new Error(`not a bulk string: ${header}`)
  const bytes = await client.take(Number(header.slice(1)) + 2)
  return bytes.toString('latin1', 0, bytes.length - 2)
}

/** Sends a command whose reply is one bulk string. */
export async function askBulk(client: RawClient, ...command: string[]): Promise<string> {
  client.command(...command)
  return takeBulk(client)
}

/** Sends a command and takes the reply that it must have. */
export async function assertReply(
  client: RawClient,
  command: string[],
  reply: string | Buffer,
): Promise<void> {
  client.command(...command)
  await client.takeExactly(reply)
}

/** Subscribes to a channel, which makes `count` subscriptions. */
export function subscribe(
  client: RawClient,
  channel = 'a',
  count = 1,
  protocol: 2 | 3 = 3,
): Promise<void> {
  return assertReply(client, ['SUBSCRIBE', channel], push(protocol, 'subscribe', channel, count))
}

/** Publishes from a client of its own. @returns The number of receivers. */
export async function receiversOf(
  open: Opener,
  server: TestGateway,
  channel: string,
): Promise<number> {
  const client = await open.tcp(server)
  client.command('PUBLISH', channel, 'm')
  return Number((await takeLine(client)).slice(1))
}

/** Proves that a client is alive and that nothing else has come for it. */
export async function assertPong(client: RawClient): Promise<void> {
  await assertReply(client, ['PING'], '+PONG\r\n')
}

/** Proves that a server lives: a new client is answered. */
export async function assertAlive(open: Opener, server: TestGateway): Promise<void> {
  await assertPong(await open.tcp(server))
}

/** A push as a subscriber gets it: `>` in RESP3, `*` in RESP2; all items but numbers are bulk strings. */
export function push(protocol: 2 | 3, ...items: (string | Buffer | number)[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`${protocol === 3 ? '>' : '*'}${items.length}\r\n`)]
  for (const item of items) {
    if (typeof item === 'number') {
      parts.push(Buffer.from(`:${item}\r\n`))
      continue
    }
    const bytes = typeof item === 'string' ? Buffer.from(item, 'latin1') : item
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'))
  }
  return Buffer.concat(parts)
}

/** Waits until something holds that nobody tells of. @throws Error It did not within 15 seconds. */
export async function eventually(what: string, holds: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 15_000
  while (!holds()) {
    if (performance.now() > deadlineMs) throw new Error(`waited in vain for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Takes what must come next from a client. A string stands for latin1. */
export function assertReads(client: RawClient, bytes: string | Buffer): Promise<void> {
  return client.takeExactly(bytes)
}

/** Lets everything that is readable now be handled. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
