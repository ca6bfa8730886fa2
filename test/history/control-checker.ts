import type { Violation } from './checker.ts'
import type {
  ControlHistory,
  ControlOrder,
  RegisterValue,
  TokenIdentity,
} from './control-history.ts'
import {
  NATIVE,
  type Message,
  type Moment,
  type Session,
  type SessionEvent,
  type Span,
} from './history.ts'
import { denies, InForce } from './in-force.ts'
import { idOf, shown } from './intervals.ts'

/** After the end of its lease a gateway may have given bytes to the kernel that are still on their way. */
const LATE_MS = 1_000

/** Clocks of processes on one machine, and a recorder that had other work when it wrote down an answer. */
const SLACK_MS = 50

/** An edit without an answer is in the log after so long, or never. */
const LOST_MS = 10_000

/** Stands where the subject of a revocation would be. */
const OF_CHANNELS = ''

/** Result of {@link checkControl}. */
export interface ControlVerdict {
  readonly violations: readonly Violation[]
  readonly figures: {
    /** Entries that a native client saw among the messages, each once, and those that nobody is to take. */
    readonly commits: number
    readonly untaken: number
    readonly orders: number
    readonly everywhere: number
    readonly partly: number
    readonly here: number
    readonly refused: number
    readonly open: number
    /** Deliveries to token sessions, and those whose place among the entries is known. */
    readonly deliveries: number
    readonly placed: number
    /** Messages in such places that a session would have had, but for what was taken from it. */
    readonly withheld: number
    /** Messages that were published while a gateway was beyond its lease. */
    readonly beyondLease: number
    /** Edits of users of which it is known what they follow. */
    readonly edits: number
    readonly finals: number
  }
}

/** A message that came to a token session. */
interface Delivery {
  readonly session: Session
  readonly identity: TokenIdentity
  readonly event: MessageEvent
  readonly message: Message
}

/** A delivery that an entry before it forbids. */
interface Denied {
  readonly delivery: Delivery
  readonly reason: string
  /** The reason after the entries that have been looked at so far. */
  readonly deny: () => string | undefined
}

type MessageEvent = Extract<SessionEvent, { readonly type: 'message' }>

type Reporter = (promise: string, text: string) => void

/**
 * Holds what clients and operators did and saw against what gateways promise of users, revocations and kills.
 *
 * - C1: nothing that was published after a commit (alone and with Sentinel), or after its acknowledgement, reaches whom it takes it from
 * - C2: nothing comes from a gateway later than a second past its lease
 * - C3: what was acknowledged is in force in the end, at every gateway
 * - C4: in the end gateways agree
 * - C6: a kill closes what was there when it was ordered, and an entry that is published again nothing
 * - C7: each edit of a user follows the one before it, and none that was acknowledged is overwritten by one that did not know it
 */
export function checkControl(control: ControlHistory): ControlVerdict {
  const violations: Violation[] = []
  const report: Reporter = (promise, text) => void violations.push({ promise, text })
  const deliveries = deliveriesOf(control)
  const placed = checkPlaces(control, deliveries, report)
  checkAcknowledged(control, deliveries, report)
  const beyondLease = checkLeases(control, deliveries, report)
  checkEnd(control, report)
  checkKills(control, report)
  const edits = checkEdits(control, report)
  checkGrown(control, report)
  const count = (state: string): number =>
    control.orders.filter(({ outcome }) => outcome.state === state).length
  return {
    violations,
    figures: {
      ...placed,
      orders: control.orders.length,
      everywhere: count('everywhere'),
      partly: count('partly'),
      here: count('here'),
      refused: count('none'),
      open: count('open'),
      deliveries: deliveries.length,
      beyondLease,
      edits,
      finals: control.finals.length,
    },
  }
}

