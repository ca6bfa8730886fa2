import { randomBytes } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { Settings } from '../../config/settings.ts'
import type { Logger, PeerLog } from '../../log.ts'
import type { Payload } from '../../delivery/segment.ts'
import type { PublishSpace, Registry } from '../../pubsub/registry.ts'
import type { Space, Subscriber } from '../../pubsub/subscriber.ts'
import type { ErrorLine } from '../../resp/reply-writer.ts'
import type {
  Backplane,
  Gap,
  LinkFigures,
  LinkState,
  OutgoingMessage,
  PendingNames,
  PublishAnswer,
} from '../backplane.ts'
import { Gaps } from '../gaps.ts'
import { Interest, type InterestHost } from '../interest.ts'
import type { LinkHost, NodeFacts } from '../link/link.ts'
import { NativeSubscriptions } from '../native-subscriptions.ts'
import { RESERVED_PREFIX, type NodeHost, type NodeLinks, type Traffic } from '../node-links.ts'
import { nodeText, type Node } from '../node.ts'
import { openSocket, type OpenSocket } from '../link/socket.ts'
import { Cover, type Source } from '../link/source.ts'
import type { SubscriberLink } from '../link/subscriber-link.ts'
import { UpstreamLine } from '../upstream-line.ts'
import { upstreamCredentials, upstreamTls } from '../settings.ts'

/** Everything that an upstream depends on. */
export interface UpstreamParts {
  readonly settings: Settings
  readonly clock: Clock
  readonly log: Logger
  /** For lines that a client can cause. */
  readonly peerLog: PeerLog
  readonly registry: Registry
  /** 0 to 1. */
  readonly random: () => number
  readonly atEndOfTurn: (callback: () => void) => void
  /** All clients that may hold a subscription. */
  readonly subscribers: () => Iterable<Subscriber>
  /** By the network, if it is left out. */
  readonly open?: OpenSocket
}

const RESERVED = `ERR names that begin with '${RESERVED_PREFIX}' are reserved` satisfies ErrorLine

/** A name that the upstream refuses is asked for again so often, in ms: somebody may have allowed it. */
const REFUSED_MS = 5_000

/** The fields of INFO by which a server says that it is one of us. */
const OWN_FIELD = 'respcast_version'

