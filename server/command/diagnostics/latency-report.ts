import type { LatencyEvent, LatencyMonitor } from './latency-monitor.ts'

const GRAPH_ROWS = 4
const GRAPH_COLUMNS = 80

/** LATENCY GRAPH: a column for each of the last samples, and how long ago it was below it. */
export function graphText(event: LatencyEvent, nowSeconds: number): string {
  const samples = event.samples.slice(-GRAPH_COLUMNS)
  const values = samples.map(({ latencyMs }) => latencyMs)
  const high = Math.max(...values)
  const low = Math.min(...values)
  const rows: string[] = []
  for (let row = GRAPH_ROWS; row >= 1; row--) {
    rows.push(values.map((value) => ((value / high) * GRAPH_ROWS > row - 1 ? '#' : ' ')).join(''))
  }
  const ages = samples.map(({ atSeconds }) => age(nowSeconds - atSeconds))
  const longest = Math.max(...ages.map(({ length }) => length))
  for (let at = 0; at < longest; at++) rows.push(ages.map((text) => text[at] ?? ' ').join(''))
  const head = `${event.name} - high ${high} ms, low ${low} ms (all time high ${event.maxMs} ms)`
  return `${head}\n${'-'.repeat(GRAPH_COLUMNS)}\n${rows.join('\n')}\n`
}

function age(seconds: number): string {
  if (seconds < 60) return `${Math.max(0, seconds)}s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`
}

/** LATENCY DOCTOR. */
export function doctorText({ settings, events }: LatencyMonitor): string {
  if (settings.thresholdMs === 0) {
    return (
      'Latency monitoring is off. CONFIG SET latency-monitor-threshold <milliseconds> makes commands that ' +
      'take as long be sampled.\n'
    )
  }
  if (events.length === 0) {
    return `No command has taken ${settings.thresholdMs} ms or more.\n`
  }
  const lines = events.map(({ name, samples, maxMs }) => {
    const sum = samples.reduce((total, { latencyMs }) => total + latencyMs, 0)
    const mean = (sum / samples.length).toFixed(1)
    return `${name}: ${samples.length} samples, mean ${mean} ms, worst ${maxMs} ms.`
  })
  const advice = [
    'Commands with very many arguments or subscribers take long: SLOWLOG GET names them, if',
    'slowlog-log-slower-than is not higher than the threshold.',
  ]
  return `${[...lines, '', ...advice].join('\n')}\n`
}
