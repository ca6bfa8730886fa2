import { crossProtocol, inlineArguments, isTlsHandshake } from './inline.ts'
import { ProtocolError } from './protocol-error.ts'
import { ArgumentPositions } from './request.ts'

/** Limits on the requests of a peer. Connections with the same limits share an object; it is read anew for every request. */
export interface RequestLimits {
  /** Largest bulk string in bytes: `proto-max-bulk-len`. */
  readonly maxBulkBytes: number
  /** Largest number of arguments; Redis: 2^31 - 1. */
  readonly maxArguments: number
  /** Largest sum of a command's bulk strings in bytes; Infinity over TCP. */
  readonly maxCommandBytes: number
}

/** Limits before login (CVE-2021-32675): arguments of one command, bytes of one argument. */
const UNAUTHENTICATED_ARGUMENTS = 10
const UNAUTHENTICATED_BULK_BYTES = 16_384

/** Redis' `PROTO_INLINE_MAX_SIZE`: bytes of an inline command, or of a header, without a line end. */
const MAX_LINE_BYTES = 65_536

const CR = 0x0d
const LF = 0x0a
const ASTERISK = 0x2a
const DOLLAR = 0x24
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39

/** State of the parser: the part of a request to which the next byte belongs. */
const START = 0
const INLINE = 1
const COUNT = 2
const LENGTH = 3
const BULK = 4
const BULK_CR = 5
const BULK_LF = 6

const EMPTY = Buffer.alloc(0)

/** Bytes that an accumulator has room for at first. */
const SMALLEST_CAPACITY = 256

/**
 * Collects bytes that arrive in pieces. It grows by doubling, so any number of pieces costs linear time, and it
 * never holds more than twice the received bytes, regardless of the length that a peer announced.
 */
export class ByteAccumulator {
  #bytes: Buffer | undefined
  #length = 0

  /** Bytes collected so far. */
  get length(): number {
    return this.#length
  }