function deliveriesOf({ history, identities }: ControlHistory): Delivery[] {
  const deliveries: Delivery[] = []
  for (const session of history.sessions) {
    const identity = identities.get(session.name)
    if (!identity) continue
    for (const event of session.events) {
      if (event.type !== 'message' || !event.message) continue
      deliveries.push({ session, identity, event, message: event.message })
    }
  }
  return deliveries
}

function describe({ session, event, message }: Delivery): string {
  return `${session.name} gets ${idOf(message)} of ${shown(message.channel)} by ${event.kind} ${shown(event.name)}`
}

/** C1, by the place of entries among the messages of one connection to the upstream. */
function checkPlaces(
  control: ControlHistory,
  deliveries: readonly Delivery[],
  report: Reporter,
): Pick<ControlVerdict['figures'], 'commits' | 'untaken' | 'placed' | 'withheld'> {
  const { history, identities, forgetful } = control
  const figures = { commits: 0, untaken: 0, placed: 0, withheld: 0 }
  const lifts = liftsOf(control.orders)
  const byMessage = new Map<Message, Delivery[]>()
  for (const delivery of deliveries) {
    const list = byMessage.get(delivery.message)
    if (list) list.push(delivery)
    else byMessage.set(delivery.message, [delivery])
  }
  const holders = holdersOf(history.sessions, identities)
  const seen = new Set<string>()
  for (const { events } of nativesOf(history.sessions)) {
    if (!events.some(({ type }) => type === 'control')) continue
    let inForce = new InForce()
    const looked = new Set<Message>()
    let denied: Denied[] = []
    for (const event of events) {
      // Two masters have two orders: only one of them lasts.
      if (history.topology === 'sentinel' && isWithin(event.ms, history.disturbed)) {
        inForce = new InForce()
      }
      if (isWithin(event.ms, forgetful)) inForce.forgetKills()
      if (event.type === 'control') {
        const commit = control.read(event.payload)
        if (!commit) figures.untaken++
        if (!commit || seen.has(commit.uuid)) continue
        seen.add(commit.uuid)
        figures.commits++
        inForce.apply(commit)
        // What is given back before it is delivered may be delivered: a gateway that catches up is ahead of its messages.
        denied = denied.filter(
          ({ delivery, deny }) => delivery.event.tick < event.tick || deny() !== undefined,
        )
      }
      if (history.topology === 'cluster') continue
      if (event.type !== 'message' || !event.message || looked.has(event.message)) continue
      const { message } = event
      looked.add(message)
      const came = byMessage.get(message) ?? []
      for (const delivery of came) {
        figures.placed++
        const { channel } = message
        const { kind, name } = delivery.event
        // A lift is in force where it was ordered before it is committed.
        const deny = (): string | undefined =>
          inForce.denial(delivery.identity, { kind, name, channel }, (label) =>
            isLifted(lifts, label, delivery.event.tick),
          )
        const reason = deny()
        if (reason !== undefined) denied.push({ delivery, reason, deny })
      }
      const others = holders.get(message.channel)
      if (!others) continue
      for (const identity of others) {
        const wanted = { kind: 'channel', name: message.channel, channel: message.channel } as const
        if (inForce.denial(identity, wanted) !== undefined) figures.withheld++
      }
    }
    for (const { delivery, reason } of denied)
      report('C1', `${describe(delivery)}, published after the commit of ${reason}`)
  }
  return figures
}

/** The connections to the upstream, one after another. */
function nativesOf(sessions: readonly Session[]): Session[] {
  return sessions
    .filter(({ place }) => place === NATIVE)
    .toSorted((a, b) => (a.events[0]?.tick ?? 0) - (b.events[0]?.tick ?? 0))
}

/** The last identity of each subject that was subscribed to a channel, by channel. */
function holdersOf(
  sessions: readonly Session[],
  identities: ControlHistory['identities'],
): Map<string, readonly TokenIdentity[]> {
  const bySub = new Map<string, Map<string, TokenIdentity>>()
  for (const { name, events } of sessions) {
    const identity = identities.get(name)
    if (!identity) continue
    for (const event of events) {
      if (event.type !== 'joining' || event.kind !== 'channel') continue
      const known = bySub.get(event.name) ?? new Map<string, TokenIdentity>()
      bySub.set(event.name, known.set(identity.sub, identity))
    }
  }
  return new Map([...bySub].map(([channel, known]) => [channel, [...known.values()]]))
}

