import { silentLog, type Logger } from '../../server/log.ts'
import { payloadOf, type Payload } from '../../server/delivery/segment.ts'
import type { PublishSpace, Registry } from '../../server/pubsub/registry.ts'
import type { Space } from '../../server/pubsub/subscriber.ts'
import type { ErrorLine } from '../../server/resp/reply-writer.ts'
import type {
  Backplane,
  Gap,
  OutgoingMessage,
  PendingNames,
  PublishAnswer,
} from '../../server/upstream/backplane.ts'
import type { Directives } from './settings.ts'
import { TestCore } from './test-core.ts'

/** A message as the upstream got it; texts are byte strings. */
export interface SentMessage {
  readonly space: PublishSpace
  readonly key: string
  readonly payload: string
}

/** Messages that are to be answered together: one of PUBLISH, or those of one transaction. */
interface Flight {
  readonly messages: readonly SentMessage[]
  readonly done: (answers: readonly PublishAnswer[]) => void
}

interface Want {
  readonly space: Space
  readonly names: readonly string[]
  readonly done: (failure: ErrorLine | undefined) => void
}

const RESERVED = '{respcast:'

/** An upstream that answers, confirms and delivers when the test says so, in the order of the calls. */
export class FakeBackplane implements Backplane {
  readonly isAlone = false
  isFull = false
  readonly problems: readonly string[] = []
  readonly links = []
  readonly control = undefined
  readonly figures = undefined
  /** Answers every message at once with this, as while the upstream is away. */
  refusal: ErrorLine | undefined
  /** Names of these spaces are in force at once. */
  readonly inForce = new Set<Space>()
  readonly flights: Flight[] = []
  readonly wants: Want[] = []
  /** Names of those that do not wait any more. */
  readonly cancelled: (readonly string[])[] = []
  readonly #registry: Registry
  #waiting: (() => void)[] = []
  readonly #gapListeners: ((gap: Gap) => void)[] = []

  constructor(registry: Registry) {
    this.#registry = registry
  }

  /** Messages that are not answered yet. */
  get inFlight(): SentMessage[] {
    return this.flights.flatMap(({ messages }) => messages)
  }

  publish(
    space: PublishSpace,
    key: string,
    payload: Payload,
    done: (answer: PublishAnswer) => void,
  ): PublishAnswer | undefined {
    if (this.refusal !== undefined) return this.refusal
    const messages = [{ space, key, payload: textOf(payload) }]
    this.flights.push({ messages, done: ([answer]) => done(answer as PublishAnswer) })
    return undefined
  }

  publishAll(
    messages: readonly OutgoingMessage[],
    done: (answers: readonly PublishAnswer[]) => void,
  ): readonly PublishAnswer[] | undefined {
    const { refusal } = this
    if (refusal !== undefined) return messages.map(() => refusal)
    this.flights.push({
      messages: messages.map((one) => ({ ...one, payload: textOf(one.payload) })),
      done,
    })
    return undefined
  }

  /** Answers the oldest messages that were sent together, one answer for each of them. */
  answer(...answers: readonly PublishAnswer[]): void {
    this.answerAt(0, ...answers)
  }

  /** As {@link answer}, for those that are `at`-th in line. */
  answerAt(at: number, ...answers: readonly PublishAnswer[]): void {
    const [flight] = this.flights.splice(at, 1)
    if (flight?.messages.length !== answers.length) throw new Error('not one answer for each')
    flight.done(answers)
  }

  want(
    space: Space,
    names: readonly string[],
    done: (failure: ErrorLine | undefined) => void,
  ): PendingNames | ErrorLine | undefined {
    if (this.inForce.has(space)) return undefined
    const want = { space, names, done }
    this.wants.push(want)
    return {
      cancel: () => {
        this.wants.splice(this.wants.indexOf(want), 1)
        this.cancelled.push(names)
      },
    }
  }

  /** Puts the names in force that have waited longest. */
  confirm(failure?: ErrorLine): void {
    const want = this.wants.shift()
    if (!want) throw new Error('no names wait')
    want.done(failure)
  }

  /** A message comes from the upstream. @returns The local receivers. */
  deliver(key: string, payload: string, space: PublishSpace = 'channel'): number {
    return this.#registry.publish(space, key, payloadOf(Buffer.from(payload, 'latin1')))
  }

  whenRoom(callback: () => void): void {
    if (this.isFull) this.#waiting.push(callback)
    else callback()
  }

  makeRoom(): void {
    this.isFull = false
    for (const callback of this.#waiting.splice(0)) callback()
  }

  refuses(name: string): ErrorLine | undefined {
    return name.startsWith(RESERVED)
      ? "ERR names that begin with '{respcast:' are reserved"
      : undefined
  }

  onGap(listener: (gap: Gap) => void): void {
    this.#gapListeners.push(listener)
  }

  announce(gap: Gap): void {
    for (const listener of this.#gapListeners) listener(gap)
  }

  start(): void {}

  async stop(): Promise<void> {}
}

/** A core behind a fake upstream. */
export function coreWithUpstream(
  directives: Directives = {},
  log: Logger = silentLog(),
): { server: TestCore; upstream: FakeBackplane } {
  let upstream: FakeBackplane | undefined
  const server = new TestCore(directives, log, undefined, (registry) => {
    upstream = new FakeBackplane(registry)
    return upstream
  })
  return { server, upstream: upstream as FakeBackplane }
}

function textOf(payload: Payload): string {
  const bytes = Buffer.alloc(payload.length)
  payload.copy(bytes, 0)
  return bytes.toString('latin1')
}
