import { compileGlob, type Glob } from '../../shared/glob.ts'
import { keySlot } from '../../shared/key-slot.ts'
import {
  NATIVE,
  type History,
  type Message,
  type Moment,
  type Session,
  type SessionEvent,
  type Span,
} from './history.ts'
import { idOf, intervalsOf, shown, type Interval } from './intervals.ts'
import { contradiction } from './order.ts'

/** Clocks of two processes on one machine, and the milliseconds that a gap is rounded to. */
const CLOCK_MS = 5

/** After a client has gone, a publish may count it for so long. */
const FAREWELL_MS = 1_000

/** A broken promise. */
export interface Violation {
  /** `P1` to `P5`, or `RESP` for a stream that cannot be understood. */
  readonly promise: string
  readonly text: string
}

/** Result of {@link check}: what was broken, and how much was looked at. */
export interface Verdict {
  readonly violations: readonly Violation[]
  readonly figures: {
    /** Messages that were published for certain, and those of them whose fate the publisher does not know. */
    readonly published: number
    readonly unknown: number
    readonly notPublished: number
    readonly deliveries: number
    /** Messages that a subscriber missed within a gap, or at the end of its connection. */
    readonly missedInGaps: number
    readonly missedAtEnd: number
    /** Messages that were lost in the upstream itself during a fault: on the bus of a cluster, at an old master, or for its own clients. */
    readonly lostUpstream: number
    readonly gaps: number
    /** The longest gap that was told, in ms. */
    readonly longestGapMs: number
    /** Numbers that PUBLISH answered for which exactly one was right. */
    readonly exactNumbers: number
  }
}

/**
 * Holds what clients did and saw against the promises.
 *
 * - P1: nothing comes that nobody published, or that the publisher was told is not published; nothing comes twice
 * - P2: one order for everybody (in a cluster: for each channel), which agrees with publishers and with time; not for what is published
 *   and seen on a global channel while its slot goes to another owner
 * - P3: what is published after a confirmation arrives, or it was published within a gap that the subscriber is told of. Over TCP a
 *   gap is told by the end of the connection; where a WebSocket of the same gateway is told, both have to agree
 * - P4: the number that PUBLISH answers
 * - P5: a client's own message comes after the reply
 */
export function check(history: History): Verdict {
  const globs = new Globs()
  const violations: Violation[] = []
  const report = (promise: string, text: string): void => void violations.push({ promise, text })
  const intervals = history.sessions.flatMap((session) => intervalsOf(session, report))
  const sightings = sightingsOf(history.sessions)
  for (const message of history.messages) {
    if (message.outcome === 'not-published' && sightings.has(message))
      report('P1', `${idOf(message)} arrives, but its publisher was told that it is not published`)
  }
  checkPatterns(intervals, globs, report)
  checkOrder(history, sightings, report)
  const losses = checkLosses(history, intervals, sightings, globs, report)
  const exactNumbers = checkNumbers(history, intervals, sightings, globs, report)
  const gaps = history.sessions.flatMap(gapsOf)
  return {
    violations,
    figures: {
      published: history.messages.filter(({ outcome }) => outcome === 'published').length,
      unknown: history.messages.filter(({ outcome }) => outcome === 'unknown').length,
      notPublished: history.messages.filter(({ outcome }) => outcome === 'not-published').length,
      deliveries: [...sightings.values()].reduce((sum, { events }) => sum + events.length, 0),
      ...losses,
      gaps: gaps.length,
      longestGapMs: gaps.reduce((most, { fromMs, toMs }) => Math.max(most, toMs - fromMs), 0),
      exactNumbers,
    },
  }
}

/** Compiled patterns. */
class Globs {
  readonly #compiled = new Map<string, Glob>()

  matches(pattern: string, channel: string): boolean {
    return this.#glob(pattern).matches(channel)
  }

  /** Reports whether what a gateway subscribes to for a pattern, its literal head or less, brings a channel. */
  mayCover(pattern: string, channel: string): boolean {
    return channel.startsWith(this.#glob(pattern).literalHead)
  }

  #glob(pattern: string): Glob {
    let glob = this.#compiled.get(pattern)
    if (!glob) this.#compiled.set(pattern, (glob = compileGlob(pattern)))
    return glob
  }
}