/** Orders that may have lifted something, by the label of what they lift. */
function liftsOf(orders: readonly ControlOrder[]): Map<string, ControlOrder[]> {
  const lifts = new Map<string, ControlOrder[]>()
  for (const order of orders) {
    if (order.kind.type === 'lift' && order.outcome.state !== 'none')
      add(lifts, order.kind.label, order)
  }
  return lifts
}

function isLifted(
  lifts: ReadonlyMap<string, readonly ControlOrder[]>,
  label: string,
  tick: number,
): boolean {
  return lifts.get(label)?.some(({ sent }) => sent.tick < tick) === true
}

function isWithin(ms: number, spans: readonly Span[]): boolean {
  return spans.some(({ fromMs, toMs }) => fromMs <= ms && ms <= toMs)
}

/** C1, by what operators were answered. */
function checkAcknowledged(
  control: ControlHistory,
  deliveries: readonly Delivery[],
  report: Reporter,
): void {
  const { orders } = control
  const lifts = liftsOf(orders)
  const edits = new Map<string, ControlOrder[]>()
  for (const order of orders) {
    const { kind, outcome } = order
    if (kind.type === 'role' && outcome.state !== 'none') add(edits, kind.role, order)
  }
  const revoked = new Map<string, ControlOrder[]>()
  const kills = new Map<string, ControlOrder[]>()
  for (const order of orders) {
    if (!order.answered) continue
    const { kind } = order
    if (kind.type === 'revoke-sub') add(revoked, kind.sub, order)
    if (kind.type === 'revoke-channel') add(revoked, OF_CHANNELS, order)
    if (kind.type === 'kill') add(kills, kind.sub, order)
  }
  for (const delivery of deliveries) {
    const { session, identity, event, message } = delivery
    const wanted = { kind: event.kind, name: event.name, channel: message.channel }
    const lasting = [identity.sub, OF_CHANNELS].flatMap((key) => revoked.get(key) ?? [])
    for (const order of lasting) {
      if (!denies(order.kind as RegisterValue, identity, wanted)) continue
      if (!isBinding(order, session.place, message)) continue
      if (!isLifted(lifts, order.label, event.tick))
        report('C1', `${describe(delivery)}, sent after ${told(order)}`)
    }
    for (const order of kills.get(identity.sub) ?? []) {
      if (identity.openedMs > order.sent.ms - 10 * SLACK_MS) continue
      if (isWithin(event.ms, control.forgetful)) continue
      if (isBinding(order, session.place, message))
        report('C1', `${describe(delivery)}, sent after ${told(order)}`)
    }
    const possible = edits.get(identity.role) ?? []
    const last = possible.filter((order) => isBinding(order, session.place, message))
    if (last.length === 0) continue
    const newest: Moment = {
      tick: Math.max(...last.map(({ sent }) => sent.tick)),
      ms: Math.max(...last.map(({ sent }) => sent.ms)),
    }
    const current = possible.filter((order) => !isReplaced(order, newest, event))
    if (current.every(({ kind }) => denies(kind as RegisterValue, identity, wanted)))
      report('C1', `${describe(delivery)}, sent after ${told(last.at(-1) as ControlOrder)}`)
  }
}

function add(map: Map<string, ControlOrder[]>, key: string, order: ControlOrder): void {
  const list = map.get(key)
  if (list) list.push(order)
  else map.set(key, [order])
}

