import type { PublishSpace } from '../pubsub/registry.ts'
import type { Flight } from './flight.ts'
import type { ReadPayload } from './link/link-reader.ts'
import type { Source } from './link/source.ts'

/** Publishes that are over are removed from the front in steps of so many. */
const TRIM_AT = 1_024

/** The publishes to one channel, in the order in which they were sent, which is the order in which they come back. */
class FlightsOfChannel {
  readonly #flights: Flight[] = []
  /** The first in `#flights` that is not over. */
  #front = 0
  /** Publishes that were removed from the front. */
  #removed = 0
  /** For each source the publish that its next message may be, counted from the first ever. */
  readonly #next = new Map<Source, number>()

  add(flight: Flight): void {
    this.#flights.push(flight)
  }

  /** A message has come from a source: it is the next publish that can have met that source, or somebody else's. */
  meet(source: Source, payload: ReadPayload, deliveries: number): void {
    let at = Math.max(this.#next.get(source) ?? 0, this.#removed + this.#front)
    for (; ; at++) {
      const flight = this.#flights[at - this.#removed]
      if (flight === undefined) return
      if (flight.isOver || flight.hasCome) continue
      const isIt = flight.isLike(payload)
      // A publish for which all is certain would have come first.
      if (!isIt && !flight.isUncertain) return
      if (!isIt) continue
      this.#next.set(source, at + 1)
      flight.meet(deliveries)
      return
    }
  }

  /** Tells those that are due that all of their messages have come. */
  settle(isDue: (flight: Flight) => boolean): void {
    for (const flight of [...this.#flights]) if (isDue(flight)) flight.allHaveCome()
  }

  /** Drops from the front what is over. @returns True if nothing is left. */
  trim(): boolean {
    while (this.#flights[this.#front]?.isOver === true) this.#front++
    if (this.#front === this.#flights.length) return true
    if (this.#front < TRIM_AT) return false
    this.#flights.splice(0, this.#front)
    this.#removed += this.#front
    this.#front = 0
    return false
  }
}

/**
 * The publishes to one node that may come back to this gateway.
 *
 * A message carries no number: it is told to be a publish of this gateway by its channel, its place and its bytes. Another
 * publisher's message with the same bytes in the same instant would be taken for it, which changes no count but those of that instant.
 */
export class Flights {
  readonly #byKey = {
    channel: new Map<string, FlightsOfChannel>(),
    shard: new Map<string, FlightsOfChannel>(),
  }

  /** Adds a flight, unless it is there. */
  add(flight: Flight): void {
    if (flight.isTracked) return
    flight.isTracked = true
    const byKey = this.#byKey[flight.space]
    let flights = byKey.get(flight.key)
    if (flights === undefined) byKey.set(flight.key, (flights = new FlightsOfChannel()))
    flights.add(flight)
  }

  /** A message has come from a source. @param deliveries It was given to so many subscribers here. */
  meet(
    space: PublishSpace,
    key: string,
    source: Source,
    payload: ReadPayload,
    deliveries: number,
  ): void {
    this.#byKey[space].get(key)?.meet(source, payload, deliveries)
  }

  /** A beacon has come: every message that was sent before it has come, if it was to come at all. */
  beaconCame(beacon: number): void {
    this.#settle((flight) => flight.beacon <= beacon)
  }

  /** The link that messages come on has ended. */
  linkLost(): void {
    this.#settle(() => true)
  }

  #settle(isDue: (flight: Flight) => boolean): void {
    for (const space of ['channel', 'shard'] as const) {
      for (const flights of [...this.#byKey[space].values()]) flights.settle(isDue)
    }
  }

  /** A flight has ended. */
  forget(flight: Flight): void {
    if (!flight.isTracked) return
    const byKey = this.#byKey[flight.space]
    if (byKey.get(flight.key)?.trim() === true) byKey.delete(flight.key)
  }
}
