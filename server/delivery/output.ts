import type { Client } from '../client/client.ts'
import type { OutputLimiter } from '../client/output-limits.ts'
import type { ReplyWriter } from '../resp/reply-writer.ts'
import type { Flusher } from './flusher.ts'
import { Gates, type Gate } from './gates.ts'
import { OutputQueue } from './output-queue.ts'
import type { DropTest, Segment } from './segment.ts'
import type { Sink, WebSocketClose, Writer } from './sink.ts'

/** Largest write in bytes, unless a single message is larger. Frames queued after it can still be dropped. */
export const MOST_BYTES_IN_FLIGHT = 262_144

/** The end of an output. */
export interface OutputEnd {
  /** `flush` sends the queue first. `drop` discards it; TCP is then closed at once, without a byte. */
  readonly output: 'flush' | 'drop'
  /** Code and reason for a WebSocket; undefined: an ordinary close (1000). */
  readonly close: WebSocketClose | undefined
}

/**
 * The output of one client: its queue, and the state of its socket.
 *
 * Replies, pushes and shares of segments share one queue, so none can overtake another. Pushes that a command causes
 * for its own client are held back until its reply is queued. A reply that comes later keeps its place: see {@link reserve}.
 */
export class Output implements Writer {
  readonly client: Client
  readonly sink: Sink
  /** Bytes of RESP written. */
  bytes = 0
  /** Writes to the socket. */
  writes = 0
  /** Time of the last write, in monotonic milliseconds; 0: none. */
  lastWriteMs = 0
  /** The soft clock of its limit; undefined until more is held than never counts. */
  limiter: OutputLimiter | undefined
  readonly #flusher: Pick<Flusher, 'add'>
  readonly #queue = new OutputQueue(this)
  #ownPushes: OutputQueue | undefined
  /** Places of replies that come later, and what waits for them; undefined if there are none. */
  #gates: Gates | undefined
  #isExecuting = false
  /** It waits in the flusher's queue of subscribers. */
  #isQueued = false
  /** It waits in the flusher's queue of those that wait for a reply. */
  #isQueuedFirst = false
  #isBlocked = false
  /** Nothing is written until {@link release}. */
  #isWithheld = false
  /** Nothing more is queued. */
  #isClosed = false
  #close: WebSocketClose | undefined
  /** The socket has been ended. */
  #isOver = false

  constructor(client: Client, sink: Sink, flusher: Pick<Flusher, 'add'>) {
    this.client = client
    this.sink = sink
    sink.writer = this
    this.#flusher = flusher
  }

  /** Reports whether nothing more is queued: its client has been closed. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Reports whether the kernel has not taken the last write yet. */
  get isBlocked(): boolean {
    return this.#isBlocked
  }

  /** Reports whether what is queued waits, for the kernel or for a reply that comes later. */
  get isHeldUp(): boolean {
    return this.#isBlocked || this.#gates !== undefined
  }

  /** Bytes queued here and in the socket; the kernel's own buffer does not count. */
  get heldBytes(): number {
    // Unless it is blocked the socket holds nothing; asking it costs more than the rest.
    const ready = this.#queue.heldBytes + (this.#isBlocked ? this.sink.pendingBytes : 0)
    return this.#gates === undefined ? ready : ready + this.#gates.heldBytes
  }

  /** Number of items queued: CLIENT LIST's `oll`. */
  get itemCount(): number {
    return this.#queue.itemCount + (this.#gates === undefined ? 0 : this.#gates.itemCount)
  }

