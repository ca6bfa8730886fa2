import { RespReader } from '../../shared/resp/reader.ts'
import { isError, isPush, type RespValue } from '../../shared/resp/types.ts'
import { encodeCommand } from '../support/resp-client.ts'
import {
  CONTROL_PREFIX,
  type Message,
  type MessageSpace,
  type Moment,
  type Session,
  type SessionEvent,
  type SubscriptionKind,
} from './history.ts'
import { serialOf } from './payload.ts'
import type { Recorder, Transport } from './recorder.ts'

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

/** A session that is being written. */
export type SessionLog = Session & { readonly events: SessionEvent[] }

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
  | { readonly what: 'ignored'; readonly heard?: (reply: RespValue) => void }

/** Makes a session of what one client sends and reads, at the time of the {@link Recorder}: while it happens, or later. */
export class ClientLog {
  readonly name: string
  readonly place: string
  readonly transport: Transport
  readonly #recorder: Recorder
  readonly #session: SessionLog
  readonly #reader = new RespReader()
  readonly #due: Due[] = []
  readonly #refused = new Set<string>()
  #number = 0

  constructor(recorder: Recorder, name: string, place: string, transport: Transport) {
    this.#recorder = recorder
    this.name = name
    this.place = place
    this.transport = transport
    this.#session = recorder.session(name, place, transport === 'websocket' ? transport : 'tcp')
  }

  /** Replies that have not come. */
  get dueCount(): number {
    return this.#due.length
  }

  /** Their commands. */
  get dueText(): string {
    return this.#due.map(describeDue).join(', ')
  }

  /** Reports whether the last subscription to this name was refused, or taken away. */
  isRefused(kind: SubscriptionKind, name: string): boolean {
    return this.#refused.has(`${kind} ${name}`)
  }

  /** A command is sent whose reply means nothing here. @param heard Is told of it. */
  sendsAnything(heard: (reply: RespValue) => void = () => {}): void {
    this.#due.push({ what: 'ignored', heard })
  }

  /** A command for names is sent. @returns Its bytes. */
  sendsNames(command: 'join' | 'leave', kind: SubscriptionKind, names: readonly string[]): Buffer {
    const type = command === 'join' ? 'joining' : 'leaving'
    for (const name of names) {
      this.#add({ type, kind, name })
      this.#refused.delete(`${kind} ${name}`)
    }
    this.#due.push({ what: 'names', command, kind, missing: new Set(names) })
    return encodeCommand(COMMANDS[kind][command], ...names)
  }

  /** A message that is sent now. */
  message(space: MessageSpace, channel: string): Message {
    return {
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
  }

  /** A message is sent by itself. */
  sends(message: Message): void {
    this.#due.push({ what: 'publish', message })
  }

  /** Messages are sent in one transaction. */
  sendsTogether(messages: readonly Message[]): void {
    this.#due.push({ what: 'ignored' }, ...messages.map(() => ({ what: 'ignored' }) as const), {
      what: 'transaction',
      messages,
    })
  }

  /** Bytes have come, which must not be changed any more. @returns False if they are no RESP. */
  read(bytes: Uint8Array): boolean {
    try {
      this.#reader.push(bytes)
      for (let value = this.#reader.next(); value !== undefined; value = this.#reader.next())
        this.#take(value)
      return true
    } catch (error) {
      this.nonsense(`bytes that are no RESP: ${String(error)}`)
      return false
    }
  }

  /** Something has happened that cannot be. */
  nonsense(text: string): void {
    this.#add({ type: 'nonsense', text })
  }

  /** The connection has ended. @param reason Close code and reason of a WebSocket. */
  closed(by: 'server' | 'client', reason: string): void {
    this.#add({ type: 'closed', by, reason })
    for (const due of this.#due.splice(0)) {
      const messages =
        due.what === 'publish' ? [due.message] : due.what === 'transaction' ? due.messages : []
      for (const message of messages) message.outcome = 'unknown'
    }
  }

  #add(event: NewEvent): void {
    this.#session.events.push({ ...this.#recorder.moment(), ...event })
  }

  #take(value: RespValue): void {
    const items = isPush(value)
      ? value.items
      : this.transport === 'resp2' && Array.isArray(value)
        ? (value as readonly RespValue[])
        : undefined
    if (items) this.#takePush(items)
    else this.#takeReply(value)
  }

  #takePush(items: readonly RespValue[]): void {
    const what = latin1(items[0])
    const confirmation = CONFIRMATIONS.get(what)
    if (confirmation) {
      this.#takeConfirmation(confirmation, latin1(items[1]))
    } else if (what === 'message' || what === 'smessage') {
      const kind = what === 'message' ? 'channel' : 'shard'
      const name = this.#recorder.name(latin1(items[1]))
      this.#takeMessage(kind, name, name, items[2])
    } else if (what === 'pmessage') {
      const [name, channel] = [latin1(items[1]), latin1(items[2])].map((text) =>
        this.#recorder.name(text),
      )
      this.#takeMessage('pattern', name ?? '', channel ?? '', items[3])
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
    if (channel.startsWith(CONTROL_PREFIX)) {
      this.#add({ type: 'control', payload: latin1(payload) })
      return
    }
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
        due.heard?.(value)
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
    this.#session.events.push({ ...message.answered, type: 'answered', message })
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

function latin1(value: RespValue | undefined): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  return typeof value === 'string' ? value : ''
}
