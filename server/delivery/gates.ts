import type { Output } from './output.ts'
import { OutputQueue } from './output-queue.ts'
import type { DropTest } from './segment.ts'

const NOTHING = Buffer.alloc(0)

/** The place of a reply that comes later, and what is queued after it. */
export class Gate {
  /** Made by the first that is queued after it. */
  queue: OutputQueue | undefined
  next: Gate | undefined
  isFilled = false
  reply: Buffer = NOTHING
  start = 0
  end = 0

  /** Puts the reply `buffer[start, end)` in its place; it may be empty. */
  fill(buffer: Buffer, start: number, end: number): void {
    this.isFilled = true
    this.reply = buffer
    this.start = start
    this.end = end
  }
}

/**
 * The places that one output keeps for replies that come later, oldest first.
 *
 * Only the queue of the last one grows, so only that one may end in an open share.
 */
export class Gates {
  readonly #owner: Output
  #first: Gate | undefined
  #last: Gate | undefined

  constructor(owner: Output) {
    this.#owner = owner
  }

  get isEmpty(): boolean {
    return this.#first === undefined
  }

  /** Bytes of replies and of all that waits for one. */
  get heldBytes(): number {
    let bytes = 0
    for (let gate = this.#first; gate; gate = gate.next) {
      bytes += gate.end - gate.start + (gate.queue?.heldBytes ?? 0)
    }
    return bytes
  }

  /** Number of items that wait; open places do not count. */
  get itemCount(): number {
    let count = 0
    for (let gate = this.#first; gate; gate = gate.next) {
      count += (gate.end > gate.start ? 1 : 0) + (gate.queue?.itemCount ?? 0)
    }
    return count
  }

  /** The queue after the last place. */
  get tail(): OutputQueue {
    const last = this.#last as Gate
    return (last.queue ??= new OutputQueue(this.#owner))
  }

  /** Closes an open share at the end. */
  closeTail(): void {
    this.#last?.queue?.closeTail()
  }

  /** Keeps one more place, at the end. */
  add(): Gate {
    const gate = new Gate()
    if (this.#last) this.#last.next = gate
    else this.#first = gate
    this.#last = gate
    return gate
  }

  /** Moves what no longer waits for a reply to the end of `queue`. @returns False if nothing was. */
  release(queue: OutputQueue): boolean {
    const before = this.#first
    while (this.#first?.isFilled) {
      const { reply, start, end, queue: after, next } = this.#first
      queue.append(reply, start, end)
      if (after) queue.moveFrom(after)
      this.#first = next
    }
    if (this.#first === undefined) this.#last = undefined
    return this.#first !== before
  }

  /** Drops the queued messages that `drops` names; see {@link OutputQueue.drop}. */
  drop(drops: DropTest): void {
    for (let gate = this.#first; gate; gate = gate.next) gate.queue?.drop(drops)
  }

  /** Forgets all places, and everything queued after them. */
  clear(): void {
    for (let gate = this.#first; gate; gate = gate.next) gate.queue?.clear()
    this.#first = this.#last = undefined
  }
}
