import { isError, type RespValue } from '../../shared/resp/types.ts'
import { encodeCommand } from '../support/resp-client.ts'
import { ClientLog, type SessionLog } from './client-log.ts'
import {
  NATIVE,
  type History,
  type Message,
  type MessageSpace,
  type Moment,
  type Replacement,
  type Session,
  type Span,
  type SubscriptionKind,
} from './history.ts'
import { payloadOf } from './payload.ts'
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

/** What may happen at one moment of a tape, at most. */
const PLAYED_MOST = 2 ** 20

/** Writes down what all clients of this process do and see, with one clock. */
export class Recorder {
  readonly messages: Message[] = []
  readonly disturbed: Span[] = []
  readonly replaced: Replacement[] = []
  /** Error replies with the place that gave them, and how often each came. */
  readonly errors = new Map<string, number>()
  readonly #sessions: Session[] = []
  readonly #names = new Map<string, string>()
  #tick = 0
  /** The moment that is played back, and how much has happened in it. */
  #played: Moment | undefined
  #playedCount = 0
  /** Moment of the last thing that was recorded. */
  lastMs = 0

  moment(): Moment {
    const played = this.#played
    if (played) return { tick: played.tick + ++this.#playedCount / PLAYED_MOST, ms: played.ms }
    this.#tick++
    this.lastMs = Date.now()
    return { tick: this.#tick, ms: this.lastMs }
  }

  /** Lets what follows happen at a moment that has been; undefined: now. */
  playBack(moment: Moment | undefined): void {
    this.#played = moment
    this.#playedCount = 0
  }

  /** The same string for the same name. */
  name(name: string): string {
    const known = this.#names.get(name)
    if (known === undefined) this.#names.set(name, name)
    return known ?? name
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
    const { messages, disturbed, replaced } = this
    return { topology, messages, sessions: this.#sessions, disturbed, replaced }
  }
}

/** Connects to a place. @param name Of the connection: it is the subject of its token. @throws Error It cannot be reached. */
export async function connectTo(place: Place, transport: Transport, name: string): Promise<Wire> {
  if (transport !== 'websocket') return connectTcp(place.port, place.host)
  if (place.wsUrl === undefined || !place.mint) throw new Error('no WebSockets there')
  return connectWebSocket(place.wsUrl, await place.mint(name))
}

/** One connection whose client writes down everything. */
export class RecordedClient {
  readonly #recorder: Recorder
  readonly #wire: Wire
  readonly #log: ClientLog
  readonly #waiting: (() => void)[] = []
  #isClosing = false
  isOpen = true

  private constructor(
    recorder: Recorder,
    wire: Wire,
    log: ClientLog,
    hello: readonly string[] = ['HELLO', '3'],
    heard?: (reply: RespValue) => void,
  ) {
    this.#recorder = recorder
    this.#wire = wire
    this.#log = log
    wire.listen({
      bytes: (chunk) => {
        if (!log.read(chunk)) wire.close()
        this.#wake()
      },
      closed: (reason) => {
        this.isOpen = false
        log.closed(this.#isClosing ? 'client' : 'server', reason)
        this.#wake()
      },
    })
    if (log.transport !== 'resp3') return
    log.sendsAnything(heard)
    wire.send(encodeCommand(...hello))
  }

  /** @param name Of this connection: no other may have it. @throws Error The place cannot be reached. */
  static async connect(
    recorder: Recorder,
    place: Place,
    transport: Transport,
    name: string,
  ): Promise<RecordedClient> {
    const wire = await connectTo(place, transport, name)
    return new RecordedClient(recorder, wire, new ClientLog(recorder, name, place.name, transport))
  }

  /** Connects over TCP, and logs in with a token. @throws Error That is not possible. */
  static async logIn(
    recorder: Recorder,
    place: Place,
    name: string,
    token: string,
  ): Promise<RecordedClient> {
    const wire = await connectTcp(place.port, place.host)
    let problem = 'no answer to the login'
    const hello = ['HELLO', '3', 'AUTH', 'jwt', token]
    const log = new ClientLog(recorder, name, place.name, 'resp3')
    const client = new RecordedClient(recorder, wire, log, hello, (reply) => {
      problem = isError(reply) ? reply.message : ''
    })
    await client.idle()
    if (problem === '') return client
    client.close()
    throw new Error(problem)
  }

  get name(): string {
    return this.#log.name
  }

  /** Replies that have not come. */
  get dueCount(): number {
    return this.#log.dueCount
  }

  /** Reports whether the last subscription to this name was refused, or taken away. */
  isRefused(kind: SubscriptionKind, name: string): boolean {
    return this.#log.isRefused(kind, name)
  }

  subscribe(kind: SubscriptionKind, ...names: readonly string[]): void {
    this.#wire.send(this.#log.sendsNames('join', kind, names))
  }

  unsubscribe(kind: SubscriptionKind, ...names: readonly string[]): void {
    this.#wire.send(this.#log.sendsNames('leave', kind, names))
  }

  /** @param size Bytes of the payload, about. */
  publish(space: MessageSpace, channel: string, size: number): Message {
    const [message, command] = this.#message(space, channel, size)
    this.#log.sends(message)
    this.#wire.send(command)
    return message
  }

  /** Publishes in one transaction, which keeps the messages together. */
  publishTogether(space: MessageSpace, channels: readonly string[], size: number): Message[] {
    const made = channels.map((channel) => this.#message(space, channel, size))
    const messages = made.map(([message]) => message)
    this.#log.sendsTogether(messages)
    const commands = made.map(([, command]) => command)
    this.#wire.send(Buffer.concat([encodeCommand('MULTI'), ...commands, encodeCommand('EXEC')]))
    return messages
  }

  /** Waits until every reply has come, or the connection has ended. A reply that does not come is a fault. */
  async idle(patienceMs = 20_000): Promise<void> {
    const late = { isLate: false }
    const timer = setTimeout(() => {
      late.isLate = true
      this.#log.nonsense(`no reply in ${patienceMs} ms to: ${this.#log.dueText}`)
      this.#wake()
    }, patienceMs)
    while (this.dueCount > 0 && this.isOpen && !late.isLate)
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
    const payload = payloadOf(messages.length, size)
    const message = this.#log.message(space, channel)
    messages.push(message)
    return [message, encodeCommand(space === 'shard' ? 'SPUBLISH' : 'PUBLISH', channel, payload)]
  }
}

/** A place for clients of the upstream itself. */
export function nativePlace(port: number, host: string): Place {
  return { name: NATIVE, port, host }
}
