/**
 * Lets faults strike an upstream and its gateways, while clients everywhere write down what they are answered and what they get, and
 * checks that against the promises of docs/scaling.md.
 *
 * `npm run chaos [-- --topology standalone|sentinel|cluster --fault kill,pause --rounds N --seconds N --rate N --seed N
 * --gateways N --program redis-server|valkey-server --long N --network --dump FILE --wide N --lanes N --batch N]`: every Nth fault is long, `kill*50,pause*20`
 * strikes so often, well mixed, and then ends;
 * with a network namespace (root) the kernel loses packets in one direction; the file gets all that was seen. Exits with 1 if a promise was broken.
 *
 * `npm run chaos -- --cuts [--steady N]` cuts the links of a gateway after each byte of their handshake, and N more.
 *
 * `npm run chaos -- --mutants [--only TEXT]` takes the guards of the upstream out, one after another, and exits with 1 if that stays unnoticed.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Verdict } from '../history/checker.ts'
import { describeHistory } from '../history/describe.ts'
import type { Program } from '../support/topologies/node.ts'
import { chaos, LATE_UNREADY_MS, type ChaosOptions, type ChaosReport } from './chaos.ts'
import { cutEverywhere } from './cuts.ts'
import { FAULTS } from './faults.ts'
import { planOf } from './plan.ts'
import { buildMutant, MUTANTS, removeMutants, type Mutant } from './mutants.ts'

const { values } = parseArgs({
  options: {
    topology: { type: 'string', default: 'standalone' },
    program: { type: 'string', default: 'valkey-server' },
    fault: { type: 'string' },
    rounds: { type: 'string', default: '100000' },
    seconds: { type: 'string' },
    rate: { type: 'string', default: '500' },
    wide: { type: 'string', default: '0' },
    lanes: { type: 'string', default: '96' },
    batch: { type: 'string', default: '64' },
    gateways: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
    long: { type: 'string', default: '4' },
    network: { type: 'boolean', default: false },
    dump: { type: 'string' },
    cuts: { type: 'boolean', default: false },
    steady: { type: 'string', default: '500' },
    mutants: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
})

/** Most violations that are printed. */
const MOST_SHOWN = 20

const tell = (text: string): void =>
  console.log(`${new Date().toISOString().slice(11, 23)} ${text}`)

process.exit(values.mutants ? await tryMutants() : values.cuts ? await cut() : await run())

/** @returns The exit code. */
async function run(): Promise<number> {
  const topology = values.topology as ChaosOptions['topology']
  const possible = Object.entries(FAULTS)
    .filter(([, { topologies }]) => topologies.includes(topology))
    .filter(([, { needsNetwork = false }]) => needsNetwork === values.network)
    .map(([name]) => name)
  const faults = values.fault === undefined ? possible : planOf(values.fault)
  const isCounted = values.fault?.includes('*') === true
  const report = await chaos({
    topology,
    program: values.program as Program,
    gateways: Number(values.gateways),
    rate: Number(values.rate),
    ...wideOf(),
    seed: Number(values.seed),
    faults,
    rounds: isCounted ? faults.length : Number(values.rounds),
    seconds: Number(values.seconds ?? (isCounted ? Number.POSITIVE_INFINITY : 60)),
    longEvery: Number(values.long),
    hasNetwork: values.network,
    tell,
  })
  print(report)
  if (values.dump !== undefined)
    writeFileSync(values.dump, describeHistory(report.history), 'latin1')
  return report.violations.length + report.readiness.late.length > 0 ? 1 : 0
}

function wideOf(): Pick<ChaosOptions, 'wide'> {
  const [perSecond, lanes, batch] = [values.wide, values.lanes, values.batch].map(Number)
  return perSecond ? { wide: { perSecond, lanes: lanes ?? 0, batch: batch ?? 0 } } : {}
}

/** Cuts links at every byte. @returns The exit code. */
async function cut(): Promise<number> {
  const { positions, missed, violations, figures } = await cutEverywhere({
    program: values.program as Program,
    steadyBytes: Number(values.steady),
    rate: Number(values.rate),
    seed: Number(values.seed),
    tell,
  })
  for (const [what, cuts] of positions)
    console.log(`${String(cuts.size).padStart(9)} positions, ${what}: up to ${Math.max(...cuts)}`)
  for (const place of missed) console.log(`not cut: ${place}`)
  printVerdict({ violations, figures })
  return violations.length + missed.length > 0 ? 1 : 0
}

function printVerdict({ violations, figures }: Verdict): void {
  for (const [name, figure] of Object.entries(figures))
    console.log(`${String(figure).padStart(9)} ${name}`)
  for (const { promise, text } of violations.slice(0, MOST_SHOWN))
    console.log(`VIOLATION ${promise}: ${text}`)
  console.log(`${violations.length} violations`)
}

/** Takes out one guard after another. @returns The exit code: 1 if one was not missed. */
async function tryMutants(): Promise<number> {
  let survivors = 0
  for (const [serial, mutant] of MUTANTS.entries()) {
    if (!mutant.name.includes(values.only)) continue
    const dist = buildMutant(mutant, serial)
    const promises = await brokenBy(mutant, dist)
    if (promises.length === 0) survivors++
    tell(`${promises.length > 0 ? 'caught' : 'SURVIVES'}: ${mutant.name}: ${promises.join(', ')}`)
  }
  removeMutants()
  console.log(`${survivors} mutants survive`)
  return survivors > 0 ? 1 : 0
}

/** The promises that a mutant breaks. @throws Error It does not start. */
async function brokenBy({ topology, faults, isLong }: Mutant, dist: string): Promise<string[]> {
  const { violations, readiness } = await chaos({
    topology,
    program: values.program as Program,
    gateways: 2,
    rate: Number(values.rate),
    ...wideOf(),
    seed: Number(values.seed),
    faults,
    rounds: 2,
    seconds: faults.length === 0 ? 5 : 40,
    longEvery: isLong ? 1 : 1_000,
    dist,
  })
  const promises = violations.map(({ promise }) => promise)
  if (readiness.slowestUnready > LATE_UNREADY_MS) promises.push('readyz')
  return [...new Set(promises)]
}

function print({
  violations,
  figures,
  readiness,
  rounds,
  ends,
  errors,
  rate,
  cores,
  heldBack,
  seconds,
}: ChaosReport): void {
  console.log(
    `${values.topology}, seed ${values.seed}: ${rounds} faults in ${seconds.toFixed(0)} s`,
  )
  const { published, slowest, delivered } = rate
  console.log(
    `${published.toFixed(0)} published a second, ${slowest} in the slowest; ${delivered.toFixed(0)} deliveries a second; ${heldBack} messages were held back`,
  )
  console.log(
    `cores: gateways ${cores.gateways.toFixed(2)}, upstream ${cores.upstream.toFixed(2)}, clients ${cores.clients.toFixed(2)}`,
  )
  console.log(
    `readyz: false after ${readiness.slowestUnready.toFixed(0)} ms, true after ${readiness.slowestReady.toFixed(0)} ms at the latest`,
  )
  for (const [what, count] of ends) console.log(`${String(count).padStart(9)} ended by ${what}`)
  for (const [error, count] of errors) console.log(`${String(count).padStart(9)} ${error}`)
  for (const text of readiness.late) console.log(`late: ${text}`)
  printVerdict({ violations, figures })
}
