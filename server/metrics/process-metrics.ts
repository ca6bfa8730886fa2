import { collectDefaultMetrics, Registry } from 'prom-client'

/** They list every open socket at each scrape, and a process with ten thousand of them has better things to do. */
const TOO_DEAR = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources',
  'nodejs_active_resources_total',
]

/** Resolution of the event loop's delay, in ms. */
const EVENT_LOOP_PRECISION_MS = 10

let registry: Registry | undefined

/**
 * The metrics of the process under their usual names (`process_...`, `nodejs_...`): CPU, memory, descriptors, garbage
 * collection, the event loop's delay. Measuring begins with the first call. There is one registry for the process, whatever
 * number of servers it runs: what measures cannot be stopped again.
 */
export function processMetrics(): Registry {
  if (registry) return registry
  registry = new Registry()
  collectDefaultMetrics({
    register: registry,
    eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS,
  })
  for (const name of TOO_DEAR) registry.removeSingleMetric(name)
  return registry
}
