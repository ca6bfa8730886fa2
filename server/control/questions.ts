import { compileGlob } from '../../shared/glob.ts'
import type { Clock } from '../clock.ts'
import type { PublishSpace } from '../pubsub/registry.ts'
import type { Space } from '../pubsub/subscriber.ts'
import type { Asked, ControlLine } from '../upstream/control-line.ts'
import type { ControlNames } from './names.ts'
import {
  bytesOfItem,
  decodeAnswer,
  decodeQuestion,
  encodeAnswer,
  encodeQuestion,
  isAnswer,
  type Answer,
  type Question,
} from './question.ts'

/** What is subscribed to at this gateway. Names are byte strings. */
export interface LocalSubscriptions {
  countOf(space: Space, name: string): number
  channelNames(space: PublishSpace): Iterable<string>
  patterns(): Iterable<{ readonly name: string }>
}

/** Answers that have not come by then are left out, in ms. */
export const ANSWER_MS = 250

/** Bytes of items in one message, unless a single item is larger. */
const PART_BYTES = 65_536
/** Bytes of names in one question. Of further names the other gateways' subscribers are not counted. */
const QUESTION_BYTES = 1_048_576
/** A larger message is no question. */
const MOST_MESSAGE_BYTES = QUESTION_BYTES + 1_024
/** Bytes of items in all answers to one question, and in one: they wait in the output buffer of the upstream. */
const ANSWERS_BYTES = 8_388_608
const ANSWER_BYTES = 2_097_152

/** Questions of this gateway at a time; further ones are answered without the others. */
const MOST_OPEN = 64
/** Gateways that may answer, expected or not. */
const MOST_NODES = 4_096
const MOST_PARTS = 4_096

/**
 * Work for others, in names that are looked at: so much in a millisecond, and in one go. What costs more is answered, and then
 * nothing until that is made up for: whoever may publish at the upstream can ask.
 */
const WORK_PER_MS = 1_000
const MOST_WORK = 1_000_000
/** Work of a message at least, and bytes of an answer that are as much work as a name. */
const MESSAGE_WORK = 100
const BYTES_PER_WORK = 8
/** Bytes of a pattern that make looking at a name twice the work. */
const PATTERN_BYTES = 32

/** What a gateway has sent of its answer. */
interface Progress {
  readonly parts: Set<number>
  /** The number of its parts, once the last has come. */
  count: number | undefined
  isCut: boolean
}

/** A question that waits for answers. */
interface OpenQuestion {
  /** Gateways that are waited for. */
  readonly expected: ReadonlySet<string>
  readonly answers: Map<string, Progress>
  readonly take: (answer: Answer) => void
  readonly finish: () => void
  bytesLeft: number
}

/**
 * Asks all gateways of the namespace, and the upstream, what is subscribed to; and answers the others. Answers are information alone:
 * nothing is decided by them, and they carry no signature.
 */
export class Questions {
  /** Questions by what became of them: `whole` and `partial`, asked here; `dropped`, asked by others too often. */
  readonly outcomes = new Map([
    ['whole', 0],
    ['partial', 0],
    ['dropped', 0],
  ])
  readonly #clock: Clock
  readonly #line: ControlLine
  readonly #names: ControlNames
  readonly #id: string
  readonly #local: LocalSubscriptions
  readonly #others: () => readonly string[]
  readonly #open = new Map<number, OpenQuestion>()
  #number = 0
  #work = MOST_WORK
  #workMs: number

  constructor(parts: {
    readonly clock: Clock
    readonly line: ControlLine
    readonly names: ControlNames
    /** Of this gateway. */
    readonly id: string
    readonly local: LocalSubscriptions
    /** Ids of the other gateways whose leases last. */
    readonly others: () => readonly string[]
  }) {
    this.#clock = parts.clock
    this.#line = parts.line
    this.#names = parts.names
    this.#id = parts.id
    this.#local = parts.local
    this.#others = parts.others
    this.#workMs = parts.clock.monotonicMs()
  }

