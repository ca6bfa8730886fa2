import { FRESH_ARENAS, type Arenas } from './arenas.ts'
import {
  frameHeader,
  frameHeaderLength,
  MAX_FRAME_HEADER_BYTES,
  writeFrameHeader,
} from './frame.ts'
import type { Output } from './output.ts'
import type { MessageKind } from '../resp/push.ts'

/** The payload of a message, before it has a buffer of its own. */
export interface Payload {
  /** Bytes. */
  readonly length: number
  /** Copies it to `target`, from `at` on. */
  copy(target: Buffer, at: number): void
  /** Its bytes, which are never changed afterwards. */
  kept(): Buffer
}

/** A payload that is a buffer, which is never changed any more. */
export function payloadOf(bytes: Buffer): Payload {
  return {
    length: bytes.length,
    copy: (target, at) => {
      bytes.copy(target, at)
    },
    kept: () => bytes,
  }
}

/** Reports whether a queued message is dropped; names are byte strings. */
export type DropTest = (kind: MessageKind, name: string, channel: string) => boolean

/** Whole frames `[start, end)` of a segment. */
interface Run {
  readonly start: number
  readonly end: number
}

const CR = 0x0d
const LF = 0x0a
const DOLLAR = 0x24

/** Runs up to this size are copied into one buffer with their WebSocket header. */
const JOINED_BYTES = 65_536

const NOTHING = Buffer.alloc(0)

/** Shared by all segments that hold one piece; never added to. */
const NO_PIECES: Buffer[] = []
const NO_ENDS: number[] = []

/** `$`, 16 digits, CRLF, and the CRLF after the payload. */
const BULK_OVERHEAD_BYTES = 24

/** Buffers to be written at once. The bytes are shared, so they are never to be changed. */
export interface Write {
  readonly buffers: readonly Buffer[]
  /** Bytes of RESP, WebSocket headers not counted. */
  readonly length: number
  /** Segments that own the buffers, which must learn if the bytes are not taken at once. */
  readonly from: readonly Pinnable[]
}

/** Memory that a write under way still needs. */
export interface Pinnable {
  pin(): void
}

/**
 * A run of whole frames that can be written as it stands.
 *
 * A class, since a literal with a getter would get a hidden class of its own each time, which the garbage collector keeps
 * for long, and with it the segment.
 */
export class Slice {
  /** End of the run in its segment. */
  readonly end: number
  /** The run as it is. */
  readonly plain: Write
  /** The arena that has room for a header in front of the run; undefined if there is no room. */
  readonly #arena: Buffer | undefined
  #framed: Write | undefined

  constructor(end: number, plain: Write, arena: Buffer | undefined) {
    this.end = end
    this.plain = plain
    this.#arena = arena
  }

  /** The run as one WebSocket message. */
  get framed(): Write {
    return (this.#framed ??= this.#frame())
  }

  #frame(): Write {
    const { buffers, length, from } = this.plain
    const framed = this.#arena ? frameInPlace(this.#arena, length) : frameApart(buffers, length)
    return { buffers: framed, length, from }
  }
}

/**
 * Pushes of one channel (or pattern) in one encoding, in the order in which they come, until all subscribers have been
 * written.
 *
 * All subscribers that receive the same run of messages share it: each holds a position and no bytes. Small payloads
 * are copied in, so that a run is one buffer; large ones stay references to the publisher's bytes.
 */
export class Segment {
  readonly kind: MessageKind
  /** The channel, or for `pmessage` the pattern, as a byte string. */
  readonly name: string
  /** Outputs whose share was closed, or was sent whole: to be attached again at the next message. */
  detached: Output[] | undefined
  /** Nothing will be appended any more, so no output has to be attached again. */
  sealed = false
  /** Places in output queues that lie in it. */
  #users = 0
  #pinned = false
  readonly #arenas: Arenas
  /** Arenas that it was given before the one in use. */
  #spentArenas: Buffer[] | undefined
  #length = 0
  readonly #frameEnds: number[] = []
  /** Of frames that do not tell: the channel of each. */
  #channels: string[] | undefined
  /** Finished pieces and where each ends; the arena in use is not among them. */
  #pieces = NO_PIECES
  #pieceEnds = NO_ENDS
  #arena: Buffer = NOTHING
  #arenaStart = 0
  #headroom = MAX_FRAME_HEADER_BYTES
  #slice: Slice | undefined
  #sliceStart = -1

  constructor(kind: MessageKind = 'message', name = '', arenas = FRESH_ARENAS) {
    this.kind = kind
    this.name = name
    this.#arenas = arenas
  }

