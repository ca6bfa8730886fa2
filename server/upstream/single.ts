import type { Payload } from '../delivery/segment.ts'
import type { PublishSpace } from '../pubsub/registry.ts'
import type { Space, Subscriber } from '../pubsub/subscriber.ts'
import type { ErrorLine } from '../resp/reply-writer.ts'
import type { Authority } from './authority.ts'
import type {
  Backplane,
  Gap,
  LinkFigures,
  LinkState,
  OutgoingMessage,
  PendingNames,
  PublishAnswer,
} from './backplane.ts'
import { NodeLinks } from './node-links.ts'
import { SharedUpstream, type UpstreamParts } from './shared-upstream.ts'

/** An upstream of one node at a time: a server alone, or the master that sentinels name. */
export class SingleUpstream implements Backplane {
  readonly isAlone = false
  readonly #shared: SharedUpstream
  readonly #authority: Authority
  readonly #node: NodeLinks

  constructor(parts: UpstreamParts, isTls: boolean, authority: Authority) {
    this.#authority = authority
    this.#shared = new SharedUpstream(
      parts,
      isTls,
      () => this.#node.subscriber,
      (facts) => authority.problemOf(facts),
    )
    const { interest, gaps } = this.#shared
    this.#node = new NodeLinks(
      this.#shared.nodeHost({
        subscriberUp: ({ subscriber }) => interest.linkFound(subscriber),
        subscriberDown: (_links, cause, provenMs, lost) => {
          const { certainMs } = authority
          const fromMs = cause === 'authority' ? Math.min(provenMs, certainMs) : provenMs
          gaps.begin(cause, fromMs, lost, this.#holders(), undefined)
        },
        lost: (source, { provenMs }) => {
          gaps.begin('moved', provenMs, [source], this.#holders(), undefined)
          interest.sourceLost(source)
        },
        redirected: () => false,
        misplaced: (source) => interest.retryLater(source),
        isCluster: false,
      }),
      ['channel', 'shard'],
    )
    authority.onChange((node) => this.#node.connectTo(node))
  }

  publish(
    space: PublishSpace,
    key: string,
    payload: Payload,
    done: (answer: PublishAnswer) => void,
  ): PublishAnswer | undefined {
    return this.#node.publish(space, key, payload, done)
  }

  publishAll(
    messages: readonly OutgoingMessage[],
    done: (answers: readonly PublishAnswer[]) => void,
  ): readonly PublishAnswer[] | undefined {
    return this.#node.publishAll(messages, done)
  }

  get isFull(): boolean {
    return this.#shared.isFull
  }

  whenRoom(callback: () => void): void {
    this.#shared.whenRoom(callback)
  }

  want(
    space: Space,
    names: readonly string[],
    done: (failure: ErrorLine | undefined) => void,
  ): PendingNames | ErrorLine | undefined {
    return this.#shared.want(space, names, done)
  }

  refuses(name: string): ErrorLine | undefined {
    return this.#shared.refuses(name)
  }

  onGap(listener: (gap: Gap) => void): void {
    this.#shared.onGap(listener)
  }

  get problems(): readonly string[] {
    const { problems } = this.#authority
    return problems.length === 0 ? this.#shared.problemsOf([this.#node]) : problems
  }

  get links(): readonly LinkState[] {
    const nodes = this.#node.node === undefined ? [] : this.#node.states
    return [...this.#authority.states, ...nodes]
  }

  get figures(): LinkFigures {
    return this.#shared.figures
  }

  start(): void {
    this.#authority.start()
  }

  stop(): Promise<void> {
    this.#authority.stop()
    this.#node.stop()
    this.#shared.interest.stop()
    return Promise.resolve()
  }

  /** Those who hold a subscription now. */
  #holders(): Subscriber[] {
    return [...this.#shared.parts.subscribers()].filter(({ subscriptions }) => subscriptions.any)
  }
}
