import { createClient } from '@redis/client'
import { Redis as IORedis } from 'ioredis'
import { Received } from './collect.ts'

/** One connection of a library. What it does when the connection is lost is the library's default. */
export interface PubSubClient {
  /** Messages: `channel message`, `pattern channel message` or `shard channel message`. */
  readonly received: Received
  /** Connections that were lost and begun anew. */
  readonly reconnects: number
  subscribe(channels: string[]): Promise<unknown>
  pSubscribe(pattern: string): Promise<unknown>
  sSubscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  pUnsubscribe(pattern: string): Promise<unknown>
  sUnsubscribe(channel: string): Promise<unknown>
  publish(channel: string, message: string): Promise<number>
  sPublish(channel: string, message: string): Promise<number>
  /** MULTI, a PUBLISH of each message, EXEC. @returns What EXEC answered. */
  publishAll(channel: string, messages: readonly string[]): Promise<unknown[]>
  close(): void
}

/** A library in one of its protocols. */
export interface PubSubLibrary {
  readonly name: string
  readonly protocol: 2 | 3
  /** Connects to a port of 127.0.0.1. */
  connect(port: number): Promise<PubSubClient>
}

async function openNodeRedis(port: number, RESP: 2 | 3): Promise<PubSubClient> {
  const client = createClient({ RESP, socket: { host: '127.0.0.1', port } })
  const received = new Received()
  let reconnects = 0
  client.on('error', () => {})
  client.on('reconnecting', () => reconnects++)
  await client.connect()
  return {
    received,
    get reconnects() {
      return reconnects
    },
    subscribe: (channels) =>
      client.subscribe(channels, (message, channel) => received.add(channel, message)),
    pSubscribe: (pattern) =>
      client.pSubscribe(pattern, (message, channel) => received.add(pattern, channel, message)),
    sSubscribe: (channel) =>
      client.sSubscribe(channel, (message, from) => received.add('shard', from, message)),
    unsubscribe: (channel) => client.unsubscribe(channel),
    pUnsubscribe: (pattern) => client.pUnsubscribe(pattern),
    sUnsubscribe: (channel) => client.sUnsubscribe(channel),
    publish: (channel, message) => client.publish(channel, message),
    sPublish: (channel, message) => client.sPublish(channel, message),
    publishAll: (channel, messages) => {
      const transaction = client.multi()
      for (const message of messages) transaction.publish(channel, message)
      return transaction.exec()
    },
    close: () => client.destroy(),
  }
}

async function openIORedis(port: number, protocol: 2 | 3): Promise<PubSubClient> {
  const client = new IORedis({ host: '127.0.0.1', port, protocol, lazyConnect: true })
  const received = new Received()
  let reconnects = 0
  client.on('error', () => {})
  client.on('reconnecting', () => reconnects++)
  client.on('message', (channel, message) => received.add(channel, message))
  client.on('pmessage', (pattern, channel, message) => received.add(pattern, channel, message))
  client.on('smessage', (channel, message) => received.add('shard', channel, message))
  await client.connect()
  return {
    received,
    get reconnects() {
      return reconnects
    },
    subscribe: (channels) => client.subscribe(...channels),
    pSubscribe: (pattern) => client.psubscribe(pattern),
    sSubscribe: (channel) => client.ssubscribe(channel),
    unsubscribe: (channel) => client.unsubscribe(channel),
    pUnsubscribe: (pattern) => client.punsubscribe(pattern),
    sUnsubscribe: (channel) => client.sunsubscribe(channel),
    publish: (channel, message) => client.publish(channel, message),
    sPublish: (channel, message) => client.spublish(channel, message) as Promise<number>,
    publishAll: async (channel, messages): Promise<unknown[]> => {
      const transaction = client.multi()
      for (const message of messages) transaction.publish(channel, message)
      const answers = (await transaction.exec()) ?? []
      return answers.map(([error, answer]) => error ?? answer)
    },
    close: () => client.disconnect(),
  }
}

/** The libraries that are tried before an upstream. */
export const PUBSUB_LIBRARIES: readonly PubSubLibrary[] = ([2, 3] as const).flatMap((protocol) => [
  {
    name: `node-redis in RESP${protocol}`,
    protocol,
    connect: (port: number) => openNodeRedis(port, protocol),
  },
  {
    name: `ioredis in RESP${protocol}`,
    protocol,
    connect: (port: number) => openIORedis(port, protocol),
  },
])
