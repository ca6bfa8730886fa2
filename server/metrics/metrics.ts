import { Counter, Gauge, Registry } from 'prom-client'
import { takeCensus, type Census } from './census.ts'
import { CLIENT_FIGURES } from './client-figures.ts'
import type { Figure } from './figure.ts'
import { processMetrics } from './process-metrics.ts'
import { SERVER_FIGURES } from './server-figures.ts'
import type { MetricSources } from './sources.ts'

/** All metrics of this server's own. */
export const FIGURES: readonly Figure[] = [...SERVER_FIGURES, ...CLIENT_FIGURES]

/**
 * What `/metrics` answers. Nothing is counted here: figures are read where they are, at each scrape, and clients are looked
 * at once.
 */
export class Metrics {
  readonly #sources: MetricSources
  readonly #registry = new Registry()
  #census: Census = takeCensus([])

  constructor(sources: MetricSources) {
    this.#sources = sources
    for (const figure of FIGURES) this.#register(figure)
  }

  /** The media type of {@link scrape}: the text format of Prometheus, version 0.0.4. */
  get contentType(): string {
    return this.#registry.contentType
  }

  /** Begins to measure the process: the event loop's delay is that since the scrape before. */
  watchProcess(): void {
    processMetrics()
  }

  /** All figures of now, and those of the process. */
  async scrape(): Promise<string> {
    // All figures are read before the first await, so that they are of one moment.
    this.#census = takeCensus(this.#sources.services.clients.all())
    const own = this.#registry.metrics()
    const ofProcess = processMetrics().metrics()
    return `${await own}\n${await ofProcess}`
  }

  #register({ name, help, type, labels, read }: Figure): void {
    const samples = () => {
      const found = read(this.#sources, this.#census)
      return typeof found === 'number' ? [{ labels: {}, value: found }] : found
    }
    const config = { name, help, labelNames: [...labels], registers: [this.#registry] }
    if (type === 'counter') {
      const metric: Counter = new Counter({
        ...config,
        collect: () => {
          metric.reset()
          for (const { labels: values, value } of samples()) metric.inc(values, value)
        },
      })
    } else {
      const metric: Gauge = new Gauge({
        ...config,
        collect: () => {
          metric.reset()
          for (const { labels: values, value } of samples()) metric.set(values, value)
        },
      })
    }
  }
}