type Reporter = (promise: string, text: string) => void

/** Who received a message. */
interface Sighting {
  readonly events: { readonly session: Session; readonly event: MessageEvent }[]
  first: Moment
}

type MessageEvent = Extract<SessionEvent, { readonly type: 'message' }>

type GapEvent = Extract<SessionEvent, { readonly type: 'gap' }>

function sightingsOf(sessions: readonly Session[]): Map<Message, Sighting> {
  const sightings = new Map<Message, Sighting>()
  for (const session of sessions) {
    for (const event of session.events) {
      if (event.type !== 'message' || !event.message) continue
      const sighting = sightings.get(event.message)
      if (!sighting) sightings.set(event.message, { events: [{ session, event }], first: event })
      else {
        sighting.events.push({ session, event })
        if (event.tick < sighting.first.tick) sighting.first = event
      }
    }
  }
  return sightings
}

function gapsOf({ events }: Session): GapEvent[] {
  return events.filter((event) => event.type === 'gap')
}

/** P1: a pattern brings only what it matches. */
function checkPatterns(intervals: readonly Interval[], globs: Globs, report: Reporter): void {
  for (const { session, kind, name, received } of intervals) {
    for (const message of received) {
      const isRight =
        kind === 'pattern' ? globs.matches(name, message.channel) : name === message.channel
      if (!isRight)
        report(
          'P1',
          `${session.name} gets ${idOf(message)} of ${shown(message.channel)} by ${shown(name)}`,
        )
    }
  }
}

/** P2. */
function checkOrder(
  history: History,
  sightings: ReadonlyMap<Message, Sighting>,
  report: Reporter,
): void {
  const isCluster = history.topology === 'cluster'
  // What the old owner took is on the bus beside what the new one takes, and a gateway cannot tell which is which.
  const isBetweenOwners = (message: Message): boolean => {
    if (message.space === 'shard' || history.replaced.length === 0) return false
    const slot = keySlot(message.channel)
    const sighting = sightings.get(message)
    const lastMs = sighting?.events.reduce((last, { event }) => Math.max(last, event.ms), 0) ?? 0
    const time = timeOf(message, sighting)
    return history.replaced.some(
      ({ slots, fromMs, toMs }) =>
        slots.has(slot) && time.fromMs <= toMs && time.toMs >= fromMs && lastMs <= toMs,
    )
  }
  const between = new Set(history.messages.filter(isBetweenOwners))
  // The bus keeps no order between what different nodes were told: natively published messages go to any of them.
  const counts = (message: Message): boolean =>
    !isCluster || message.space === 'shard' || (message.place !== NATIVE && !between.has(message))
  const groupOf = ({ space, channel }: Message): string => (isCluster ? `${space} ${channel}` : '')
  const groups = new Map<string, { messages: Message[]; sequences: Map<Session, Message[]> }>()
  const group = (message: Message) => {
    const name = groupOf(message)
    let found = groups.get(name)
    if (!found) groups.set(name, (found = { messages: [], sequences: new Map() }))
    return found
  }
  for (const message of history.messages) if (counts(message)) group(message).messages.push(message)
  for (const session of history.sessions) {
    for (const event of session.events) {
      if (event.type !== 'message' || !event.message || !counts(event.message)) continue
      const { sequences } = group(event.message)
      const seen = sequences.get(session)
      if (seen) seen.push(event.message)
      else sequences.set(session, [event.message])
    }
  }
  for (const { messages, sequences } of groups.values()) {
    const circle = contradiction(
      messages,
      [...sequences].map(([session, seen]) => ({ witness: session.name, messages: seen })),
    )
    if (circle !== undefined) report('P2', `no order: ${circle}`)
  }
}

/** The time within which a message was published, as far as it is known. */
function timeOf(message: Message, sighting: Sighting | undefined): Span {
  const answeredMs = message.outcome === 'published' ? message.answered?.ms : undefined
  const seenMs = sighting?.first.ms
  const toMs = Math.min(answeredMs ?? Number.POSITIVE_INFINITY, seenMs ?? Number.POSITIVE_INFINITY)
  return { fromMs: message.sent.ms, toMs }
}

