/**
 * Lets faults strike an upstream and its gateways while operators revoke, lift, edit and kill, and checks what everybody saw against
 * what gateways promise each other.
 *
 * `npm run chaos:control [-- --topology standalone|sentinel|cluster --fault kill,flush --rounds N --seconds N --rate N --rest MS
 * --seed N --gateways N --program redis-server|valkey-server --long N --lease SECONDS --no-key --network --dump FILE
 * --orders revoke-sub,revoke-channel,lift,role,kill]`; `kill*50,pause*20`
 * strikes so often, well mixed, and then ends. Exits with 1 if a promise was broken.
 *
 * `npm run chaos:control -- --mutants [--only TEXT]` takes the guards of the control plane out, one after another, and exits with 1 if
 * that stays unnoticed.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { describeHistory } from '../../history/describe.ts'
import type { Program } from '../../support/topologies/node.ts'
import { planOf } from '../plan.ts'
import { buildMutant, removeMutants } from '../mutants.ts'
import { controlChaos, type ControlChaosOptions, type ControlReport } from './control-chaos.ts'
import { CONTROL_MUTANTS } from './control-mutants.ts'
import { CONTROL_FAULTS } from './faults.ts'
import type { Realm } from './orders.ts'

const { values } = parseArgs({
  allowNegative: true,
  options: {
    topology: { type: 'string', default: 'standalone' },
    program: { type: 'string', default: 'valkey-server' },
    fault: { type: 'string' },
    rounds: { type: 'string', default: '100000' },
    seconds: { type: 'string' },
    rate: { type: 'string', default: '300' },
    rest: { type: 'string', default: '200' },
    gateways: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
    long: { type: 'string', default: '3' },
    lease: { type: 'string', default: '3' },
    orders: { type: 'string' },
    key: { type: 'boolean', default: true },
    network: { type: 'boolean', default: false },
    dump: { type: 'string' },
    mutants: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
})

/** Most violations that are printed. */
const MOST_SHOWN = 20

const tell = (text: string): void =>
  console.log(`${new Date().toISOString().slice(11, 23)} ${text}`)

process.exit(values.mutants ? await tryMutants() : await run())

/** Takes out one guard after another. @returns The exit code: 1 if one was not missed. */
async function tryMutants(): Promise<number> {
  let survivors = 0
  for (const [serial, mutant] of CONTROL_MUTANTS.entries()) {
    if (!mutant.name.includes(values.only)) continue
    const { topology = 'standalone', faults, isLong, kinds, restMs = Number(values.rest) } = mutant
    const { violations } = await controlChaos({
      ...{ topology, faults, restMs, dist: buildMutant(mutant, serial), gateways: 3 },
      ...(kinds === undefined ? {} : { kinds }),
      program: values.program as Program,
      rate: Number(values.rate),
      seed: Number(values.seed),
      rounds: 2,
      seconds: faults.length === 0 ? 6 : 60,
      longEvery: isLong ? 1 : 1_000,
      hasKey: true,
      leaseSeconds: Number(values.lease),
    })
    const promises = [...new Set(violations.map(({ promise }) => promise))]
    if (promises.length === 0) survivors++
    tell(`${promises.length > 0 ? 'caught' : 'SURVIVES'}: ${mutant.name}: ${promises.join(', ')}`)
  }
  removeMutants()
  console.log(`${survivors} mutants survive`)
  return survivors > 0 ? 1 : 0
}

/** @returns The exit code. */
async function run(): Promise<number> {
  const topology = values.topology as ControlChaosOptions['topology']
  const possible = Object.entries(CONTROL_FAULTS)
    .filter(([, { topologies }]) => topologies.includes(topology))
    .filter(([, { needs }]) => needs === undefined || (needs === 'network') === values.network)
    .map(([name]) => name)
  const faults = values.fault === undefined ? possible : planOf(values.fault)
  const isCounted = values.fault?.includes('*') === true
  const report = await controlChaos({
    topology,
    program: values.program as Program,
    gateways: Number(values.gateways),
    rate: Number(values.rate),
    restMs: Number(values.rest),
    seed: Number(values.seed),
    faults,
    rounds: isCounted ? faults.length : Number(values.rounds),
    seconds: Number(values.seconds ?? (isCounted ? Number.POSITIVE_INFINITY : 60)),
    longEvery: Number(values.long),
    hasKey: values.key,
    hasNetwork: values.network,
    leaseSeconds: Number(values.lease),
    ...(values.orders === undefined ? {} : { kinds: values.orders.split(',') as Realm['kinds'] }),
    tell,
  })
  print(report)
  if (values.dump !== undefined) writeFileSync(values.dump, dump(report), 'latin1')
  return report.violations.length + report.readiness.late.length > 0 ? 1 : 0
}

function dump({ history: { history, orders } }: ControlReport): string {
  const lines = orders.map((order) => `${order.sent.tick} ${JSON.stringify(order)}\n`)
  return describeHistory(history) + lines.join('')
}

function print({
  violations,
  figures,
  readiness,
  rounds,
  replies,
  errors,
  rejected,
  seconds,
}: ControlReport): void {
  console.log(
    `${values.topology}, seed ${values.seed}: ${rounds} faults in ${seconds.toFixed(0)} s`,
  )
  for (const [name, figure] of Object.entries(figures))
    console.log(`${String(figure).padStart(9)} ${name}`)
  for (const counts of [replies, errors, rejected])
    for (const [what, count] of counts) console.log(`${String(count).padStart(9)} ${what}`)
  console.log(
    `readyz: false after ${readiness.slowestUnready.toFixed(0)} ms, true after ${readiness.slowestReady.toFixed(0)} ms at the latest`,
  )
  for (const text of readiness.late) console.log(`late: ${text}`)
  for (const text of readiness.lateOfBusy) console.log(`late on a busy machine: ${text}`)
  for (const { promise, text } of violations.slice(0, MOST_SHOWN))
    console.log(`VIOLATION ${promise}: ${text}`)
  console.log(`${violations.length} violations`)
}
