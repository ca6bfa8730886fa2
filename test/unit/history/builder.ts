import { keySlot } from '../../../shared/key-slot.ts'
import type {
  History,
  Message,
  MessageSpace,
  Moment,
  Replacement,
  Session,
  SessionEvent,
  Span,
  SubscriptionKind,
} from '../../history/history.ts'

/** Writes a history by hand: each call is one moment, a millisecond after the one before. */
export class Story {
  readonly #topology: History['topology']
  readonly #messages: Message[] = []
  readonly #sessions: (Session & { events: SessionEvent[] })[] = []
  readonly #disturbed: Span[] = []
  readonly #replaced: Replacement[] = []
  #tick = 0

  constructor(topology: History['topology'] = 'standalone') {
    this.#topology = topology
  }

  get nowMs(): number {
    return 1_000_000 + this.#tick
  }

  /** Lets time pass, in ms. */
  wait(ms: number): this {
    this.#tick += ms
    return this
  }

  /** The next moment. */
  moment(): Moment {
    this.#tick++
    return { tick: this.#tick, ms: this.nowMs }
  }

  /** Faults are at work from now on, for so many ms. */
  disturb(ms: number): this {
    this.#disturbed.push({ fromMs: this.nowMs, toMs: this.nowMs + ms })
    return this
  }

  /** The slot of a channel goes to another owner from now on, which takes so many ms. */
  replace(channel: string, ms: number): this {
    const slots = new Set([keySlot(channel)])
    this.#replaced.push({ fromMs: this.nowMs, toMs: this.nowMs + ms, slots })
    return this
  }

  session(name: string, place = 'g1', transport: Session['transport'] = 'websocket'): Teller {
    const events: SessionEvent[] = []
    this.#sessions.push({ name, place, transport, events })
    const add = (event: DistributedOmit<SessionEvent, keyof Moment>): void =>
      void events.push({ ...this.moment(), ...event })
    const teller: Teller = {
      name,
      ask: (channel, kind = 'channel') => add({ type: 'joining', kind, name: channel }),
      confirmed: (channel, kind = 'channel') => add({ type: 'joined', kind, name: channel }),
      refused: (channel, kind = 'channel') => add({ type: 'refused', kind, name: channel }),
      join: (channel, kind = 'channel') => {
        teller.ask(channel, kind)
        teller.confirmed(channel, kind)
        return teller
      },
      leave: (channel, kind = 'channel') => {
        teller.leaving(channel, kind)
        teller.left(channel, kind)
      },
      leaving: (channel, kind = 'channel') => add({ type: 'leaving', kind, name: channel }),
      left: (channel, kind = 'channel') => add({ type: 'left', kind, name: channel }),
      get: (message, by = message.channel, kind = message.space, channel = message.channel) =>
        add({ type: 'message', kind, name: by, channel, message }),
      getBytesOfNobody: (channel) =>
        add({ type: 'message', kind: 'channel', name: channel, channel, message: undefined }),
      gap: (fromMs, toMs, channel) => add({ type: 'gap', name: channel, fromMs, toMs }),
      answered: (message) => add({ type: 'answered', message }),
      close: (by = 'server', reason = '') => add({ type: 'closed', by, reason }),
      control: (payload) => add({ type: 'control', payload }),
      nonsense: () => add({ type: 'nonsense', text: 'a reply to nothing' }),
    }
    return teller
  }

  /** Sends a message; its answer comes later. */
  send(channel: string, publisher = 'p', place = 'g1', space: MessageSpace = 'channel'): Message {
    const message: Message = {
      publisher,
      number: this.#messages.filter((other) => other.publisher === publisher).length,
      place,
      space,
      channel,
      sent: this.moment(),
      outcome: 'open',
      answered: undefined,
      receivers: undefined,
    }
    this.#messages.push(message)
    return message
  }

  answer(message: Message, outcome: number | 'unknown' | 'not-published'): Message {
    message.answered = this.moment()
    if (typeof outcome === 'number') message.receivers = outcome
    message.outcome = typeof outcome === 'number' ? 'published' : outcome
    return message
  }

  /** Sends a message that is answered with a number. */
  publish(channel: string, receivers: number, publisher = 'p', place = 'g1'): Message {
    return this.answer(this.send(channel, publisher, place), receivers)
  }

  get history(): History & {
    readonly sessions: readonly (Session & { events: SessionEvent[] })[]
  } {
    return {
      topology: this.#topology,
      messages: this.#messages,
      sessions: this.#sessions,
      disturbed: this.#disturbed,
      replaced: this.#replaced,
    }
  }
}

type DistributedOmit<T, K extends PropertyKey> = T extends object ? Omit<T, K> : never

/** Tells what one client did and saw. */
export interface Teller {
  readonly name: string
  ask(channel: string, kind?: SubscriptionKind): void
  confirmed(channel: string, kind?: SubscriptionKind): void
  refused(channel: string, kind?: SubscriptionKind): void
  /** Asks, and is confirmed. */
  join(channel: string, kind?: SubscriptionKind): Teller
  /** Asks for the end, and is confirmed. */
  leave(channel: string, kind?: SubscriptionKind): void
  leaving(channel: string, kind?: SubscriptionKind): void
  left(channel: string, kind?: SubscriptionKind): void
  /** @param by The subscription. @param channel The channel that the message says it is from. */
  get(message: Message, by?: string, kind?: SubscriptionKind, channel?: string): void
  getBytesOfNobody(channel: string): void
  gap(fromMs: number, toMs: number, channel?: string): void
  answered(message: Message): void
  close(by?: 'server' | 'client', reason?: string): void
  /** Gets an entry of the log of gateways. */
  control(payload: string): void
  nonsense(): void
}