/** Spans of time that are searched quickly. */
class Spans {
  readonly #spans: readonly Span[]
  /** The latest end of each span and those before it. */
  readonly #ends: Float64Array

  constructor(spans: readonly Span[]) {
    this.#spans = spans.toSorted((a, b) => a.fromMs - b.fromMs)
    this.#ends = new Float64Array(spans.length)
    let end = Number.NEGATIVE_INFINITY
    for (const [at, { toMs }] of this.#spans.entries()) this.#ends[at] = end = Math.max(end, toMs)
  }

  /** Reports whether one of them and another may have a moment in common. */
  overlap({ fromMs, toMs }: Span): boolean {
    let [low, high] = [0, this.#spans.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#spans[middle] as Span).fromMs <= toMs + CLOCK_MS) low = middle + 1
      else high = middle
    }
    return low > 0 && (this.#ends[low - 1] as number) >= fromMs - CLOCK_MS
  }
}

function distance(one: Span, other: Span): number {
  return Math.max(one.fromMs - other.toMs, other.fromMs - one.toMs)
}

/** P3. */
function checkLosses(
  history: History,
  intervals: readonly Interval[],
  sightings: ReadonlyMap<Message, Sighting>,
  globs: Globs,
  report: Reporter,
): Pick<Verdict['figures'], 'missedInGaps' | 'missedAtEnd' | 'lostUpstream'> {
  const figures = { missedInGaps: 0, missedAtEnd: 0, lostUpstream: 0 }
  const certain = history.messages.filter(
    (message) => message.outcome === 'published' || sightings.has(message),
  )
  const byChannel = new Map<string, Message[]>()
  for (const message of certain) {
    const name = `${message.space} ${message.channel}`
    const list = byChannel.get(name)
    if (list) list.push(message)
    else byChannel.set(name, [message])
  }
  const witnesses = new Map<string, GapEvent[]>()
  const watched = new Set<string>()
  const gapsBySession = new Map<Session, GapEvent[]>()
  for (const session of history.sessions) {
    const gaps = gapsOf(session)
    gapsBySession.set(session, gaps)
    if (session.transport !== 'websocket') continue
    watched.add(session.place)
    const known = witnesses.get(session.place) ?? []
    witnesses.set(session.place, known)
    for (const gap of gaps) known.push(gap)
  }
  const told = new Map([...witnesses].map(([place, gaps]) => [place, new Spans(gaps)]))
  const disturbed = new Spans(history.disturbed)
  for (const interval of intervals) {
    const { session, kind, name, joined, received } = interval
    if (!joined) continue
    const own = (gapsBySession.get(session) ?? []).filter(
      (gap) => gap.name === undefined || gap.name === name,
    )
    const ownSpans = new Spans(own)
    // In a cluster there is one order for each channel alone.
    const lineOf = ({ channel }: Message): string => (history.topology === 'cluster' ? channel : '')
    const latest = latestOf(interval, lineOf)
    const space = kind === 'shard' ? 'shard' : 'channel'
    const lists =
      kind === 'pattern'
        ? [...byChannel].flatMap(([channel, list]) =>
            channel.startsWith('channel ') && globs.matches(name, channel.slice(8)) ? [list] : [],
          )
        : [byChannel.get(`${space} ${name}`) ?? []]
    const until = interval.left?.tick ?? Number.POSITIVE_INFINITY
    for (const message of lists.flatMap((list) => sentWithin(list, joined.tick, until))) {
      if (received.has(message)) continue
      const time = timeOf(message, sightings.get(message))
      if (interval.leaving && !isFollowed(message, latest.get(lineOf(message)))) {
        figures.missedAtEnd++
        continue
      }
      if (ownSpans.overlap(time)) {
        figures.missedInGaps++
        continue
      }
      const isTold = session.transport === 'tcp' && isEndedByServer(session)
      const others = witnesses.get(session.place) ?? []
      if (
        isTold &&
        (!watched.has(session.place) || told.get(session.place)?.overlap(time) === true)
      ) {
        figures.missedInGaps++
        continue
      }
      const isOfUpstream =
        session.place === NATIVE ||
        (history.topology === 'cluster' && kind !== 'shard') ||
        // An old master takes messages of its own clients, and says nothing of the new one.
        (history.topology === 'sentinel' && message.place === NATIVE)
      if (isOfUpstream && disturbed.overlap(time)) {
        figures.lostUpstream++
        continue
      }
      const nearest = [...own, ...(isTold ? others : [])]
        .toSorted((one, other) => distance(one, time) - distance(other, time))
        .slice(0, 1)
        .map((gap) => `${gap.fromMs}-${gap.toMs}`)
      report(
        'P3',
        `${session.name} misses ${idOf(message)} of ${shown(name)}, published ${time.fromMs}-${time.toMs}; the nearest gap: ${nearest[0] ?? 'none'}`,
      )
    }
  }
  return figures
}

/** The messages of a list, which is in the order of sending, that are sent between two ticks. */
function sentWithin(list: readonly Message[], from: number, to: number): readonly Message[] {
  const firstFrom = (tick: number): number => {
    let [low, high] = [0, list.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((list[middle] as Message).sent.tick < tick) low = middle + 1
      else high = middle
    }
    return low
  }
  return list.slice(firstFrom(from), firstFrom(to))
}

/** The last that a subscription received of messages that have an order: by time, and by publisher. */
interface Latest {
  sentTick: number
  readonly numbers: Map<string, number>
}

function latestOf(
  { received }: Interval,
  lineOf: (message: Message) => string,
): ReadonlyMap<string, Latest> {
  const lines = new Map<string, Latest>()
  for (const message of received) {
    const { publisher, number, sent, outcome } = message
    const line = lineOf(message)
    let latest = lines.get(line)
    if (!latest) lines.set(line, (latest = { sentTick: -1, numbers: new Map() }))
    latest.sentTick = Math.max(latest.sentTick, sent.tick)
    if (outcome !== 'published') continue
    latest.numbers.set(publisher, Math.max(latest.numbers.get(publisher) ?? -1, number))
  }
  return lines
}

/** Reports whether a subscription received something that was published later for certain. */
function isFollowed(message: Message, latest: Latest | undefined): boolean {
  const { publisher, number, answered, outcome } = message
  if (outcome !== 'published' || !latest) return false
  if ((latest.numbers.get(publisher) ?? -1) > number) return true
  return answered !== undefined && answered.tick < latest.sentTick
}

function isEndedByServer({ events }: Session): boolean {
  const last = events.at(-1)
  return last?.type === 'closed' && last.by === 'server'
}

/**
 * P4: from below what was really delivered, at any time; from above, and both exactly where they meet, what was subscribed, while
 * nothing disturbed it.
 *
 * @returns How many numbers were exactly known.
 */
function checkNumbers(
  history: History,
  intervals: readonly Interval[],
  sightings: ReadonlyMap<Message, Sighting>,
  globs: Globs,
  report: Reporter,
): number {
  let exact = 0
  const troubled = new Spans([...history.disturbed, ...history.sessions.flatMap(gapsOf)])
  const byName = new Map<string, Presence>()
  for (const interval of intervals) {
    const name = `${interval.kind} ${interval.name}`
    let presence = byName.get(name)
    if (!presence) byName.set(name, (presence = new Presence(interval)))
    presence.add(interval)
  }
  const patterns = [...byName.values()].filter(({ kind }) => kind === 'pattern')
  const patternsOf = new Map<string, Presence[]>()
  const covering = (channel: string): Presence[] => {
    let found = patternsOf.get(channel)
    if (!found) {
      found = patterns.filter(({ name }) => globs.mayCover(name, channel))
      patternsOf.set(channel, found)
    }
    return found
  }
  for (const message of history.messages) {
    const { receivers, outcome, answered, space, channel, place } = message
    // A node of a cluster counts its own subscribers alone.
    if (history.topology === 'cluster' && space === 'channel') continue
    if (outcome !== 'published' || receivers === undefined || !answered) continue
    const time = { fromMs: message.sent.ms, toMs: answered.ms }
    const isTroubled = troubled.overlap(time)
    // A replica hands on what its master is told, and is not counted; during a failover there may be subscribers at it.
    if (isTroubled && history.topology !== 'standalone') continue
    const delivered = deliveredAtLeast(place, sightings.get(message))
    if (receivers < delivered)
      report('P4', `${idOf(message)} is answered ${receivers}, but ${delivered} received it`)
    if (isTroubled) continue
    const exactly = byName.get(`${space} ${channel}`)
    const relevant = [
      ...(exactly ? [exactly] : []),
      ...(space === 'shard' ? [] : covering(channel)),
    ]
    const { least, most } = expectedNumber(message, answered, relevant, globs)
    if (receivers < least || receivers > most)
      report('P4', `${idOf(message)} is answered ${receivers}, where ${least} to ${most} is right`)
    if (least === most) exact++
  }
  return exact
}

/** The smallest number that accounts for who received a message: each other gateway counts one for a name, one for its patterns. */
function deliveredAtLeast(place: string, sighting: Sighting | undefined): number {
  let count = 0
  const others = new Set<string>()
  for (const { session, event } of sighting?.events ?? []) {
    if (session.place === place || session.place === NATIVE) count++
    else others.add(`${session.place} ${event.kind === 'pattern' ? 'by pattern' : 'by name'}`)
  }
  return count + others.size
}

/** The subscriptions to one name, asked for by messages in the order of sending. */
class Presence {
  readonly kind: Interval['kind']
  readonly name: string
  readonly #all: Interval[] = []
  /** When each place first had a subscription. */
  readonly #begun = new Map<string, number>()
  #live: Interval[] = []
  #next = 0

  constructor({ kind, name }: Interval) {
    this.kind = kind
    this.name = name
  }

  add(interval: Interval): void {
    this.#all.push(interval)
    const { place } = interval.session
    const tick = interval.joining.tick
    this.#begun.set(place, Math.min(this.#begun.get(place) ?? tick, tick))
  }

  /** Places that have had a subscription by then. */
  placesUntil(tick: number): string[] {
    return [...this.#begun].flatMap(([place, begun]) => (begun < tick ? [place] : []))
  }

  /** The subscriptions that a message could meet, or could be counted for. */
  meeting(sent: Moment, answered: Moment): readonly Interval[] {
    if (this.#next === 0) this.#all.sort((a, b) => a.joining.tick - b.joining.tick)
    for (; this.#next < this.#all.length; this.#next++) {
      const interval = this.#all[this.#next] as Interval
      if (interval.joining.tick > answered.tick) break
      this.#live.push(interval)
    }
    this.#live = this.#live.filter(({ left }) => !left || left.ms + FAREWELL_MS >= sent.ms)
    return this.#live
  }
}

/** The numbers that are possible, given the subscriptions that a channel could have had. */
function expectedNumber(
  { place, sent, channel }: Message,
  answered: Moment,
  relevant: readonly Presence[],
  globs: Globs,
): { readonly least: number; readonly most: number } {
  let [least, most] = [0, 0]
  const others = new Map<string, { isHeld: boolean; names: number }>()
  // A gateway keeps a name for a while when the last one is out. A pattern is covered by its head, a part of it, or `*`.
  for (const presence of relevant) {
    const { kind, name } = presence
    const way = kind === 'pattern' ? 'by pattern' : 'by name'
    const isMatch = kind !== 'pattern' || globs.matches(name, channel)
    for (const other of presence.placesUntil(answered.tick)) {
      if (other === place || other === NATIVE) continue
      const known = others.get(`${other} ${way}`)
      if (known) known.names++
      else others.set(`${other} ${way}`, { isHeld: false, names: 1 })
    }
    for (const { session, joining, joined, leaving } of presence.meeting(sent, answered)) {
      // It was added for a message that was answered later.
      if (joining.tick > answered.tick) continue
      const isCertain = joined !== undefined && joined.tick < sent.tick
      const isHeld = isCertain && !(leaving && leaving.tick < answered.tick)
      if (session.place === place || session.place === NATIVE) {
        if (isMatch && isHeld) least++
        if (isMatch) most++
        continue
      }
      const other = others.get(`${session.place} ${way}`)
      if (other && isHeld) other.isHeld = true
    }
  }
  for (const { isHeld, names } of others.values()) {
    if (isHeld) least++
    most += names
  }
  return { least, most }
}
