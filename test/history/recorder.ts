import type { RespValue } from '../../shared/resp/types.ts'
import { isError, isPush } from '../../shared/resp/types.ts'
import { encodeCommand } from '../support/resp-client.ts'
import {
  NATIVE,
  type History,
  type Message,
  type MessageSpace,
  type Moment,
  type Session,
  type SessionEvent,
  type Span,
  type SubscriptionKind,
} from './history.ts'
import { payloadOf, serialOf } from './payload.ts'
import { connectTcp, connectWebSocket, type Wire } from './wire.ts'

/** How a client is connected. */
export type Transport = 'resp2' | 'resp3' | 'websocket'

/** Where clients connect. */
export interface Place {
  /** The name of a gateway, or {@link NATIVE}. */
  readonly name: string
  /** RESP over TCP. */
  readonly port: number
  /** 127.0.0.1 by default. */
  readonly host?: string
  readonly wsUrl?: string
  mint?(sub: string): Promise<string>
}

const COMMANDS = {
  channel: { join: 'SUBSCRIBE', leave: 'UNSUBSCRIBE' },
  pattern: { join: 'PSUBSCRIBE', leave: 'PUNSUBSCRIBE' },
  shard: { join: 'SSUBSCRIBE', leave: 'SUNSUBSCRIBE' },
} as const

/** Pushes that confirm a command for one name. */
const CONFIRMATIONS = new Map<string, { type: 'joined' | 'left'; kind: SubscriptionKind }>([
  ['subscribe', { type: 'joined', kind: 'channel' }],
  ['psubscribe', { type: 'joined', kind: 'pattern' }],
  ['ssubscribe', { type: 'joined', kind: 'shard' }],
  ['unsubscribe', { type: 'left', kind: 'channel' }],
  ['punsubscribe', { type: 'left', kind: 'pattern' }],
  ['sunsubscribe', { type: 'left', kind: 'shard' }],
])

type NewEvent = DistributedOmit<SessionEvent, keyof Moment>

type DistributedOmit<T, K extends PropertyKey> = T extends object ? Omit<T, K> : never

/** Writes down what all clients of this process do and see, with one clock. */
export class Recorder {
  readonly messages: Message[] = []
  readonly disturbed: Span[] = []
  /** Error replies with the place that gave them, and how often each came. */
  readonly errors = new Map<string, number>()
  readonly #sessions: Session[] = []
  #tick = 0
  /** Moment of the last thing that was recorded. */
  lastMs = 0

