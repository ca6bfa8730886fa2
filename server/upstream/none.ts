import type { Registry } from '../pubsub/registry.ts'
import type { Backplane } from './backplane.ts'

/** A gateway that runs alone: whoever is to hear a message is connected here. */
export function standalone(registry: Registry): Backplane {
  return {
    publish: (space, key, payload) => registry.publish(space, key, payload),
    isReady: true,
  }
}
