/**
 * Restarts gateways one after another behind a load balancer, while many WebSockets listen.
 *
 * `npm run rolling-restart [-- --gateways 3 --websockets 5000 --per-channel 1 --rate 2000 --grace 5 --seconds 30 --rest 60]`, with a `valkey-server`. Exits
 * with 1 if a client is not back at its first attempt, is refused, misses a message without a word, or if the load ends uneven.
 */
import { parseArgs } from 'node:util'
import { faultsOf, rollingRestart } from './rolling-restart.ts'

const { values } = parseArgs({
  options: {
    gateways: { type: 'string', default: '3' },
    websockets: { type: 'string', default: '5000' },
    'per-channel': { type: 'string', default: '1' },
    rate: { type: 'string', default: '2000' },
    grace: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '30' },
    rest: { type: 'string', default: '60' },
  },
})

const options = {
  gateways: Number(values.gateways),
  webSockets: Number(values.websockets),
  perChannel: Number(values['per-channel']),
  messagesPerSecond: Number(values.rate),
  graceSeconds: Number(values.grace),
  drainSeconds: Number(values.seconds),
  restSeconds: Number(values.rest),
  tell: (text: string) => console.log(`${(performance.now() / 1000).toFixed(1)} s  ${text}`),
}

function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number): string =>
    `${Math.round(sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? 0)} ms`
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, worst ${at(1)}`
}

const report = await rollingRestart(options)
console.log(`published ${report.published}, received ${report.received}`)
console.log(`moves ${report.moves}, gaps announced ${report.gaps}`)
console.log(`away from the close to the next login: ${spread(report.awayMs)}`)
console.log(`of that after the wait that was asked for: ${spread(report.lateMs)}`)
console.log(`connections at the end: ${report.loads.join(', ')}`)
const faults = faultsOf(report, options)
for (const fault of faults) console.log(`FAULT: ${fault}`)
process.exit(faults.length > 0 ? 1 : 0)