  moment(): Moment {
    this.#tick++
    this.lastMs = Date.now()
    return { tick: this.#tick, ms: this.lastMs }
  }

  session(name: string, place: string, transport: Session['transport']): SessionLog {
    const log: SessionLog = { name, place, transport, events: [] }
    this.#sessions.push(log)
    return log
  }

  countError(place: string, text: string): void {
    const error = `${place}: ${text}`
    this.errors.set(error, (this.errors.get(error) ?? 0) + 1)
  }

  history(topology: History['topology']): History {
    const { messages, disturbed } = this
    return { topology, messages, sessions: this.#sessions, disturbed }
  }
}

type SessionLog = Session & { readonly events: SessionEvent[] }

/** A reply that is due. */
type Due =
  | { readonly what: 'publish'; readonly message: Message }
  | { readonly what: 'transaction'; readonly messages: readonly Message[] }
  | {
      readonly what: 'names'
      readonly command: 'join' | 'leave'
      readonly kind: SubscriptionKind
      readonly missing: Set<string>
    }
  | { readonly what: 'ignored' }

/** One connection whose client writes down everything. */
export class RecordedClient {
  readonly name: string
  readonly place: string
  readonly transport: Transport
  readonly #recorder: Recorder
  readonly #wire: Wire
  readonly #log: SessionLog
  readonly #due: Due[] = []
  readonly #waiting: (() => void)[] = []
  readonly #refused = new Set<string>()
  #number = 0
  #isClosing = false
  isOpen = true

  private constructor(
    recorder: Recorder,
    wire: Wire,
    name: string,
    place: string,
    transport: Transport,
  ) {
    this.#recorder = recorder
    this.#wire = wire
    this.name = name
    this.place = place
    this.transport = transport
    const log = recorder.session(name, place, transport === 'websocket' ? transport : 'tcp')
    this.#log = log
    wire.listen({
      value: (value) => this.#take(value),
      nonsense: (text) => this.#add({ type: 'nonsense', text }),
      closed: (reason) => this.#closed(reason),
    })
    if (transport === 'resp3') this.#send({ what: 'ignored' }, 'HELLO', '3')
  }

  /** @param name Of this connection: no other may have it. @throws Error The place cannot be reached. */
  static async connect(
    recorder: Recorder,
    place: Place,
    transport: Transport,
    name: string,
  ): Promise<RecordedClient> {
    let wire: Wire
    if (transport === 'websocket') {
      if (place.wsUrl === undefined || !place.mint) throw new Error('no WebSockets there')
      wire = await connectWebSocket(place.wsUrl, await place.mint(name))
    } else wire = await connectTcp(place.port, place.host)
    return new RecordedClient(recorder, wire, name, place.name, transport)
  }

  /** Replies that have not come. */
  get dueCount(): number {
    return this.#due.length
  }

  /** Reports whether the last subscription to this name was refused, or taken away. */
  isRefused(kind: SubscriptionKind, name: string): boolean {
    return this.#refused.has(`${kind} ${name}`)
  }

  subscribe(kind: SubscriptionKind, ...names: readonly string[]): void {
    this.#names('join', kind, names)
  }

  unsubscribe(kind: SubscriptionKind, ...names: readonly string[]): void {
    this.#names('leave', kind, names)
  }

  /** @param size Bytes of the payload, about. */
  publish(space: MessageSpace, channel: string, size: number): Message {
    const [message, command] = this.#message(space, channel, size)
    this.#due.push({ what: 'publish', message })
    this.#wire.send(command)
    return message
  }

  /** Publishes in one transaction, which keeps the messages together. */
  publishTogether(space: MessageSpace, channels: readonly string[], size: number): Message[] {
    const made = channels.map((channel) => this.#message(space, channel, size))
    const messages = made.map(([message]) => message)
    this.#due.push({ what: 'ignored' }, ...messages.map(() => ({ what: 'ignored' }) as const), {
      what: 'transaction',
      messages,
    })
    const commands = made.map(([, command]) => command)
    this.#wire.send(Buffer.concat([encodeCommand('MULTI'), ...commands, encodeCommand('EXEC')]))
    return messages
  }

  /** Waits until every reply has come, or the connection has ended. A reply that does not come is a fault. */
  async idle(patienceMs = 20_000): Promise<void> {
    const late = { isLate: false }
    const timer = setTimeout(() => {
      late.isLate = true
      const due = this.#due.map((one) => describeDue(one)).join(', ')
      this.#add({ type: 'nonsense', text: `no reply in ${patienceMs} ms to: ${due}` })
      this.#wake()
    }, patienceMs)
    while (this.#due.length > 0 && this.isOpen && !late.isLate)
      await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    clearTimeout(timer)
  }

  pause(): void {
    this.#wire.pause()
  }

  resume(): void {
    this.#wire.resume()
  }

  close(): void {
    this.#isClosing = true
    this.#wire.close()
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #message(space: MessageSpace, channel: string, size: number): [Message, Buffer] {
    const { messages } = this.#recorder
    const message: Message = {
      publisher: this.name,
      number: this.#number++,
      place: this.place,
      space,
      channel,
      sent: this.#recorder.moment(),
      outcome: 'open',
      answered: undefined,
      receivers: undefined,
    }
    const payload = payloadOf(messages.length, size)
    messages.push(message)
    return [message, encodeCommand(space === 'shard' ? 'SPUBLISH' : 'PUBLISH', channel, payload)]
  }

  #names(command: 'join' | 'leave', kind: SubscriptionKind, names: readonly string[]): void {
    const type = command === 'join' ? 'joining' : 'leaving'
    for (const name of names) {
      this.#add({ type, kind, name })
      this.#refused.delete(`${kind} ${name}`)
    }
    this.#send(
      { what: 'names', command, kind, missing: new Set(names) },
      COMMANDS[kind][command],
      ...names,
    )
  }

