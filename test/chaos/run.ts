/**
 * Lets faults strike an upstream and its gateways, while clients everywhere write down what they are answered and what they get, and
 * checks that against the promises of docs/scaling.md.
 *
 * `npm run chaos [-- --topology standalone|sentinel|cluster --fault kill,pause --rounds N --seconds N --rate N --seed N
 * --gateways N --program redis-server|valkey-server --long N --dump FILE]`: every Nth fault is long; the file gets all that was seen. Exits with 1 if a promise was broken.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { describeHistory } from '../history/describe.ts'
import type { Program } from '../support/topologies/node.ts'
import { chaos, type ChaosReport } from './chaos.ts'
import { FAULTS } from './faults.ts'

const { values } = parseArgs({
  options: {
    topology: { type: 'string', default: 'standalone' },
    program: { type: 'string', default: 'valkey-server' },
    fault: { type: 'string' },
    rounds: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '60' },
    rate: { type: 'string', default: '500' },
    gateways: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
    long: { type: 'string', default: '4' },
    dump: { type: 'string' },
  },
})

/** Most violations that are printed. */
const MOST_SHOWN = 20

const topology = values.topology as 'standalone' | 'sentinel' | 'cluster'
const possible = Object.entries(FAULTS)
  .filter(([, fault]) => fault.topologies.includes(topology))
  .map(([name]) => name)
const report = await chaos({
  topology,
  program: values.program as Program,
  gateways: Number(values.gateways),
  rate: Number(values.rate),
  seed: Number(values.seed),
  faults: values.fault === undefined ? possible : values.fault.split(',').filter(Boolean),
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  longEvery: Number(values.long),
  tell: (text) => console.log(`${new Date().toISOString().slice(11, 23)} ${text}`),
})
print(report)
if (values.dump !== undefined) writeFileSync(values.dump, describeHistory(report.history), 'latin1')
process.exit(report.violations.length + report.readiness.late.length > 0 ? 1 : 0)

function print({
  violations,
  figures,
  readiness,
  rounds,
  ends,
  errors,
  seconds,
}: ChaosReport): void {
  console.log(`${topology}, seed ${values.seed}: ${rounds} faults in ${seconds.toFixed(0)} s`)
  for (const [name, figure] of Object.entries(figures))
    console.log(`${String(figure).padStart(9)} ${name}`)
  console.log(
    `readyz: false after ${readiness.slowestUnready.toFixed(0)} ms, true after ${readiness.slowestReady.toFixed(0)} ms at the latest`,
  )
  for (const [what, count] of ends) console.log(`${String(count).padStart(9)} ended by ${what}`)
  for (const [error, count] of errors) console.log(`${String(count).padStart(9)} ${error}`)
  for (const text of readiness.late) console.log(`late: ${text}`)
  for (const { promise, text } of violations.slice(0, MOST_SHOWN))
    console.log(`VIOLATION ${promise}: ${text}`)
  console.log(`${violations.length} violations`)
}
