import type { Payload } from '../../delivery/segment.ts'
import type { PublishSpace } from '../../pubsub/registry.ts'
import type { Authority } from './authority.ts'
import type { LinkState, OutgoingMessage, PublishAnswer } from '../backplane.ts'
import type { NodeFacts } from '../link/link.ts'
import { NodeLinks } from '../node-links.ts'
import { SharedUpstream, type UpstreamParts } from './shared-upstream.ts'
import type { SubscriberLink } from '../link/subscriber-link.ts'

/** An upstream of one node at a time: a server alone, or the master that sentinels name. */
export class SingleUpstream extends SharedUpstream {
  readonly #authority: Authority
  readonly #node: NodeLinks

  constructor(parts: UpstreamParts, isTls: boolean, authority: Authority) {
    super(parts, isTls, false)
    this.#authority = authority
    const { interest, gaps } = this
    this.#node = new NodeLinks(
      this.nodeHost({
        subscriberUp: ({ subscriber }) => interest.linkFound(subscriber),
        subscriberDown: (_links, cause, provenMs, lost) => {
          const { certainMs } = authority
          const fromMs = cause === 'authority' ? Math.min(provenMs, certainMs) : provenMs
          gaps.begin(cause, fromMs, lost, this.holders(), undefined)
        },
        lost: (source, { provenMs }) => {
          gaps.begin('moved', provenMs, [source], this.holders(), undefined)
          interest.sourceLost(source)
        },
        redirected: () => false,
        misplaced: (source) => interest.retryLater(source),
        isCluster: false,
      }),
      ['channel', 'shard'],
    )
    authority.onChange((node) => {
      this.#node.connectTo(node)
      this.control?.follow()
    })
  }

  protected ownerOf(): NodeLinks {
    return this.#node
  }

  protected get nodes(): Iterable<NodeLinks> {
    return [this.#node]
  }

  protected misplaced(): void {}

  protected send(
    space: PublishSpace,
    key: string,
    payload: Payload,
    done: (answer: PublishAnswer) => void,
  ): PublishAnswer | undefined {
    return this.#node.publish(space, key, payload, done)
  }

  protected sendAll(
    messages: readonly OutgoingMessage[],
    done: (answers: readonly PublishAnswer[]) => void,
  ): readonly PublishAnswer[] | undefined {
    return this.#node.publishAll(messages, done)
  }

  protected get topologyProblems(): readonly string[] {
    const { problems } = this.#authority
    return problems.length === 0 ? this.problemsOf([this.#node]) : problems
  }

  protected get topologyLinks(): readonly LinkState[] {
    const nodes = this.#node.node === undefined ? [] : this.#node.states
    return [...this.#authority.states, ...nodes]
  }

  start(): void {
    this.#authority.start()
  }

  override stop(): Promise<void> {
    this.#authority.stop()
    this.#node.stop()
    return super.stop()
  }

  protected linkOf(): SubscriberLink {
    return this.#node.subscriber
  }

  protected problemOf(facts: NodeFacts): string | undefined {
    return this.#authority.problemOf(facts)
  }
}
