import {
  NATIVE,
  type Message,
  type Moment,
  type Session,
  type SubscriptionKind,
} from './history.ts'

/** A subscription from its command to its end. */
export interface Interval {
  readonly session: Session
  readonly kind: SubscriptionKind
  readonly name: string
  readonly joining: Moment
  /** Undefined: it was never confirmed. */
  joined: Moment | undefined
  /** When the client asked for the end, or the connection ended; undefined: never. */
  leaving: Moment | undefined
  /** When nothing may come any more. */
  left: Moment | undefined
  readonly received: Set<Message>
}

/** A fault that shows in what one client saw, without a look at others. */
export type Report = (promise: string, text: string) => void

const key = (kind: SubscriptionKind, name: string): string => `${kind} ${name}`

/** The subscriptions of a session, with what each of them received. */
export function intervalsOf(session: Session, report: Report): Interval[] {
  const all: Interval[] = []
  // Several of one name where commands are sent before the ones before them are answered.
  const current = new Map<string, Interval[]>()
  const seen = new Map<string, Set<Message>>()
  const answered = new Set<Message>()
  const early = new Set<Message>()
  const openOf = (kind: SubscriptionKind, name: string): Interval[] => {
    let open = current.get(key(kind, name))
    if (!open) current.set(key(kind, name), (open = []))
    return open
  }
  for (const event of session.events) {
    switch (event.type) {
      case 'joining': {
        const open = openOf(event.kind, event.name)
        const last = open.at(-1)
        if (last && !last.leaving) break
        const interval: Interval = {
          session,
          kind: event.kind,
          name: event.name,
          joining: event,
          joined: undefined,
          leaving: undefined,
          left: undefined,
          received: new Set(),
        }
        all.push(interval)
        open.push(interval)
        break
      }
      case 'joined': {
        const open = openOf(event.kind, event.name)
        const interval = open.find(({ joined }) => !joined)
        if (interval) interval.joined = event
        else if (open.length === 0)
          report('P3', `${session.name} is confirmed ${shown(event.name)}, which it did not ask`)
        break
      }
      case 'refused': {
        const open = openOf(event.kind, event.name)
        // A name that was held before stays if a second command for it is refused.
        const at = open.findIndex(({ joined }) => !joined)
        const [interval] = at < 0 ? [] : open.splice(at, 1)
        if (!interval) break
        interval.leaving ??= event
        interval.left = event
        break
      }
      case 'leaving': {
        const interval = openOf(event.kind, event.name).at(-1)
        if (interval) interval.leaving ??= event
        break
      }
      case 'left': {
        const open = openOf(event.kind, event.name)
        const [interval] = open
        if (!interval?.joined) break
        open.shift()
        // A cluster takes subscriptions to a slot away when it moves.
        if (!interval.leaving && session.place !== NATIVE) {
          report('P3', `${session.name} loses ${shown(event.name)}, which it did not leave`)
        }
        interval.leaving ??= event
        interval.left = event
        break
      }
      case 'message': {
        const { message, kind, name } = event
        const what = (): string =>
          `${session.name} gets ${message ? idOf(message) : 'bytes of nobody'} of ${shown(name)}`
        const [interval] = openOf(kind, name)
        if (!interval?.joined) report('P1', `${what()} without a confirmed subscription`)
        if (!message) {
          report('P1', what())
          break
        }
        if (message.channel !== event.channel || (message.space === 'shard') !== (kind === 'shard'))
          report('P1', `${what()} from ${shown(event.channel)}, where it was not published`)
        if (message.sent.tick > event.tick) report('P1', `${what()} before it is sent`)
        const before = seen.get(key(kind, name)) ?? new Set()
        seen.set(key(kind, name), before)
        if (before.has(message)) report('P1', `${what()} twice`)
        before.add(message)
        interval?.received.add(message)
        // Redis before 7.2 itself sends the message first.
        const isOwn = message.publisher === session.name && session.place !== NATIVE
        if (isOwn && !answered.has(message)) early.add(message)
        break
      }
      case 'answered':
        answered.add(event.message)
        break
      case 'closed':
        for (const interval of [...current.values()].flat()) {
          interval.leaving ??= event
          interval.left = event
        }
        current.clear()
        break
      case 'nonsense':
        report('RESP', `${session.name}: ${event.text}`)
        break
      case 'gap':
      case 'control':
        break
    }
  }
  for (const message of early)
    report('P5', `${session.name} gets its own ${idOf(message)} before the reply`)
  return all
}

/** The name of a message in reports. */
export function idOf({ publisher, number }: Message): string {
  return `${publisher}.${number}`
}

/** A name in reports. */
export function shown(name: string): string {
  return JSON.stringify(name)
}
