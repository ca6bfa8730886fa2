import { checkPercentiles, percentileText } from '../checks.ts'
import { LONG_MAX, boolean, integer, list } from '../spec.ts'

/** Records of slow commands. */
export const DIAGNOSTICS = {
  'slowlog-log-slower-than': integer(
    10_000,
    [-1, LONG_MAX],
    'Run time from which SLOWLOG keeps a command; -1 is never.',
    { unit: 'microseconds', aliases: ['commandlog-execution-slower-than'] },
  ),
  'slowlog-max-len': integer(128, [0, LONG_MAX], 'Entries of the slow log.', {
    aliases: ['commandlog-slow-execution-max-len'],
  }),
  'latency-monitor-threshold': integer(
    0,
    [0, LONG_MAX],
    'Run time from which LATENCY samples a command; 0 is never.',
    { unit: 'milliseconds' },
  ),
  'latency-tracking': boolean(
    'yes',
    'Count calls of each command by their run time (LATENCY HISTOGRAM, INFO latencystats).',
  ),
  'latency-tracking-info-percentiles': list('50 99 99.9', 'Percentiles in INFO latencystats.', {
    check: checkPercentiles,
    canonical: percentileText,
    singleSpaces: true,
  }),
}