/** Reports whether an order was in force for certain at a gateway when a message was sent. */
function isBinding(
  { answered, outcome, place: origin }: ControlOrder,
  place: string,
  { sent }: Message,
): boolean {
  if (!answered || sent.tick < answered.tick) return false
  switch (outcome.state) {
    case 'everywhere':
      return true
    case 'here':
      return place === origin
    case 'partly':
      return (
        !outcome.missing.includes(place) || sent.ms > answered.ms + outcome.fencedInMs + LATE_MS
      )
    case 'open':
    case 'none':
      return false
  }
}

/**
 * Reports whether an edit is not what a gateway could have gone by: another came after it, or it came later.
 *
 * @param newest When the newest edits were sent that were in force there for certain.
 */
function isReplaced(
  { sent, answered, outcome }: ControlOrder,
  newest: Moment,
  event: MessageEvent,
): boolean {
  if (sent.tick > event.tick) return true
  return answered && outcome.state !== 'open'
    ? newest.tick > answered.tick
    : newest.ms > sent.ms + LOST_MS
}

function told({ label, place, kind, answered, outcome }: ControlOrder): string {
  return `${label} (${JSON.stringify(kind)} at ${place}) was answered ${outcome.state} at ${answered?.ms}`
}

/** C2. @returns Messages that were published while a gateway was beyond its lease. */
function checkLeases(
  { history, cutOffs, leaseMs }: ControlHistory,
  deliveries: readonly Delivery[],
  report: Reporter,
): number {
  const seenMs = new Map<Message, number>()
  for (const { events } of history.sessions) {
    for (const event of events) {
      if (event.type !== 'message' || !event.message) continue
      const before = seenMs.get(event.message) ?? Number.POSITIVE_INFINITY
      seenMs.set(event.message, Math.min(before, event.ms))
    }
  }
  /** A message was there at that time for certain. */
  const publishedMs = (message: Message): number =>
    Math.min(
      seenMs.get(message) ?? Number.POSITIVE_INFINITY,
      (message.outcome === 'published' ? message.answered?.ms : undefined) ??
        Number.POSITIVE_INFINITY,
    )
  let beyond = 0
  for (const { place, fromMs, toMs, slow } of cutOffs) {
    let inFlight = slow === undefined ? 0 : 1
    const deadlineMs = fromMs + leaseMs + LATE_MS + SLACK_MS
    if (deadlineMs >= toMs) continue
    beyond += history.messages.filter((message) => {
      const ms = publishedMs(message)
      return ms > deadlineMs && ms < toMs
    }).length
    for (const delivery of deliveries) {
      const { session, event, message } = delivery
      if (session.place !== place || event.ms <= deadlineMs) continue
      // What waited for a client before the lease ended goes on once the gateway knows again what is in force.
      const isKept = message.sent.ms > fromMs + leaseMs && publishedMs(message) < toMs - SLACK_MS
      if (event.ms < toMs - SLACK_MS || isKept) {
        if (session.name === slow && inFlight-- > 0) continue
        const lateMs = event.ms - fromMs - leaseMs
        report('C2', `${describe(delivery)}, ${lateMs} ms past the lease of ${place}`)
      }
    }
  }
  return beyond
}

/** C6, by WebSockets, which are told. */
function checkKills({ history, identities, orders }: ControlHistory, report: Reporter): void {
  for (const { name, place, transport, events } of history.sessions) {
    const identity = identities.get(name)
    const end = events.at(-1)
    const isKilled = end?.type === 'closed' && end.by === 'server' && end.reason?.startsWith('1000')
    if (!identity || transport !== 'websocket' || isKilled !== true) continue
    const isOrdered = orders.some(
      ({ kind, answered }) =>
        kind.type === 'kill' &&
        kind.sub === identity.sub &&
        (answered?.ms ?? Number.POSITIVE_INFINITY) > identity.openedMs - 10 * SLACK_MS,
    )
    if (!isOrdered)
      report('C6', `${name} is killed at ${place}, which nobody ordered since it is there`)
  }
}

