import type { CommandArgument } from '../../shared/resp/command.ts'
import type { PublishSpace } from '../pubsub/registry.ts'
import type { Space } from '../pubsub/subscriber.ts'
import type { LinkState } from './backplane.ts'
import type { ControlLine, ControlUser, UpstreamSubscriptions } from './control-line.ts'
import type { Reply } from './link/command-link.ts'
import { ControlLink } from './link/control-link.ts'
import type { ReadPayload } from './link/link-reader.ts'
import type { LinkHost } from './link/link.ts'
import { Source } from './link/source.ts'
import type { SubscriberLink } from './link/subscriber-link.ts'
import { isSameNode, type Node } from './node.ts'
import type { NodeLinks } from './node-links.ts'

/** The topology that a line is part of. */
export interface LineHost {
  readonly links: LinkHost
  readonly subscriptions: UpstreamSubscriptions
  /** The channels are shard channels, and commands have to look for their node. */
  readonly isCluster: boolean
  /** The links to the node that holds a key now; undefined if there is none. */
  readonly ownerOf: (key: string) => NodeLinks | undefined
  /** The links to all nodes. */
  readonly nodes: () => Iterable<NodeLinks>
  /** Names may be subscribed to on this link from now on. */
  readonly admitted: (subscriber: SubscriberLink) => void
  /** A node of a cluster has sent something elsewhere, or does not take it now. */
  readonly misplaced: (line: string, from: Node) => void
}

/** The wait before channels are asked for again that the node refuses, in ms: where that ends by itself, and where somebody has to allow it. */
const RETRY_MS = 100
const REFUSED_MS = 5_000

/** The control plane's place at an upstream: its connection, its channels on the subscriber link of their node, and the gate for names. */
export class UpstreamLine implements ControlLine {
  readonly publishCommand: 'PUBLISH' | 'SPUBLISH'
  readonly #host: LineHost
  readonly #space: PublishSpace
  readonly #link: ControlLink
  #user: ControlUser | undefined
  /** The channels on the link of their node; made anew for each node. */
  #sources: readonly Source[] = []
  #isListening = false
  /** Names have been admitted, and not been cut off since. */
  #isOpen = false
  /** Links that came up with the channels, without names until they are admitted. */
  readonly #heldBack = new Set<SubscriberLink>()
  #owner: NodeLinks | undefined
  #pauses = 0
  #isStopped = false

