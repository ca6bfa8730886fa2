import { readFileSync } from 'node:fs'
import { createClient } from '@redis/client'
import { Redis as IORedis } from 'ioredis'
import { Redis as IOValkey } from 'iovalkey'
import type { Endpoint, Way } from './endpoint.ts'

/** The operations that the tests perform with any of the clients. */
export interface NodeClient {
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  publish(channel: string, message: string): Promise<number>
  close(): void
}

/** A client of Node.js, and the protocols that it speaks. */
export interface ClientKind {
  readonly name: string
  readonly protocols: readonly (2 | 3)[]
  /** Connects. It comes back by itself 20 ms after a loss. @param certified With the client's certificate. */
  open(endpoint: Endpoint, way: Way, protocol: 2 | 3, certified?: boolean): Promise<NodeClient>
}

function tlsOf({ certificates: { ca, client } }: Endpoint, certified: boolean) {
  const own = certified ? { cert: readFileSync(client.cert), key: readFileSync(client.key) } : {}
  return { ca: readFileSync(ca), ...own }
}

/** Options of ioredis and of what descends from it. */
function ioOptions(endpoint: Endpoint, way: Way, certified: boolean) {
  const retryStrategy = (): number => 20
  const common = { lazyConnect: true, retryStrategy }
  if (way === 'a Unix socket') return { ...common, path: endpoint.socketPath }
  if (way === 'TCP') return { ...common, host: '127.0.0.1', port: endpoint.tcpPort }
  const tls = tlsOf(endpoint, certified)
  return { ...common, host: '127.0.0.1', port: endpoint.tlsPort, tls }
}

async function wrapped(client: IORedis | IOValkey): Promise<NodeClient> {
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    client.disconnect()
    throw error
  }
  return {
    subscribe: (channel, listener) => {
      client.on('message', (from: string, message: string) => {
        if (from === channel) listener(message)
      })
      return client.subscribe(channel)
    },
    publish: (channel, message) => client.publish(channel, message),
    close: () => client.disconnect(),
  }
}

const NODE_REDIS: ClientKind = {
  name: 'node-redis',
  protocols: [2, 3],
  open: async (endpoint, way, RESP, certified = false) => {
    const reconnectStrategy = 20
    const tls = { tls: true as const, ...tlsOf(endpoint, certified) }
    const client = createClient({
      RESP,
      socket:
        way === 'a Unix socket'
          ? { path: endpoint.socketPath, reconnectStrategy }
          : way === 'TCP'
            ? { host: '127.0.0.1', port: endpoint.tcpPort, reconnectStrategy }
            : { host: '127.0.0.1', port: endpoint.tlsPort, reconnectStrategy, ...tls },
    })
    // Only a first connection that fails is told to the caller.
    const failed = new Promise<never>((_resolve, reject) => client.on('error', reject))
    failed.catch(() => {})
    try {
      await Promise.race([client.connect(), failed])
    } catch (error) {
      client.destroy()
      throw error
    }
    return {
      subscribe: (channel, listener) => client.subscribe(channel, listener),
      publish: (channel, message) => client.publish(channel, message),
      close: () => client.destroy(),
    }
  },
}

const IOREDIS: ClientKind = {
  name: 'ioredis',
  protocols: [2, 3],
  open: (endpoint, way, protocol, certified = false) =>
    wrapped(new IORedis({ ...ioOptions(endpoint, way, certified), protocol })),
}

const IOVALKEY: ClientKind = {
  name: 'iovalkey',
  protocols: [2],
  open: (endpoint, way, _protocol, certified = false) =>
    wrapped(new IOValkey(ioOptions(endpoint, way, certified))),
}

/** The clients of Node.js that are tried. */
export const CLIENT_KINDS: readonly ClientKind[] = [NODE_REDIS, IOREDIS, IOVALKEY]
