import { RespProtocolError } from '../../../shared/resp/error.ts'
import { RespReader } from '../../../shared/resp/reader.ts'
import type { RespValue } from '../../../shared/resp/types.ts'
import type { Payload } from '../../delivery/segment.ts'
import type { Space } from '../../pubsub/subscriber.ts'

/** Takes what a link reads, in the order of the stream. */
export interface LinkValues {
  /**
   * A message.
   *
   * @param space The space of the subscription that it came for.
   * @param source That subscription: the channel itself, or a pattern. Names are byte strings.
   * @param payload Valid during the call.
   */
  message(space: Space, source: string, channel: string, payload: ReadPayload): void
  /** Anything else: replies, confirmations. */
  value(value: RespValue): void
}

/** The largest frame that an upstream may send, in bytes: the largest bulk string of Redis, and its names. */
const MOST_FRAME_BYTES = 768 * 1_048_576

/** The longest line: an error, or a simple string. */
const MOST_LINE_BYTES = 65_536

/** The longest integer on a line, sign included: -9223372036854775808. */
const MOST_INTEGER_BYTES = 20

/** So many digits are always exact as a number. */
const SAFE_DIGITS = 15

const TYPES = '+-:_#,($!=*%~>|'

/** Nested deeper no reply of a command is that a link sends. */
const MOST_DEPTH = 16

const CR = 0x0d
const LF = 0x0a
const DOLLAR = 0x24
const MINUS = 0x2d
const COLON = 0x3a
const PUSH = 0x3e
const ZERO = 0x30

/** `message`, `pmessage` and `smessage` begin so, after `>3\r\n$7\r\n` and the like. */
const WORD_AT = 8
const LETTER_M = 0x6d
const LETTER_P = 0x70
const LETTER_S = 0x73

const NOTHING: Buffer = Buffer.alloc(0)

/** The payload of the message that is being handed over: a part of what was read. One object serves all messages. */
export class ReadPayload implements Payload {
  length = 0
  #isLent = false
  #from = NOTHING
  #start = 0

  /** @param isLent The memory is overwritten when the call is over. */
  set(from: Buffer, start: number, end: number, isLent: boolean): void {
    this.#isLent = isLent
    this.#from = from
    this.#start = start
    this.length = end - start
  }

  copy(target: Buffer, at: number): void {
    this.#from.copy(target, at, this.#start, this.#start + this.length)
  }

  /** Reports whether these are its bytes. */
  equals(memory: Buffer, start: number, end: number): boolean {
    if (this.length !== end - start) return false
    return memory.compare(this.#from, this.#start, this.#start + this.length, start, end) === 0
  }

  kept(): Buffer {
    const bytes = this.#from.subarray(this.#start, this.#start + this.length)
    return this.#isLent ? Buffer.from(bytes) : bytes
  }
}

/**
 * Reads what an upstream sends on one connection: RESP3.
 *
 * Messages and integers, which are nearly all of it, are read where they lie. Everything else goes through the reader that browsers
 * use as well.
 */
export class LinkReader {
  readonly #to: LinkValues
  readonly #payload = new ReadPayload()
  #chunks: Buffer[] = []
  #waiting = 0
  /** Bytes that the unfinished frame at the front takes at least. */
  #needed = 0
  /** How far the unfinished frame at the front is known: a long reply is not looked through again with each chunk. */
  #scanned: { readonly bytes: number; readonly missing: number[] } | undefined
  /** The content of the bulk string that was found last; `#end` is also the end of the last line. */
  #start = 0
  #end = 0
  #isStopped = false
  #isPaused = false
  /** Stopped or paused: one look for each frame. */
  #isHalted = false
  #isLent = false

  constructor(to: LinkValues) {
    this.#to = to
  }

  /** Hands nothing more over: the connection has been cut. */
  stop(): void {
    this.#isStopped = this.#isHalted = true
    this.#chunks = []
  }

  /** Hands nothing over until {@link resume}, not even what follows in the same chunk. All of it is kept. */
  pause(): void {
    this.#isPaused = this.#isHalted = true
  }