  /** Counts one more place of an output queue in it. */
  retain(): void {
    this.#users++
  }

  /** Counts one place less. */
  release(): void {
    this.#users--
  }

  /** A socket has not taken its bytes at once: its memory is never used again. */
  pin(): void {
    this.#pinned = true
  }

  /** Gives its memory back to the pool if nothing can ask for its bytes any more. @returns True if it did. */
  recycle(): boolean {
    if (!this.sealed || this.#users > 0 || this.#pinned) return false
    // A late read has to fail instead of returning bytes that others write here.
    this.#pinned = true
    this.#slice = undefined
    if (this.#arena !== NOTHING) this.#arenas.give(this.#arena)
    this.#arena = NOTHING
    if (this.#spentArenas) for (const arena of this.#spentArenas) this.#arenas.give(arena)
    return true
  }

  /** Notes that an output has no open share any more. */
  detach(output: Output): void {
    if (this.sealed) return
    if (this.detached) this.detached.push(output)
    else this.detached = [output]
  }

  /** Bytes of all frames. */
  get length(): number {
    return this.#length
  }

  /**
   * Appends one push frame.
   *
   * @param prefix The frame up to its last constant byte (header, kind, names).
   * @param channel A bulk string between prefix and payload, for pattern messages; a byte string.
   * @param shareBytes A payload of at least so many bytes is referenced, not copied.
   */
  append(prefix: Buffer, channel: string | undefined, payload: Payload, shareBytes: number): void {
    const shared = payload.length >= shareBytes && payload.length > 0
    let room = prefix.length + BULK_OVERHEAD_BYTES
    if (channel !== undefined) room += channel.length + BULK_OVERHEAD_BYTES
    if (!shared) room += payload.length
    this.#reserve(room)
    prefix.copy(this.#arena, this.#used())
    this.#length += prefix.length
    if (channel !== undefined) {
      this.#bulkHeader(channel.length)
      this.#arena.write(channel, this.#used(), 'latin1')
      this.#length += channel.length
      this.#lineEnd()
    }
    this.#bulkHeader(payload.length)
    if (shared) {
      this.#closeArena()
      this.#length += payload.length
      this.#pieces.push(payload.kept())
      this.#pieceEnds.push(this.#length)
      this.#openArena(BULK_OVERHEAD_BYTES)
    } else {
      payload.copy(this.#arena, this.#used())
      this.#length += payload.length
    }
    this.#lineEnd()
    this.#frameEnds.push(this.#length)
  }

  /**
   * Appends one frame that is encoded already, and never changed afterwards.
   *
   * @param channel Of a pattern's message, a byte string: it cannot be read from the frame.
   * @param shareBytes A frame of at least so many bytes is referenced, not copied.
   */
  appendWhole(frame: Buffer, channel: string | undefined, shareBytes: number): void {
    if (channel !== undefined) (this.#channels ??= []).push(channel)
    if (frame.length >= shareBytes) {
      this.#reserve(0)
      this.#closeArena()
      this.#length += frame.length
      this.#pieces.push(frame)
      this.#pieceEnds.push(this.#length)
      this.#openArena(BULK_OVERHEAD_BYTES)
    } else {
      this.#reserve(frame.length)
      frame.copy(this.#arena, this.#used())
      this.#length += frame.length
    }
    this.#frameEnds.push(this.#length)
  }

  /**
   * The run of whole frames from `start` to at most `end`, of at most `most` bytes; a single frame that is larger
   * comes alone.
   */
  slice(start: number, end: number, most: number): Slice {
    const stop = end - start <= most ? end : this.#lastFrameEnd(start, most)
    const known = this.#slice
    if (known && this.#sliceStart === start && known.end === stop) return known
    const slice = this.#cut(start, stop)
    this.#slice = slice
    this.#sliceStart = start
    return slice
  }

  /**
   * Returns the runs of `[start, end)` that are left without the messages that `drops` names; neighbours are one run.
   *
   * The channel of a pattern's message is read from its frame, so that it need not be kept for each message.
   */
  without(start: number, end: number, drops: DropTest): readonly Run[] {
    if (this.kind !== 'pmessage') {
      return drops(this.kind, this.name, this.name) ? [] : [{ start, end }]
    }
    const runs: { start: number; end: number }[] = []
    let from = start
    for (const [at, to] of this.#frameEnds.entries()) {
      if (to <= start) continue
      if (to > end) break
      if (!drops(this.kind, this.name, this.#channels?.[at] ?? this.#channelOf(from, to))) {
        const last = runs.at(-1)
        if (last?.end === from) last.end = to
        else runs.push({ start: from, end: to })
      }
      from = to
    }
    return runs
  }

  /** The channel in the pattern message `[start, end)`: the third bulk string of its frame. */
  #channelOf(start: number, end: number): string {
    const [buffer = NOTHING] = this.#buffersOf(start, end)
    let at = buffer.indexOf(LF) + 1
    for (let bulk = 0; ; bulk++) {
      const lineEnd = buffer.indexOf(LF, at)
      const bytes = Number(buffer.toString('latin1', at + 1, lineEnd - 1))
      // The beginning of a frame, its names included, lies in one piece.
      if (bulk === 2) return buffer.toString('latin1', lineEnd + 1, lineEnd + 1 + bytes)
      at = lineEnd + 1 + bytes + 2
    }
  }

  #cut(start: number, end: number): Slice {
    const buffers = this.#buffersOf(start, end)
    const length = end - start
    // The header goes in front of the segment's first byte, once: another run may be on its way with it.
    const inFront =
      start === 0 && buffers.length === 1 && this.#headroom > 0 && this.#slice === undefined
    return new Slice(end, { buffers, length, from: [this] }, inFront ? this.#arena : undefined)
  }

  #buffersOf(start: number, end: number): Buffer[] {
    const buffers: Buffer[] = []
    let pieceStart = 0
    for (let i = 0; i < this.#pieces.length; i++) {
      const pieceEnd = this.#pieceEnds[i] as number
      if (pieceEnd > start && pieceStart < end) {
        const piece = this.#pieces[i] as Buffer
        buffers.push(
          piece.subarray(Math.max(start - pieceStart, 0), Math.min(end, pieceEnd) - pieceStart),
        )
      }
      pieceStart = pieceEnd
    }
    if (end > this.#arenaStart) {
      const from = Math.max(start, this.#arenaStart) - this.#arenaStart + this.#headroom
      buffers.push(this.#arena.subarray(from, end - this.#arenaStart + this.#headroom))
    }
    return buffers
  }

  #lastFrameEnd(start: number, most: number): number {
    const ends = this.#frameEnds
    let low = 0
    let high = ends.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((ends[middle] as number) - start <= most) low = middle
      else high = middle - 1
    }
    if ((ends[low] as number) <= start) low++
    return ends[low] as number
  }

  #used(): number {
    return this.#length - this.#arenaStart + this.#headroom
  }

  #reserve(bytes: number): void {
    const used = this.#used()
    if (used + bytes <= this.#arena.length) return
    const grown = this.#take(used + bytes)
    if (used > this.#headroom) this.#arena.copy(grown, this.#headroom, this.#headroom, used)
    this.#arena = grown
  }

  #closeArena(): void {
    if (this.#pieces === NO_PIECES) {
      this.#pieces = []
      this.#pieceEnds = []
    }
    this.#pieces.push(this.#arena.subarray(this.#headroom, this.#used()))
    this.#pieceEnds.push(this.#length)
  }

  #openArena(bytes: number): void {
    this.#arenaStart = this.#length
    this.#headroom = 0
    this.#arena = this.#take(bytes)
  }

  #take(bytes: number): Buffer {
    if (this.#arena !== NOTHING) (this.#spentArenas ??= []).push(this.#arena)
    return this.#arenas.take(bytes)
  }

  #bulkHeader(length: number): void {
    const arena = this.#arena
    let at = this.#used()
    arena[at++] = DOLLAR
    const digits = String(length)
    for (let i = 0; i < digits.length; i++) arena[at++] = digits.charCodeAt(i)
    this.#length += digits.length + 1
    this.#lineEnd()
  }

  #lineEnd(): void {
    const at = this.#used()
    this.#arena[at] = CR
    this.#arena[at + 1] = LF
    this.#length += 2
  }
}

/** Writes the header into the room in front of an arena's first byte. */
function frameInPlace(arena: Buffer, length: number): readonly Buffer[] {
  const from = MAX_FRAME_HEADER_BYTES - frameHeaderLength(length)
  writeFrameHeader(arena, from, length)
  return [arena.subarray(from, MAX_FRAME_HEADER_BYTES + length)]
}

/** The header and the bytes after it: in one buffer, which all that are sent the run share, unless a payload is a reference. */
function frameApart(buffers: readonly Buffer[], length: number): readonly Buffer[] {
  const framed = [frameHeader(length), ...buffers]
  return buffers.length === 1 && length <= JOINED_BYTES ? [Buffer.concat(framed)] : framed
}