  /**
   * Adds `source[start, end)`.
   *
   * @param most Bytes that will be needed at most: the capacity is never larger.
   */
  append(source: Buffer, start: number, end: number, most: number): void {
    const needed = this.#length + (end - start)
    if (this.#bytes === undefined || this.#bytes.length < needed) this.#grow(needed, most)
    source.copy(this.#bytes as Buffer, this.#length, start, end)
    this.#length = needed
  }

  /** The byte at `index`, undefined beyond the end. */
  at(index: number): number | undefined {
    return index < this.#length ? this.#bytes?.[index] : undefined
  }

  /** The collected bytes; the accumulator is empty afterwards and does not touch them again. */
  take(): Buffer {
    const bytes = this.#bytes?.subarray(0, this.#length) ?? Buffer.alloc(0)
    this.#bytes = undefined
    this.#length = 0
    return bytes
  }

  #grow(needed: number, most: number): void {
    const capacity = Math.max(needed, Math.min(Math.max(needed * 2, SMALLEST_CAPACITY), most))
    const grown = Buffer.allocUnsafeSlow(capacity)
    this.#bytes?.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }
}

/**
 * Turns the bytes of one peer, cut anywhere, into requests.
 *
 * A request that lies whole in one chunk costs no copy: its arguments are positions in that chunk. A request
 * that is cut is collected once, by doubling. Line ends are checked strictly, as Valkey 9.1 does.
 *
 * The parser is itself the current {@link Request}: it is valid from a `true` of `next` to the following call.
 */
export class RequestParser extends ArgumentPositions {
  /** Applies the limits of a peer that has not logged in. */
  unauthenticated = false

  readonly #limits: RequestLimits
  #chunk: Buffer = EMPTY
  #at = 0
  /** A chunk whose bytes are the caller's; see {@link lend}. */
  #lent: Buffer | undefined
  #waiting: Buffer[] | undefined
  /** Text messages among the chunks. */
  #texts: WeakSet<Buffer> | undefined
  #state = START
  #expected = 0
  #bulkLength = 0
  #commandBytes = 0
  #carry: ByteAccumulator | undefined

  constructor(limits: RequestLimits) {
    super()
    this.#limits = limits
  }

  /** Bytes held here that are not part of a finished request, as the query-buffer limit counts them. */
  get pendingBytes(): number {
    let bytes = this.#chunk.length - this.#at + (this.#carry?.length ?? 0)
    if (this.#state !== START) bytes += this.argumentBytes
    if (this.#waiting) for (const chunk of this.#waiting) bytes += chunk.length
    return bytes
  }

  /** Bytes of the finished arguments of an unfinished request, which {@link pendingBytes} counts too. */
  get finishedBytes(): number {
    if (this.#state === START) return 0
    return this.argumentBytes - (this.#state >= BULK_CR ? this.#bulkLength : 0)
  }

  /**
   * Size with its line end that the argument which is being read has after `received` more bytes, as far as they belong to it;
   * 0 between arguments, and as long as nothing of it is here.
   */
  argumentBytesAfter(received: number): number {
    if (this.#state < BULK) return 0
    const length = this.#bulkLength
    const have = this.#state === BULK ? (this.#carry?.length ?? 0) : length + this.#state - BULK_CR
    return have === 0 ? 0 : Math.min(length + 2, have + received)
  }

  /** All bytes were parsed, and the last ones begin a request. */
  get isUnfinished(): boolean {
    return this.#state !== START && !this.#hasRest
  }

  /** Bytes that came before are not parsed yet. */
  get #hasRest(): boolean {
    return (
      this.#at < this.#chunk.length || (this.#waiting !== undefined && this.#waiting.length > 0)
    )
  }

  /** Adds bytes after those not parsed yet. The parser keeps the chunk, and does not change it. */
  feed(chunk: Buffer): void {
    if (chunk.length === 0) return
    if (this.#hasRest) {
      this.#waiting ??= []
      this.#waiting.push(chunk)
    } else {
      this.#chunk = chunk
      this.#at = 0
    }
  }

  /** As {@link feed}, for a text message of a WebSocket: its end also ends an inline command. */
  feedText(chunk: Buffer): void {
    this.#texts ??= new WeakSet()
    this.#texts.add(chunk)
    this.feed(chunk)
  }

  /**
   * As {@link feed}, but the bytes may change later: {@link keep} has to be called before they do.
   *
   * Mostly whole requests arrive, which are over by then, so that nothing has to be copied.
   */
  lend(chunk: Buffer): void {
    if (this.#hasRest) {
      this.feed(Buffer.from(chunk))
      return
    }
    this.feed(chunk)
    this.#lent = chunk
  }

  /**
   * Copies the bytes of a lent chunk that are still needed.
   *
   * @param isExecuting The last request is not over.
   */
  keep(isExecuting: boolean): void {
    const lent = this.#lent
    if (lent === undefined) return
    this.#lent = undefined
    const restAt = this.#chunk === lent ? this.#at : lent.length
    const needsArguments = isExecuting || this.#state !== START
    const from = needsArguments ? this.firstPositionIn(lent, restAt) : restAt
    const own = from < lent.length ? Buffer.from(lent.subarray(from)) : EMPTY
    if (needsArguments) this.move(lent, own, from)
    else this.release()
    if (this.#chunk !== lent) return
    this.#chunk = own
    this.#at = restAt - from
  }

  override kept(index: number): Buffer {
    const bytes = this.bytes(index)
    const isLent = this.#lent !== undefined && this.liesIn(index, this.#lent)
    return isLent ? Buffer.from(bytes) : bytes
  }

  /**
   * Parses on to the end of the next request.
   *
   * @returns False if more bytes are needed.
   * @throws ProtocolError The connection must be closed; nothing after this point can be parsed.
   */
  next(): boolean {
    for (;;) {
      if (this.#at >= this.#chunk.length && !this.#nextChunk()) return false
      switch (this.#state) {
        case START:
          if (this.#chunk[this.#at] === ASTERISK && !this.unauthenticated && this.#readWhole())
            return true
          this.#begin()
          break
        case INLINE:
          if (this.#readInline()) return true
          break
        case COUNT:
          this.#readCount()
          break
        case LENGTH:
          this.#readLength()
          break
        case BULK:
          if (this.#readBulk()) return true
          break
        default:
          if (this.#readBulkEnd()) return true
      }
    }
  }

  #nextChunk(): boolean {
    const next = this.#waiting?.shift()
    this.#chunk = next ?? EMPTY
    this.#at = 0
    // An idle peer must not hold the bytes of its last request, which may be a large payload.
    if (next === undefined && this.#state === START) this.release()
    return next !== undefined
  }

  /**
   * Reads a request that lies whole in the chunk, in one go. If it does not, or is unusual in any way, nothing has
   * changed, and the steps below parse it and report its errors.
   */
  #readWhole(): boolean {
    const chunk = this.#chunk
    const end = chunk.length
    let at = this.#at + 1
    const count = (chunk[at++] as number) - ZERO
    if (!(count >= 1 && count <= 9) || chunk[at] !== CR || chunk[at + 1] !== LF) return false
    at += 2
    const { maxBulkBytes, maxCommandBytes, maxArguments } = this.#limits
    if (count > maxArguments) return false
    let total = 0
    this.clear()
    for (let i = 0; i < count; i++) {
      if (at + 3 >= end || chunk[at] !== DOLLAR) return false
      const first = (chunk[at + 1] as number) - ZERO
      if (!(first >= 0 && first <= 9)) return false
      let length = first
      at += 2
      for (let digits = 1; ; at++, digits++) {
        const digit = (chunk[at] as number) - ZERO
        if (!(digit >= 0 && digit <= 9)) break
        if (first === 0 || digits > 8) return false
        length = length * 10 + digit
      }
      total += length
      const start = at + 2
      const stop = start + length
      if (stop + 2 > end || length > maxBulkBytes) return false
      if (chunk[at] !== CR || chunk[at + 1] !== LF) return false
      if (chunk[stop] !== CR || chunk[stop + 1] !== LF) return false
      this.add(chunk, start, stop)
      at = stop + 2
    }
    if (total > maxCommandBytes) return false
    this.#at = at
    return true
  }

  #begin(): void {
    this.clear()
    this.#commandBytes = 0
    if (this.#chunk[this.#at] === ASTERISK) {
      this.#at++
      this.#state = COUNT
    } else {
      this.#state = INLINE
    }
  }

  #readCount(): void {
    const count = this.#readNumber('too big mbulk count string')
    if (count === undefined) return
    if (Number.isNaN(count) || count > 2_147_483_647) {
      throw new ProtocolError('invalid multibulk length')
    }
    if (count > UNAUTHENTICATED_ARGUMENTS && this.unauthenticated) {
      throw new ProtocolError('unauthenticated multibulk length')
    }
    if (count > this.#limits.maxArguments) {
      throw new ProtocolError(`more than ${this.#limits.maxArguments} arguments`, 'too-large')
    }
    this.#expected = count
    this.#state = count <= 0 ? START : LENGTH
  }

  #readLength(): void {
    // Redis looks at the type byte only once the line is whole; an early look gives the same answer sooner.
    if ((this.#carry?.length ?? 0) === 0 && this.#chunk[this.#at] !== DOLLAR) {
      const got = this.#chunk[this.#at] as number
      const shown = got === CR || got === LF ? ' ' : String.fromCharCode(got)
      throw new ProtocolError(`expected '$', got '${shown}'`)
    }
    const length = this.#readNumber('too big bulk count string', DOLLAR)
    if (length === undefined) return
    if (Number.isNaN(length) || length < 0 || length > this.#limits.maxBulkBytes) {
      throw new ProtocolError('invalid bulk length')
    }
    if (length > UNAUTHENTICATED_BULK_BYTES && this.unauthenticated) {
      throw new ProtocolError('unauthenticated bulk length')
    }
    this.#commandBytes += length
    if (this.#commandBytes > this.#limits.maxCommandBytes) {
      throw new ProtocolError(
        `command of more than ${this.#limits.maxCommandBytes} bytes`,
        'too-large',
      )
    }
    this.#bulkLength = length
    this.#state = BULK
  }

  #readBulk(): boolean {
    const length = this.#bulkLength
    const have = this.#carry?.length ?? 0
    const available = this.#chunk.length - this.#at
    if (have === 0 && available >= length) {
      this.add(this.#chunk, this.#at, this.#at + length)
      this.#at += length
      return this.#finishBulk()
    }
    const take = Math.min(length - have, available)
    this.#carry ??= new ByteAccumulator()
    this.#carry.append(this.#chunk, this.#at, this.#at + take, length)
    this.#at += take
    if (this.#carry.length < length) return false
    this.add(this.#carry.take(), 0, length)
    return this.#finishBulk()
  }

  #finishBulk(): boolean {
    const at = this.#at
    if (at + 1 < this.#chunk.length && this.#chunk[at] === CR && this.#chunk[at + 1] === LF) {
      this.#at = at + 2
      return this.#finishArgument()
    }
    this.#state = BULK_CR
    return false
  }

  #readBulkEnd(): boolean {
    const expected = this.#state === BULK_CR ? CR : LF
    if (this.#chunk[this.#at] !== expected) throw new ProtocolError('invalid CRLF in request')
    this.#at++
    if (this.#state === BULK_CR) {
      this.#state = BULK_LF
      return false
    }
    return this.#finishArgument()
  }

  #finishArgument(): boolean {
    if (this.count < this.#expected) {
      this.#state = LENGTH
      return false
    }
    this.#state = START
    return true
  }

  /**
   * Reads digits up to CRLF, after the type byte `prefix` if one is named.
   *
   * @returns The number, NaN if it is none, or undefined if the line is not whole yet.
   */
  #readNumber(tooLong: string, prefix?: number): number | undefined {
    const chunk = this.#chunk
    if ((this.#carry?.length ?? 0) === 0) {
      let at = prefix === undefined ? this.#at : this.#at + 1
      let value = 0
      const first = at
      for (; at < chunk.length; at++) {
        const digit = (chunk[at] as number) - ZERO
        if (digit < 0 || digit > 9) break
        value = value * 10 + digit
      }
      const digits = at - first
      const plain = digits > 0 && digits < 16 && (chunk[first] !== ZERO || digits === 1)
      if (plain && at + 1 < chunk.length && chunk[at] === CR && chunk[at + 1] === LF) {
        this.#at = at + 2
        return value
      }
    }
    const line = this.#readLine(tooLong)
    return line && parseInteger64(line, prefix === undefined ? 0 : 1)
  }

  /** Reads a header up to CRLF, through any number of chunks. A lone LF is an ordinary byte, as in Redis. */
  #readLine(tooLong: string): Buffer | undefined {
    this.#carry ??= new ByteAccumulator()
    const carry = this.#carry
    if (carry.at(carry.length - 1) !== CR) {
      const cr = this.#chunk.indexOf(CR, this.#at)
      const stop = cr < 0 ? this.#chunk.length : cr + 1
      carry.append(this.#chunk, this.#at, stop, MAX_LINE_BYTES + this.#chunk.length)
      this.#at = stop
      if (carry.length > MAX_LINE_BYTES) throw new ProtocolError(tooLong)
      if (cr < 0 || stop >= this.#chunk.length) return undefined
    }
    if (this.#chunk[this.#at] !== LF) throw new ProtocolError('invalid CRLF in request')
    this.#at++
    return carry.take().subarray(0, -1)
  }

  #readInline(): boolean {
    const end = this.#chunk.indexOf(LF, this.#at)
    const stop = end < 0 ? this.#chunk.length : end
    let line: Buffer
    if ((this.#carry?.length ?? 0) === 0 && end >= 0) {
      line = this.#chunk.subarray(this.#at, stop)
    } else {
      this.#carry ??= new ByteAccumulator()
      const most = MAX_LINE_BYTES + this.#chunk.length
      this.#carry.append(this.#chunk, this.#at, stop, most)
      if (this.#carry.length > MAX_LINE_BYTES) throw new ProtocolError('too big inline request')
      if (end < 0 && this.#texts?.has(this.#chunk) !== true) {
        this.#at = stop
        this.#refuseTls()
        return false
      }
      line = this.#carry.take()
    }
    if (line.length > MAX_LINE_BYTES) throw new ProtocolError('too big inline request')
    this.#at = end < 0 ? stop : end + 1
    this.#state = START
    return this.#inlineRequest(line.at(-1) === CR ? line.subarray(0, -1) : line)
  }

  #refuseTls(): void {
    const carry = this.#carry as ByteAccumulator
    if (isTlsHandshake(carry.at(0), carry.at(1))) throw crossProtocol()
  }

  #inlineRequest(line: Buffer): boolean {
    const args = inlineArguments(line, this.#limits)
    for (const arg of args) this.add(arg, 0, arg.length)
    return args.length > 0
  }
}

/** Redis' strict decimal: optional `-`, no `+`, no leading zero, fits 64 bits. NaN if it is not. */
function parseInteger64(line: Buffer, start: number): number {
  const negative = line[start] === MINUS
  const first = negative ? start + 1 : start
  const digits = line.length - first
  if (digits < 1 || digits > 19) return Number.NaN
  if (line[first] === ZERO && (digits > 1 || negative)) return Number.NaN
  for (let i = first; i < line.length; i++) {
    const byte = line[i] as number
    if (byte < ZERO || byte > NINE) return Number.NaN
  }
  const value = BigInt(line.toString('latin1', start))
  return BigInt.asIntN(64, value) === value ? Number(value) : Number.NaN
}
