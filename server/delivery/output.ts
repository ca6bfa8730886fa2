import type { Client } from '../client/client.ts'
import type { OutputLimiter } from '../client/output-limits.ts'
import type { ReplyWriter } from '../resp/reply-writer.ts'
import type { Flusher } from './flusher.ts'
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
 * for its own client are held back until its reply is queued.
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
  #isExecuting = false
  /** It waits in the flusher's queue of subscribers. */
  #isQueued = false
  /** It waits in the flusher's queue of those that wait for a reply. */
  #isQueuedFirst = false
  #isBlocked = false
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

  /** Bytes queued here and in the socket; the kernel's own buffer does not count. */
  get heldBytes(): number {
    // Unless it is blocked the socket holds nothing; asking it costs more than the rest.
    return this.#queue.heldBytes + (this.#isBlocked ? this.sink.pendingBytes : 0)
  }

  /** Number of items queued: CLIENT LIST's `oll`. */
  get itemCount(): number {
    return this.#queue.itemCount
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
    this.#pushQueue().append(frame, 0, frame.length)
    this.#wantFlush(true)
  }

  /** Drops the queued messages that `drops` names, whole frames each. Bytes handed to the socket are not affected. */
  dropQueued(drops: DropTest): void {
    this.#queue.drop(drops)
    this.#ownPushes?.drop(drops)
  }

  /** Holds back pushes until {@link finishCommand}, so that they follow the reply. */
  startCommand(): void {
    this.#isExecuting = true
    this.#queue.closeTail()
  }

  /** Queues the reply that `writer` holds, then the pushes that the command caused. */
  finishCommand(writer: ReplyWriter): void {
    this.#isExecuting = false
    if (this.#isOver) return
    if (writer.end > writer.start) {
      this.#queue.append(writer.buffer, writer.start, writer.end)
      this.#wantFlush(true)
    }
    const own = this.#ownPushes
    if (own && !own.isEmpty) {
      this.#queue.moveFrom(own)
      this.#wantFlush(true)
    }
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
    while (!this.#isBlocked && !this.#queue.isEmpty) {
      const write = this.#queue.take(MOST_BYTES_IN_FLIGHT, this.sink.framed)
      this.bytes += write.length
      this.writes++
      this.lastWriteMs = nowMs
      if (this.sink.write(write.buffers)) continue
      this.#isBlocked = true
      for (const memory of write.from) memory.pin()
    }
    if (this.#isClosed && this.#queue.isEmpty && !this.#isOver) {
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
   * Queues nothing more, and ends the socket. A command that is running still gets its reply, and those before it theirs.
   *
   * @param lastPush A frame that is sent even if all else is dropped; WebSocket only.
   */
  end(how: OutputEnd, lastPush?: Buffer): void {
    const { isWebSocket } = this.client
    this.#isClosed = true
    this.#close = how.close
    this.#ownPushes = undefined
    const drops = how.output === 'drop' && !this.#isExecuting
    if (drops) this.#queue.clear()
    else this.#queue.closeTail()
    if (lastPush && isWebSocket) this.#pushQueue().append(lastPush, 0, lastPush.length)
    if (drops && !isWebSocket) {
      this.sink.terminate()
      return
    }
    // A client that was waiting for a login is paused, and its half of the closing handshake has to be read.
    this.sink.resume()
    this.#wantFlush(true)
  }

  /** Discards the queue, and ends the socket at once. */
  terminate(): void {
    this.#queue.clear()
    this.#isClosed = this.#isOver = true
    this.sink.terminate()
  }

  #pushQueue(): OutputQueue {
    if (!this.#isExecuting) return this.#queue
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
