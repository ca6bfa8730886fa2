import { isError, isTagged, type RespValue } from '../../shared/resp/types.ts'
import type { Clock, Timer } from '../clock.ts'
import { shown, type PeerLog } from '../log.ts'
import { payloadOf, type Payload } from '../delivery/segment.ts'
import type { PublishSpace, Registry } from '../pubsub/registry.ts'
import type { Space } from '../pubsub/subscriber.ts'
import type { LinkState, OutgoingMessage, PublishAnswer } from './backplane.ts'
import { adviceOnOutputLimit } from './advice.ts'
import { CommandLink, onAnswer, type Reply } from './link/command-link.ts'
import { Flight, type FlightOwner } from './flight.ts'
import { Flights } from './flights.ts'
import type { Interest } from './interest.ts'
import type { ReadPayload } from './link/link-reader.ts'
import { textOf, type DownCause, type LinkHost, type NodeFacts } from './link/link.ts'
import { nodeText, type Node } from './node.ts'
import { MARK, Rinse } from './rinse.ts'
import { Cover, Source } from './link/source.ts'
import { SubscriberLink } from './link/subscriber-link.ts'
import type { UpstreamLine } from './upstream-line.ts'

/** Names that only gateways use begin so. */
export const RESERVED_PREFIX = '{respcast:'

/** The answers where no number can be given. */
export const NOT_PUBLISHED = 'TRYAGAIN not published'
export const UNKNOWN = 'TRYAGAIN unknown whether published'
const REFUSED = 'ERR the upstream does not allow this gateway to publish there'

/** A beacon is sent so often, in ms; without one for {@link SILENT_MS} a link is cut. */
const BEACON_MS = 1_000
const SILENT_MS = 3_000
/** Longest time that a command link may owe a reply, in ms. */
const REPLY_MS = 5_000

/** What all nodes of an upstream count together. */
export interface Traffic {
  inFlightBytes: number
  publishes: number
  publishSeconds: number
  beaconSeconds: number
  unwantedBytes: number
}

/** Everything that the links to one node depend on. */
export interface NodeHost {
  readonly clock: Clock
  readonly links: LinkHost
  /** For lines that a client can cause. */
  readonly peerLog: PeerLog
  readonly registry: Registry
  readonly interest: Interest
  readonly traffic: Traffic
  /** Names the beacons of this gateway: unique among all gateways. */
  readonly gatewayId: string
  /** Called when bytes have left {@link Traffic.inFlightBytes}. */
  readonly landed: () => void
  /** The subscriber link is up, and its sources are out. */
  readonly subscriberUp: (links: NodeLinks) => void
  /**
   * The subscriber link has ended.
   *
   * @param provenMs Monotonic milliseconds until which nothing was lost.
   * @param lost Its sources that were in force.
   */
  readonly subscriberDown: (
    links: NodeLinks,
    cause: DownCause,
    provenMs: number,
    lost: readonly Source[],
  ) => void
  /** A source is in force again, or will not be. */
  readonly settled: (source: Source) => void
  /** The node refuses a source, for good as it seems. */
  readonly refused: (source: Source) => void
  /** A source has gone out by itself. */
  readonly lost: (source: Source, links: NodeLinks) => void
  /** The node sends a publish elsewhere: MOVED. @returns False if nobody takes it over. */
  readonly redirected: (flight: Flight, line: string, links: NodeLinks) => boolean
  /** The node does not take a source now, which may belong elsewhere: MOVED, CLUSTERDOWN. */
  readonly misplaced: (source: Source, line: string, links: NodeLinks) => void
  /** It is asked each second whether the cluster is up. */
  readonly isCluster: boolean
  /** The place of the control plane, whose channels come before all other names. */
  readonly control: UpstreamLine | undefined
}

/**
 * The two connections to one node of the upstream: messages come on one, and publishes leave on the other. A subscriber that the
 * upstream ends for its output limit must not take publishes along.
 *
 * A numbered beacon goes out on the command link each second, and comes back on the subscriber link. It proves that both end at
 * one node, that nothing was left out, and that everything published before it has come.
 */
