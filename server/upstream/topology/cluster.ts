import { createHash } from 'node:crypto'
import { keySlot } from '../../../shared/key-slot.ts'
import { isError, type RespValue } from '../../../shared/resp/types.ts'
import type { Timer } from '../../clock.ts'
import { payloadOf, type Payload } from '../../delivery/segment.ts'
import type { PublishSpace } from '../../pubsub/registry.ts'
import type { LinkState, OutgoingMessage, PublishAnswer } from '../backplane.ts'
import { CommandLink, onAnswer } from '../link/command-link.ts'
import type { Flight } from '../flight.ts'
import { textOf, type DownCause, type NodeFacts } from '../link/link.ts'
import { NodeLinks, NOT_PUBLISHED } from '../node-links.ts'
import { isSameNode, nodeText, type Node } from '../node.ts'
import { SharedUpstream, type UpstreamParts } from './shared-upstream.ts'
import { readRedirection } from '../link/redirection.ts'
import { readSlots, SlotMap } from './slot-map.ts'
import type { Source } from '../link/source.ts'
import type { SubscriberLink } from '../link/subscriber-link.ts'

/** The slot map is asked for so often, in ms, and at most every {@link HURRY_MS} when it seems wrong. */
const REFRESH_MS = 1_000
const HURRY_MS = 50
/** A scout without an answer for so long asks another node, in ms. */
const SCOUT_MS = 2_000
/** Up to so many names a gap is told by name, else as one that concerns all names. */
const MOST_NAMED = 256
/** Answers in a row with an older epoch, after which it is believed. */
const MOST_OLDER = 20
/** The wait before global names go to another node while some node cannot be asked what it has published, in ms. */
const LEAST_RINSE_MS = 250
/** Redirections of one name without success, after which it waits. */
const MOST_REDIRECTIONS = 4

/** Publishes to a slot that has moved, which wait until those that were sent to its old owner have ended. */
interface Detour {
  left: number
  readonly queue: (() => void)[]
}

/**
 * An upstream that is a cluster.
 *
 * Shard channels live at the owner of their slot. Global channels and patterns are subscribed to at one node, whichever of the masters
 * is there, gateways spread over them; they are published at the owner of the channel's slot, so that everybody sees one order, and
 * the bus of the cluster carries them.
 */
export class ClusterUpstream extends SharedUpstream {
  readonly #seeds: readonly Node[]
  readonly #scout: CommandLink
  readonly #nodes = new Map<string, NodeLinks>()
  readonly #detours = new Map<number, Detour>()
  readonly #redirections = new WeakMap<Source, number>()
  readonly #id: string
  #map = new SlotMap()
  #epoch = 0
  /** Answers in a row with an older epoch. */
  #older = 0
  #home: NodeLinks | undefined
  /** What the home before has delivered cannot come again. */
  #isHomeClear = false
  #isFirstHome = true
  #serial = 0
  #timer: Timer | undefined
  #askedMs: number | undefined
  #refreshedMs: number | undefined
  #hurry: Timer | undefined
  #scoutIndex = 0
  #problem: string | undefined = 'upstream: the cluster has not been reached yet'

