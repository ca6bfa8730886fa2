import { RespProtocolError } from './error.ts'

const LF = 0x0a
const CR = 0x0d
const NOTHING = new Uint8Array(0)

/**
 * Queue of received chunks that are not read yet.
 *
 * A line or block that spans chunks is gathered in a buffer that doubles: each byte is examined once, and at most twice the
 * received bytes are allocated, regardless of the announced length.
 */
export class ByteQueue {
  readonly #chunks: Uint8Array[] = []
  /** Position in the first chunk. */
  #at = 0
  /** The start of a line or block whose end has not arrived. */
  #gathered: Uint8Array = NOTHING
  #gatheredBytes = 0

  /** Appends a chunk. It must not be changed until it has been read. */
  push(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#chunks.push(chunk)
  }

  /** The next byte, which stays in the queue; undefined if there is none. */
  peek(): number | undefined {
    return this.#chunks[0]?.[this.#at]
  }

  /** Drops the next byte, which must have arrived. */
  skip(): void {
    this.#advance(1)
  }

  /**
   * Takes a line without its CR LF.
   *
   * @param maxBytes The longest line accepted, CR LF not counted.
   * @returns Bytes valid until the next `push`; undefined while the end has not arrived.
   * @throws {RespProtocolError} `ERR_RESP_LINE`, `ERR_RESP_LINE_LIMIT`
   */
  takeLine(maxBytes: number): Uint8Array | undefined {
    for (;;) {
      const chunk = this.#chunks[0]
      if (!chunk) return undefined
      const end = chunk.indexOf(LF, this.#at)
      const piece = chunk.subarray(this.#at, end < 0 ? chunk.length : end + 1)
      // An unfinished line may hold its CR, a finished one CR and LF.
      if (this.#gatheredBytes + piece.length > maxBytes + (end < 0 ? 1 : 2)) {
        throw new RespProtocolError(
          'ERR_RESP_LINE_LIMIT',
          `A line is longer than ${maxBytes} bytes`,
        )
      }
      this.#advance(piece.length)
      if (end >= 0 && this.#gatheredBytes === 0) return withoutLineEnd(piece)
      this.#gather(piece, maxBytes + 2)
      if (end >= 0) return withoutLineEnd(this.#release())
    }
  }

  /**
   * Takes exactly `length` bytes, as a copy that the caller owns.
   *
   * @returns Undefined while they have not all arrived; the same length must then be asked for again.
   */
  takeBlock(length: number): Uint8Array | undefined {
    while (this.#gatheredBytes < length) {
      const chunk = this.#chunks[0]
      if (!chunk) return undefined
      const piece = chunk.subarray(this.#at, this.#at + length - this.#gatheredBytes)
      this.#advance(piece.length)
      // `slice` of a Buffer of Node.js is no copy.
      if (piece.length === length) return new Uint8Array(piece)
      this.#gather(piece, length)
    }
    return this.#release()
  }

  /** @param maxBytes Upper limit of the gathered bytes: no more is ever allocated. */
  #gather(piece: Uint8Array, maxBytes: number): void {
    const needed = this.#gatheredBytes + piece.length
    if (needed > this.#gathered.length) {
      const grown = new Uint8Array(Math.min(maxBytes, needed * 2))
      grown.set(this.#gathered.subarray(0, this.#gatheredBytes))
      this.#gathered = grown
    }
    this.#gathered.set(piece, this.#gatheredBytes)
    this.#gatheredBytes = needed
  }

  #release(): Uint8Array {
    const whole = this.#gathered.subarray(0, this.#gatheredBytes)
    this.#gathered = NOTHING
    this.#gatheredBytes = 0
    return whole
  }

  #advance(length: number): void {
    this.#at += length
    if (this.#at === this.#chunks[0]?.length) {
      this.#chunks.shift()
      this.#at = 0
    }
  }
}

function withoutLineEnd(line: Uint8Array): Uint8Array {
  const content = line.subarray(0, -2)
  if (line.at(-2) !== CR || content.includes(CR)) {
    throw new RespProtocolError('ERR_RESP_LINE', 'A line has no CR LF')
  }
  return content
}
