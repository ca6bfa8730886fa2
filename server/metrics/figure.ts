import type { Census } from './census.ts'
import type { MetricSources } from './sources.ts'

/** One line of the exposition: the values of its labels, and a number. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** One metric: what it is called, and where its number comes from. */
export interface Figure {
  /** `respcast_...`, with its unit, and `_total` where it only grows. */
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  /** Small sets that no peer can add to; never a channel, a user or an address. */
  readonly labels: readonly string[]
  /** Read at the scrape. */
  readonly read: (sources: MetricSources, census: Census) => number | readonly Sample[]
}

/** A metric that only grows, but for CONFIG RESETSTAT. */
export function counter(name: string, help: string, read: Figure['read']): Figure {
  return { name, type: 'counter', help, labels: [], read }
}

/** A metric that goes up and down. */
export function gauge(name: string, help: string, read: Figure['read']): Figure {
  return { name, type: 'gauge', help, labels: [], read }
}

/** The same metric under labels: `read` answers a sample for each. */
export function by(labels: readonly string[], figure: Figure): Figure {
  return { ...figure, labels }
}