  /** Subscribers of names, in their order: those of all gateways, and native ones. */
  async counts(space: PublishSpace, names: readonly string[]): Promise<readonly number[]> {
    const { subscriptions } = this.#line
    const totals = names.map((name) => this.#local.countOf(space, name))
    const links: number[] = names.map((name) => Number(subscriptions.holds(space, name)))
    const { parts, isCut } = partsOf(names)
    const take = ({ part, items }: Answer): void => {
      const { start = 0, items: asked = [] } = parts[part] ?? {}
      for (const item of items) {
        const { index, count, isHeld } = readCount(item)
        if (index >= asked.length) continue
        const at = start + index
        totals[at] = (totals[at] as number) + count
        links[at] = (links[at] as number) + Number(isHeld)
      }
    }
    const messages = parts.map(({ items }) => items)
    const [isWhole, native] = await Promise.all([
      this.#ask('counts', space, messages, take),
      this.#inTime(subscriptions.counts(space, names)),
    ])
    this.#count(isWhole && !isCut && native?.isWhole === true)
    return totals.map((total, at) => {
      // The links of gateways are among the subscribers that the upstream counts.
      const others = (native?.value[at] ?? 0) - (links[at] as number)
      return total + Math.max(0, others)
    })
  }

  /** Channels that somebody is subscribed to, at any gateway or at the upstream. @param pattern All, if it is left out. */
  async names(space: PublishSpace, pattern: string | undefined): Promise<Iterable<string>> {
    const found = new Set<string>(matching(this.#local.channelNames(space), pattern))
    const take = ({ items }: Answer): void => {
      for (const name of items) found.add(name)
    }
    const [isWhole, native] = await Promise.all([
      this.#ask('names', space, [pattern === undefined ? [] : [pattern]], take),
      this.#inTime(this.#line.subscriptions.names(space, pattern)),
    ])
    for (const name of native?.value ?? []) found.add(name)
    this.#count(isWhole && native?.isWhole === true)
    return found
  }

  /** Distinct patterns: those of the clients of all gateways, and native ones, as far as they are not what gateways subscribe to. */
  async patterns(): Promise<number> {
    const { subscriptions } = this.#line
    const found = new Set<string>()
    for (const { name } of this.#local.patterns()) found.add(name)
    const covers = new Set(subscriptions.covers())
    const take = ({ items }: Answer): void => {
      for (const item of items) (item.startsWith('c') ? covers : found).add(item.slice(1))
    }
    const [isWhole, native] = await Promise.all([
      this.#ask('patterns', 'channel', [[]], take),
      this.#inTime(subscriptions.patterns()),
    ])
    this.#count(isWhole && native?.isWhole === true)
    return found.size + Math.max(0, (native?.value ?? 0) - covers.size)
  }

  /** A message on the channel of questions. */
  asked(payload: Buffer): void {
    if (payload.toString('latin1', 0, this.#id.length) === this.#id) return
    if (payload.length > MOST_MESSAGE_BYTES || !this.#mayWork()) {
      this.#note('dropped')
      return
    }
    this.#work -= MESSAGE_WORK + payload.length / BYTES_PER_WORK
    const question = decodeQuestion(payload)
    if (question?.kind === 'counts') this.#answerCounts(question)
    else if (question !== undefined) this.#answerItems(question)
  }

  /** A message on the channel of confirmations. @returns False if it is no answer. */
  answered(payload: Buffer): boolean {
    if (!isAnswer(payload)) return false
    const answer = decodeAnswer(payload)
    const question = answer === undefined ? undefined : this.#open.get(answer.number)
    if (answer === undefined || question === undefined || answer.node === this.#id) return true
    const progress = progressOf(question, answer.node)
    if (progress === undefined || progress.parts.has(answer.part)) return true
    question.bytesLeft -= payload.length
    if (question.bytesLeft < 0 || progress.parts.size >= MOST_PARTS) return true
    progress.parts.add(answer.part)
    if (answer.state !== 'more') progress.count = answer.part + 1
    if (answer.state === 'cut') progress.isCut = true
    question.take(answer)
    if (isAnswered(question)) question.finish()
    return true
  }

  /** Asks the other gateways. @returns True if all that were there have answered in whole, and in time. */
  #ask(
    kind: Question['kind'],
    space: PublishSpace,
    messages: readonly (readonly string[])[],
    take: (answer: Answer) => void,
  ): Promise<boolean> {
    const expected = new Set(this.#others())
    if (expected.size === 0 || messages.length === 0) return Promise.resolve(true)
    if (!this.#line.isUp || this.#open.size >= MOST_OPEN) return Promise.resolve(false)
    const number = ++this.#number
    const mostBytes = Math.min(ANSWER_BYTES, Math.floor(ANSWERS_BYTES / expected.size))
    return new Promise((resolve) => {
      const finish = (): void => {
        timer.cancel()
        this.#open.delete(number)
        resolve(isAnswered(question) && [...question.answers.values()].every(isComplete))
      }
      const timer = this.#clock.after(ANSWER_MS, finish)
      const question: OpenQuestion = {
        expected,
        answers: new Map(),
        take,
        finish,
        bytesLeft: 2 * ANSWERS_BYTES,
      }
      this.#open.set(number, question)
      for (const [part, items] of messages.entries()) {
        const isLast = part === messages.length - 1
        const message = { from: this.#id, number, kind, space, part, isLast, mostBytes, items }
        this.#publish(this.#names.questions, encodeQuestion(message))
      }
    })
  }

  #answerCounts(question: Question): void {
    const { space, part, isLast } = question
    const items: string[] = []
    for (const [index, name] of question.items.entries()) {
      this.#work--
      const count = this.#local.countOf(space, name)
      const isHeld = this.#line.subscriptions.holds(space, name)
      if (count > 0 || isHeld) items.push(`${index} ${count}${isHeld ? '+' : ''}`)
    }
    this.#answer(question, part, isLast ? 'last' : 'more', items)
  }

  /** Answers with names or patterns, in as many messages as they need. */
  #answerItems(question: Question): void {
    const mostBytes = Math.min(question.mostBytes, ANSWER_BYTES)
    let items: string[] = []
    let part = 0
    let partBytes = 0
    let bytes = 0
    for (const item of this.#itemsFor(question)) {
      const itemBytes = bytesOfItem(item)
      bytes += itemBytes
      if (bytes > mostBytes) {
        this.#answer(question, part, 'cut', items)
        return
      }
      if (items.length > 0 && partBytes + itemBytes > PART_BYTES) {
        this.#answer(question, part++, 'more', items)
        items = []
        partBytes = 0
      }
      items.push(item)
      partBytes += itemBytes
    }
    this.#answer(question, part, 'last', items)
  }

  *#itemsFor({ kind, space, items: [pattern] }: Question): IterableIterator<string> {
    if (kind === 'names') {
      const work = 1 + (pattern?.length ?? 0) / PATTERN_BYTES
      yield* matching(this.#local.channelNames(space), pattern, () => void (this.#work -= work))
      return
    }
    for (const cover of this.#line.subscriptions.covers()) yield `c${cover}`
    for (const { name } of this.#local.patterns()) {
      this.#work--
      yield `p${name}`
    }
  }

  #answer(
    { from, number }: Question,
    part: number,
    state: Answer['state'],
    items: readonly string[],
  ): void {
    const message = encodeAnswer({ node: this.#id, number, part, state, items })
    this.#work -= message.length / BYTES_PER_WORK
    this.#publish(this.#names.acknowledgementsOf(from), message)
  }

  #publish(channel: string, message: Buffer): void {
    if (this.#line.isUp) this.#line.ask(UNHEARD, this.#line.publishCommand, channel, message)
  }

  /** What the upstream says, if it comes in time. */
  #inTime<Value>(asked: Promise<Asked<Value>>): Promise<Asked<Value> | undefined> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(ANSWER_MS, () => resolve(undefined))
      void asked.then((answer) => {
        timer.cancel()
        resolve(answer)
      })
    })
  }

  #mayWork(): boolean {
    const nowMs = this.#clock.monotonicMs()
    this.#work = Math.min(MOST_WORK, this.#work + (nowMs - this.#workMs) * WORK_PER_MS)
    this.#workMs = nowMs
    return this.#work > 0
  }

  #count(isWhole: boolean): void {
    this.#note(isWhole ? 'whole' : 'partial')
  }

  #note(outcome: 'whole' | 'partial' | 'dropped'): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1)
  }
}

const UNHEARD = { answered: () => {}, lost: () => {} }

/** Undefined where too many have answered. */
function progressOf({ answers }: OpenQuestion, node: string): Progress | undefined {
  const known = answers.get(node)
  if (known !== undefined || answers.size >= MOST_NODES) return known
  const progress: Progress = { parts: new Set(), count: undefined, isCut: false }
  answers.set(node, progress)
  return progress
}

/** Reports whether all gateways that are waited for have sent all that they send. */
function isAnswered({ expected, answers }: OpenQuestion): boolean {
  for (const node of expected) {
    const progress = answers.get(node)
    if (progress === undefined || !hasEnded(progress)) return false
  }
  return true
}

function hasEnded({ parts, count }: Progress): boolean {
  return count !== undefined && parts.size >= count
}

function isComplete(progress: Progress): boolean {
  return hasEnded(progress) && !progress.isCut
}

const COUNT = /^(\d{1,6}) (\d{1,10})(\+?)$/

function readCount(item: string): { index: number; count: number; isHeld: boolean } {
  const [, index, count, held] = COUNT.exec(item) ?? []
  if (index === undefined) return { index: Infinity, count: 0, isHeld: false }
  return { index: Number(index), count: Number(count), isHeld: held === '+' }
}

/** The names that match a glob, or all. @param looked Called for each name. */
function* matching(
  names: Iterable<string>,
  pattern: string | undefined,
  looked: () => void = () => {},
): IterableIterator<string> {
  const glob = pattern === undefined ? undefined : compileGlob(pattern)
  for (const name of names) {
    looked()
    if (glob === undefined || glob.matches(name)) yield name
  }
}

/** Distributes names over messages, as many as a question may have. */
function partsOf(names: readonly string[]): {
  readonly parts: readonly { readonly start: number; readonly items: readonly string[] }[]
  readonly isCut: boolean
} {
  const parts: { readonly start: number; readonly items: string[] }[] = []
  let partBytes = 0
  let bytes = 0
  for (const [at, name] of names.entries()) {
    const itemBytes = bytesOfItem(name)
    bytes += itemBytes
    if (bytes > QUESTION_BYTES) return { parts, isCut: true }
    const part = parts.at(-1)
    if (part === undefined || partBytes + itemBytes > PART_BYTES) {
      parts.push({ start: at, items: [name] })
      partBytes = itemBytes
    } else {
      part.items.push(name)
      partBytes += itemBytes
    }
  }
  return { parts, isCut: false }
}
