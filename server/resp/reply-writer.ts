/** RESP versions a connection can speak. */
export type Protocol = 2 | 3

const SLAB_BYTES = 16_384

/** The longest frame header: type byte, 20 digits, CRLF. */
const HEADER_BYTES = 24

const CR = 0x0d
const LF = 0x0a
const ZERO = 0x30
const SHORT_TEXT = 32

/** Codes of error replies: the first word of the line, by which clients tell errors apart. */
type ReplyCode =
  | 'ERR'
  | 'CROSSSLOT'
  | 'EXECABORT'
  | 'MISCONF'
  | 'NOAUTH'
  | 'NOPERM'
  | 'NOPROTO'
  | 'NOREPLICAS'
  | 'TRYAGAIN'
  | 'WRONGPASS'

/** The line of an error reply, without `-`. */
export type ErrorLine = `${ReplyCode} ${string}`

/** The line of an error whose text is put together. */
export function errorLine(code: ReplyCode, text: string): ErrorLine {
  return `${code} ${text}`
}

/** Somewhere in a writer's bytes; see {@link ReplyWriter.mark}. */
type Mark = number

/**
 * Writes the reply of one command at a time, in the protocol of the client that sent it.
 *
 * Handlers name the value (`null`, `map`, `error`), and the writer encodes it for the protocol version. Replies lie one
 * after the other in slabs that all clients share, so that a short reply costs few bytes. A slab is never written twice:
 * an output that still has to send a part of one keeps it.
 */
export class ReplyWriter {
  /** The version in which the next value is written; HELLO changes it in the middle of a reply. */
  protocol: Protocol = 2

  /** Called with the code (`ERR`, `NOPERM`, ...) of each error written: INFO's errorstats. */
  readonly #onError: (code: string) => void
  #slab: Buffer = Buffer.allocUnsafeSlow(SLAB_BYTES)
  #start = 0
  #at = 0
  #errors = 0

  constructor(onError: (code: string) => void = () => {}) {
    this.#onError = onError
  }

  /** The slab that holds the current reply at `[start, end)`. */
  get buffer(): Buffer {
    return this.#slab
  }

  get start(): number {
    return this.#start
  }

  get end(): number {
    return this.#at
  }

  /** Errors written since {@link begin}. */
  get errorCount(): number {
    return this.#errors
  }

  /** Starts a reply after the previous one. */
  begin(protocol: Protocol): void {
    this.protocol = protocol
    if (this.#slab.length > SLAB_BYTES) {
      // A large reply has its slab for itself, so that the small ones after it do not hold it.
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      this.#at = 0
    }
    this.#start = this.#at
    this.#errors = 0
  }

  /** The current position, for {@link rollback}. Valid until the next `begin`. */
  mark(): Mark {
    return this.#at - this.#start
  }

  /** Discards everything written since `mark`. */
  rollback(mark: Mark): void {
    this.#at = this.#start + mark
  }

  /** `+text`. */
  simple(text: string): void {
    this.#line(0x2b, text)
  }

  /** The reply `+OK`. */
  ok(): void {
    this.simple('OK')
  }

  /**
   * An error. Line ends become spaces and NUL ends it, so that no peer can break out of the line (Redis does the same).
   */
  error(line: ErrorLine): void {
    const nul = line.indexOf('\0')
    const cut = nul < 0 ? line : line.slice(0, nul)
    this.#errors++
    this.#onError(line.slice(0, line.indexOf(' ')))
    this.#line(0x2d, cut.replace(/[\r\n]/g, ' '))
  }

  /** `:n`; `value` must be a safe integer. */
  integer(value: number): void {
    this.#header(0x3a, value)
  }

  /** A bulk string of bytes, or of a byte string. */
  bulk(value: Buffer | string): void {
    const length = value.length
    this.#header(0x24, length)
    this.#reserve(length + 2)
    this.#bytes(value)
    this.#lineEnd()
  }

  /** A bulk string of text, in UTF-8. */
  utf8(value: string): void {
    this.bulk(Buffer.from(value, 'utf8'))
  }

