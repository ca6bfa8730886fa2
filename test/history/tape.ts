import { encodeCommand } from '../support/resp-client.ts'
import { ClientLog } from './client-log.ts'
import type { Message, MessageSpace, SubscriptionKind } from './history.ts'
import { PayloadWriter } from './payload.ts'
import { connectTo, type Place, type Recorder, type Transport } from './recorder.ts'
import { ReplyCounter } from './reply-counter.ts'
import type { Wire } from './wire.ts'

/** A channel that taped clients publish to. */
export interface Lane {
  readonly space: MessageSpace
  /** Byte string. */
  readonly channel: string
}

/** Bytes that are kept together, and entries. */
const SLAB_BYTES = 2 ** 24
const BLOCK_ENTRIES = 2 ** 14
/** Numbers of one entry: client, kind, tick, Unix milliseconds, and two that depend on the kind. */
const WIDTH = 6

/** The kinds of entries: names were subscribed to, messages sent, bytes read, the connection ended. */
const [ASKED, SENT, READ, ENDED] = [0, 1, 2, 3]

/** Unanswered publishes of one client: a gateway holds back what is above 1,024. */
const MOST_DUE = 1_000

/**
 * What many clients sent and read, kept as it came: nothing is decoded while they run, so that clients and servers share the machine
 * well. {@link Tape.play} makes sessions of it.
 */
export class Tape {
  readonly lanes: readonly Lane[]
  readonly recorder: Recorder
  readonly #clients: {
    readonly name: string
    readonly place: string
    readonly transport: Transport
  }[] = []
  readonly #asked: (readonly [SubscriptionKind, readonly string[]])[] = []
  readonly #ends: (readonly ['client' | 'server', string])[] = []
  readonly #blocks: Float64Array[] = []
  #entries = 0
  readonly #slabs: Buffer[] = []
  #bytes = 0
  /** The lane of each message that was sent, in order. */
  readonly #sent: Uint16Array[] = []
  /** Publishes that were not sent since too many were unanswered. */
  heldBack = 0

  constructor(recorder: Recorder, lanes: readonly Lane[]) {
    this.recorder = recorder
    this.lanes = lanes
  }

  /** @returns The number of the client. */
  addClient(name: string, place: string, transport: Transport): number {
    return this.#clients.push({ name, place, transport }) - 1
  }

  asked(client: number, kind: SubscriptionKind, names: readonly string[]): void {
    this.#add(client, ASKED, this.#asked.push([kind, names]) - 1, 0)
  }

  /** Messages are about to be sent. @param lanes Numbers of their lanes. @returns The serial number of the first. */
  sends(client: number, lanes: Uint16Array): number {
    const { messages } = this.recorder
    const first = messages.length
    messages.length += lanes.length
    this.#add(client, SENT, first, this.#sent.push(lanes) - 1)
    return first
  }

  /** Bytes have come, and are copied. */
  read(client: number, bytes: Uint8Array): void {
    let last = this.#slabs.at(-1)
    if (last === undefined || this.#bytes + bytes.length > last.length) {
      last = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, bytes.length))
      this.#slabs.push(last)
      this.#bytes = 0
    }
    last.set(bytes, this.#bytes)
    this.#add(client, READ, (this.#slabs.length - 1) * SLAB_BYTES + this.#bytes, bytes.length)
    this.#bytes += bytes.length
  }

  ended(client: number, by: 'client' | 'server', reason: string): void {
    this.#add(client, ENDED, this.#ends.push([by, reason]) - 1, 0)
  }

  /** Makes messages and sessions of all that is on the tape. Once, when nothing is added any more. */
  play(): void {
    const { recorder } = this
    const logs = this.#clients.map(({ name, place, transport }) => {
      const log = new ClientLog(recorder, name, place, transport)
      if (transport === 'resp3') log.sendsAnything()
      return log
    })
    for (let entry = 0; entry < this.#entries; entry++) {
      const block = this.#blocks[Math.floor(entry / BLOCK_ENTRIES)] as Float64Array
      const at = (entry % BLOCK_ENTRIES) * WIDTH
      const [client = 0, kind, tick = 0, ms = 0, one = 0, two = 0] = block.subarray(at, at + WIDTH)
      recorder.playBack({ tick, ms })
      const log = logs[client] as ClientLog
      if (kind === READ) {
        const slab = this.#slabs[Math.floor(one / SLAB_BYTES)] as Buffer
        log.read(slab.subarray(one % SLAB_BYTES, (one % SLAB_BYTES) + two))
      } else if (kind === SENT) this.#playSent(log, one, this.#sent[two] as Uint16Array)
      else if (kind === ASKED) log.sendsNames('join', ...(this.#asked[one] ?? ['channel', []]))
      else log.closed(...(this.#ends[one] ?? ['client', '']))
    }
    recorder.playBack(undefined)
  }

  #playSent(log: ClientLog, first: number, lanes: Uint16Array): void {
    const { messages } = this.recorder
    for (const [at, number] of lanes.entries()) {
      const { space, channel } = this.lanes[number] as Lane
      const message: Message = log.message(space, channel)
      messages[first + at] = message
      log.sends(message)
    }
  }

  #add(client: number, kind: number, one: number, two: number): void {
    const place = this.#entries++ % BLOCK_ENTRIES
    if (place === 0) this.#blocks.push(new Float64Array(BLOCK_ENTRIES * WIDTH))
    const { tick, ms } = this.recorder.moment()
    const block = this.#blocks.at(-1) as Float64Array
    block.set([client, kind, tick, ms, one, two], place * WIDTH)
  }
}

