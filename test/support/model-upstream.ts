import { compileGlob, type Glob } from '../../shared/glob.ts'
import { payloadOf } from '../../server/delivery/segment.ts'
import { PeerLog, silentLog, type Logger } from '../../server/log.ts'
import type { PublishSpace } from '../../server/pubsub/registry.ts'
import type { Space } from '../../server/pubsub/subscriber.ts'
import { fixedNode, type Authority } from '../../server/upstream/topology/authority.ts'
import type { Gap, PublishAnswer } from '../../server/upstream/backplane.ts'
import type { ControlUser } from '../../server/upstream/control-line.ts'
import { SingleUpstream } from '../../server/upstream/topology/single.ts'
import { FakeSubscriptions } from './fake-subscriptions.ts'
import { bulk, FakeNetwork, helloOf, infoOf, NODE, pushOf, type FakeSocket } from './fake-node.ts'
import { settingsOf, type Directives } from './settings.ts'
import { TestCore, type TestClient } from './test-core.ts'

/** One connection at the node. */
class Peer {
  readonly socket: FakeSocket
  readonly channel = new Set<string>()
  readonly shard = new Set<string>()
  readonly pattern = new Map<string, Glob>()
  /** Commands of a transaction. */
  queued: string[][] | undefined
  /** Bytes that the gateway has not read. */
  outbox = ''

  constructor(socket: FakeSocket) {
    this.socket = socket
  }

  get subscriptions(): number {
    return this.channel.size + this.pattern.size
  }
}

/**
 * A Redis in memory. Nothing happens by itself: the test says which connection is executed, and what is read, so that any interleaving
 * can be played.
 */
export class ModelNode {
  role = 'master'
  /** Why a command is refused; undefined if it is not. */
  refuse: (command: readonly string[]) => string | undefined = () => undefined
  /** Publishes in the order of their execution: the one order. Beacons are left out. */
  readonly published: {
    readonly channel: string
    readonly payload: string
    /** Unix milliseconds. */
    readonly atMs: number
  }[] = []
  /** What clients of its own are subscribed to. */
  readonly natives = new FakeSubscriptions()
  /** Its figure of INFO `pubsub_channels`; undefined counts them. */
  channelFigure: number | undefined
  readonly #network: FakeNetwork
  readonly #peers = new Map<FakeSocket, Peer>()

  constructor(network: FakeNetwork) {
    this.#network = network
  }