/** What every kind of upstream has and does alike: the names, the gaps, the counts, and what a node has to be. */
export abstract class SharedUpstream implements Backplane {
  readonly isAlone = false
  protected readonly parts: UpstreamParts
  protected readonly interest: Interest
  protected readonly gaps: Gaps
  /** For every connection to a node. */
  protected readonly linkHost: LinkHost
  readonly control: UpstreamLine | undefined
  readonly #traffic: Traffic = {
    inFlightBytes: 0,
    publishes: 0,
    publishSeconds: 0,
    beaconSeconds: Number.NaN,
    unwantedBytes: 0,
  }
  readonly #limits: { readonly maxInFlight: number }
  readonly #gatewayId = randomBytes(8).toString('hex')
  readonly #reconnects = new Map<string, number>()
  #waitingForRoom: (() => void)[] = []

  constructor(parts: UpstreamParts, isTls: boolean, isCluster: boolean) {
    this.parts = parts
    const {
      settings,
      clock,
      log,
      peerLog,
      random,
      atEndOfTurn,
      registry,
      open = openSocket,
    } = parts
    this.#limits = settings.cached((now) => ({ maxInFlight: now.memory('upstream-max-in-flight') }))
    this.gaps = new Gaps(clock)
    this.interest = new Interest({
      clock,
      random,
      atEndOfTurn,
      registry,
      limits: limitsOf(settings),
      linkOf: (source) => {
        const link = this.linkOf(source)
        return link === undefined || this.control?.allows(link) === false ? undefined : link
      },
      forgotten: (source) => this.gaps.settled(source),
      onLevel: (level) => peerLog.write('patternsWidened', () => ({ level })),
    })
    this.linkHost = {
      clock,
      log,
      random,
      atEndOfTurn,
      open,
      clientName: `respcast:${this.#gatewayId}`,
      login: { user: 'upstream-user', password: 'upstream-password-file' },
      credentials: () => upstreamCredentials(settings),
      tls: isTls ? () => upstreamTls(settings) : undefined,
      problemOf: (facts) => loopOf(facts) ?? this.problemOf(facts) ?? problemOfAny(facts),
      ended: (cause) => void this.#reconnects.set(cause, (this.#reconnects.get(cause) ?? 0) + 1),
    }
    this.control = settings.boolean('upstream-control')
      ? new UpstreamLine({
          links: this.linkHost,
          subscriptions: new NativeSubscriptions({
            nodes: () => this.nodes,
            interest: this.interest,
            log,
          }),
          isCluster,
          ownerOf: (key) => this.ownerOf(key),
          nodes: () => this.nodes,
          misplaced: (line, from) => this.misplaced(line, from),
          admitted: (subscriber) => this.interest.linkFound(subscriber),
        })
      : undefined
  }

  /** The links to the node that holds a key; undefined if there is none. */
  protected abstract ownerOf(key: string): NodeLinks | undefined

  /** The links to all nodes. */
  protected abstract get nodes(): Iterable<NodeLinks>

  /** A node of a cluster has sent a command or a channel of the control plane elsewhere, or does not take it now. */
  protected abstract misplaced(line: string, from: Node): void

  /** See `InterestHost`. */
  protected abstract linkOf(source: Source): SubscriberLink | undefined

  /** The problem of a node, beyond what holds for all kinds: see `LinkHost`. */
  protected abstract problemOf(facts: NodeFacts): string | undefined

  publish(
    space: PublishSpace,
    key: string,
    payload: Payload,
    done: (answer: PublishAnswer) => void,
  ): PublishAnswer | undefined {
    return this.control?.refusal ?? this.send(space, key, payload, done)
  }

  publishAll(
    messages: readonly OutgoingMessage[],
    done: (answers: readonly PublishAnswer[]) => void,
  ): readonly PublishAnswer[] | undefined {
    const refusal = this.control?.refusal
    return refusal === undefined ? this.sendAll(messages, done) : messages.map(() => refusal)
  }

  get problems(): readonly string[] {
    const { topologyProblems, control } = this
    return control === undefined
      ? topologyProblems
      : [...new Set([...topologyProblems, ...control.problems])]
  }

  get links(): readonly LinkState[] {
    return [...this.topologyLinks, ...(this.control?.states ?? [])]
  }

  /** See `Backplane.publish`. */
  protected abstract send(
    space: PublishSpace,
    key: string,
    payload: Payload,
    done: (answer: PublishAnswer) => void,
  ): PublishAnswer | undefined

  /** See `Backplane.publishAll`. */
  protected abstract sendAll(
    messages: readonly OutgoingMessage[],
    done: (answers: readonly PublishAnswer[]) => void,
  ): readonly PublishAnswer[] | undefined

  protected abstract get topologyProblems(): readonly string[]
  protected abstract get topologyLinks(): readonly LinkState[]
  abstract start(): void

  stop(): Promise<void> {
    this.control?.stop()
    this.interest.stop()
    return Promise.resolve()
  }

  /** What the links to a node need, but for what depends on the kind of the upstream. */
  protected nodeHost(
    own: Pick<
      NodeHost,
      'subscriberUp' | 'subscriberDown' | 'lost' | 'redirected' | 'misplaced' | 'isCluster'
    >,
  ): NodeHost {
    const { clock, registry } = this.parts
    return {
      ...own,
      clock,
      registry,
      links: this.linkHost,
      peerLog: this.parts.peerLog,
      interest: this.interest,
      control: this.control,
      traffic: this.#traffic,
      gatewayId: this.#gatewayId,
      landed: () => this.#landed(),
      settled: (source) => this.gaps.settled(source),
      refused: (source) => this.#refused(source),
    }
  }

  get isFull(): boolean {
    return this.#traffic.inFlightBytes >= this.#limits.maxInFlight
  }

  whenRoom(callback: () => void): void {
    if (this.isFull) this.#waitingForRoom.push(callback)
    else callback()
  }

  want(
    space: Space,
    names: readonly string[],
    done: (failure: ErrorLine | undefined) => void,
  ): PendingNames | ErrorLine | undefined {
    return this.control?.refusal ?? this.interest.want(space, names, done)
  }

  refuses(name: string): ErrorLine | undefined {
    return name.startsWith(RESERVED_PREFIX) ? RESERVED : undefined
  }

  onGap(listener: (gap: Gap) => void): void {
    this.gaps.onGap(listener)
  }

  /** Problems of nodes, and of names that are not back yet. */
  protected problemsOf(nodes: Iterable<NodeLinks>): string[] {
    const problems: string[] = []
    for (const node of nodes) problems.push(...node.problems)
    const { missing } = this.gaps
    if (problems.length === 0 && missing > 0) {
      problems.push(`upstream: ${missing} names are not confirmed again yet`)
    }
    return [...new Set(problems)]
  }

  get figures(): LinkFigures {
    const { interest, gaps } = this
    let confirmed = 0
    for (const { state } of interest.sources()) if (state === 'in') confirmed++
    return {
      ...this.#traffic,
      reconnects: this.#reconnects,
      wanted: interest.wanted,
      confirmed,
      gaps: gaps.counts,
      gapSeconds: gaps.seconds,
    }
  }

  /** Those who hold a subscription now. */
  protected holders(): Subscriber[] {
    return [...this.parts.subscribers()].filter(({ subscriptions }) => subscriptions.any)
  }

  /** The local names (byte strings) that get their messages from a source, each with those who hold it. */
  protected holdersByName(source: Source): [name: string, holders: Subscriber[]][] {
    const names = source instanceof Cover ? [...source.patterns] : [source.name]
    return names.map((name) => [name, [...this.parts.registry.subscribersOf(source.space, name)]])
  }

  /** The upstream refuses a source. Who holds it has a gap from now on, until it is allowed. */
  #refused(source: Source): void {
    const { interest, gaps } = this
    interest.refused(source)
    gaps.settled(source)
    for (const [name, holders] of this.holdersByName(source)) {
      if (holders.length === 0) continue
      gaps.begin('refused', this.parts.clock.monotonicMs(), [source], holders, name)
    }
    if (source.isNeeded) interest.retryLater(source, REFUSED_MS)
  }

  #landed(): void {
    if (this.#waitingForRoom.length === 0 || this.isFull) return
    const waiting = this.#waitingForRoom
    this.#waitingForRoom = []
    // Publishers are read again when the answers of this read have all been told.
    this.parts.atEndOfTurn(() => {
      for (const callback of waiting) this.whenRoom(callback)
    })
  }
}