export class NodeLinks {
  readonly subscriber: SubscriberLink
  readonly command: CommandLink
  readonly #host: NodeHost
  readonly #flights = new Flights()
  readonly #beaconName: string
  readonly #timer: Timer
  /** The channel of the beacons, as a source: nothing else is known by its name. */
  readonly #beaconSource: Source
  #beacon = 0
  /** The last beacon that came on this subscriber link; undefined before the first. */
  #lastBeacon: number | undefined
  #beaconMs = 0
  /** Since when nothing is taken from the subscriber link; monotonic milliseconds. */
  #pausedMs: number | undefined
  /** So long it was paused since something was heard: that is no silence. */
  #pauseMs = 0
  /** When each beacon that has not come was sent; monotonic milliseconds. */
  readonly #sentMs = new Map<number, number>()
  /**
   * Everything that was published before this moment, in monotonic milliseconds, has come if it was to come: it is when the newest
   * beacon that has come was sent. The time at which bytes are read proves nothing: they may have waited anywhere.
   */
  #provenMs = 0
  #upMs = 0
  #askedMs: number | undefined
  #isBeaconDue = false
  /** See {@link #turnMs}; undefined before its first use in a turn. */
  #nowMs: number | undefined
  #rinse: Rinse | undefined
  #rinses = 0
  /** The advice that the log has. */
  #advice: string | undefined
  /** Refusals that keep this from working, by what was refused, each until that is granted: sentences. */
  readonly #refusals = new Map<string, string>()
  /** Sources that are needed, and that the node refuses. */
  readonly #refusedSources = new Set<Source>()
  /** The first beacon of this command link. */
  #firstBeacon = 1
  /** Beacons that the node has refused: they will not come back. */
  readonly #refusedBeacons = new Set<number>()
  /** Monotonic milliseconds at which the node was asked when it last said that it is the master. */
  #masterMs = 0
  /** Spaces whose publishes are told apart when they come back, so that PUBLISH counts exactly. */
  readonly #tracked: readonly PublishSpace[]
  /** Takes the replies to publishes outside of transactions. */
  readonly #single: FlightOwner = {
    answered: (flight, value) => this.#count(flight, value),
    lost: (flight, wasSent) => flight.fail(wasSent ? UNKNOWN : NOT_PUBLISHED),
    ended: (flight, answer) => this.#ended(flight, answer),
  }

  /** @param serial Unique among the nodes of this gateway. */
  constructor(host: NodeHost, tracked: readonly PublishSpace[], serial = 0) {
    this.#host = host
    this.#tracked = tracked
    this.#beaconName = `${RESERVED_PREFIX}${host.gatewayId}:${serial}}:beacon`
    this.#beaconSource = new Source('channel', this.#beaconName)
    this.#beaconSource.isOccupied = true
    this.subscriber = new SubscriberLink(host.links, {
      up: () => this.#subscriberUp(),
      down: (cause) => this.#subscriberDown(cause),
      message: (space, source, channel, payload) => this.#message(space, source, channel, payload),
      beforeRead: host.control === undefined ? undefined : () => host.control?.beforeRead(),
      find: (space, name) =>
        name === this.#beaconName
          ? this.#beaconSource
          : (host.control?.find(space, name, this.subscriber) ?? host.interest.find(space, name)),
      confirmed: (source) => {
        this.#accepted(source)
        if (source === this.#beaconSource) {
          this.#beaconSoon()
          this.#rinse?.begin()
          return
        }
        if (host.control?.has(source) === true) {
          host.control.confirmed()
          return
        }
        host.interest.confirmed(source)
        host.settled(source)
      },
      left: (source) => host.interest.dropped(source),
      lost: (source) => {
        if (source === this.#beaconSource) this.subscriber.update(source)
        else if (host.control?.has(source) === true) host.control.lost()
        else host.lost(source, this)
      },
      refused: (source, line) => this.#refused(source, line),
      dropped: (source) => {
        this.#accepted(source)
        host.interest.dropped(source)
      },
      changing: (sources) => this.#changing(sources),
      reply: (value) => {
        if (isError(value)) this.#refuse('subscribe', value.message)
      },
    })
    this.command = new CommandLink(host.links, {
      up: (facts) => this.#commandUp(facts),
      down: () => this.#commandDown(),
    })
    this.#timer = host.clock.every(BEACON_MS, () => this.#tick())
    if (host.control?.isPaused === true) this.pause()
  }

  get node(): Node | undefined {
    return this.command.link.node
  }

  /** See {@link NodeHost.subscriberDown}. */
  get provenMs(): number {
    return this.#provenMs
  }

  /** One sentence for each reason why messages do not come and go. */
  get problems(): string[] {
    const problems = [this.command.link.problem, this.subscriber.link.problem]
    problems.push(...this.#refusals.values())
    const { link } = this.subscriber
    if (link.isUp && this.command.link.isUp) {
      if (this.#lastBeacon === undefined) problems.push('upstream: no beacon has come back yet')
      else if (this.#silentMs() > SILENT_MS - BEACON_MS) {
        problems.push(`upstream: ${this.#text()} is silent`)
      }
    }
    return [...new Set(problems.filter((problem) => problem !== undefined))]
  }

  get states(): LinkState[] {
    return [this.subscriber.link.state, this.command.link.state]
  }

  /** Connects to a node, or to none. */
  connectTo(node: Node | undefined): void {
    this.command.link.connectTo(node)
    this.subscriber.link.connectTo(node)
  }

  /** The node is not the right one any more: both links are cut, and made again. */
  #leave(problem: string): void {
    this.#host.control?.leave(this, problem)
    this.command.link.cut('authority', problem)
    this.subscriber.link.cut('authority', problem)
  }

  /** Takes no message until {@link resume}. */
  pause(): void {
    this.#pausedMs ??= this.#host.clock.monotonicMs()
    this.subscriber.link.pause()
  }

  resume(): void {
    this.#pauseMs += this.#pausingMs(this.#heardMs)
    this.#pausedMs = undefined
    this.subscriber.link.resume()
  }

  /** Milliseconds for which it has been paused now, from a moment on. */
  #pausingMs(fromMs: number): number {
    if (this.#pausedMs === undefined) return 0
    return this.#host.clock.monotonicMs() - Math.max(this.#pausedMs, fromMs)
  }

  /** When something proved that messages come, or was the reason why nothing has to. */
  get #heardMs(): number {
    return Math.max(this.#lastBeacon === undefined ? 0 : this.#beaconMs, this.#upMs)
  }

  /** Milliseconds since {@link #heardMs}, pauses left out. */
  #silentMs(): number {
    const heardMs = this.#heardMs
    return this.#host.clock.monotonicMs() - heardMs - this.#pauseMs - this.#pausingMs(heardMs)
  }

  #heard(nowMs: number): void {
    this.#upMs = nowMs
    this.#pauseMs = 0
  }

  /**
   * Waits until everything that was published through these nodes before has passed by here: the bus of a cluster keeps the order
   * of each node. A mark goes out at each, and comes back on this subscriber link.
   *
   * @param others Nodes that can publish.
   * @param leastMs Longer, at least, where other nodes cannot be asked.
   */
  rinse(others: readonly NodeLinks[], leastMs: number, done: () => void): void {
    this.#rinse?.cancel()
    const rinse = new Rinse(this.#host.clock, this.#rinses++, leastMs, done, (mark) => {
      for (const [at, { command }] of others.entries()) {
        command.ask(UNHEARD, 'PUBLISH', this.#beaconName, `${mark}${at}`)
      }
      return others.length
    })
    this.#rinse = rinse
    if (this.#beaconSource.state === 'in') rinse.begin()
  }

  /** It waits for nothing any more: other links take the names. */
  endRinse(): void {
    this.#rinse?.cancel()
    this.#rinse = undefined
  }

  stop(): void {
    this.endRinse()
    this.#timer.cancel()
    this.command.link.stop()
    this.subscriber.link.stop()
  }

  /** See `Backplane.publish`. */
  publish(
    space: PublishSpace,
    key: string,
    payload: Payload,
    done: (answer: PublishAnswer) => void,
  ): PublishAnswer | undefined {
    if (!this.command.link.isUp) return NOT_PUBLISHED
    this.#send(space, key, payload, this.#single, done)
    return undefined
  }

  /** See `Backplane.publishAll`: MULTI and EXEC. */
  publishAll(
    messages: readonly OutgoingMessage[],
    done: (answers: readonly PublishAnswer[]) => void,
  ): readonly PublishAnswer[] | undefined {
    if (!this.command.link.isUp) return messages.map(() => NOT_PUBLISHED)
    const answers: PublishAnswer[] = []
    const flights: Flight[] = []
    const refusals = new Map<Flight, string>()
    const counts = new Map<Flight, number>()
    let missing = messages.length
    // To each message the node replies QUEUED, or why it does not take it.
    const queued: FlightOwner = {
      answered: (flight, value) => {
        if (isError(value)) refusals.set(flight, value.message)
        // MULTI was refused, and the message has been published by itself.
        else if (typeof value === 'number') counts.set(flight, value)
      },
      lost: () => {},
      ended: (flight) => this.#ended(flight),
    }
    this.command.ask(
      onAnswer((value) => this.#judge('multi', value)),
      'MULTI',
    )
    for (const [index, { space, key, payload }] of messages.entries()) {
      const land = (answer: PublishAnswer): void => {
        answers[index] = answer
        if (--missing === 0) done(answers)
      }
      flights.push(this.#send(space, key, payload, queued, land))
    }
    const all: Reply = {
      answered: (value) => {
        const results = Array.isArray(value) ? (value as readonly RespValue[]) : []
        for (const [index, flight] of flights.entries()) {
          const refusal = refusals.get(flight)
          if (refusal !== undefined) flight.fail(this.#refusalOf(refusal))
          else this.#count(flight, results[index] ?? counts.get(flight))
        }
      },
      lost: (wasSent) => {
        for (const flight of flights) flight.fail(wasSent ? UNKNOWN : NOT_PUBLISHED)
      },
    }
    this.command.ask(all, 'EXEC')
    return undefined
  }

  #send(
    space: PublishSpace,
    key: string,
    payload: Payload,
    owner: FlightOwner,
    done: (answer: PublishAnswer) => void,
  ): Flight {
    const { traffic } = this.#host
    const isTracked = this.#tracked.includes(space)
    const sources = isTracked ? this.#sourcesOf(space, key) : NOWHERE
    const sentMs = this.#turnMs()
    // Other commands follow within a transaction: what it meets is known only when a beacon has come behind it.
    const isBehind = isTracked && owner !== this.#single && this.subscriber.link.isUp
    const isUncertain = sources.isUncertain || isBehind
    const { expected } = sources
    const sent = this.command.publish(space, key, payload)
    const facts = { bytes: sent.bytes, sentMs, expected, isUncertain, beacon: this.#beacon + 1 }
    const flight = new Flight(owner, { space, key, payload: sent }, facts, done)
    this.command.expect(flight)
    traffic.inFlightBytes += sent.bytes
    if (flight.mayReturn) this.#flights.add(flight)
    if (isUncertain) this.#beaconSoon()
    return flight
  }

  #ended(flight: Flight, answer?: PublishAnswer): void {
    const { traffic } = this.#host
    traffic.inFlightBytes -= flight.bytes
    this.#flights.forget(flight)
    if (typeof answer === 'number') {
      traffic.publishes++
      traffic.publishSeconds += (this.#turnMs() - flight.sentMs) / 1_000
    }
    this.#host.landed()
  }

  /** When this turn first sent or ended a publish, in monotonic milliseconds: reading the clock for each costs more than it tells. */
  #turnMs(): number {
    if (this.#nowMs !== undefined) return this.#nowMs
    const { clock, links } = this.#host
    links.atEndOfTurn(() => (this.#nowMs = undefined))
    return (this.#nowMs = clock.monotonicMs())
  }

  /** The sources by which a message to this channel comes back. */
  #sourcesOf(space: PublishSpace, key: string): { expected: number; isUncertain: boolean } {
    const { interest } = this.#host
    const own = interest.find(space, key)
    const hasCovers = space === 'channel' && interest.hasCovers
    if (own === undefined && !hasCovers) return NOWHERE
    let expected = 0
    let isUncertain = false
    const add = ({ state, link }: Source): void => {
      if (state === 'out' || link !== this.subscriber) return
      if (state === 'in') expected++
      else isUncertain = true
    }
    if (own !== undefined) add(own)
    if (hasCovers) for (const cover of interest.coversOf(key)) add(cover)
    return { expected, isUncertain }
  }

  /** Takes the number that the node has answered. */
  #count(flight: Flight, value: RespValue | undefined): void {
    if (typeof value === 'number') {
      flight.counted(value)
    } else if (value === undefined || !isError(value)) {
      flight.fail(NOT_PUBLISHED)
    } else if (
      !value.message.startsWith('MOVED ') ||
      !this.#host.redirected(flight, value.message, this)
    ) {
      flight.fail(this.#refusalOf(value.message))
    }
  }

  /** Publishes that the node has not answered, in order. */
  *inFlight(): IterableIterator<Flight> {
    for (const reply of this.command.missing())
      if (reply instanceof Flight && !reply.isOver) yield reply
  }

  /** Publishes anew what another node has sent here, and has it answered. */
  takeOver(flight: Flight): void {
    const end = (answer: PublishAnswer): void => flight.fail(answer)
    const atOnce = this.publish(flight.space, flight.key, payloadOf(flight.payload), end)
    if (atOnce !== undefined) end(atOnce)
  }

  #refusalOf(line: string): PublishAnswer {
    if (!line.startsWith('NOPERM')) return NOT_PUBLISHED
    this.#host.peerLog.write('upstreamRefusesPublish', () => ({ reply: line }))
    return REFUSED
  }

  /** Sources are about to be subscribed to, or left: publishes that are on their way may meet them or not. */
  #changing(sources: readonly Source[]): void {
    let isAny = false
    // Hundreds of names, and maybe thousands of publishes: only covers are compared with each.
    const covers = sources.filter((source) => source instanceof Cover)
    const names = new Set(sources.map(({ space, name }) => `${space} ${name}`))
    for (const flight of this.inFlight()) {
      const { space, key } = flight
      if (flight.isUncertain || !this.#tracked.includes(space)) continue
      const isMet =
        names.has(`${space} ${key}`) ||
        (space === 'channel' && covers.some((cover) => cover.matches(key)))
      if (!isMet) continue
      flight.isUncertain = true
      this.#flights.add(flight)
      isAny = true
    }
    if (isAny) this.#beaconSoon()
  }

  #message(space: Space, name: string, channel: string, payload: ReadPayload): void {
    if (channel.startsWith(RESERVED_PREFIX)) {
      if (space === 'channel' && channel === this.#beaconName) this.#ownCame(payload)
      else this.#host.control?.message(space, channel, payload, this.subscriber)
      return
    }
    const { registry, interest, traffic } = this.#host
    const found = interest.find(space, name)
    // A source that has moved on gets its messages elsewhere.
    const source = found?.link === this.subscriber ? found : undefined
    let deliveries = 0
    if (source !== undefined && space === 'pattern') {
      deliveries = registry.publishToPatterns(channel, payload, (pattern) =>
        interest.isUnder(pattern, source),
      )
    } else if (source !== undefined && space !== 'pattern') {
      deliveries = registry.publishToChannel(space, channel, payload)
    }
    if (deliveries === 0) traffic.unwantedBytes += payload.length
    if (source === undefined) return
    this.#flights.meet(
      space === 'shard' ? 'shard' : 'channel',
      channel,
      source,
      payload,
      deliveries,
    )
  }

  #subscriberUp(): void {
    this.#lastBeacon = undefined
    this.#heard(this.#host.clock.monotonicMs())
    this.#provenMs = this.#upMs
    this.#sentMs.clear()
    this.#refusals.delete('subscribe')
    this.#refusedSources.clear()
    this.command.link.hurry()
    this.#host.control?.subscriberUp(this)
    this.subscriber.update(this.#beaconSource)
    this.#host.subscriberUp(this)
  }

  #subscriberDown(cause: DownCause): void {
    this.#beaconSource.state = 'out'
    this.#host.control?.subscriberDown(this)
    const lost = this.#host.interest.linkLost(this.subscriber)
    this.#flights.linkLost()
    // A replica goes on sending what is published to it, and to it alone.
    const provenMs =
      cause === 'authority' ? Math.min(this.#provenMs, this.#masterMs) : this.#provenMs
    this.#host.subscriberDown(this, cause, provenMs, lost)
  }

  #commandUp(facts: NodeFacts): void {
    this.#askedMs = undefined
    // Beacons that went out on the link before may have been lost with it.
    this.#lastBeacon = undefined
    this.#firstBeacon = this.#beacon + 1
    this.#refusedBeacons.clear()
    this.#heard(this.#host.clock.monotonicMs())
    this.#masterMs = this.#upMs
    this.subscriber.link.hurry()
    this.#beaconSoon()
    this.#adviseOnce(facts)
  }

  /** Reads the setting that costs gateways their links. Whoever may not read it is not told. */
  #adviseOnce({ node }: NodeFacts): void {
    const advise = (value: RespValue): void => {
      const advice = adviceOnOutputLimit(value)
      if (advice === undefined || advice === this.#advice) return
      this.#advice = advice
      this.#host.links.log.warn({ node: nodeText(node) }, advice)
    }
    this.command.ask(onAnswer(advise), 'CONFIG', 'GET', 'client-output-buffer-limit')
  }

  #commandDown(): void {
    this.#askedMs = undefined
  }

  #refused(source: Source, line: string): void {
    const { control } = this.#host
    const isBeacon = source === this.#beaconSource
    const isControl = control?.has(source) === true
    const isTransient = !isBeacon && TRANSIENT.test(line)
    if (isControl) control.refused(line, isTransient, this)
    else if (isTransient) this.#host.misplaced(source, line, this)
    if (isTransient) return
    this.#host.peerLog.write('upstreamRefusesSubscription', () => ({ reply: line }))
    if (!isBeacon && !isControl) this.#host.refused(source)
    if (!source.isNeeded) return
    this.#refusedSources.add(source)
    this.#refuse('subscribe', line)
  }

  /** A source is not refused any more, or nobody needs it. */
  #accepted(source: Source): void {
    if (!this.#refusedSources.delete(source) || this.#refusedSources.size > 0) return
    this.#refusals.delete('subscribe')
  }

  /** Notes whether a command was refused, or forgets that. */
  #judge(what: string, value: RespValue): void {
    if (isError(value)) this.#refuse(what, value.message)
    else this.#refusals.delete(what)
  }

  #refuse(what: string, line: string): void {
    const problem = this.#explain(line)
    if (this.#refusals.get(what) !== problem) this.#host.links.log.warn({ what }, problem)
    this.#refusals.set(what, problem)
  }

  #explain(line: string): string {
    if (!line.startsWith('NOPERM')) return `upstream: ${this.#text()} answers ${shown(line)}`

    return `upstream-user: ${this.#text()} refuses (${shown(line)}): give this user the commands and channels that docs/scaling.md lists`
  }

  #text(): string {
    return this.node === undefined ? 'the node' : nodeText(this.node)
  }

  #beaconSoon(): void {
    if (this.#isBeaconDue) return
    this.#isBeaconDue = true
    this.#host.links.atEndOfTurn(() => {
      this.#isBeaconDue = false
      this.#sendBeacon()
    })
  }

  /** Sends a beacon. Publishes before it in the stream are settled when it comes. */
  #sendBeacon(): void {
    if (!this.command.link.isUp || !this.subscriber.link.isUp) return
    const { clock } = this.#host
    this.#beacon++
    this.#sentMs.set(this.#beacon, clock.monotonicMs())
    const number = this.#beacon
    const reply = onAnswer((value) => {
      this.#judge('beacon', value)
      if (isError(value)) this.#refusedBeacons.add(number)
    })
    this.command.ask(reply, 'PUBLISH', this.#beaconName, String(number))
  }

  #ownCame(payload: ReadPayload): void {
    const text = payload.kept().toString('latin1')
    if (text.startsWith(MARK)) this.#rinse?.came(text)
    else this.#beaconCame(Number(text))
  }

  #beaconCame(number: number): void {
    const { clock, traffic, links } = this.#host
    // What the command link before has sent may come late, or never.
    if (number < this.#firstBeacon) return
    if (this.#lastBeacon !== undefined && this.#isHole(this.#lastBeacon + 1, number)) {
      links.log.warn({ expected: this.#lastBeacon + 1, number }, 'upstream: beacons are missing')
      this.subscriber.link.cut('silent', `upstream: ${this.#text()} left messages out`)
      return
    }
    this.#lastBeacon = number
    this.#beaconMs = clock.monotonicMs()
    this.#pauseMs = 0
    const sentMs = this.#sentMs.get(number)
    if (sentMs !== undefined) {
      this.#provenMs = sentMs
      traffic.beaconSeconds = (this.#beaconMs - sentMs) / 1_000
      for (const sent of this.#sentMs.keys()) if (sent <= number) this.#sentMs.delete(sent)
    }
    this.#flights.beaconCame(number)
    this.#host.interest.betweenMessages(this.subscriber)
  }

  /** Reports whether a beacon of this range should have come; those that were refused are forgotten. */
  #isHole(from: number, to: number): boolean {
    let isHole = false
    for (let number = from; number < to; number++) {
      if (!this.#refusedBeacons.delete(number)) isHole = true
    }
    return isHole
  }

  #tick(): void {
    const nowMs = this.#host.clock.monotonicMs()
    const { command, subscriber } = this
    if (command.link.isUp) {
      if (this.#askedMs !== undefined && nowMs - this.#askedMs > REPLY_MS) {
        command.link.cut('silent', `upstream: ${this.#text()} does not answer`)
      } else if (this.#askedMs === undefined) {
        this.#askedMs = nowMs
        command.ask(
          onAnswer((value) => this.#role(value)),
          'ROLE',
        )
        if (this.#host.isCluster) {
          command.ask(
            onAnswer((value) => this.#clusterInfo(value)),
            'CLUSTER',
            'INFO',
          )
        }
      }
    }
    if (!command.link.isUp || !subscriber.link.isUp) return
    if (this.#refusals.has('beacon') || this.#refusedSources.has(this.#beaconSource)) {
      // A beacon that is not allowed proves nothing when it does not come. It is tried again until it is.
      this.#heard(nowMs)
      if (this.#beaconSource.state === 'out') this.subscriber.update(this.#beaconSource)
    }
    // Without names a link has nothing to lose: the control plane may read for long before it admits any.
    const hasNames = this.#host.control?.allows(subscriber) !== false
    if (hasNames && this.#pausingMs(subscriber.link.state.sinceMs) > SILENT_MS) {
      subscriber.link.cut('silent', 'upstream: messages have waited too long for the control plane')
      return
    }
    if (this.#silentMs() > SILENT_MS) {
      subscriber.link.cut('silent', `upstream: no beacon comes back from ${this.#text()}`)
      return
    }
    this.#sendBeacon()
  }

  /** A master that the others do not reach goes on without them for a while, and then says that the cluster is down. */
  #clusterInfo(value: RespValue): void {
    if (isError(value) || textOf(value).includes('cluster_state:ok')) return
    this.#leave(`upstream: ${this.#text()} says that the cluster is down`)
  }

  #role(value: RespValue): void {
    const askedMs = this.#askedMs ?? this.#masterMs
    this.#askedMs = undefined
    this.#judge('role', value)
    if (isError(value)) return
    const role = Array.isArray(value) ? textOf((value as readonly RespValue[])[0]) : ''
    if (role === 'master') this.#masterMs = askedMs
    if (role === 'master' || isTagged(value)) return
    this.#leave(`upstream: ${this.#text()} is a replica now`)
  }
}

/** Refusals that end by themselves, or at another node. */
const TRANSIENT = /^(MOVED|ASK|CLUSTERDOWN|TRYAGAIN|LOADING|MASTERDOWN|BUSY)\b/

const UNHEARD = onAnswer(() => {})

const NOWHERE = { expected: 0, isUncertain: false }
