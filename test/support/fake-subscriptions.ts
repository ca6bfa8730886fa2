import type { LocalSubscriptions } from '../../server/control/questions.ts'
import type { PublishSpace } from '../../server/pubsub/registry.ts'
import type { Space } from '../../server/pubsub/subscriber.ts'

/** What clients are subscribed to, of a gateway or of the upstream itself. */
export class FakeSubscriptions implements LocalSubscriptions {
  readonly #names = {
    channel: new Map<string, number>(),
    shard: new Map<string, number>(),
    pattern: new Map<string, number>(),
  }

  /** So many clients subscribe to a name. */
  add(space: Space, name: string, clients = 1): void {
    this.#names[space].set(name, this.countOf(space, name) + clients)
  }

  countOf(space: Space, name: string): number {
    return this.#names[space].get(name) ?? 0
  }

  channelNames(space: PublishSpace): Iterable<string> {
    return this.#names[space].keys()
  }

  patterns(): Iterable<{ readonly name: string }> {
    return [...this.#names.pattern.keys()].map((name) => ({ name }))
  }
}
