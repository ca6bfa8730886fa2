import { byteString, utf8Text } from '../bytes.ts'
import { ByteQueue } from './byte-queue.ts'
import { RespProtocolError } from './error.ts'
import * as line from './line.ts'
import type { RespMap, RespValue } from './types.ts'

/** Limits of a reader. A stream that exceeds one is a protocol error. */
export interface ReaderLimits {
  /** The longest line: simple strings, errors, numbers. Bytes; default 64 KiB. */
  readonly maxLineBytes: number
  /** The longest bulk string, bulk error or verbatim string. Bytes; default 512 MiB, as `proto-max-bulk-len`. */
  readonly maxBulkBytes: number
  /** Values inside one value, nested ones and both halves of pairs included. Default 1,048,576. */
  readonly maxItems: number
  /** Values that may be open at once: an array within an array makes 2. Default 32. */
  readonly maxDepth: number
}

const DEFAULT_LIMITS: ReaderLimits = {
  maxLineBytes: 65_536,
  maxBulkBytes: 536_870_912,
  maxItems: 1_048_576,
  maxDepth: 32,
}

const ARRAY = 0x2a // *
const MAP = 0x25 // %
const SET = 0x7e // ~
const PUSH = 0x3e // >
const ATTRIBUTE = 0x7c // |
const BULK = 0x24 // $
const BULK_ERROR = 0x21 // !
const VERBATIM = 0x3d // =

/** Type of a value with attributes; no byte has this number. */
const DECORATED = -1

const TYPE_BYTES = '+-:_#,($!=*%~>|'

/** More bytes are needed. */
const MORE = Symbol('more')
/** A value was opened, and its content is read next. */
const OPENED = Symbol('opened')

/** Result of one step of the reader. */
type Step = RespValue | typeof MORE | typeof OPENED

/** An aggregate whose items have not all been read. */
interface OpenAggregate {
  readonly type: number
  /** Items still to come. */
  missing: number
  readonly items: RespValue[]
}

/** A bulk string whose header has been read. */
interface OpenBulk {
  readonly type: number
  /** The content; undefined while it has not all arrived. */
  content: Uint8Array | undefined
  readonly length: number
}

/**
 * Reads RESP2 and RESP3 values from bytes that arrive in chunks of any size.
 *
 * `push` the bytes as they arrive, then call `next` until it returns undefined. Memory grows with the bytes received, never with
 * an announced length. Bulk strings are copies that the caller owns.
 *
 * Streamed strings and aggregates (`$?`, `*?`) are refused: no server sends them.
 *
 * @see https://github.com/redis/redis-specifications/blob/master/protocol/RESP3.md
 */
export class RespReader {
  readonly #limits: ReaderLimits
  readonly #bytes = new ByteQueue()
  readonly #open: OpenAggregate[] = []
  #type: number | undefined
  #bulk: OpenBulk | undefined
  /** Items announced within the current top-level value. */
  #items = 0
  #failure: RespProtocolError | undefined