/** One connection of a client whose doings go on a {@link Tape}. */
export class TapedClient {
  readonly #tape: Tape
  readonly #wire: Wire
  readonly #number: number
  readonly #counter: ReplyCounter
  readonly #writer: PayloadWriter
  #expected = 0
  #isClosing = false
  isOpen = true

  private constructor(tape: Tape, wire: Wire, number: number, transport: Transport) {
    this.#tape = tape
    this.#wire = wire
    this.#number = number
    this.#counter = new ReplyCounter(transport === 'resp2')
    this.#writer = new PayloadWriter(tape.lanes)
    wire.listen({
      bytes: (chunk) => {
        tape.read(number, chunk)
        this.#counter.read(chunk)
      },
      closed: (reason) => {
        this.isOpen = false
        tape.ended(number, this.#isClosing ? 'client' : 'server', reason)
      },
    })
    if (transport !== 'resp3') return
    this.#expected++
    wire.send(encodeCommand('HELLO', '3'))
  }

  /** @param name Of this connection: no other may have it. @throws Error The place cannot be reached. */
  static async connect(
    tape: Tape,
    place: Place,
    transport: Transport,
    name: string,
  ): Promise<TapedClient> {
    const wire = await connectTo(place, transport, name)
    return new TapedClient(tape, wire, tape.addClient(name, place.name, transport), transport)
  }

  /** Replies that have not come. */
  get dueCount(): number {
    return this.#expected - this.#counter.replies
  }

  /** Error replies so far. */
  get errors(): number {
    return this.#counter.errors
  }

  subscribe(kind: SubscriptionKind, ...names: readonly string[]): void {
    this.#tape.asked(this.#number, kind, names)
    this.#wire.send(encodeCommand(WORDS[kind], ...names))
  }

  /** Publishes in one write, unless too much is unanswered. @param lanes Numbers of the lanes. @param sizes Of the payloads, about. */
  publish(lanes: Uint16Array, sizes: readonly number[]): void {
    if (this.dueCount + lanes.length > MOST_DUE) {
      this.#tape.heldBack += lanes.length
      return
    }
    this.#expected += lanes.length
    const first = this.#tape.sends(this.#number, lanes)
    this.#wire.send(this.#writer.encode(first, lanes, sizes))
  }

  /** Waits until every reply has come, or the connection has ended: what is missing then, the checker finds. */
  async idle(patienceMs = 20_000): Promise<void> {
    const deadlineMs = performance.now() + patienceMs
    while (this.dueCount > 0 && this.isOpen && performance.now() < deadlineMs)
      await new Promise((resolve) => void setTimeout(resolve, 20))
  }

  close(): void {
    this.#isClosing = true
    this.#wire.close()
  }
}

const WORDS = { channel: 'SUBSCRIBE', pattern: 'PSUBSCRIBE', shard: 'SSUBSCRIBE' } as const