  /** Queues the segment from `start` on, including frames that will be appended. */
  attach(segment: Segment, start: number): void {
    if (this.#isClosed) return
    this.#pushQueue().attach(segment, start)
    this.#wantFlush(false)
  }

  /** Queues the whole frames `[start, end)` of the segment. */
  deliver(segment: Segment, start: number, end: number): void {
    if (this.#isClosed) return
    this.#pushQueue().deliver(segment, start, end)
    this.#wantFlush(false)
  }

  /** Queues a push of its own, one whole frame. */
  push(frame: Buffer): void {
    if (this.#isClosed) return
    const own = this.sink.translate?.(frame) ?? frame
    this.#pushQueue().append(own, 0, own.length)
    this.#wantFlush(true)
  }

  /** Writes nothing more of what is queued, or will be, until {@link release}, unless the client is closed and its queue dropped. */
  withhold(): void {
    this.#isWithheld = true
  }

  release(): void {
    if (!this.#isWithheld) return
    this.#isWithheld = false
    if (!this.#queue.isEmpty || this.#isClosed) this.#wantFlush(false)
  }

  /** Drops the queued messages that `drops` names, whole frames each. Bytes handed to the socket are not affected. */
  dropQueued(drops: DropTest): void {
    this.#queue.drop(drops)
    this.#ownPushes?.drop(drops)
    this.#gates?.drop(drops)
  }

  /**
   * Keeps a place for a reply that comes later. Whatever is queued from now on is written after that reply.
   *
   * @returns The place, to be filled once by {@link fill}.
   */
  reserve(): Gate {
    if (this.#gates === undefined) {
      this.#queue.closeTail()
      this.#gates = new Gates(this)
    } else {
      this.#gates.closeTail()
    }
    return this.#gates.add()
  }

  /** Puts the reply that `writer` holds, which may be empty, in its place. Nothing happens if the place was forgotten. */
  fill(place: Gate, writer: ReplyWriter): void {
    if (this.#gates === undefined) return
    place.fill(writer.buffer, writer.start, writer.end)
    if (!this.#gates.release(this.#queue)) return
    if (this.#gates.isEmpty) this.#gates = undefined
    this.#wantFlush(true)
  }

  /** Holds back pushes until {@link finishCommand}, so that they follow the reply. */
  startCommand(): void {
    this.#isExecuting = true
    if (this.#gates === undefined) this.#queue.closeTail()
    else this.#gates.closeTail()
  }

  /**
   * Queues the reply that `writer` holds, then the pushes that the command caused.
   *
   * @param place That of the reply, if one was kept.
   */
  finishCommand(writer: ReplyWriter, place?: Gate): void {
    this.#isExecuting = false
    if (this.#isOver) return
    if (place !== undefined) {
      this.fill(place, writer)
    } else if (writer.end > writer.start) {
      this.#reply(writer)
    }
    const own = this.#ownPushes
    if (own && !own.isEmpty) {
      this.#tail().moveFrom(own)
      this.#wantFlush(true)
    }
  }

  #reply({ buffer, start, end }: ReplyWriter): void {
    if (this.sink.translate === undefined) {
      this.#tail().append(buffer, start, end)
    } else {
      const own = this.sink.translate(buffer.subarray(start, end))
      this.#tail().append(own, 0, own.length)
    }
    this.#wantFlush(true)
  }

  /**
   * Writes the queue, as far as the kernel takes it. Called by the flusher.
   *
   * @param nowMs Monotonic milliseconds.
   * @param first It comes from the queue of those that wait for a reply; its place in the other, if any, stays.
   */
  flush(nowMs: number, first: boolean): void {
    if (first) this.#isQueuedFirst = false
    else this.#isQueued = false
    if (this.#isWithheld) return
    while (!this.#isBlocked && !this.#queue.isEmpty) {
      const write = this.#queue.take(MOST_BYTES_IN_FLIGHT, this.sink.framed)
      this.bytes += write.length
      this.writes++
      this.lastWriteMs = nowMs
      if (this.sink.write(write.buffers)) continue
      this.#isBlocked = true
      for (const memory of write.from) memory.pin()
    }
    if (this.#isClosed && this.#queue.isEmpty && !this.#isOver && this.#gates === undefined) {
      this.#isOver = true
      this.sink.end(this.#close)
    }
  }

  /** The kernel has taken the last write: goes on at the end of this turn. */
  onWritable(): void {
    this.#isBlocked = false
    if (!this.#queue.isEmpty) this.#wantFlush(false)
  }

  /**
   * Queues nothing more, and ends the socket. A command that is running still gets its reply, and those before it theirs; with
   * `flush` also those that come later.
   *
   * @param lastPush A frame that is sent even if all else is dropped; to who came by HTTP, in RESP3 only.
   */
  end(how: OutputEnd, lastPush?: Buffer): void {
    const { isWeb, protocol } = this.client
    this.#isClosed = true
    this.#close = how.close
    this.#ownPushes = undefined
    const drops = how.output === 'drop' && !this.#isExecuting
    if (drops) {
      this.#clear()
      this.#isWithheld = false
    } else this.#tail().closeTail()
    if (lastPush && isWeb && protocol === 3) {
      const own = this.sink.translate?.(lastPush) ?? lastPush
      this.#pushQueue().append(own, 0, own.length)
    }
    if (drops && !isWeb) {
      this.#isOver = true
      this.sink.terminate()
      return
    }
    // A client that was waiting for a login is paused, and its half of the closing handshake has to be read.
    this.sink.resume()
    this.#wantFlush(true)
  }

  /** Discards the queue, and ends the socket at once. */
  terminate(): void {
    this.#clear()
    this.#isClosed = this.#isOver = true
    this.sink.terminate()
  }

  #clear(): void {
    this.#queue.clear()
    this.#gates?.clear()
    this.#gates = undefined
  }

  /** The end of the output: what is queued there is written last. */
  #tail(): OutputQueue {
    return this.#gates === undefined ? this.#queue : this.#gates.tail
  }

  #pushQueue(): OutputQueue {
    if (!this.#isExecuting) return this.#tail()
    this.#ownPushes ??= new OutputQueue(this)
    return this.#ownPushes
  }

  #wantFlush(first: boolean): void {
    if (this.#isQueuedFirst || (this.#isQueued && !first)) return
    if (first) this.#isQueuedFirst = true
    else this.#isQueued = true
    this.#flusher.add(this, first)
  }
}
