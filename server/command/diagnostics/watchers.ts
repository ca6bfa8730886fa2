import type { ClientTable } from '../../client/clients.ts'
import type { Clock } from '../../clock.ts'
import { LatencyMonitor, type LatencySettings } from './latency.ts'
import { MonitorFeed } from './monitor.ts'
import { SlowLog } from './slowlog.ts'
import type { Settings } from '../../config/settings.ts'
import type { Config } from '../../config/store.ts'

/** Makes the list of those who watch all commands (MONITOR). */
export function createMonitors(clock: Clock, clients: ClientTable): MonitorFeed {
  const monitors = new MonitorFeed(clock)
  clients.onClosed((client) => monitors.delete(client))
  return monitors
}

/** Makes the slow log, under its directives. */
export function createSlowLog(config: Config, clock: Clock): SlowLog {
  const read = (settings: Settings): { slowerThan: number; maxLength: number } => ({
    slowerThan: settings.integer('slowlog-log-slower-than'),
    maxLength: settings.integer('slowlog-max-len'),
  })
  const settings = read(config)
  config.onChange(['slowlog-log-slower-than', 'slowlog-max-len'], (changed) => {
    Object.assign(settings, read(changed))
    return undefined
  })
  return new SlowLog(settings, clock)
}

/** Makes the latency monitor, under its directives. */
export function createLatencyMonitor(config: Config, clock: Clock): LatencyMonitor {
  const read = (settings: Settings): LatencySettings => ({
    thresholdMs: settings.integer('latency-monitor-threshold'),
    tracking: settings.boolean('latency-tracking'),
    percentiles: settings.list('latency-tracking-info-percentiles'),
  })
  const settings = read(config)
  config.onChange(
    ['latency-monitor-threshold', 'latency-tracking', 'latency-tracking-info-percentiles'],
    (changed) => void Object.assign(settings, read(changed)),
  )
  return new LatencyMonitor(settings, clock)
}