  constructor(parts: UpstreamParts, isTls: boolean, seeds: readonly Node[]) {
    super(parts, isTls, true)
    this.#seeds = seeds
    this.#id = String(parts.random())
    const links = {
      ...this.linkHost,
      // Replicas know the map as well.
      problemOf: (facts: NodeFacts) => this.problemOf(facts),
      ended: () => {},
    }
    this.#scout = new CommandLink(links, {
      up: () => this.#refresh(),
      down: () => (this.#askedMs = undefined),
    })
  }

  protected ownerOf(key: string): NodeLinks | undefined {
    return this.#ownerOf(keySlot(key))
  }

  protected get nodes(): Iterable<NodeLinks> {
    return this.#nodes.values()
  }

  protected misplaced(line: string, from: Node): void {
    this.#hurryUp()
    const moved = readRedirection('MOVED', line, from)
    if (moved !== undefined) this.#learn(moved.slot, moved.node, this.#nodes.get(nodeText(from)))
  }

  protected send(
    space: PublishSpace,
    key: string,
    payload: Payload,
    done: (answer: PublishAnswer) => void,
  ): PublishAnswer | undefined {
    const slot = keySlot(key)
    const detour = this.#detours.get(slot)
    if (detour !== undefined) {
      const bytes = Buffer.allocUnsafeSlow(payload.length)
      payload.copy(bytes, 0)
      const kept = payloadOf(bytes)
      detour.queue.push(() => {
        const answer = this.publish(space, key, kept, done)
        if (answer !== undefined) done(answer)
      })
      return undefined
    }
    const owner = this.#ownerOf(slot)
    return owner === undefined ? NOT_PUBLISHED : owner.publish(space, key, payload, done)
  }

  protected sendAll(
    messages: readonly OutgoingMessage[],
    done: (answers: readonly PublishAnswer[]) => void,
  ): readonly PublishAnswer[] | undefined {
    const answers: PublishAnswer[] = messages.map(() => NOT_PUBLISHED)
    const groups = new Map<NodeLinks, number[]>()
    for (const [index, { key }] of messages.entries()) {
      const owner = this.#ownerOf(keySlot(key))
      if (owner === undefined) continue
      const group = groups.get(owner)
      if (group) group.push(index)
      else groups.set(owner, [index])
    }
    let missing = 0
    for (const [owner, indexes] of groups) {
      const take = (results: readonly PublishAnswer[]): void => {
        for (const [at, index] of indexes.entries()) answers[index] = results[at] ?? NOT_PUBLISHED
      }
      const own = indexes.map((index) => messages[index] as OutgoingMessage)
      const atOnce = owner.publishAll(own, (results) => {
        take(results)
        if (--missing === 0) done(answers)
      })
      if (atOnce === undefined) missing++
      else take(atOnce)
    }
    return missing === 0 ? answers : undefined
  }

  protected get topologyProblems(): readonly string[] {
    if (this.#problem !== undefined) return [this.#problem]
    return this.problemsOf(this.#nodes.values())
  }

  protected get topologyLinks(): readonly LinkState[] {
    return [...this.#nodes.values()].flatMap(({ states }) => states)
  }

  start(): void {
    this.#timer = this.parts.clock.every(REFRESH_MS, () => this.#tick())
    this.#scout.link.connectTo(this.#seeds[0])
  }

  override stop(): Promise<void> {
    this.#timer?.cancel()
    this.#hurry?.cancel()
    this.#scout.link.stop()
    for (const node of this.#nodes.values()) node.stop()
    return super.stop()
  }

  protected problemOf({ mode, node }: NodeFacts): string | undefined {
    return mode === 'cluster'
      ? undefined
      : `upstream: ${nodeText(node)} is no node of a cluster: write redis:// or redis+sentinel:// before it`
  }

  #ownerOf(slot: number): NodeLinks | undefined {
    const node = this.#map.ownerOf(slot)
    return node === undefined ? undefined : this.#nodes.get(nodeText(node))
  }

  /** The link that a source belongs on. */
  protected linkOf({ space, name }: Source): SubscriberLink | undefined {
    if (space === 'shard') return this.#ownerOf(keySlot(name))?.subscriber
    return this.#isHomeClear ? this.#home?.subscriber : undefined
  }

  /** The node for global names: the first that is there, in an order of this gateway's own. */
  #chooseHome(): void {
    if (this.#home?.subscriber.link.isUp === true) return
    const ranked = [...this.#nodes.entries()]
      .filter(([, { subscriber }]) => subscriber.link.isUp)
      .map(([address, links]) => ({ links, rank: rankOf(this.#id, address) }))
      .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    const home = ranked[0]?.links
    this.#home?.endRinse()
    this.#home = home
    this.#isHomeClear = this.#isFirstHome
    if (home === undefined || this.#isFirstHome) {
      if (home !== undefined) this.#isFirstHome = false
      return
    }
    // What was published before now reaches every node on its own way, and may have come from the home before.
    const all = [...this.#nodes.values()]
    const others = all.filter(({ command }) => command.link.isUp)
    const isAny = others.length < all.length
    home.rinse(others, isAny ? LEAST_RINSE_MS : 0, () => {
      if (this.#home !== home) return
      this.#isHomeClear = true
      this.interest.linkFound(home.subscriber)
    })
  }

  #tick(): void {
    const { clock } = this.parts
    const nowMs = clock.monotonicMs()
    const sinceMs = this.#refreshedMs ?? this.#scout.link.state.sinceMs
    const isLate = this.#askedMs !== undefined && nowMs - this.#askedMs > SCOUT_MS
    if (isLate || (!this.#scout.link.isUp && nowMs - sinceMs > SCOUT_MS)) this.#scoutElsewhere()
    else this.#refresh()
    const { uncovered } = this.#map
    if (uncovered > 0 && this.#nodes.size > 0) {
      this.#problem = `upstream: ${uncovered} slots of the cluster have no owner`
    }
  }

  /** Asks another node for the map: one that is known, or a seed. */
  #scoutElsewhere(): void {
    const known = [...this.#map.masters().values(), ...this.#seeds]
    this.#refreshedMs = this.parts.clock.monotonicMs()
    this.#askedMs = undefined
    this.#scoutIndex++
    const problem = this.#scout.link.problem
    if (this.#nodes.size === 0 && problem !== undefined) this.#problem = problem
    this.#scout.link.connectTo(known[this.#scoutIndex % known.length])
  }

  /** The map seems wrong: it is asked for now. */
  #hurryUp(): void {
    if (this.#hurry !== undefined) return
    this.#hurry = this.parts.clock.after(HURRY_MS, () => {
      this.#hurry = undefined
      this.#refresh()
    })
  }

  #refresh(): void {
    const { link } = this.#scout
    const { node } = link
    if (!link.isUp || node === undefined || this.#askedMs !== undefined) return
    this.#askedMs = this.parts.clock.monotonicMs()
    let info = ''
    this.#scout.ask(
      onAnswer((value) => void (info = textOf(value))),
      'CLUSTER',
      'INFO',
    )
    this.#scout.ask(
      onAnswer((value) => this.#refreshed(node, info, value)),
      'CLUSTER',
      'SLOTS',
    )
  }

  #refreshed(asked: Node, info: string, value: RespValue): void {
    this.#askedMs = undefined
    this.#refreshedMs = this.parts.clock.monotonicMs()
    if (isError(value)) {
      this.#problem = `upstream-user: ${nodeText(asked)} refuses CLUSTER SLOTS (${value.message}): give this user +cluster|slots and +cluster|info`
      return
    }
    const fields = new Map(info.split('\r\n').map((line) => line.split(':', 2) as [string, string]))
    const epoch = Number(fields.get('cluster_current_epoch') ?? 0)
    const isOk = fields.get('cluster_state') === 'ok'
    // A node that was cut off knows an older map. If all do, the cluster has been made anew.
    if (isOk && epoch < this.#epoch && ++this.#older > MOST_OLDER) this.#epoch = epoch
    if (!isOk || epoch < this.#epoch) {
      if (this.#nodes.size === 0 || !isOk) {
        this.#problem = `upstream: ${nodeText(asked)} says that the cluster is down`
      }
      this.#scoutElsewhere()
      return
    }
    const map = readSlots(value, asked)
    if (map === undefined) {
      this.#problem = `upstream: ${nodeText(asked)} knows no slots: the cluster has not been made yet`
      return
    }
    this.#epoch = epoch
    this.#older = 0
    this.#problem = undefined
    this.#adopt(map)
  }

  /** Puts a map in force: links to new masters are made, links to others end. */
  #adopt(map: SlotMap): void {
    if (map.equals(this.#map)) return
    for (const links of this.#nodes.values()) {
      this.#detour(links, (slot) => !isSameNode(map.ownerOf(slot), links.node))
    }
    this.#map = map
    const masters = map.masters()
    for (const [address, links] of this.#nodes) {
      if (masters.has(address)) continue
      this.#nodes.delete(address)
      links.stop()
    }
    for (const node of masters.values()) this.#nodeAt(node)
    this.control?.follow()
    this.#moveSources()
  }

  #nodeAt(node: Node): NodeLinks {
    const address = nodeText(node)
    const known = this.#nodes.get(address)
    if (known) return known
    const links = new NodeLinks(
      this.nodeHost({
        subscriberUp: ({ subscriber }) => {
          this.#chooseHome()
          this.interest.linkFound(subscriber)
        },
        subscriberDown: (own, cause, provenMs, lost) =>
          this.#subscriberDown(own, cause, provenMs, lost),
        lost: (source, own) => {
          this.#beginGaps('moved', own.provenMs, [source])
          this.interest.sourceLost(source)
          this.#hurryUp()
        },
        redirected: (flight, line, own) => this.#redirected(flight, line, own),
        misplaced: (source, line, own) => this.#misplaced(source, line, own),
        isCluster: true,
      }),
      ['shard'],
      this.#serial++,
    )
    this.#nodes.set(address, links)
    links.connectTo(node)
    return links
  }

  #subscriberDown(
    links: NodeLinks,
    cause: DownCause,
    provenMs: number,
    lost: readonly Source[],
  ): void {
    this.#beginGaps(cause, provenMs, lost)
    this.#hurryUp()
    if (links !== this.#home) return
    this.#home = undefined
    // Any other node carries global names as well.
    this.#chooseHome()
  }

  /** Sources whose slot has moved without a word. */
  #moveSources(): void {
    const { interest } = this
    for (const source of interest.sources()) {
      if (source.space !== 'shard' || source.state !== 'out' || source.link !== undefined) continue
      if (this.linkOf(source) !== undefined) interest.retry(source)
    }
  }

  #beginGaps(cause: string, provenMs: number, lost: readonly Source[]): void {
    const { gaps } = this
    if (lost.length > MOST_NAMED) {
      gaps.begin(cause, provenMs, lost, this.holders(), undefined)
      return
    }
    for (const source of lost) {
      for (const [name, holders] of this.holdersByName(source)) {
        gaps.begin(cause, provenMs, [source], holders, name)
      }
    }
  }

  #misplaced(source: Source, line: string, from: NodeLinks): void {
    const { interest } = this
    const moved = readRedirection('MOVED', line, from.node)
    this.#hurryUp()
    const redirections = (this.#redirections.get(source) ?? 0) + 1
    this.#redirections.set(source, redirections)
    if (moved === undefined || redirections > MOST_REDIRECTIONS) {
      this.#redirections.delete(source)
      source.link = undefined
      interest.retryLater(source)
      return
    }
    this.#learn(moved.slot, moved.node, from)
    interest.retry(source)
  }

  /** A slot belongs to another node than the map says. */
  #learn(slot: number, node: Node, from: NodeLinks | undefined): void {
    const owner = this.#nodeAt(node)
    if (this.#ownerOf(slot) === owner) return
    this.#map.set(slot, node)
    if (from !== undefined) this.#detour(from, (other) => other === slot)
    this.control?.follow()
  }

  /** Has publishes to slots that leave a node wait until what was sent there before has been answered, or sent on. */
  #detour(from: NodeLinks, leaves: (slot: number) => boolean): void {
    for (const flight of from.inFlight()) {
      const slot = keySlot(flight.key)
      if (!leaves(slot)) continue
      const detour = this.#detours.get(slot) ?? { left: 0, queue: [] }
      detour.left++
      this.#detours.set(slot, detour)
      flight.onEnd(() => this.#detourShorter(slot))
    }
  }

  #redirected(flight: Flight, line: string, from: NodeLinks): boolean {
    const moved = readRedirection('MOVED', line, from.node)
    if (moved === undefined) return false
    this.#hurryUp()
    this.#learn(moved.slot, moved.node, from)
    const owner = this.#ownerOf(moved.slot)
    if (owner === undefined || owner === from) return false
    owner.takeOver(flight)
    return true
  }

  #detourShorter(slot: number): void {
    const detour = this.#detours.get(slot)
    if (detour === undefined || --detour.left > 0) return
    this.#detours.delete(slot)
    for (const publish of detour.queue) publish()
  }
}

/** The place of a node in the order of one gateway: rendezvous hashing. */
function rankOf(gateway: string, address: string): string {
  return createHash('sha256').update(`${gateway} ${address}`).digest('hex')
}
