import { frameHeader } from './frame.ts'
import type { Output } from './output.ts'
import { Segment, type DropTest, type Pinnable, type Write } from './segment.ts'

/** The end of a share that grows with its segment. */
const OPEN = -1

/** Pieces of one write are copied into one buffer up to this size; beyond it they are handed over as they are. */
const JOIN_BYTES = 16_384

const NOWHERE: readonly Pinnable[] = []

const NOTHING: Write = { buffers: [], length: 0, from: NOWHERE }

interface Item {
  source: Buffer | Segment
  start: number
  end: number
}

/**
 * Queue of everything that one client is still to be sent, in order: its replies, and its shares of segments.
 *
 * There is one list and only whole frames go in, so nothing can overtake anything. The last item may be an *open*
 * share: it grows with its segment and costs nothing per message. Any item queued after it closes it, and tells the
 * segment so.
 *
 * The first item lies in the queue itself: in a fan-out it is the only one, and then nothing is allocated for it.
 */
export class OutputQueue {
  #source: Buffer | Segment | undefined
  #start = 0
  #end = 0
  #rest: Item[] | undefined
  /** Bytes of all items but an open one. */
  #closedBytes = 0
  readonly #owner: Output

  /** @param owner Named to a segment whose share was closed or used up, to be attached again at the next message. */
  constructor(owner: Output) {
    this.#owner = owner
  }

  get isEmpty(): boolean {
    return this.#source === undefined
  }

  /** Bytes queued. */
  get heldBytes(): number {
    const segment = this.#openSegment()
    return segment ? this.#closedBytes + segment.length - this.#tailStart() : this.#closedBytes
  }

  /** Number of items: CLIENT LIST's `oll`. */
  get itemCount(): number {
    return this.#source === undefined ? 0 : 1 + (this.#rest?.length ?? 0)
  }

  /** Puts whole frames `buffer[start, end)` at the end. */
  append(buffer: Buffer, start: number, end: number): void {
    if (start === end) return
    this.closeTail()
    this.#closedBytes += end - start
    this.#push(buffer, start, end)
  }

