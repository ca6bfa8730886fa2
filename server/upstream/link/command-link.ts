import type { CommandArgument } from '../../../shared/resp/command.ts'
import { isPush, type RespValue } from '../../../shared/resp/types.ts'
import type { Payload } from '../../delivery/segment.ts'
import type { PublishSpace } from '../../pubsub/registry.ts'
import { Link, type DownCause, type LinkHost, type NodeFacts } from './link.ts'

/** Takes the reply of one command. */
export interface Reply {
  answered(value: RespValue): void
  /** No reply will come. @param wasSent The node may have executed the command. */
  lost(wasSent: boolean): void
}

/** The bytes of a payload, within memory that is not changed any more. */
export interface SentPayload {
  readonly memory: Buffer
  readonly start: number
  readonly end: number
}

/** Takes the ends of a command link. */
interface CommandLinkUser {
  up(facts: NodeFacts): void
  /** All replies that were missing have been lost by now. */
  down(cause: DownCause): void
}

/** Larger payloads are not copied. */
const COPIED_BYTES = 16_384

const HEADS = {
  channel: Buffer.from('*3\r\n$7\r\nPUBLISH\r\n$'),
  shard: Buffer.from('*3\r\n$8\r\nSPUBLISH\r\n$'),
} as const

/** Up to so many bytes a loop is cheaper than the call into the runtime. */
const LOOPED_BYTES = 32

const CR = 0x0d
const LF = 0x0a
const DOLLAR = 0x24
const ZERO = 0x30

/** Replies that have been taken are dropped from the front of the queue in steps of so many. */
const TRIM_AT = 1_024

/** A connection for commands: their replies come in their order. */
export class CommandLink {
  readonly link: Link
  #missing: (Reply | undefined)[] = []
  /** The first reply in `#missing` that has not been taken. */
  #first = 0
  /** The end of those in `#missing` whose commands have been handed to the system. */
  #sent = 0

  constructor(host: LinkHost, user: CommandLinkUser, role: 'command' | 'control' = 'command') {
    this.link = new Link(role, host, {
      up: (facts) => user.up(facts),
      flushed: () => (this.#sent = this.#missing.length),
      down: (cause) => {
        this.#loseAll()
        user.down(cause)
      },
      message: () => {},
      value: (value) => this.#value(value),
    })
  }

  /** Sends a command, and expects its reply. */
  ask(reply: Reply, ...args: readonly CommandArgument[]): void {
    this.link.send(...args)
    this.#missing.push(reply)
  }

  /** Expects the reply of the command that was sent last. */
  expect(reply: Reply): void {
    this.#missing.push(reply)
  }

  /**
   * Sends PUBLISH or SPUBLISH. Its reply is to be {@link expect}ed at once.
   *
   * @returns The payload as it was sent, and the bytes of the whole command.
   */
  publish(
    space: PublishSpace,
    key: string,
    payload: Payload,
  ): SentPayload & { readonly bytes: number } {
    const { link } = this
    const head = HEADS[space]
    const keyDigits = digits(key.length)
    const payloadDigits = digits(payload.length)
    const isCopied = payload.length <= COPIED_BYTES
    const framed = head.length + keyDigits + 2 + key.length + 3 + payloadDigits + 2
    const bytes = framed + payload.length + 2
    let at = link.reserve(isCopied ? bytes : framed)
    const { slab } = link
    for (let i = 0; i < head.length; i++) slab[at++] = head[i] as number
    at = lengthLine(slab, at, key.length, keyDigits)
    at = writeText(slab, at, key)
    at = lineEnd(slab, at)
    slab[at++] = DOLLAR
    at = lengthLine(slab, at, payload.length, payloadDigits)
    if (isCopied) {
      payload.copy(slab, at)
      const end = at + payload.length
      lineEnd(slab, end)
      return { memory: slab, start: at, end, bytes }
    }
    const memory = payload.kept()
    link.write(memory)
    link.write(LINE_END)
    return { memory, start: 0, end: memory.length, bytes }
  }

  #value(value: RespValue): void {
    if (isPush(value)) return
    const reply = this.#missing[this.#first]
    if (reply === undefined) {
      this.link.cut('protocol', 'upstream: a reply that nobody asked for')
      return
    }
    this.#missing[this.#first++] = undefined
    if (this.#first >= TRIM_AT) {
      this.#missing = this.#missing.slice(this.#first)
      this.#sent -= this.#first
      this.#first = 0
    }
    reply.answered(value)
  }

  /** The replies that are missing. */
  *missing(): IterableIterator<Reply> {
    for (let at = this.#first; at < this.#missing.length; at++) {
      const reply = this.#missing[at]
      if (reply !== undefined) yield reply
    }
  }

  #loseAll(): void {
    const missing = this.#missing
    const first = this.#first
    const sent = this.#sent
    this.#missing = []
    this.#first = this.#sent = 0
    for (let at = first; at < missing.length; at++) missing[at]?.lost(at < sent)
  }
}

const LINE_END = Buffer.from('\r\n')

function digits(value: number): number {
  let count = 1
  for (let rest = value; rest >= 10; rest = Math.trunc(rest / 10)) count++
  return count
}

/** Writes a length of so many digits, and its line end. @returns The position behind. */
function lengthLine(target: Buffer, at: number, value: number, count: number): number {
  let rest = value
  for (let digit = at + count - 1; digit >= at; digit--) {
    target[digit] = ZERO + (rest % 10)
    rest = Math.trunc(rest / 10)
  }
  return lineEnd(target, at + count)
}

/** Writes a byte string. @returns The position behind. */
function writeText(target: Buffer, at: number, text: string): number {
  if (text.length > LOOPED_BYTES) return at + target.write(text, at, 'latin1')
  for (let i = 0; i < text.length; i++) target[at + i] = text.charCodeAt(i)
  return at + text.length
}

function lineEnd(target: Buffer, at: number): number {
  target[at] = CR
  target[at + 1] = LF
  return at + 2
}

/** A reply that is taken if it comes. */
export function onAnswer(answered: Reply['answered']): Reply {
  return { answered, lost: () => {} }
}