  /**
   * Text for people, as bytes or as a byte string: a verbatim string (`=`, format `txt`) in RESP3, a bulk string in RESP2.
   */
  verbatim(text: Buffer | string): void {
    if (this.protocol === 2) {
      this.bulk(text)
      return
    }
    this.#header(0x3d, text.length + 4)
    this.#reserve(text.length + 6)
    this.#text('txt:')
    this.#bytes(text)
    this.#lineEnd()
  }

  /**
   * Lines for people, as byte strings, each with a line feed after it: as {@link verbatim}, of any size. They are never one
   * string, which V8 limits to 512 MB.
   */
  verbatimLines(lines: readonly string[]): void {
    let length = 0
    for (const line of lines) length += line.length + 1
    if (this.protocol === 2) {
      this.#header(0x24, length)
    } else {
      this.#header(0x3d, length + 4)
    }
    this.#reserve(length + 6)
    if (this.protocol === 3) this.#text('txt:')
    for (const line of lines) {
      this.#text(line)
      this.#slab[this.#at++] = LF
    }
    this.#lineEnd()
  }

  /** No value: `_` in RESP3, a null bulk string in RESP2. */
  null(): void {
    this.#reserve(HEADER_BYTES)
    this.#text(this.protocol === 2 ? '$-1\r\n' : '_\r\n')
  }

  /** A number with a fraction: RESP3 double, RESP2 bulk string; the shortest text that reads back the same. */
  double(value: number): void {
    const text = Number.isFinite(value)
      ? String(value)
      : value > 0
        ? 'inf'
        : value < 0
          ? '-inf'
          : 'nan'
    if (this.protocol === 2) this.bulk(text)
    else this.#line(0x2c, text)
  }

  /** Announces an array of `count` values. */
  array(count: number): void {
    this.#header(0x2a, count)
  }

  /** Announces a map of `count` pairs: in RESP2 a flat array of twice as many values. */
  map(count: number): void {
    if (this.protocol === 2) this.#header(0x2a, count * 2)
    else this.#header(0x25, count)
  }

  /** Announces a set of `count` values; in RESP2 an array. */
  set(count: number): void {
    this.#header(this.protocol === 2 ? 0x2a : 0x7e, count)
  }

  /** Announces a push of `count` values; in RESP2 an array. */
  push(count: number): void {
    this.#header(this.protocol === 2 ? 0x2a : 0x3e, count)
  }

  /** Bytes that are RESP already. */
  raw(bytes: Buffer): void {
    this.#reserve(bytes.length)
    bytes.copy(this.#slab, this.#at)
    this.#at += bytes.length
  }

  #line(type: number, text: string): void {
    this.#reserve(text.length + 3)
    this.#slab[this.#at++] = type
    this.#text(text)
    this.#lineEnd()
  }

  #header(type: number, value: number): void {
    this.#reserve(HEADER_BYTES)
    const slab = this.#slab
    slab[this.#at++] = type
    if (value >= 0 && value < 10) slab[this.#at++] = ZERO + value
    else this.#text(String(value))
    slab[this.#at++] = CR
    slab[this.#at++] = LF
  }

  #lineEnd(): void {
    this.#slab[this.#at++] = CR
    this.#slab[this.#at++] = LF
  }

  #bytes(value: Buffer | string): void {
    if (typeof value === 'string') {
      this.#text(value)
    } else {
      value.copy(this.#slab, this.#at)
      this.#at += value.length
    }
  }

  #text(text: string): void {
    // For short texts a loop is cheaper than the call into the runtime.
    if (text.length <= SHORT_TEXT) {
      for (let i = 0; i < text.length; i++) this.#slab[this.#at + i] = text.charCodeAt(i)
    } else {
      this.#slab.write(text, this.#at, 'latin1')
    }
    this.#at += text.length
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#slab.length) return
    const written = this.#at - this.#start
    const needed = written + bytes
    const slab = Buffer.allocUnsafeSlow(needed * 2 <= SLAB_BYTES ? SLAB_BYTES : needed * 2)
    this.#slab.copy(slab, 0, this.#start, this.#at)
    this.#slab = slab
    this.#start = 0
    this.#at = written
  }
}
