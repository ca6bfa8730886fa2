import type { ClientEviction } from '../client/eviction.ts'
import { MOST_BYTES_IN_FLIGHT, type Output } from './output.ts'
import type { OutputGuard } from '../client/output-limits.ts'
import type { Turn } from './turn.ts'

/**
 * Longest slice of a flush before the event loop gets its turn, in ms. While a slice is short, publishers are read
 * between slices, and subscribers that were not written yet get their next messages in the same write: 500 subscribers of
 * a publisher that waits for each reply get several messages per write instead of one.
 */
const SLICE_MS = 0.1

/**
 * As {@link SLICE_MS} once more waits than one write holds: then nothing is gained by letting more messages come, and
 * publishers must not get ahead of subscribers that read as fast as they are written.
 */
const LONG_SLICE_MS = 10

/** Outputs written between two readings of the clock. */
const OUTPUTS_PER_LOOK = 8

/** Places that are kept while no output waits, and that may lie unused in front of waiting ones. */
const SPARE_PLACES = 4_096

/** Outputs that wait to be written, oldest first. Its places are used again: a turn allocates nothing. */
export class WriteQueue {
  #outputs: (Output | undefined)[] = []
  #head = 0
  #tail = 0

  get isEmpty(): boolean {
    return this.#head === this.#tail
  }

  push(output: Output): void {
    if (this.#head > SPARE_PLACES) {
      this.#outputs = this.#outputs.slice(this.#head, this.#tail)
      this.#tail -= this.#head
      this.#head = 0
    }
    this.#outputs[this.#tail++] = output
  }

  /** Takes the oldest; undefined if none waits. */
  shift(): Output | undefined {
    if (this.#head === this.#tail) return undefined
    const output = this.#outputs[this.#head]
    this.#outputs[this.#head++] = undefined
    if (this.#head === this.#tail) {
      this.#head = this.#tail = 0
      if (this.#outputs.length > SPARE_PLACES) this.#outputs = []
    }
    return output
  }
}

/** Environment of a {@link Flusher}. */
interface FlusherOptions {
  /** Calls back once everything readable in this turn of the event loop has been handled. */
  readonly atEndOfTurn: (callback: () => void) => void
  /** Monotonic milliseconds. */
  readonly nowMs: () => number
  /** Ended when all outputs have been written. */
  readonly turn: Pick<Turn, 'bytes' | 'end'>
  /** Judges each output right before and right after its write. */
  readonly guard: Pick<OutputGuard, 'beforeWrite' | 'afterWrite'>
  /** Measures each client right after its write. */
  readonly eviction: Pick<ClientEviction, 'note'>
  /** Called before outputs are written: the process may have been stopped for long, and may withhold some. */
  readonly check: () => void
}

/**
 * Writes each output that holds something once at the end of the turn, however much was queued in it.
 *
 * Outputs with a reply go first, so that their clients can go on. The others are written in slices, so that the loop is
 * never held for long. Order within an output is not affected: frames queued meanwhile come last.
 */
export class Flusher {
  readonly #options: FlusherOptions
  readonly #first = new WriteQueue()
  readonly #others = new WriteQueue()
  /** Runs before the writes of the next slice. */
  #earlier: (() => void)[] = []
  #scheduled = false
  #holds = false

  constructor(options: FlusherOptions) {
    this.#options = options
  }

  /**
   * Has an output written at the end of this turn.
   *
   * @param first It holds a reply, and goes before those that hold only messages.
   */
  add(output: Output, first: boolean): void {
    if (first) this.#first.push(output)
    else this.#others.push(output)
    if (!this.#scheduled && !(first && this.#holds)) this.#schedule()
  }

  /**
   * Calls back at the end of this turn, before outputs are written. What goes to an upstream would otherwise wait for a slice, and
   * its publisher with it.
   */
  beforeWrites(callback: () => void): void {
    this.#earlier.push(callback)
    if (!this.#scheduled) this.#schedule()
  }

  /** Until {@link answer} no reply is written: all commands of one read are answered in one write. */
  hold(): void {
    this.#holds = true
  }

  /**
   * Writes the outputs with a reply now, not at the end of the turn. A turn of the loop costs as much as several
   * commands.
   *
   * @param nowMs Monotonic milliseconds.
   */
  answer(nowMs: number): void {
    this.#holds = false
    if (this.#first.isEmpty) return
    this.#write(this.#first, true, nowMs)
    if (!this.#first.isEmpty && !this.#scheduled) this.#schedule()
  }

  #schedule(): void {
    this.#scheduled = true
    this.#options.atEndOfTurn(this.#run)
  }

  readonly #run = (): void => {
    this.#scheduled = false
    if (this.#earlier.length > 0) this.#runEarlier()
    const startMs = this.#options.nowMs()
    this.#write(this.#first, true, startMs)
    this.#write(this.#others, false, startMs)
    if (this.#others.isEmpty) this.#options.turn.end()
    const isLeft = !this.#first.isEmpty || !this.#others.isEmpty
    if (isLeft && !this.#scheduled) this.#schedule()
  }

  #runEarlier(): void {
    const callbacks = this.#earlier
    this.#earlier = []
    for (const callback of callbacks) callback()
  }

  /** Writes outputs until the slice is over, at least some. */
  #write(queue: WriteQueue, first: boolean, startMs: number): void {
    if (queue.isEmpty) return
    const { guard, eviction, check } = this.#options
    check()
    let nowMs = startMs
    const sliceMs = this.#options.turn.bytes < MOST_BYTES_IN_FLIGHT ? SLICE_MS : LONG_SLICE_MS
    for (let count = 1; !queue.isEmpty; count++) {
      if (count % OUTPUTS_PER_LOOK === 0) {
        nowMs = this.#options.nowMs()
        if (nowMs - startMs > sliceMs) return
      }
      const output = queue.shift() as Output
      guard.beforeWrite(output, nowMs)
      output.flush(nowMs, first)
      guard.afterWrite(output, nowMs)
      eviction.note(output.client)
    }
  }
}