  /**
   * Goes on with what was kept. Not to be called while something is handed over.
   *
   * @throws {RespProtocolError} It is no RESP3.
   */
  resume(): void {
    this.#isPaused = false
    this.#isHalted = this.#isStopped
    if (this.#isHalted || this.#waiting === 0) return
    this.#readFrames(this.#takeWaiting())
  }

  /**
   * Takes bytes, cut anywhere.
   *
   * @param isLent They are overwritten when the call is over; else they are never changed.
   *
   * @throws {RespProtocolError} They are no RESP3.
   */
  feed(chunk: Buffer, isLent = false): void {
    if (this.#isStopped) return
    let bytes = chunk
    this.#isLent = isLent
    if (this.#waiting > 0 || this.#isPaused) {
      this.#chunks.push(isLent ? Buffer.from(chunk) : chunk)
      this.#waiting += chunk.length
      if (this.#isPaused || this.#waiting < this.#needed) return
      bytes = this.#takeWaiting()
    }
    this.#readFrames(bytes)
  }

  /** All that was kept, in one piece. */
  #takeWaiting(): Buffer {
    const [only = NOTHING, ...more] = this.#chunks
    const bytes = more.length === 0 ? only : Buffer.concat(this.#chunks)
    this.#isLent = false
    this.#chunks = []
    this.#waiting = 0
    return bytes
  }

  #readFrames(bytes: Buffer): void {
    const rest = this.#read(bytes)
    if (this.#isStopped || rest === bytes.length) return
    const left = bytes.subarray(rest)
    this.#chunks.push(this.#isLent ? Buffer.from(left) : left)
    this.#waiting = bytes.length - rest
  }

  /** Hands over all whole frames. @returns Where the unfinished one begins, or the first that is not handed over now. */
  #read(bytes: Buffer): number {
    let at = 0
    while (at < bytes.length && !this.#isHalted) {
      const next = this.#readFrame(bytes, at)
      if (next < 0) return at
      at = next
    }
    return at
  }

  /** @returns The end of the frame; -1 if not all of it is there. */
  #readFrame(bytes: Buffer, at: number): number {
    this.#needed = 0
    const end = this.#handOver(bytes, at)
    if (end < 0) this.#needed -= at
    else this.#scanned = undefined
    return end
  }

  #handOver(bytes: Buffer, at: number): number {
    const type = bytes[at]
    if (type === COLON) {
      const value = this.#integer(bytes, at + 1)
      if (value === undefined) return -1
      const end = this.#end
      if (end - at <= SAFE_DIGITS) {
        this.#to.value(value)
        return end
      }
    }
    if (type === PUSH && at + WORD_AT < bytes.length && bytes[at + 4] === DOLLAR) {
      const space = messageSpace(bytes, at)
      if (space !== undefined) return this.#readMessage(bytes, at, space)
    }
    const end = this.#frameEnd(bytes, at)
    if (end < 0) return -1
    const reader = new RespReader()
    reader.push(bytes.subarray(at, end))
    const value = reader.next()
    if (value === undefined) throw new RespProtocolError('ERR_RESP_LINE', 'a frame ends too early')
    this.#to.value(value)
    return end
  }

