import { authorize } from '../acl/authorize.ts'
import type { Client } from '../client/client.ts'
import type { Space } from '../pubsub/subscriber.ts'
import type { ErrorLine } from '../resp/reply-writer.ts'
import type { Request } from '../resp/request.ts'
import type { OutgoingMessage, PublishAnswer } from '../upstream/backplane.ts'
import type { Services } from './context.ts'
import { Deferred } from './deferred.ts'
import { countPublished, RequestPayload } from './pubsub/publish.ts'
import { subscribeError } from './pubsub/subscribe.ts'
import type { QueuedCommand } from './transaction.ts'

/** Spaces that EXEC subscribes in: SSUBSCRIBE is refused there. */
const SPACES = ['channel', 'pattern'] as const

/** What the upstream has answered before a transaction runs. */
export class PreparedTransaction {
  /** The answers to its publishing commands; one that was not allowed has none. */
  readonly answers = new Map<Request, PublishAnswer>()
  /** Its subscribing commands whose names were asked for, with the error line of those that failed. */
  readonly wanted = new Map<Request, ErrorLine | undefined>()
  readonly #early: Readonly<Record<Space, Set<string>>> = {
    channel: new Set(),
    pattern: new Set(),
    shard: new Set(),
  }

  /** Number of early subscriptions, see {@link isEarly}. */
  get earlyCount(): number {
    return this.#early.channel.size + this.#early.pattern.size
  }

  /**
   * Reports whether a subscription was made for a command that has not run yet. It receives messages, since those of the same
   * transaction may be among them, and counts for nothing else.
   */
  isEarly(space: Space, name: string): boolean {
    return this.#early[space].has(name)
  }

  addEarly(space: Space, name: string): void {
    this.#early[space].add(name)
  }

  /** The command of an early subscription has run. */
  confirmed(space: Space, name: string): void {
    this.#early[space].delete(name)
  }

  /** Ends the early subscriptions whose command has not confirmed them, and drops what they received. */
  endEarly(client: Client, { registry }: Pick<Services, 'registry'>): void {
    if (this.earlyCount === 0) return
    const { channel, pattern } = this.#early
    for (const space of SPACES) {
      for (const name of this.#early[space]) registry.unsubscribe(space, client, name)
    }
    client.output.dropQueued((kind, name) => {
      if (kind === 'pmessage') return pattern.has(name)
      return kind === 'message' && channel.has(name)
    })
  }
}

/**
 * Asks the upstream for what the commands of a transaction need: first for the names that they subscribe to, then for the
 * publishing of their messages. Nothing is asked for that would be refused now.
 *
 * @returns Undefined where no command needs it.
 */
export function prepare(
  client: Client,
  server: Services,
  queue: readonly QueuedCommand[],
): Deferred<PreparedTransaction> | undefined {
  const isNeeded = queue.some(
    ({ command: { spec } }) => spec.publishes !== undefined || spec.subscribes !== undefined,
  )
  if (!isNeeded) return undefined
  const preparation = new Preparation(client, server, queue)
  preparation.start()
  return preparation.done
}

class Preparation {
  readonly done = new Deferred<PreparedTransaction>()
  readonly #client: Client
  readonly #server: Services
  readonly #queue: readonly QueuedCommand[]
  readonly #prepared = new PreparedTransaction()

  constructor(client: Client, server: Services, queue: readonly QueuedCommand[]) {
    this.#client = client
    this.#server = server
    this.#queue = queue
  }

  start(): void {
    this.#want(0)
  }

  /** Asks for the names of one space after the other. */
  #want(at: number): void {
    const space = SPACES[at]
    if (space === undefined) {
      this.#publish()
      return
    }
    const requests = this.#requests(
      ({ command, request }) =>
        command.spec.subscribes === space &&
        subscribeError({ client: this.#client, server: this.#server }, space, request) ===
          undefined,
    )
    if (requests.length === 0) {
      this.#want(at + 1)
      return
    }
    const names = new Set<string>()
    for (const { request } of requests) {
      for (let i = 1; i < request.count; i++) names.add(request.text(i))
    }
    const answered = (failure: ErrorLine | undefined): void => {
      this.#client.pendingNames = undefined
      if (this.#client.closed) return
      for (const { request } of requests) this.#prepared.wanted.set(request, failure)
      if (failure === undefined) this.#subscribe(space, requests)
      this.#want(at + 1)
    }
    const pending = this.#server.backplane.want(space, [...names], answered)
    if (pending === undefined || typeof pending === 'string') {
      answered(pending)
      return
    }
    this.#client.pendingNames = {
      cancel: () => {
        pending.cancel()
        this.done.settle(this.#prepared)
      },
    }
  }

  /** Subscribes before the transaction runs, to those names that are still allowed. */
  #subscribe(space: Space, requests: readonly QueuedCommand[]): void {
    const client = this.#client
    const owner = client.identity.user.name
    for (const queued of requests) {
      if (!this.#isAllowed(queued)) continue
      // The names of the commands before it count.
      const error = subscribeError({ client, server: this.#server }, space, queued.request)
      if (error !== undefined) {
        this.#prepared.wanted.set(queued.request, error)
        continue
      }
      for (let i = 1; i < queued.request.count; i++) {
        const name = queued.request.text(i)
        if (this.#server.registry.subscribe(space, client, name, owner)) {
          this.#prepared.addEarly(space, name)
        }
      }
    }
  }

  #publish(): void {
    const client = this.#client
    const requests = this.#requests(
      ({ command, request }) =>
        command.spec.publishes !== undefined &&
        request.length(1) <= client.limits.maxChannelBytes &&
        this.#server.backplane.refuses(request.name(1)) === undefined,
    )
    const messages = requests.map(({ command, request }): OutgoingMessage => ({
      space: command.spec.publishes ?? 'channel',
      key: request.name(1),
      payload: new RequestPayload(request),
    }))
    const answered = (answers: readonly PublishAnswer[]): void => {
      for (const [i, { request }] of requests.entries()) {
        const answer = answers[i] as PublishAnswer
        this.#prepared.answers.set(request, answer)
        // The transaction of a client that is gone does not run.
        if (client.closed && typeof answer === 'number') {
          countPublished(client, this.#server, answer, request.length(2))
        }
      }
      this.done.settle(this.#prepared)
    }
    if (messages.length === 0) {
      answered([])
      return
    }
    const answers = this.#server.backplane.publishAll(messages, answered)
    if (answers) answered(answers)
  }

  /** The queued commands for which `test` holds and which are allowed now. */
  #requests(test: (queued: QueuedCommand) => boolean): QueuedCommand[] {
    return this.#queue.filter((queued) => test(queued) && this.#isAllowed(queued))
  }

  #isAllowed({ command, request }: QueuedCommand): boolean {
    const { identity, overlay } = this.#client
    return authorize(identity, overlay, command.acl, request) === undefined
  }
}
