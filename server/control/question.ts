import type { PublishSpace } from '../pubsub/registry.ts'

/**
 * One message of a question to all gateways: the subscribers of names (`counts`), the channels that match (`names`), or the patterns
 * that are subscribed to (`patterns`).
 */
export interface Question {
  /** Id of the gateway that asks. */
  readonly from: string
  /** Of the question, unique at that gateway. */
  readonly number: number
  readonly kind: 'counts' | 'names' | 'patterns'
  readonly space: PublishSpace
  /** A question of many names has several messages, from 0. */
  readonly part: number
  readonly isLast: boolean
  /** Bytes of items that an answer may have. */
  readonly mostBytes: number
  /** Byte strings: names; the pattern, or none; nothing. */
  readonly items: readonly string[]
}

/** One message of an answer. */
export interface Answer {
  /** Id of the gateway that answers. */
  readonly node: string
  /** See {@link Question.number}. */
  readonly number: number
  /** From 0; of counts that of the question. */
  readonly part: number
  /** `cut` is the last as well, and something is left out. */
  readonly state: 'more' | 'last' | 'cut'
  /**
   * Byte strings. Counts: `<index in the message of the question> <subscribers>`, and `+` where the gateway's link is subscribed at the
   * upstream; all others are 0. Names: themselves. Patterns: `p` and the pattern, `c` and what `UpstreamSubscriptions.covers` has.
   */
  readonly items: readonly string[]
}

const QUESTION =
  /^([0-9a-f]{16}) (\d{1,15}) (counts|names|patterns) (channel|shard) (\d{1,6}) (more|last) (\d{1,10})\n/
const ANSWER = /^=([0-9a-f]{16}) (\d{1,15}) (\d{1,6}) (more|last|cut)\n/

/** The first byte of an answer, by which it is told from confirmations on the same channel: `=`. */
const ANSWER_MARK = 0x3d

/** Bytes that an item takes in a message, as counted against limits. */
export function bytesOfItem(item: string): number {
  return item.length + 8
}

/** The message of a question. */
export function encodeQuestion(question: Question): Buffer {
  const { from, number, kind, space, part, isLast, mostBytes, items } = question
  const state = isLast ? 'last' : 'more'
  return encoded(`${from} ${number} ${kind} ${space} ${part} ${state} ${mostBytes}\n`, items)
}

/** Undefined if it is none. */
export function decodeQuestion(payload: Buffer): Question | undefined {
  const text = payload.toString('latin1')
  const found = QUESTION.exec(text)
  const [head, from, number, kind, space, part, state, mostBytes] = found ?? []
  if (head === undefined || from === undefined) return undefined
  const items = decodeItems(text, head.length)
  if (items === undefined) return undefined
  return {
    from,
    number: Number(number),
    kind: kind as Question['kind'],
    space: space as PublishSpace,
    part: Number(part),
    isLast: state === 'last',
    mostBytes: Number(mostBytes),
    items,
  }
}

/** The message of an answer. */
export function encodeAnswer({ node, number, part, state, items }: Answer): Buffer {
  return encoded(`=${node} ${number} ${part} ${state}\n`, items)
}

/** Reports whether a message on the channel of confirmations is an answer. */
export function isAnswer(payload: Buffer): boolean {
  return payload[0] === ANSWER_MARK
}

/** Undefined if it is none. */
export function decodeAnswer(payload: Buffer): Answer | undefined {
  const text = payload.toString('latin1')
  const [head, node, number, part, state] = ANSWER.exec(text) ?? []
  if (head === undefined || node === undefined) return undefined
  const items = decodeItems(text, head.length)
  if (items === undefined) return undefined
  return {
    node,
    number: Number(number),
    part: Number(part),
    state: state as Answer['state'],
    items,
  }
}

/** Items are written as `<length>:<bytes>`, since names may have any bytes. */
function encoded(head: string, items: readonly string[]): Buffer {
  return Buffer.from(head + items.map((item) => `${item.length}:${item}`).join(''), 'latin1')
}

const LENGTH = /(\d{1,9}):/y

function decodeItems(text: string, start: number): string[] | undefined {
  const items: string[] = []
  let at = start
  while (at < text.length) {
    LENGTH.lastIndex = at
    const length = LENGTH.exec(text)?.[1]
    if (length === undefined) return undefined
    const from = LENGTH.lastIndex
    at = from + Number(length)
    if (at > text.length) return undefined
    items.push(text.slice(from, at))
  }
  return items
}