  /** Puts the segment from `start` on at the end, open. */
  attach(segment: Segment, start: number): void {
    if (this.#openSegment() === segment) return
    this.closeTail()
    this.#push(segment, start, OPEN)
  }

  /** Puts the segment's frames `[start, end)` at the end. */
  deliver(segment: Segment, start: number, end: number): void {
    this.closeTail()
    this.#closedBytes += end - start
    this.#push(segment, start, end)
  }

  /** Closes an open share at the present end of its segment; the segment notes that its owner must be attached again. */
  closeTail(): void {
    const segment = this.#openSegment()
    if (!segment) return
    this.#closedBytes += segment.length - this.#tailStart()
    this.#setTailEnd(segment.length)
    segment.detach(this.#owner)
  }

  /** Moves everything of `other` to the end. `other` is empty afterwards. */
  moveFrom(other: OutputQueue): void {
    if (other.#source === undefined) return
    this.closeTail()
    this.#closedBytes += other.#closedBytes
    this.#push(other.#source, other.#start, other.#end)
    if (other.#rest) for (const item of other.#rest) this.#push(item.source, item.start, item.end)
    other.clear()
  }

  /** Drops the queued messages that `drops` names, whole frames each; replies and other pushes stay. */
  drop(drops: DropTest): void {
    this.closeTail()
    if (this.#source === undefined) return
    const items = [{ source: this.#source, start: this.#start, end: this.#end }]
    if (this.#rest) items.push(...this.#rest)
    this.clear()
    for (const { source, start, end } of items) {
      const runs = source instanceof Segment ? source.without(start, end, drops) : [{ start, end }]
      for (const run of runs) {
        this.#closedBytes += run.end - run.start
        this.#push(source, run.start, run.end)
      }
    }
  }

  /** Forgets everything. */
  clear(): void {
    release(this.#source)
    if (this.#rest) for (const item of this.#rest) release(item.source)
    this.#source = undefined
    this.#rest = undefined
    this.#closedBytes = 0
  }

  /**
   * Takes the content of one write off the front: whole frames, at most `most` bytes, or one larger frame (a run of
   * replies counts as one).
   *
   * @param framed Put it in one WebSocket message.
   */
  take(most: number, framed: boolean): Write {
    const source = this.#source
    if (source === undefined) return NOTHING
    if (this.#rest === undefined && source instanceof Segment) {
      const slice = source.slice(this.#start, this.#firstEnd(source), most)
      this.#advance(slice.end, slice.plain.length)
      return framed ? slice.framed : slice.plain
    }
    if (this.#rest === undefined && !framed) {
      // A run of replies, which is one item: the answer to most reads.
      const buffers = [(source as Buffer).subarray(this.#start, this.#end)]
      const length = this.#end - this.#start
      this.#advance(this.#end, length)
      return { buffers, length, from: NOWHERE }
    }
    const buffers: Buffer[] = []
    const from: Pinnable[] = []
    let length = 0
    while (this.#source !== undefined) {
      if (this.#source instanceof Segment) from.push(this.#source)
      const taken = this.#takeItem(buffers, most - length, length === 0)
      if (taken === 0) break
      length += taken
    }
    if (framed) buffers.unshift(frameHeader(length))
    const joined = buffers.length > 1 && length <= JOIN_BYTES
    return joined
      ? { buffers: [Buffer.concat(buffers)], length, from: NOWHERE }
      : { buffers, length, from }
  }

  /** @returns Bytes taken; 0 where the next frame is too large for this write. */
  #takeItem(into: Buffer[], most: number, first: boolean): number {
    const source = this.#source as Buffer | Segment
    if (source instanceof Segment) {
      if (most <= 0) return 0
      const slice = source.slice(this.#start, this.#firstEnd(source), most)
      const { buffers, length } = slice.plain
      if (length > most && !first) return 0
      into.push(...buffers)
      this.#advance(slice.end, length)
      return length
    }
    const length = this.#end - this.#start
    if (length > most && !first) return 0
    into.push(source.subarray(this.#start, this.#end))
    this.#advance(this.#end, length)
    return length
  }

  #firstEnd(segment: Segment): number {
    return this.#end === OPEN ? segment.length : this.#end
  }

  /** Moves the front on to position `to` of the first item; an item that is used up is released. */
  #advance(to: number, bytes: number): void {
    this.#start = to
    if (this.#end === OPEN) {
      const segment = this.#source as Segment
      if (to < segment.length) return
      segment.detach(this.#owner)
    } else {
      this.#closedBytes -= bytes
      if (to < this.#end) return
    }
    release(this.#source)
    const next = this.#rest?.shift()
    if (this.#rest?.length === 0) this.#rest = undefined
    this.#source = next?.source
    this.#start = next?.start ?? 0
    this.#end = next?.end ?? 0
  }

  #push(source: Buffer | Segment, start: number, end: number): void {
    if (this.#source === undefined) {
      retain(source)
      this.#source = source
      this.#start = start
      this.#end = end
    } else if (this.#tailSource() === source && this.#tailEnd() === start) {
      // An open share counts from its start; the items before it no longer count as closed.
      if (end === OPEN) this.#closedBytes -= start - this.#tailStart()
      this.#setTailEnd(end)
    } else {
      retain(source)
      this.#rest ??= []
      this.#rest.push({ source, start, end })
    }
  }

  #openSegment(): Segment | undefined {
    if (this.#source === undefined || this.#tailEnd() !== OPEN) return undefined
    return this.#tailSource() as Segment
  }

  #tailSource(): Buffer | Segment {
    return (this.#rest ? this.#rest[this.#rest.length - 1]?.source : this.#source) as
      | Buffer
      | Segment
  }

  #tailStart(): number {
    return this.#rest ? (this.#rest[this.#rest.length - 1] as Item).start : this.#start
  }

  #tailEnd(): number {
    return this.#rest ? (this.#rest[this.#rest.length - 1] as Item).end : this.#end
  }

  #setTailEnd(end: number): void {
    if (this.#rest) (this.#rest[this.#rest.length - 1] as Item).end = end
    else this.#end = end
  }
}

function retain(source: Buffer | Segment): void {
  if (source instanceof Segment) source.retain()
}

function release(source: Buffer | Segment | undefined): void {
  if (source instanceof Segment) source.release()
}
