import type { Payload } from '../delivery/segment.ts'
import type { PublishSpace, Registry } from '../pubsub/registry.ts'

/**
 * Carries messages between gateways that share an upstream. An implementation guarantees:
 *
 * - At most once: a message reaches each subscriber of each gateway once or, when a link broke, not at all.
 * - Order: messages that one gateway publishes to one channel arrive everywhere in that order.
 * - Own messages: a gateway delivers what it publishes to its own subscribers within `publish`, before it returns; they
 *   do not come back to it.
 * - The number answered counts deliveries of this gateway only, as PUBLISH in a Redis cluster does.
 */
export interface Backplane {
  /**
   * Delivers here and hands on to the others.
   *
   * @param key The channel as a byte string.
   * @param payload Valid during the call; keep a copy to use it later.
   * @returns Deliveries on this gateway.
   */
  publish(space: PublishSpace, key: string, payload: Payload): number
  /** Reports whether messages can be handed on now: `/readyz`. */
  readonly isReady: boolean
}

/** The backplane of a gateway that runs alone: all subscribers are connected here. */
export function standalone(registry: Registry): Backplane {
  return {
    publish: (space, key, payload) => registry.publish(space, key, payload),
    isReady: true,
  }
}
