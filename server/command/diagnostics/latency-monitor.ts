import type { Clock } from '../../clock.ts'
import type { Command } from '../spec.ts'

/** Samples kept of one event, as in Redis. */
const KEPT_SAMPLES = 160

/** Directives of latency monitoring; changed under it at run time. */
export interface LatencySettings {
  /** `latency-monitor-threshold` in milliseconds; 0 is off. */
  thresholdMs: number
  /** `latency-tracking`: histograms of commands. */
  tracking: boolean
  /** `latency-tracking-info-percentiles`, each with its text. */
  percentiles: readonly string[]
}

/** When something was slow, and how slow. */
export interface LatencySample {
  /** Seconds since 1970. */
  readonly atSeconds: number
  latencyMs: number
}

/** What is known of one event. */
export interface LatencyEvent {
  readonly name: string
  /** Oldest first. */
  readonly samples: readonly LatencySample[]
  /** Since the event was last reset. */
  readonly maxMs: number
}

/**
 * Remembers when commands were slow (LATENCY). Events are Redis' `command` and `fast-command`: the latter is for
 * commands that take the same time whatever their arguments are.
 */
export class LatencyMonitor {
  readonly settings: LatencySettings
  readonly #clock: Clock
  readonly #events = new Map<string, { name: string; samples: LatencySample[]; maxMs: number }>()

  constructor(settings: LatencySettings, clock: Clock) {
    this.settings = settings
    this.#clock = clock
  }

  /** Events that were sampled since they were last reset, in the order in which they came. */
  get events(): readonly LatencyEvent[] {
    return [...this.#events.values()]
  }

  event(name: string): LatencyEvent | undefined {
    return this.#events.get(name)
  }

  /** Keeps a sample of a command that took as long as the directive says. */
  noteCommand(command: Command, microseconds: number): void {
    const { thresholdMs } = this.settings
    if (thresholdMs === 0 || microseconds < thresholdMs * 1000) return
    const isFast = command.spec.flags.includes('fast')
    this.#add(isFast ? 'fast-command' : 'command', Math.floor(microseconds / 1000))
  }

  /** Forgets the events of these names, or all. @returns How many there were. */
  reset(names: readonly string[]): number {
    const before = this.#events.size
    if (names.length === 0) this.#events.clear()
    for (const name of names) this.#events.delete(name)
    return before - this.#events.size
  }

  /** Samples of one second are one: the worst of them. */
  #add(name: string, latencyMs: number): void {
    const atSeconds = Math.floor(this.#clock.wallMs() / 1000)
    let event = this.#events.get(name)
    if (!event) {
      event = { name, samples: [], maxMs: 0 }
      this.#events.set(name, event)
    }
    event.maxMs = Math.max(event.maxMs, latencyMs)
    const last = event.samples.at(-1)
    if (last?.atSeconds === atSeconds) {
      last.latencyMs = Math.max(last.latencyMs, latencyMs)
      return
    }
    event.samples.push({ atSeconds, latencyMs })
    if (event.samples.length > KEPT_SAMPLES) event.samples.shift()
  }
}
