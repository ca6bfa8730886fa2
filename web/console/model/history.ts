/** Figures of one second. Rates are per second; unknown figures are undefined. */
interface Sample {
  /** Seconds since 1970. */
  readonly at: number
  readonly published: number | undefined
  readonly delivered: number | undefined
  readonly bytesIn: number | undefined
  readonly bytesOut: number | undefined
  readonly clients: number | undefined
  readonly subscribers: number | undefined
  /** Clients that were closed since their output buffer was over its limit. */
  readonly slowDisconnects: number | undefined
  readonly rejected: number | undefined
  /** PING, there and back. Milliseconds. */
  readonly pingMs: number | undefined
}

/** A figure that a chart can draw. */
export type Measure = Exclude<keyof Sample, 'at'>

/** Number of samples that are kept: a quarter of an hour. */
export const MAX_SAMPLES = 900

/** INFO's counters that become rates. */
const COUNTERS = {
  published: 'pubsub_messages_published',
  delivered: 'pubsub_messages_delivered',
  bytesIn: 'total_net_input_bytes',
  bytesOut: 'total_net_output_bytes',
  slowDisconnects: 'client_output_buffer_limit_disconnections',
  rejected: 'rejected_connections',
} as const satisfies Partial<Record<Measure, string>>

/** INFO's figures that are drawn as they are. */
const GAUGES = {
  clients: 'connected_clients',
  subscribers: 'pubsub_clients',
} as const satisfies Partial<Record<Measure, string>>

/** Longer spans between two samples become a gap in the line. Seconds. */
const MAX_SPAN = 10

/** The samples of the last quarter of an hour. */
export class History {
  readonly #samples: Sample[] = []
  #before: { readonly at: number; readonly fields: ReadonlyMap<string, string> } | undefined

  get samples(): readonly Sample[] {
    return this.#samples
  }

  get latest(): Sample | undefined {
    return this.#samples.at(-1)
  }

  /**
   * Adds a sample.
   *
   * @param at Seconds since 1970.
   * @param fields Of INFO stats and INFO clients.
   */
  add(at: number, fields: ReadonlyMap<string, string>, pingMs: number | undefined): void {
    const before = this.#before
    this.#before = { at, fields }
    const rate = (name: string): number | undefined => {
      const span = before ? at - before.at : 0
      const growth = figure(fields, name) - figure(before?.fields, name)
      // A counter that went back was set to zero: by CONFIG RESETSTAT, or by another server process.
      return span > 0 && span <= MAX_SPAN && growth >= 0 ? growth / span : undefined
    }
    const gauge = (name: string): number | undefined => {
      const value = figure(fields, name)
      return Number.isNaN(value) ? undefined : value
    }
    this.#samples.push({
      at,
      published: rate(COUNTERS.published),
      delivered: rate(COUNTERS.delivered),
      bytesIn: rate(COUNTERS.bytesIn),
      bytesOut: rate(COUNTERS.bytesOut),
      slowDisconnects: rate(COUNTERS.slowDisconnects),
      rejected: rate(COUNTERS.rejected),
      clients: gauge(GAUGES.clients),
      subscribers: gauge(GAUGES.subscribers),
      pingMs,
    })
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift()
  }

  /** One line of a chart: a value per sample, null where it is not known. */
  line(measure: Measure): (number | null)[] {
    return this.#samples.map((sample) => sample[measure] ?? null)
  }
}

function figure(fields: ReadonlyMap<string, string> | undefined, name: string): number {
  return Number(fields?.get(name) ?? Number.NaN)
}
