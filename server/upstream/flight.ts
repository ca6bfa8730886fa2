import type { RespValue } from '../../shared/resp/types.ts'
import type { PublishSpace } from '../pubsub/registry.ts'
import type { PublishAnswer } from './backplane.ts'
import type { Reply, SentPayload } from './link/command-link.ts'
import type { ReadPayload } from './link/link-reader.ts'

/** Takes the replies to publishes, and their ends. */
export interface FlightOwner {
  answered(flight: Flight, value: RespValue): void
  lost(flight: Flight, wasSent: boolean): void
  /** Its answer is about to be told. */
  ended(flight: Flight, answer: PublishAnswer): void
}

/**
 * A publish on its way: the upstream has been sent it, and its answer is composed.
 *
 * The answer is the number of deliveries here, which is known once the message has come back from each of this gateway's sources that
 * match, and of the other subscriptions upstream: what the upstream answers less those sources.
 */
export class Flight implements Reply {
  readonly space: PublishSpace
  /** The channel as a byte string. */
  readonly key: string
  /** Bytes of the command. */
  readonly bytes: number
  /** Monotonic milliseconds. */
  readonly sentMs: number
  /** Sources that were in force, for certain, when it was sent, and stay so. */
  expected: number
  /** It is unknown which sources it meets: only a later beacon tells that all have come. */
  isUncertain: boolean
  /** `Flights` know of it. */
  isTracked = false
  /** The first beacon that was sent after it. */
  readonly beacon: number
  readonly #owner: FlightOwner
  readonly #payload: SentPayload
  readonly #done: (answer: PublishAnswer) => void
  #answer: number | undefined
  /** Sources that it has come from. */
  #met = 0
  #deliveries = 0
  #isOver = false
  #ends: (() => void)[] | undefined

  constructor(
    owner: FlightOwner,
    message: { readonly space: PublishSpace; readonly key: string; readonly payload: SentPayload },
    facts: Pick<Flight, 'bytes' | 'sentMs' | 'expected' | 'isUncertain' | 'beacon'>,
    done: (answer: PublishAnswer) => void,
  ) {
    this.#owner = owner
    this.space = message.space
    this.key = message.key
    this.#payload = message.payload
    this.bytes = facts.bytes
    this.sentMs = facts.sentMs
    this.expected = facts.expected
    this.isUncertain = facts.isUncertain
    this.beacon = facts.beacon
    this.#done = done
  }

  answered(value: RespValue): void {
    this.#owner.answered(this, value)
  }

  lost(wasSent: boolean): void {
    this.#owner.lost(this, wasSent)
  }

  /** It has been answered, for good. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Calls back when it has been answered. */
  onEnd(callback: () => void): void {
    ;(this.#ends ??= []).push(callback)
  }

  /** The bytes of its message. */
  get payload(): Buffer {
    const { memory, start, end } = this.#payload
    return memory.subarray(start, end)
  }

  /** Some source of this gateway may bring it. */
  get mayReturn(): boolean {
    return this.expected > 0 || this.isUncertain
  }

  /** No message more will come for it; it may still wait for its number. */
  get hasCome(): boolean {
    return !this.isUncertain && this.#met >= this.expected
  }

  /** Reports whether a message has its bytes. */
  isLike(payload: ReadPayload): boolean {
    const { memory, start, end } = this.#payload
    return payload.equals(memory, start, end)
  }

  /** It has come from one more source, and was given to so many subscribers here. */
  meet(deliveries: number): void {
    this.#met++
    this.#deliveries += deliveries
    this.#settle()
  }

  /** The upstream has answered a number. */
  counted(receivers: number): void {
    this.#answer = receivers
    if (receivers === 0) this.#end(0)
    else this.#settle()
  }

  /** It is certain by now what has come and what will not: a later beacon is there, or the link that it would have come on is gone. */
  allHaveCome(): void {
    this.expected = this.#met
    this.isUncertain = false
    this.#settle()
  }

  /** It ends with this answer: an error, or what another node has answered. */
  fail(answer: PublishAnswer): void {
    this.#end(answer)
  }

  #settle(): void {
    if (this.#answer === undefined || !this.hasCome) return
    this.#end(this.#deliveries + Math.max(this.#answer - this.#met, 0))
  }

  #end(answer: PublishAnswer): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#owner.ended(this, answer)
    this.#done(answer)
    for (const callback of this.#ends ?? []) callback()
  }
}
