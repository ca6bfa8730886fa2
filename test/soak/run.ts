/**
 * Attacks a server with a heap of 256 MB in every way that is known, while honest clients publish and count.
 *
 * `npm run soak [-- --seconds 60 --floods 6 --seed 1 --only TEXT]`, after `npm run build:server`. Exits with 1 if the server ends, if an
 * honest client misses a message, is closed or waits too long for a PING, or if the server keeps memory.
 */
import { parseArgs } from 'node:util'
import { takeSeats } from './processor.ts'
import { soak, type SoakReport } from './soak.ts'

/**
 * Longest round trip of an honest PING, in ms. Where the server has no processor of its own, the time is left out for which others had it.
 */
const LONGEST_PING_MS = 100

/**
 * What attacks may add to the heap and buffers in use, in MB: the runtime keeps compiled code, and caches of fixed size fill up. One
 * hostile peer that is not let go of is more.
 */
const KEPT_MEGABYTES = 8

/** The later half of the floods may make the process so much larger: it is no leak if what the first ones took is used again. */
const GROWTH = 1.1

/** Faults of the server under attack. */
function faultsOf({
  crash,
  complaints,
  ping,
  ownPing,
  megabytes,
  usedMegabytes,
}: SoakReport): string[] {
  const faults = [...complaints]
  if (crash !== undefined) faults.push(`the server ended: ${crash}`)
  const judged = seats.areApart ? ping : ownPing
  if (Number.isNaN(judged.worst)) faults.push('no PING was measured')
  if (judged.worst > LONGEST_PING_MS) faults.push(`a PING took more than ${LONGEST_PING_MS} ms`)
  if (usedMegabytes.after > usedMegabytes.before + KEPT_MEGABYTES)
    faults.push(`more than ${KEPT_MEGABYTES} MB are still in use`)
  const { afterFloods } = megabytes
  const half = afterFloods[Math.ceil(afterFloods.length / 2) - 1] ?? 0
  if ((afterFloods.at(-1) ?? 0) > half * GROWTH) faults.push('each flood makes the process larger')
  return faults
}

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    floods: { type: 'string', default: '6' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
})
const seats = takeSeats()
const report = await soak({
  seconds: Number(values.seconds),
  floods: Number(values.floods),
  seed: Number(values.seed),
  restSeconds: 3,
  only: values.only,
  seats,
})
const { ping, ownPing, megabytes, usedMegabytes, rounds } = report
for (const [attack, count] of Object.entries(rounds))
  console.log(`${String(count).padStart(6)} rounds: ${attack}`)
console.log(`honest messages: ${report.published}, complaints: ${report.complaints.length}`)
console.log(
  seats.areApart
    ? 'the server has a processor of its own: judged by the whole round trip'
    : 'the server shares its processor (a second one and the right to raise priorities are missing): judged without waiting for it',
)
for (const [what, { median, p99, worst }] of [
  ['honest PING', ping],
  ['  without waiting for a processor', ownPing],
] as const)
  console.log(
    `${what}: median ${median.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, worst ${worst.toFixed(1)} ms`,
  )
console.log(
  `longest turn of the event loop: ${report.longestTurnMs.toFixed(1)} ms of processor time`,
)
console.log(
  `resident: ${megabytes.before} MB before, ${megabytes.most} MB at most, ${megabytes.afterFloods.join(', ')} MB after the floods`,
)
console.log(
  `in use after a collection: ${usedMegabytes.before.toFixed(1)} MB before, ${usedMegabytes.after.toFixed(1)} MB afterwards`,
)
console.log(`log: ${report.logLinesPerSecond} lines a second`)
for (const line of report.longTurns) console.log(line)
const faults = faultsOf(report)
for (const fault of faults) console.log(`FAULT: ${fault}`)
process.exit(faults.length === 0 ? 0 : 1)