  constructor(host: LineHost) {
    this.#host = host
    const { isCluster } = host
    this.#space = isCluster ? 'shard' : 'channel'
    this.publishCommand = isCluster ? 'SPUBLISH' : 'PUBLISH'
    this.#link = new ControlLink(host.links, {
      up: (isOther) => this.#user?.up(isOther),
      down: () => this.#user?.down(),
      misplaced: isCluster ? (line, from) => host.misplaced(line, from) : undefined,
    })
  }

  attach(user: ControlUser): void {
    this.#user = user
    this.#renew()
  }

  get isUp(): boolean {
    return this.#link.isUp
  }

  get subscriptions(): UpstreamSubscriptions {
    return this.#host.subscriptions
  }

  get states(): LinkState[] {
    return this.#link.states
  }

  /** Sentences. */
  get problems(): string[] {
    const user = this.#user
    if (user === undefined) return []
    const problems = [...user.problems]
    const { problem } = this.#link
    if (problem !== undefined) problems.push(problem)
    if (!this.#isListening && this.#owner?.subscriber.link.isUp === true) {
      problems.push('upstream: the channels of the control plane are not confirmed yet')
    }
    return problems
  }

  get refusal(): ControlUser['refusal'] {
    return this.#user?.refusal
  }

  get isPaused(): boolean {
    return this.#pauses > 0
  }

  ask(reply: Reply, ...args: readonly CommandArgument[]): void {
    this.#link.ask(reply, ...args)
  }

  admit(): void {
    if (!this.#isListening) return
    const wasOpen = this.#isOpen
    const heldBack = [...this.#heldBack]
    this.#isOpen = true
    this.#heldBack.clear()
    for (const { subscriber } of this.#host.nodes()) {
      if (!wasOpen || heldBack.includes(subscriber)) this.#host.admitted(subscriber)
    }
  }

  pause(): void {
    if (++this.#pauses > 1) return
    for (const node of this.#host.nodes()) node.pause()
  }

  resume(): void {
    if (this.#pauses === 0 || --this.#pauses > 0) return
    for (const node of this.#host.nodes()) node.resume()
  }

  cutOff(problem: string): void {
    // Nothing is delivered before names are admitted.
    if (!this.#isOpen) return
    this.#isOpen = false
    for (const { subscriber } of [...this.#host.nodes()]) {
      if (subscriber.link.isUp) subscriber.link.cut('fenced', problem)
    }
  }

  /** Reports whether names may be subscribed to on this link. */
  allows(subscriber: SubscriberLink): boolean {
    if (this.#user === undefined) return true
    return this.#isOpen && !this.#heldBack.has(subscriber)
  }

  /** The node of the channels may be another. */
  follow(): void {
    const [channel] = this.#user?.channels ?? []
    if (channel === undefined || this.#isStopped) return
    const owner = this.#host.ownerOf(channel)
    if (owner !== this.#owner) {
      this.#owner = owner
      this.#renew()
      this.#subscribe()
    }
    if (!isSameNode(owner?.node, this.#link.node)) this.#link.connectTo(owner?.node)
  }

  stop(): void {
    this.#isStopped = true
    this.#link.stop()
  }

  /** The links to a node are cut: it is not the right one. */
  leave({ node }: NodeLinks, problem: string): void {
    if (node !== undefined && isSameNode(node, this.#link.node)) this.#link.leave(problem)
  }

  subscriberUp({ subscriber }: NodeLinks): void {
    if (subscriber !== this.#owner?.subscriber) return
    this.#heldBack.add(subscriber)
    this.#link.hurry()
    this.#subscribe()
  }

  subscriberDown({ subscriber }: NodeLinks): void {
    this.#heldBack.delete(subscriber)
    if (this.#sources.some(({ link }) => link === subscriber)) this.#renew()
  }

  beforeRead(): void {
    this.#user?.beforeRead()
  }

  /** The channel with this name on this link. */
  find(space: Space, name: string, subscriber: SubscriberLink): Source | undefined {
    if (space !== this.#space) return undefined
    return this.#sources.find((source) => source.name === name && source.link === subscriber)
  }

  has(source: Source): boolean {
    return this.#sources.includes(source)
  }

  confirmed(): void {
    if (this.#isListening || this.#sources.some(({ state }) => state !== 'in')) return
    this.#isListening = true
    this.#user?.listening()
  }

  /** A channel has gone out by itself: its slot has moved. */
  lost(): void {
    this.#renew()
    this.#subscribe()
  }

  /** The node does not take a channel. @param isTransient Not now, or it belongs elsewhere. */
  refused(line: string, isTransient: boolean, { node }: NodeLinks): void {
    const { links, misplaced } = this.#host
    if (isTransient && node !== undefined) misplaced(line, node)
    links.clock.after(isTransient ? RETRY_MS : REFUSED_MS, () => this.#subscribe())
  }

  /** @returns False if it is no message to one of the channels. */
  message(
    space: Space,
    channel: string,
    payload: ReadPayload,
    subscriber: SubscriberLink,
  ): boolean {
    const source = this.find(space, channel, subscriber)
    if (source === undefined) return false
    const bytes = Buffer.allocUnsafeSlow(payload.length)
    payload.copy(bytes, 0)
    this.#user?.message(channel, bytes)
    return true
  }

  /** Forgets what the channels were subscribed to. */
  #renew(): void {
    const channels = this.#user?.channels ?? []
    this.#sources = channels.map((name) => {
      const source = new Source(this.#space, name)
      source.isOccupied = true
      return source
    })
    if (!this.#isListening) return
    this.#isListening = false
    this.#user?.deaf()
  }

  #subscribe(): void {
    const subscriber = this.#owner?.subscriber
    if (subscriber?.link.isUp !== true || this.#isStopped) return
    for (const source of this.#sources) {
      if (source.state !== 'out') continue
      source.link = subscriber
      subscriber.update(source)
    }
  }
}
