/**
 * Attacks a server with a heap of 256 MB in every way that is known, while honest clients publish and count.
 *
 * `npm run soak [-- --seconds 60 --seed 1 --only TEXT]`, after `npm run build:server`. Exits with 1 if the server ends, or if an honest client
 * misses a message or is closed.
 */
import { parseArgs } from 'node:util'
import { soak } from './soak.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
})
const report = await soak({
  seconds: Number(values.seconds),
  seed: Number(values.seed),
  recoverySeconds: 15,
  only: values.only,
})
const { ping, megabytes, rounds } = report
for (const [attack, count] of Object.entries(rounds))
  console.log(`${String(count).padStart(6)} rounds: ${attack}`)
console.log(`honest messages: ${report.published}, complaints: ${report.complaints.length}`)
for (const complaint of report.complaints) console.log(`  ${complaint}`)
console.log(
  `honest PING: median ${ping.median.toFixed(1)} ms, p99 ${ping.p99.toFixed(1)} ms, worst ${ping.worst.toFixed(1)} ms`,
)
console.log(
  `resident: ${megabytes.before} MB before, ${megabytes.most} MB at most, ${megabytes.after} MB afterwards`,
)
console.log(`log: ${report.logLinesPerSecond} lines a second`)
if (report.crash !== undefined) console.log(`the server ended: ${report.crash}`)
process.exit(report.crash === undefined && report.complaints.length === 0 ? 0 : 1)
