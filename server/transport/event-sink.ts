import type { Socket } from 'node:net'
import { parseCloseReason } from '../../shared/close-codes.ts'
import { RespReader } from '../../shared/resp/reader.ts'
import { isError, isPush, type RespValue } from '../../shared/resp/types.ts'
import { jsonField } from '../delivery/event.ts'
import type { WebSocketClose } from '../delivery/sink.ts'
import { SocketSink } from './raw-socket.ts'

/** RFC 6455 section 7.4.1: a close without a code of its own. */
const NORMAL_CLOSURE = 1000

/** Keeps proxies from closing a silent stream. */
const PING = Buffer.from(':\n\n')

/** Confirmations, by the word of their push. */
const CONFIRMATIONS: Readonly<Record<string, readonly [event: string, field: string]>> = {
  subscribe: ['subscribed', 'channel'],
  psubscribe: ['subscribed', 'pattern'],
  unsubscribe: ['unsubscribed', 'channel'],
  punsubscribe: ['unsubscribed', 'pattern'],
}

/** What a push about a token says, after its kind. */
const TOKEN_FIELDS: Readonly<Record<string, readonly string[]>> = {
  accepted: ['user', 'leftMs'],
  expiring: ['leftMs'],
  expired: ['graceMs'],
  revoked: ['channel', 'message'],
  granted: [],
}

/**
 * Sink of a stream of events. Messages come as events, which all streams of a channel share; what only this client is sent comes as
 * RESP3, and is made events of here. Until the stream is opened nothing is written: whether it is opened depends on the replies.
 */
export class EventSink extends SocketSink {
  readonly #socket: Socket
  #isOpen = false
  #isOver = false
  /** A write that waits until the stream is opened. */
  #held: readonly Buffer[] | undefined
  /** The first error reply. */
  error: string | undefined
  /** Called at the end of a client whose stream was never opened. */
  onRefused: () => void = () => {}

  /** @param socket Carries the response, which has no end but the connection's. */
  constructor(socket: Socket) {
    super(socket)
    this.#socket = socket
  }

  override get pendingBytes(): number {
    let held = 0
    for (const buffer of this.#held ?? []) held += buffer.length
    return held + super.pendingBytes
  }

  /** The head of the response is on its way: events follow it. */
  open(): void {
    this.#isOpen = true
    const held = this.#held
    this.#held = undefined
    if (held && super.write(held)) this.writer?.onWritable()
  }

  translate(frames: Buffer): Buffer {
    const reader = new RespReader()
    reader.push(frames)
    let events = ''
    for (let value = reader.next(); value !== undefined; value = reader.next()) {
      if (isError(value)) this.error ??= value.message
      else if (isPush(value)) events += eventOf(value.items)
    }
    return Buffer.from(events, 'utf8')
  }

  override write(buffers: readonly Buffer[]): boolean {
    if (this.#isOver) return true
    if (this.#isOpen) return super.write(buffers)
    this.#held = buffers
    return false
  }

  /** Writes a comment, unless something is on its way anyhow. */
  ping(): void {
    if (this.#isOpen && !this.#isOver && this.pendingBytes === 0) super.write([PING])
  }

  override end(close: WebSocketClose | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    if (!this.#isOpen) {
      this.onRefused()
      return
    }
    // By the stream of the socket: after whatever is on its way.
    this.#socket.end(closeEvent(close))
  }

  override terminate(): void {
    if (!this.#isOpen && !this.#isOver) {
      this.#isOver = true
      this.onRefused()
    } else if (this.#isOpen) super.terminate()
  }

  // The parser of HTTP reads the socket, and no request may follow.
  override pause(): void {}

  override resume(): void {}
}

/** The event of a push; empty where there is none. */
function eventOf([kind, ...rest]: readonly RespValue[]): string {
  const word = textOf(kind)
  const confirmation = CONFIRMATIONS[word]
  if (confirmation) {
    const [event, field] = confirmation
    return eventText(event, [memberOf(field, rest[0])])
  }
  if (word === 'gap') {
    const [name, fromMs, toMs] = rest
    const members = [`"fromMs":${Number(fromMs)}`, `"toMs":${Number(toMs)}`]
    return eventText('gap', isEmpty(name) ? members : [memberOf('channel', name), ...members])
  }
  const about = textOf(rest[0])
  const fields = word === 'token' ? TOKEN_FIELDS[about] : undefined
  if (fields === undefined) return ''
  return eventText('token', [
    `"about":${JSON.stringify(about)}`,
    ...fields.map((field, at) => memberOf(field, rest[at + 1])),
  ])
}

function closeEvent(close: WebSocketClose | undefined): string {
  const { code, reason } = close ?? { code: NORMAL_CLOSURE, reason: '' }
  const retryMs = parseCloseReason(reason)?.retryMs
  // The reconnection time of an EventSource.
  const retry = retryMs === undefined ? '' : `retry: ${retryMs}\n`
  return `${retry}${eventText('close', [`"code":${code}`, `"reason":${JSON.stringify(reason)}`])}`
}

function eventText(event: string, members: readonly string[]): string {
  return `event: ${event}\ndata: {${members.join(',')}}\n\n`
}

function memberOf(field: string, value: RespValue | undefined): string {
  if (value instanceof Uint8Array) return jsonField(field, Buffer.from(value))
  return `"${field}":${JSON.stringify(typeof value === 'number' ? value : null)}`
}

function textOf(value: RespValue | undefined): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : ''
}

function isEmpty(value: RespValue | undefined): boolean {
  return !(value instanceof Uint8Array) || value.length === 0
}