  #send(due: Due, ...command: readonly string[]): void {
    this.#due.push(due)
    this.#wire.send(encodeCommand(...command))
  }

  #add(event: NewEvent): void {
    this.#log.events.push({ ...this.#recorder.moment(), ...event })
  }

  #take(value: RespValue): void {
    const items = isPush(value)
      ? value.items
      : this.transport === 'resp2' && Array.isArray(value)
        ? (value as readonly RespValue[])
        : undefined
    if (items) this.#takePush(items)
    else this.#takeReply(value)
    this.#wake()
  }

  #takePush(items: readonly RespValue[]): void {
    const what = latin1(items[0])
    const confirmation = CONFIRMATIONS.get(what)
    if (confirmation) {
      this.#takeConfirmation(confirmation, latin1(items[1]))
    } else if (what === 'message' || what === 'smessage') {
      const kind = what === 'message' ? 'channel' : 'shard'
      this.#takeMessage(kind, latin1(items[1]), latin1(items[1]), items[2])
    } else if (what === 'pmessage') {
      this.#takeMessage('pattern', latin1(items[1]), latin1(items[2]), items[3])
    } else if (what === 'gap') {
      const name = latin1(items[1])
      const [fromMs, toMs] = [Number(items[2]), Number(items[3])]
      this.#add({ type: 'gap', name: name === '' ? undefined : name, fromMs, toMs })
    } else if (what !== 'token') {
      this.#add({ type: 'nonsense', text: `a push '${what}'` })
    }
  }

  #takeMessage(
    kind: SubscriptionKind,
    name: string,
    channel: string,
    payload: RespValue | undefined,
  ): void {
    const serial = payload instanceof Uint8Array ? serialOf(payload) : undefined
    const message = serial === undefined ? undefined : this.#recorder.messages[serial]
    this.#add({ type: 'message', kind, name, channel, message })
  }

  #takeConfirmation(
    { type, kind }: { type: 'joined' | 'left'; kind: SubscriptionKind },
    name: string,
  ): void {
    this.#add({ type, kind, name })
    const due = this.#due[0]
    const command = type === 'joined' ? 'join' : 'leave'
    if (due?.what !== 'names' || due.command !== command || due.kind !== kind) {
      // A subscription that was taken away.
      if (type === 'left') this.#refused.add(`${kind} ${name}`)
      return
    }
    due.missing.delete(name)
    if (due.missing.size === 0) this.#due.shift()
  }

  #takeReply(value: RespValue): void {
    const due = this.#due.shift()
    switch (due?.what) {
      case undefined:
        this.#add({ type: 'nonsense', text: 'a reply to nothing' })
        return
      case 'ignored':
        if (isError(value)) this.#recorder.countError(this.place, value.message)
        return
      case 'names':
        if (!isError(value)) {
          this.#add({ type: 'nonsense', text: `the reply to ${due.command} is not its own` })
          return
        }
        this.#recorder.countError(this.place, value.message)
        for (const name of due.missing) {
          if (due.command !== 'join') continue
          this.#add({ type: 'refused', kind: due.kind, name })
          this.#refused.add(`${due.kind} ${name}`)
        }
        return
      case 'publish':
        this.#settle(due.message, value)
        return
      case 'transaction':
        this.#settleAll(due.messages, value)
        return
    }
  }

  #settleAll(messages: readonly Message[], reply: RespValue): void {
    const items = Array.isArray(reply) ? (reply as readonly RespValue[]) : undefined
    for (const [at, message] of messages.entries()) this.#settle(message, items ? items[at] : reply)
  }

  #settle(message: Message, reply: RespValue | undefined): void {
    if (typeof reply === 'number') {
      message.receivers = reply
      this.#conclude(message, 'published')
    } else if (reply !== undefined && isError(reply)) {
      this.#recorder.countError(this.place, reply.message)
      const isUnknown = reply.message.startsWith('TRYAGAIN unknown')
      this.#conclude(message, isUnknown ? 'unknown' : 'not-published')
    } else {
      this.#add({ type: 'nonsense', text: 'the reply to a publish is no number' })
    }
  }

  #conclude(message: Message, outcome: Message['outcome']): void {
    message.answered = this.#recorder.moment()
    message.outcome = outcome
    this.#log.events.push({ ...message.answered, type: 'answered', message })
  }

  #closed(reason: string): void {
    this.isOpen = false
    this.#add({ type: 'closed', by: this.#isClosing ? 'client' : 'server', reason })
    for (const due of this.#due.splice(0)) {
      const messages =
        due.what === 'publish' ? [due.message] : due.what === 'transaction' ? due.messages : []
      for (const message of messages) message.outcome = 'unknown'
    }
    this.#wake()
  }
}

function describeDue(due: Due): string {
  switch (due.what) {
    case 'publish':
      return `PUBLISH ${due.message.channel}`
    case 'transaction':
      return 'EXEC'
    case 'names':
      return `${COMMANDS[due.kind][due.command]} ${[...due.missing].join(' ')}`
    case 'ignored':
      return 'another command'
  }
}

/** A place for clients of the upstream itself. */
export function nativePlace(port: number, host: string): Place {
  return { name: NATIVE, port, host }
}

function latin1(value: RespValue | undefined): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  return typeof value === 'string' ? value : ''
}
