import type { Payload } from '../delivery/segment.ts'
import type { PublishSpace, Registry } from '../pubsub/registry.ts'
import type { Space, Subscriber } from '../pubsub/subscriber.ts'
import type { ErrorLine } from '../resp/reply-writer.ts'
import type { ControlLine } from './control-line.ts'

/** The answer to a publish: receivers, or the error line that says whether it may have been published. */
export type PublishAnswer = number | ErrorLine

/** A message to be published, as part of a transaction. */
export interface OutgoingMessage {
  readonly space: PublishSpace
  /** The channel as a byte string. */
  readonly key: string
  /** Valid during the call; keep a copy to use it later. */
  readonly payload: Payload
}

/** Names that are not yet in force upstream. */
export interface PendingNames {
  /** Nobody waits for them any more: the client is gone. */
  cancel(): void
}

/** Messages that may have been lost on the way to subscribers of this gateway. */
export interface Gap {
  /** Unix milliseconds: the last time that the link to the upstream was known to be whole, and the time from which it is again. */
  readonly fromMs: number
  readonly toMs: number
  /** Those who hold an affected subscription, and held it when the gap began. */
  readonly holders: Iterable<Subscriber>
  /** The affected channel or pattern (byte string); undefined: all that the holders have. */
  readonly name: string | undefined
}

/** The state of one connection to the upstream, for INFO, metrics and the console. */
export interface LinkState {
  /**
   * `subscriber` carries messages here, `command` publishes, `control` has the commands of the control plane, `sentinel` says which
   * node is the master.
   */
  readonly role: 'subscriber' | 'command' | 'control' | 'sentinel'
  /** `host:port` of the node. */
  readonly address: string
  readonly isUp: boolean
  /** Monotonic milliseconds since which it is up or down. */
  readonly sinceMs: number
}

/** Counters of the links since the start. Seconds are sums. */
export interface LinkFigures {
  /** Reconnects by cause: `closed`, `silent`, `authority`, `refused`, `protocol`, `fenced`. */
  readonly reconnects: ReadonlyMap<string, number>
  /** Names that local subscriptions need upstream, and those of them that are confirmed. */
  readonly wanted: number
  readonly confirmed: number
  /** Seconds that the last beacon took from the command link to the subscriber link; NaN before the first. */
  readonly beaconSeconds: number
  /** Publishes that were answered, and the seconds that they took. */
  readonly publishes: number
  readonly publishSeconds: number
  readonly inFlightBytes: number
  /** Bytes of messages that came for names without a local subscriber. */
  readonly unwantedBytes: number
  /** Gaps by cause, as `reconnects`, and `moved`. */
  readonly gaps: ReadonlyMap<string, number>
  readonly gapSeconds: number
}

/**
 * Carries messages from publishers to the subscribers of this gateway: through the registry alone, or through an upstream that
 * several gateways share.
 *
 * An upstream is the sequencer: a message reaches local subscribers when it comes back from there, so that all gateways see one
 * order, and nothing comes twice. Callbacks run within the handling of the upstream's bytes, in the order of its stream.
 */
export interface Backplane {
  /** No upstream: every answer comes at once, and names are in force at once. */
  readonly isAlone: boolean
  /**
   * Publishes one message.
   *
   * @param key The channel as a byte string.
   * @param payload Valid during the call; keep a copy to use it later.
   * @param done Called once, and not within this call, if the answer is not returned.
   * @returns The answer, or undefined where the upstream gives it.
   */
  publish(
    space: PublishSpace,
    key: string,
    payload: Payload,
    done: (answer: PublishAnswer) => void,
  ): PublishAnswer | undefined
  /** Publishes the messages of one transaction with nothing between them (in a cluster: on each node). See {@link publish}. */
  publishAll(
    messages: readonly OutgoingMessage[],
    done: (answers: readonly PublishAnswer[]) => void,
  ): readonly PublishAnswer[] | undefined
  /** Reports whether so much is on its way to the upstream that publishers are not to be read. */
  readonly isFull: boolean
  /** Calls back once, when {@link isFull} has become false. */
  whenRoom(callback: () => void): void
  /**
   * Asks for names before they are subscribed to here, so that from their registration on nothing is lost.
   *
   * @param done Called once, if the names are pending: when the last of them is in force, in the order of the upstream's stream,
   *   or with the error line if that takes too long. What is registered within it gets the next message; names that nobody has
   *   registered by then are given up.
   * @returns Undefined where all are in force: they may be registered now. The error line if they cannot be had.
   */
  want(
    space: Space,
    names: readonly string[],
    done: (failure: ErrorLine | undefined) => void,
  ): PendingNames | ErrorLine | undefined
  /** The reason why a name (byte string) is refused: names of the gateways themselves. */
  refuses(name: string): ErrorLine | undefined
  /** Is told of each gap, once it is over. */
  onGap(listener: (gap: Gap) => void): void
  /** One sentence for each reason why messages cannot be handed on now: `/readyz`. */
  readonly problems: readonly string[]
  readonly links: readonly LinkState[]
  /** The place of the control plane; undefined alone, and with `upstream-control no`. */
  readonly control: ControlLine | undefined
  /** Undefined without an upstream. */
  readonly figures: LinkFigures | undefined
  /** Begins to connect, and returns at once: an upstream that is down does not keep the gateway from starting. */
  start(): void
  /** Ends the links. What is in flight is answered as unknown. */
  stop(): Promise<void>
}

/** The backplane of a gateway that runs alone: all subscribers are connected here. */
export function alone(registry: Registry): Backplane {
  return {
    isAlone: true,
    publish: (space, key, payload) => registry.publish(space, key, payload),
    publishAll: (messages) =>
      messages.map(({ space, key, payload }) => registry.publish(space, key, payload)),
    isFull: false,
    whenRoom: (callback) => callback(),
    want: () => undefined,
    refuses: () => undefined,
    onGap: () => {},
    problems: [],
    links: [],
    control: undefined,
    figures: undefined,
    start: () => {},
    stop: () => Promise.resolve(),
  }
}
