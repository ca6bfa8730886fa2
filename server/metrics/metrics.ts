import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Registry,
  Summary,
  type SummaryConfiguration,
} from 'prom-client'
import type { Services } from '../command/context.ts'
import { takeCensus, type Census } from './census.ts'
import { FIGURES, type Figure, type Sample } from './figures.ts'

/**
 * The answer to `/metrics`. Nothing is counted here: figures are read where they are counted, at each scrape, and each
 * client is visited once.
 */
export class Metrics {
  readonly #server: Services
  readonly #registry = new Registry()
  #census: Census = takeCensus([])

  constructor(server: Services) {
    this.#server = server
    for (const figure of FIGURES) this.#register(figure)
  }

  /** The media type of {@link scrape}: the text format of Prometheus, version 0.0.4. */
  get contentType(): string {
    return this.#registry.contentType
  }

  /** Begins to measure the process: the event loop's delay is measured from one scrape to the next. */
  watchProcess(): void {
    processMetrics()
  }

  /** All current figures, and those of the process. */
  async scrape(): Promise<string> {
    // All figures are read before the first await, so that they are of one moment.
    this.#census = takeCensus(this.#server.clients.all())
    const own = this.#registry.metrics()
    const ofProcess = processMetrics().metrics()
    return `${await own}\n${await ofProcess}`
  }

  #register({ name, help, type, labels, read }: Figure): void {
    const samples = () => {
      const found = read(this.#server, this.#census)
      return typeof found === 'number' ? [{ labels: {}, value: found }] : found
    }
    const config = { name, help, labelNames: [...labels], registers: [this.#registry] }
    if (type === 'summary') {
      void new ReadSummary({ ...config, percentiles: [] }, samples)
    } else if (type === 'counter') {
      const metric: Counter = new Counter({
        ...config,
        collect: () => {
          metric.reset()
          // A metric without labels begins with a sample of 0.
          if (labels.length === 0) metric.remove()
          for (const { labels: values, value } of samples()) metric.inc(values, value)
        },
      })
    } else {
      const metric: Gauge = new Gauge({
        ...config,
        collect: () => {
          metric.reset()
          if (labels.length === 0) metric.remove()
          for (const { labels: values, value } of samples()) metric.set(values, value)
        },
      })
    }
  }
}

/** A summary whose sum and count are read at a scrape; prom-client's own counts what it is told. */
class ReadSummary extends Summary {
  readonly #name: string
  readonly #samples: () => readonly Sample[]

  constructor(config: SummaryConfiguration<string>, samples: () => readonly Sample[]) {
    super(config)
    this.#name = config.name
    this.#samples = samples
  }

  override async get(): ReturnType<Summary['get']> {
    const values = this.#samples().map(({ labels, value, part = 'sum' }) => ({
      metricName: `${this.#name}_${part}`,
      labels,
      value,
    }))
    return { ...(await super.get()), values }
  }
}

/** Metrics that list every open socket at each scrape: too expensive with ten thousand of them. */
const PER_SOCKET = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources',
  'nodejs_active_resources_total',
]

/** Resolution of the event loop's delay, in ms. */
const EVENT_LOOP_PRECISION_MS = 10

let ofProcess: Registry | undefined

/**
 * The metrics of the process under their usual names (`process_...`, `nodejs_...`): CPU, memory, descriptors, garbage
 * collection, the event loop's delay. Measuring begins with the first call. There is one registry for the process, even
 * if it runs several servers: the measurement cannot be stopped.
 */
function processMetrics(): Registry {
  if (ofProcess) return ofProcess
  ofProcess = new Registry()
  collectDefaultMetrics({
    register: ofProcess,
    eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS,
  })
  for (const name of PER_SOCKET) ofProcess.removeSingleMetric(name)
  return ofProcess
}
