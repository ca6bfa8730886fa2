import type { ClientTable } from '../../client/clients.ts'
import type { Clock, Timer } from '../../clock.ts'
import type { Counters } from '../counters.ts'

/** Interval of the samples, in ms. Each is one pass over all clients. */
const SAMPLE_MS = 1_000

/** Number of samples from which rates and recent maxima are computed. */
const KEPT_SAMPLES = 8

/** Totals at one moment. */
interface Sample {
  readonly atMs: number
  readonly commands: number
  readonly bytesIn: number
  readonly bytesOut: number
  /** The longest input and output that a client held at that moment, in bytes. */
  readonly maxInput: number
  readonly maxOutput: number
}

/** Rates and recent maxima for INFO, sampled on the clock. */
export class LoadSampler {
  readonly #clock: Clock
  readonly #clients: ClientTable
  readonly #counters: Counters
  readonly #onSample: () => void
  readonly #samples: Sample[] = []
  #timer: Timer | undefined
  /** Sent at the last CONFIG RESETSTAT to the clients that were connected then. */
  #sentBefore = { bytes: 0, writes: 0 }

  /** @param onSample Called with each sample, for others that sample. */
  constructor(
    clock: Clock,
    clients: ClientTable,
    counters: Counters,
    onSample: () => void = () => {},
  ) {
    this.#clock = clock
    this.#onSample = onSample
    this.#clients = clients
    this.#counters = counters
  }

  start(): void {
    this.#sample()
    this.#timer = this.#clock.every(SAMPLE_MS, () => this.#sample())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  /** Bytes sent and writes made, since the start or CONFIG RESETSTAT. */
  get sent(): { readonly bytes: number; readonly writes: number } {
    let bytes = this.#counters.bytesOutClosed - this.#sentBefore.bytes
    let writes = this.#counters.writesClosed - this.#sentBefore.writes
    for (const client of this.#clients.all()) {
      bytes += client.output.bytes
      writes += client.output.writes
    }
    return { bytes, writes }
  }

  /** CONFIG RESETSTAT, after the counters were reset. */
  reset(): void {
    this.#sentBefore = { bytes: 0, writes: 0 }
    this.#sentBefore = this.sent
    this.#samples.length = 0
    this.#sample()
  }

  /** Commands in a second. */
  get commandsPerSecond(): number {
    return Math.round(this.#rate('commands'))
  }

  /** Kilobytes in a second. */
  get inputKbps(): number {
    return this.#rate('bytesIn') / 1024
  }

  get outputKbps(): number {
    return this.#rate('bytesOut') / 1024
  }

  get recentMaxInput(): number {
    return this.#samples.reduce((max, { maxInput }) => Math.max(max, maxInput), 0)
  }

  get recentMaxOutput(): number {
    return this.#samples.reduce((max, { maxOutput }) => Math.max(max, maxOutput), 0)
  }

  #rate(what: 'commands' | 'bytesIn' | 'bytesOut'): number {
    const [oldest] = this.#samples
    const newest = this.#samples.at(-1)
    if (!oldest || !newest || newest.atMs <= oldest.atMs) return 0
    return ((newest[what] - oldest[what]) * 1000) / (newest.atMs - oldest.atMs)
  }

  #sample(): void {
    this.#onSample()
    let maxInput = 0
    let maxOutput = 0
    for (const client of this.#clients.all()) {
      maxInput = Math.max(maxInput, client.queryBytes)
      maxOutput = Math.max(maxOutput, client.output.heldBytes)
    }
    const { commandsProcessed: commands, bytesIn } = this.#counters
    const atMs = this.#clock.monotonicMs()
    const bytesOut = this.sent.bytes
    this.#samples.push({ atMs, commands, bytesIn, bytesOut, maxInput, maxOutput })
    if (this.#samples.length > KEPT_SAMPLES) this.#samples.shift()
  }
}