  #readMessage(bytes: Buffer, at: number, space: Space): number {
    // `message` has 7 letters, the others 8.
    const names = at + WORD_AT + (space === 'channel' ? 7 : 8) + 2
    if (!this.#bulk(bytes, names)) return -1
    const sourceEnd = this.#end
    const source = bytes.toString('latin1', this.#start, sourceEnd)
    let channel = source
    if (space === 'pattern') {
      if (!this.#bulk(bytes, sourceEnd + 2)) return -1
      channel = bytes.toString('latin1', this.#start, this.#end)
    }
    const channelEnd = this.#end
    if (!this.#bulk(bytes, channelEnd + 2)) return -1
    this.#payload.set(bytes, this.#start, this.#end, this.#isLent)
    const end = this.#end + 2
    this.#to.message(space, source, channel, this.#payload)
    return end
  }

  /** Finds the content of the bulk string at `at`. @returns False if not all of it is there. */
  #bulk(bytes: Buffer, at: number): boolean {
    if (at >= bytes.length) return false
    if (bytes[at] !== DOLLAR)
      throw new RespProtocolError('ERR_RESP_TYPE', 'a bulk string was expected')
    const length = this.#integer(bytes, at + 1)
    if (length === undefined) return false
    if (length < 0 || length > MOST_FRAME_BYTES) {
      throw new RespProtocolError('ERR_RESP_BULK_LIMIT', `a bulk string of ${length} bytes`)
    }
    this.#start = this.#end
    this.#end = this.#start + length
    if (this.#end + 2 <= bytes.length) {
      if (bytes[this.#end] === CR && bytes[this.#end + 1] === LF) return true
      throw new RespProtocolError('ERR_RESP_BULK_END', 'a bulk string does not end where it should')
    }
    this.#needed = this.#end + 2
    return false
  }

  /** Reads an integer and its line end. @returns Undefined if not all of it is there. */
  #integer(bytes: Buffer, from: number): number | undefined {
    let at = from
    const negative = bytes[at] === MINUS
    if (negative) at++
    const digits = at
    let value = 0
    for (; at < bytes.length; at++) {
      const byte = bytes[at] as number
      if (byte === CR) {
        if (at + 1 >= bytes.length) return undefined
        if (bytes[at + 1] !== LF || at === digits) break
        this.#end = at + 2
        return negative ? -value : value
      }
      const digit = byte - ZERO
      if (digit < 0 || digit > 9) break
      value = value * 10 + digit
    }
    if (at >= bytes.length && at - from <= MOST_INTEGER_BYTES) return undefined
    throw new RespProtocolError('ERR_RESP_LINE', 'an integer was expected')
  }

  /** Finds the end of any value. @returns -1 if not all of it is there. */
  #frameEnd(bytes: Buffer, from: number): number {
    let at = from + (this.#scanned?.bytes ?? 0)
    /** Values still to come, by depth. */
    const missing = this.#scanned?.missing ?? [1]
    while (missing.length > 0) {
      const left = missing.length - 1
      if (missing[left] === 0) {
        missing.pop()
        continue
      }
      const begin = at - from
      if (at >= bytes.length) return this.#unfinished(begin, missing)
      const type = String.fromCharCode(bytes[at] as number)
      if (!TYPES.includes(type)) throw new RespProtocolError('ERR_RESP_TYPE', 'no type begins so')
      const lineEnd = bytes.indexOf(LF, at)
      if (lineEnd < 0) {
        if (bytes.length - at <= MOST_LINE_BYTES) return this.#unfinished(begin, missing)
        throw new RespProtocolError('ERR_RESP_LINE_LIMIT', 'a line is too long')
      }
      const line = at + 1
      at = lineEnd + 1
      if ('$!='.includes(type)) {
        const length = this.#integer(bytes, line) ?? 0
        if (length > MOST_FRAME_BYTES)
          throw new RespProtocolError('ERR_RESP_BULK_LIMIT', 'a reply is too large')
        if (length >= 0) at += length + 2
        if (at > bytes.length) {
          this.#needed = at
          return this.#unfinished(begin, missing)
        }
      }
      ;(missing[left] as number)--
      if (!'*%~>|'.includes(type)) continue
      const count = Math.max(this.#integer(bytes, line) ?? 0, 0)
      if (missing.length >= MOST_DEPTH) {
        throw new RespProtocolError('ERR_RESP_DEPTH_LIMIT', 'a reply is nested too deeply')
      }
      // The value that attributes belong to follows them.
      missing.push(type === '%' ? 2 * count : type === '|' ? 2 * count + 1 : count)
    }
    return at
  }

  /** @param bytes The beginning of the value that is not whole, from that of its frame. */
  #unfinished(bytes: number, missing: number[]): -1 {
    this.#scanned = { bytes, missing }
    return -1
  }
}

/** The space of a message that begins at `at`; undefined for any other push. */
function messageSpace(bytes: Buffer, at: number): Space | undefined {
  const letter = bytes[at + WORD_AT]
  // Confirmations have longer words, of two digits or of nine letters.
  if (bytes[at + 6] !== CR) return undefined
  const length = bytes[at + 5]
  if (length === ZERO + 7) return letter === LETTER_M ? 'channel' : undefined
  if (length !== ZERO + 8) return undefined
  if (letter === LETTER_P) return 'pattern'
  return letter === LETTER_S ? 'shard' : undefined
}