  /** Connections that have not ended, in the order in which they were made; new ones are accepted. */
  get peers(): Peer[] {
    for (const socket of this.#network.sockets) {
      if (this.#peers.has(socket)) continue
      this.#peers.set(socket, new Peer(socket))
      if (!socket.isDestroyed) socket.accept()
    }
    for (const peer of this.#peers.values()) {
      if (!peer.socket.isDestroyed) continue
      peer.channel.clear()
      peer.pattern.clear()
      peer.shard.clear()
    }
    return [...this.#peers.values()].filter(({ socket }) => !socket.isDestroyed)
  }

  /** The connection that messages come on. */
  get subscriber(): Peer {
    const peer = this.peers.find(({ subscriptions }) => subscriptions > 0)
    if (!peer) throw new Error('no connection has a subscription')
    return peer
  }

  /** The connection that publishes leave on. */
  get command(): Peer {
    const peer = this.peers.find(({ subscriptions }) => subscriptions === 0)
    if (!peer) throw new Error('all connections have a subscription')
    return peer
  }

  /** The connection for the commands of the control plane, made after that for publishes. */
  get control(): Peer {
    const [, peer] = this.peers.filter(({ subscriptions }) => subscriptions === 0)
    if (!peer) throw new Error('the control plane has no connection')
    return peer
  }

  /** Carries out the next command of a connection. @returns False if there is none. */
  execute(peer: Peer): boolean {
    const command = peer.socket.shift()
    if (command === undefined) return false
    const [word = ''] = command
    const refusal = this.refuse(command)
    if (refusal !== undefined) peer.outbox += `-${refusal}\r\n`
    else if (peer.queued !== undefined && word !== 'EXEC') {
      peer.queued.push(command)
      peer.outbox += '+QUEUED\r\n'
    } else if (word === 'EXEC') {
      const queued = peer.queued
      peer.queued = undefined
      if (queued === undefined) peer.outbox += '-ERR EXEC without MULTI\r\n'
      else
        peer.outbox += `*${queued.length}\r\n${queued.map((one) => this.#run(peer, one)).join('')}`
    } else {
      peer.outbox += this.#run(peer, command)
    }
    return true
  }

  /** A client of its own publishes. @returns Receivers. */
  publish(channel: string, payload: string, space: PublishSpace = 'channel'): number {
    if (!channel.startsWith('{respcast:')) {
      this.published.push({ channel, payload, atMs: this.#network.clock.wallMs() })
    }
    let receivers = 0
    const { peers } = this
    for (const peer of peers) {
      if (!peer[space].has(channel)) continue
      peer.outbox += pushOf(space === 'shard' ? 'smessage' : 'message', channel, payload)
      receivers++
    }
    if (space === 'shard') return receivers
    for (const peer of peers) {
      for (const [pattern, glob] of peer.pattern) {
        if (!glob.matches(channel)) continue
        peer.outbox += pushOf('pmessage', pattern, channel, payload)
        receivers++
      }
    }
    return receivers
  }

  /** The gateway reads so many bytes of what waits for it, or all. */
  deliver(peer: Peer, bytes = peer.outbox.length): boolean {
    const text = peer.outbox.slice(0, bytes)
    peer.outbox = peer.outbox.slice(bytes)
    if (text === '' || peer.socket.isDestroyed) return false
    peer.socket.receive(text)
    return true
  }

  /** A connection ends; what the gateway has not read is lost. */
  kill(peer: Peer): void {
    peer.outbox = ''
    peer.channel.clear()
    peer.pattern.clear()
    peer.shard.clear()
    peer.socket.close()
  }

  #run(peer: Peer, [word = '', ...args]: readonly string[]): string {
    const [first = '', second = ''] = args
    switch (word) {
      case 'HELLO':
        return helloOf({ role: this.role })
      case 'INFO':
        return infoOf({ info: this.#stats() })
      case 'ROLE':
        return `*3\r\n${bulk(this.role)}:0\r\n*0\r\n`
      case 'PUBSUB':
        return this.#inspect(first, args.slice(1))
      case 'MULTI':
        peer.queued = []
        return '+OK\r\n'
      case 'PUBLISH':
        return `:${this.publish(first, second)}\r\n`
      case 'SPUBLISH':
        return `:${this.publish(first, second, 'shard')}\r\n`
      case 'SUBSCRIBE':
        return confirmations('subscribe', args, (name) => peer.channel.add(name))
      case 'UNSUBSCRIBE':
        return confirmations('unsubscribe', args, (name) => peer.channel.delete(name))
      case 'PSUBSCRIBE':
        return confirmations('psubscribe', args, (name) =>
          peer.pattern.set(name, compileGlob(name)),
        )
      case 'PUNSUBSCRIBE':
        return confirmations('punsubscribe', args, (name) => peer.pattern.delete(name))
      case 'SSUBSCRIBE':
        return confirmations('ssubscribe', args, (name) => peer.shard.add(name))
      case 'SUNSUBSCRIBE':
        return confirmations('sunsubscribe', args, (name) => peer.shard.delete(name))
      default:
        return '+OK\r\n'
    }
  }

  #stats(): string {
    const channels = this.channelFigure ?? this.#names('channel').size
    return `pubsub_channels:${channels}\r\npubsubshard_channels:${this.#names('shard').size}\r\n`
  }

  #names(space: PublishSpace): Set<string> {
    return new Set([
      ...this.peers.flatMap((peer) => [...peer[space]]),
      ...this.natives.channelNames(space),
    ])
  }

  /** PUBSUB. */
  #inspect(subcommand: string, args: readonly string[]): string {
    const space = subcommand.startsWith('SHARD') ? 'shard' : 'channel'
    if (subcommand === 'NUMPAT') {
      const patterns = this.peers.flatMap((peer) => [...peer.pattern.keys()])
      for (const { name } of this.natives.patterns()) patterns.push(name)
      return `:${new Set(patterns).size}\r\n`
    }
    if (subcommand.endsWith('NUMSUB')) {
      const counts = args.map((name) => {
        const links = this.peers.filter((peer) => peer[space].has(name)).length
        return `${bulk(name)}:${links + this.natives.countOf(space, name)}\r\n`
      })
      return `*${args.length * 2}\r\n${counts.join('')}`
    }
    const glob = compileGlob(args[0] ?? '*')
    const names = [...this.#names(space)].filter((name) => glob.matches(name))
    return `*${names.length}\r\n${names.map(bulk).join('')}`
  }
}

function confirmations(
  word: string,
  names: readonly string[],
  change: (name: string) => void,
): string {
  for (const name of names) change(name)
  return names.map((name) => pushOf(word, name, 1)).join('')
}

export type { Peer }

/** A gateway in front of a {@link ModelNode}: the registry with its clients, and the real links. */
export class ModelGateway {
  readonly network = new FakeNetwork()
  readonly core = new TestCore()
  readonly node = new ModelNode(this.network)
  readonly upstream: SingleUpstream
  readonly gaps: (Omit<Gap, 'holders'> & { readonly holders: unknown[] })[] = []

  constructor(
    directives: Directives = {},
    random: () => number = () => 0,
    authority: Authority = fixedNode(NODE),
    log: Logger = silentLog(),
    user?: ControlUser,
  ) {
    const { clock, turn, open } = this.network
    const isControlled = user === undefined ? 'no' : 'yes'
    const upstreamDirectives = { upstream: 'redis://127.0.0.1:6379', 'upstream-linger': '0' }
    this.upstream = new SingleUpstream(
      {
        settings: settingsOf({
          'upstream-control': isControlled,
          ...upstreamDirectives,
          ...directives,
        }),
        clock,
        log,
        peerLog: new PeerLog(log, clock),
        registry: this.core.registry,
        random,
        atEndOfTurn: turn.atEndOfTurn,
        subscribers: () => this.core.clients.all(),
        open,
      },
      false,
      authority,
    )
    if (user !== undefined) this.upstream.control?.attach(user)
    this.upstream.onGap((gap) => void this.gaps.push({ ...gap, holders: [...gap.holders] }))
    this.upstream.start()
  }

  /** Lets everything happen that can happen without time. */
  settle(): this {
    let isBusy = true
    while (isBusy) {
      isBusy = false
      this.network.turn.end()
      for (const peer of this.node.peers) {
        while (this.node.execute(peer)) isBusy = true
        if (this.node.deliver(peer)) isBusy = true
      }
    }
    return this
  }

  /** Time passes, in steps, and everything happens that can. */
  pass(ms: number, stepMs = 50): this {
    this.settle()
    for (let leftMs = ms; leftMs > 0; leftMs -= stepMs) {
      this.network.clock.advance(Math.min(stepMs, leftMs))
      this.settle()
    }
    return this
  }

  client(): TestClient {
    return this.core.connect({ protocol: 3 })
  }

  /** Subscribes a client when the names are in force, as commands do. @returns What has become of it. */
  subscribe(client: TestClient, space: Space, ...names: readonly string[]): { is: string } {
    const state = { is: 'waits' }
    const done = (failure: string | undefined): void => {
      state.is = failure ?? 'in force'
      if (failure !== undefined) return
      for (const name of names) this.core.registry.subscribe(space, client.client, name, 'default')
    }
    const pending = this.upstream.want(space, names, done)
    if (pending === undefined || typeof pending === 'string') done(pending)
    return state
  }

  unsubscribe(client: TestClient, space: Space, name: string): void {
    this.core.registry.unsubscribe(space, client.client, name)
  }

  /** Publishes. @returns The answer, once there is one. */
  publish(
    channel: string,
    payload: string,
    space: PublishSpace = 'channel',
  ): { is: PublishAnswer | undefined } {
    const state: { is: PublishAnswer | undefined } = { is: undefined }
    const bytes = payloadOf(Buffer.from(payload, 'latin1'))
    const answer = this.upstream.publish(space, channel, bytes, (later) => (state.is = later))
    if (answer !== undefined) state.is = answer
    return state
  }

  /** Publishes a transaction. */
  publishAll(...messages: readonly (readonly [channel: string, payload: string])[]): {
    is: readonly PublishAnswer[] | undefined
  } {
    const state: { is: readonly PublishAnswer[] | undefined } = { is: undefined }
    const sent = messages.map(([key, payload]) => ({
      space: 'channel' as const,
      key,
      payload: payloadOf(Buffer.from(payload, 'latin1')),
    }))
    const answers = this.upstream.publishAll(sent, (later) => (state.is = later))
    if (answers !== undefined) state.is = answers
    return state
  }
}

/** The messages in a client's output since the last look: `name payload`, of a pattern `pattern>channel payload`. */
export function messagesOf(client: TestClient): string[] {
  return client
    .read()
    .split(/>[34]\r\n\$(?=[78]\r\n[ps]?message)/)
    .slice(1)
    .map((frame) => frame.split('\r\n'))
    .map((lines) =>
      lines[1] === 'pmessage' ? `${lines[3]}>${lines[5]} ${lines[7]}` : `${lines[3]} ${lines[5]}`,
    )
}
