import type { Payload } from '../delivery/segment.ts'
import type { PublishSpace } from '../pubsub/registry.ts'
import type { Flight } from './flight.ts'
import type { Source } from './source.ts'

/**
 * The publishes to one node that may come back to this gateway, by channel in the order in which they were sent.
 *
 * A message carries no number: it is told to be a publish of this gateway by its channel and bytes. Another publisher's
 * message with the same bytes in the same instant would be taken for it, which changes no count but those of that instant.
 */
export class Flights {
  readonly #byKey = { channel: new Map<string, Flight[]>(), shard: new Map<string, Flight[]>() }

  /** Adds a flight, unless it is there. */
  add(flight: Flight): void {
    if (flight.isTracked) return
    flight.isTracked = true
    const byKey = this.#byKey[flight.space]
    const known = byKey.get(flight.key)
    if (known) known.push(flight)
    else byKey.set(flight.key, [flight])
  }

  /** A message has come from a source. @param deliveries It was given to so many subscribers here. */
  meet(
    space: PublishSpace,
    key: string,
    source: Source,
    payload: Payload,
    deliveries: number,
  ): void {
    const flights = this.#byKey[space].get(key)
    if (flights === undefined) return
    for (const flight of flights) if (flight.meet(source, payload, deliveries)) break
    this.#trim(space, key, flights)
  }

  /** A beacon has come: every message that was sent before it has come, if it was to come at all. */
  beaconCame(beacon: number): void {
    this.#each((flight) => flight.beacon <= beacon)
  }

  /** The link that messages come on has ended. */
  linkLost(): void {
    this.#each(() => true)
  }

  #each(isDue: (flight: Flight) => boolean): void {
    for (const space of ['channel', 'shard'] as const) {
      for (const [key, flights] of this.#byKey[space]) {
        for (const flight of [...flights]) if (isDue(flight)) flight.allHaveCome()
        this.#trim(space, key, flights)
      }
    }
  }

  #trim(space: PublishSpace, key: string, flights: Flight[]): void {
    while (flights[0]?.isOver === true) flights.shift()
    if (flights.length === 0) this.#byKey[space].delete(key)
  }

  /** A flight has ended otherwise than by a message. */
  forget(flight: Flight): void {
    if (!flight.isTracked) return
    const flights = this.#byKey[flight.space].get(flight.key)
    if (flights !== undefined) this.#trim(flight.space, flight.key, flights)
  }
}