/** C7, by the chain of entries. @returns Edits of which it is known what they follow. */
function checkEdits(control: ControlHistory, report: Reporter): number {
  const seen = new Set<string>()
  const contents = new Map<string, string>()
  let last: string | undefined
  /** The newest version of each user after the last entry. */
  let versions = new Map<string, number>()
  let edits = 0
  for (const { events } of nativesOf(control.history.sessions)) {
    for (const event of events) {
      const commit = event.type === 'control' ? control.read(event.payload) : undefined
      if (!commit || seen.has(commit.uuid)) continue
      seen.add(commit.uuid)
      // An entry is missing, or the upstream has forgotten some: nobody knows what was there.
      if (commit.previous !== last) versions = new Map()
      last = commit.id
      for (const { key, version, uuid, value } of commit.registers) {
        const stamp = `${key} ${version} ${uuid}`
        const content = JSON.stringify(value ?? null)
        if ((contents.get(stamp) ?? content) !== content) report('C7', `${stamp} has two contents`)
        contents.set(stamp, content)
        if (!key.startsWith('u:')) continue
        const before = versions.get(key)
        versions.set(key, Math.max(version, before ?? 0))
        // What is committed anew keeps the uuid of its edit.
        if (before === undefined || uuid !== commit.uuid) continue
        edits++
        if (version !== before + 1)
          report('C7', `entry ${commit.id} makes version ${version} of ${key} after ${before}`)
      }
    }
  }
  return edits
}

/** C7, by what roles have in the end that only ever grew. */
function checkGrown({ orders, finals, forgetful }: ControlHistory, report: Reporter): void {
  for (const order of orders) {
    const { kind, label, answered, outcome } = order
    if (kind.type !== 'grow') continue
    // Two edits of one version meet where the upstream has forgotten one of them.
    const isSettled = outcome.state === 'everywhere' || outcome.state === 'partly'
    const isKept = isSettled && answered !== undefined && !isWithin(answered.ms, forgetful)
    for (const { place, users } of finals) {
      const line = users.find((user) => user.startsWith(`user role:${kind.role} `)) ?? ''
      const isThere = line.split(' ').includes(`&${label}`)
      if (isKept && !isThere) report('C7', `${place} has lost ${told(order)}`)
      if (outcome.state === 'none' && isThere)
        report('C7', `${place} has what ${told(order)}, which changed nothing`)
    }
  }
}

/** C3 and C4. */
function checkEnd({ orders, finals }: ControlHistory, report: Reporter): void {
  const settled = new Set(['everywhere', 'partly', 'here'])
  const lifts = liftsOf(orders)
  for (const order of orders) {
    const { kind, label, outcome } = order
    if (kind.type !== 'revoke-sub' && kind.type !== 'revoke-channel') continue
    if (!settled.has(outcome.state)) continue
    const lifted = lifts.get(label) ?? []
    const isGone = lifted.some((lift) => settled.has(lift.outcome.state))
    for (const { place, revocations, refused } of finals) {
      const isThere = revocations.includes(label)
      if (lifted.length === 0 && !isThere) report('C3', `${place} has lost ${told(order)}`)
      if (lifted.length === 0 && kind.type === 'revoke-sub' && !refused.includes(kind.sub))
        report('C3', `${place} lets ${kind.sub} in, although ${told(order)}`)
      if (isGone && isThere) report('C3', `${place} has ${label} again, which was lifted`)
    }
  }
  const [first, ...others] = finals
  if (!first) return
  for (const other of others) {
    for (const what of ['users', 'revocations', 'nodes'] as const) {
      const [here, there] = [first[what].toSorted(), other[what].toSorted()]
      const differing = [
        ...here.filter((one) => !there.includes(one)).map((one) => `only ${first.place}: ${one}`),
        ...there.filter((one) => !here.includes(one)).map((one) => `only ${other.place}: ${one}`),
      ]
      if (differing.length > 0)
        report(
          'C4',
          `${what} of ${first.place} and ${other.place} differ: ${differing.slice(0, 3).join('; ')}`,
        )
    }
  }
}