function limitsOf(settings: Settings): InterestHost['limits'] {
  return {
    get maxChannels() {
      return settings.integer('upstream-max-channels')
    },
    get maxCovers() {
      return settings.integer('upstream-max-covers')
    },
    get lingerMs() {
      return settings.seconds('upstream-linger') * 1_000
    },
    get maxLingering() {
      return settings.integer('upstream-max-lingering')
    },
  }
}

/** The problem of a node that is a gateway itself. */
function loopOf({ node, info }: NodeFacts): string | undefined {
  if (!info.has(OWN_FIELD)) return undefined
  return `upstream: ${nodeText(node)} is a Respcast, and messages would go in circles: name the Redis or Valkey behind it`
}

/** What no node may be, whatever the kind of the upstream. @returns One line with the directive and the remedy. */
function problemOfAny({ node, role, info }: NodeFacts): string | undefined {
  const address = nodeText(node)
  const policy = info.get('maxmemory_policy') ?? ''
  if (policy.startsWith('allkeys-')) {
    return `upstream: ${address} has maxmemory-policy ${policy}, which evicts what gateways keep there: set noeviction or a volatile- policy`
  }
  if (role !== 'master') {
    return `upstream: ${address} is a replica, which would lose what is published: name its master, or use redis+sentinel://`
  }
  return undefined
}