  constructor(limits: Partial<ReaderLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits }
  }

  /** Adds a chunk, which must not be changed afterwards. */
  push(chunk: Uint8Array): void {
    this.#bytes.push(chunk)
  }

  /**
   * Returns the next complete value; undefined if its last byte has not arrived.
   *
   * @throws {RespProtocolError} At the first byte that cannot be part of an acceptable stream, and on every later call.
   */
  next(): RespValue | undefined {
    if (this.#failure) throw this.#failure
    try {
      return this.#read()
    } catch (error) {
      if (error instanceof RespProtocolError) this.#failure = error
      throw error
    }
  }

  #read(): RespValue | undefined {
    for (;;) {
      const step = this.#bulk ? this.#readBulk(this.#bulk) : this.#readHeader()
      if (step === MORE) return undefined
      if (step === OPENED) continue
      const whole = this.#close(step)
      if (whole === undefined) continue
      this.#items = 0
      return whole
    }
  }

  /** Reads a type byte and its line. */
  #readHeader(): Step {
    if (this.#type === undefined) {
      const type = this.#bytes.peek()
      if (type === undefined) return MORE
      this.#bytes.skip()
      this.#type = this.#checkType(type)
    }
    const content = this.#bytes.takeLine(this.#limits.maxLineBytes)
    if (content === undefined) return MORE
    const type = this.#type
    this.#type = undefined

    switch (type) {
      case 0x2b: // +
        return utf8Text(content)
      case 0x2d: // -
        return { type: 'error', message: utf8Text(content) }
      case 0x3a: // :
        return line.parseInteger(content)
      case 0x5f: // _
        return line.parseNull(content)
      case 0x23: // #
        return line.parseBoolean(content)
      case 0x2c: // ,
        return { type: 'double', value: line.parseDouble(content) }
      case 0x28: // (
        return { type: 'big-number', value: line.parseBigNumber(content) }
      case BULK:
      case BULK_ERROR:
      case VERBATIM:
        return this.#openBulk(type, line.parseLength(content))
      default:
        return this.#openAggregate(type, line.parseLength(content))
    }
  }

  #checkType(type: number): number {
    if (!TYPE_BYTES.includes(String.fromCharCode(type))) {
      throw new RespProtocolError('ERR_RESP_TYPE', `No type is ${type}`)
    }
    if (type === PUSH && this.#open.some((aggregate) => aggregate.type !== DECORATED)) {
      throw new RespProtocolError('ERR_RESP_PUSH', 'A push stands inside another value')
    }
    return type
  }

  #openBulk(type: number, length: number): Step {
    if (length < 0) return nullOf(type)
    if (length > this.#limits.maxBulkBytes) {
      const limit = this.#limits.maxBulkBytes
      throw new RespProtocolError(
        'ERR_RESP_BULK_LIMIT',
        `A bulk string is longer than ${limit} bytes`,
      )
    }
    this.#bulk = { type, length, content: undefined }
    return OPENED
  }

  #readBulk(bulk: OpenBulk): Step {
    bulk.content ??= this.#bytes.takeBlock(bulk.length)
    if (bulk.content === undefined) return MORE
    const end = this.#bytes.takeBlock(2)
    if (end === undefined) return MORE
    if (end[0] !== 0x0d || end[1] !== 0x0a) {
      throw new RespProtocolError('ERR_RESP_BULK_END', 'A bulk string is not followed by CR LF')
    }
    this.#bulk = undefined
    const { type, content } = bulk
    if (type === BULK) return content
    if (type === BULK_ERROR) return { type: 'error', message: utf8Text(content) }
    if (content[3] !== 0x3a) {
      throw new RespProtocolError('ERR_RESP_LINE', 'A verbatim string has no format')
    }
    const format = byteString(content.subarray(0, 3))
    return { type: 'verbatim', format, bytes: content.subarray(4) }
  }

  #openAggregate(type: number, count: number): Step {
    if (count < 0) return nullOf(type)
    const missing = type === MAP || type === ATTRIBUTE ? count * 2 : count
    const { maxItems, maxDepth } = this.#limits
    this.#items += missing
    if (this.#items > maxItems) {
      throw new RespProtocolError('ERR_RESP_ITEM_LIMIT', `A value is longer than ${maxItems} items`)
    }
    if (this.#open.length >= maxDepth) {
      throw new RespProtocolError('ERR_RESP_DEPTH_LIMIT', `A value is deeper than ${maxDepth}`)
    }
    if (missing > 0) this.#open.push({ type, missing, items: [] })
    else if (type === ATTRIBUTE) this.#decorate([])
    else return build(type, [])
    return OPENED
  }

  /** Attributes are complete: they wait for their value. */
  #decorate(items: readonly RespValue[]): void {
    this.#open.push({ type: DECORATED, missing: 1, items: [build(MAP, items)] })
  }

  /**
   * Adds a value to the innermost open aggregate, and closes each aggregate that becomes complete.
   *
   * @returns The top-level value, once it is complete.
   */
  #close(value: RespValue): RespValue | undefined {
    let current = value
    for (;;) {
      const parent = this.#open.at(-1)
      if (!parent) return current
      parent.items.push(current)
      parent.missing--
      if (parent.missing > 0) return undefined
      this.#open.pop()
      if (parent.type === ATTRIBUTE) {
        this.#decorate(parent.items)
        return undefined
      }
      current = build(parent.type, parent.items)
    }
  }
}

/** RESP2 writes null as a bulk string or an array of length -1. */
function nullOf(type: number): null {
  if (type === BULK || type === ARRAY) return null
  throw new RespProtocolError('ERR_RESP_LINE', 'No null of this type')
}

function build(type: number, items: readonly RespValue[]): RespValue {
  switch (type) {
    case MAP:
      return mapOf(items)
    case SET:
      return { type: 'set', members: items }
    case PUSH:
      return { type: 'push', items }
    case DECORATED: {
      const [attributes = null, value = null] = items
      return { type: 'attributed', attributes: attributes as RespMap, value }
    }
    default:
      return items
  }
}

function mapOf(items: readonly RespValue[]): RespMap {
  const entries: [RespValue, RespValue][] = []
  for (let at = 0; at + 1 < items.length; at += 2) {
    entries.push([items[at] as RespValue, items[at + 1] as RespValue])
  }
  return { type: 'map', entries }
}
