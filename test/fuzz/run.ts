/**
 * Gives random inputs to everything that reads what strangers write, and prints what was not as it has to be.
 *
 * `npm run fuzz [-- --count N --seed S --target NAME --from INDEX]`: N inputs (1,000,000) in all, in equal shares, or of one target.
 * The same seed gives the same inputs. Each finding names its index: `--target NAME --seed S --from INDEX --count 1`
 * gives it again. Exits with 1 if there are findings.
 */
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { fuzz, FUZZ_TARGETS } from './targets.ts'

/** Findings of one target that are worth reading. */
const MOST_FINDINGS = 10

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
    target: { type: 'string', default: '' },
    from: { type: 'string', default: '0' },
  },
})
const targets = FUZZ_TARGETS.filter(({ name }) => values.target === '' || name === values.target)
if (targets.length === 0)
  throw new Error(`no such target; one of ${FUZZ_TARGETS.map(({ name }) => name).join(', ')}`)

const seed = Number(values.seed)
const from = Number(values.from)
const share = Math.ceil(Number(values.count) / targets.length)
let found = 0
let unexpected = 0
process.on('uncaughtException', (error) => {
  unexpected++
  console.log('uncaught:', error)
})
const startMs = performance.now()
for (const target of targets) {
  const beganMs = performance.now()
  const findings = await fuzz(target, { seed, from, count: share, most: MOST_FINDINGS })
  const seconds = (performance.now() - beganMs) / 1000
  console.log(
    `${target.name}: ${share} inputs, seed ${seed}: ${findings.length} findings, ${seconds.toFixed(1)} s, ${Math.round(share / seconds)} a second`,
  )
  for (const { index, error } of findings) {
    console.log(
      `  --target ${target.name} --seed ${seed} --from ${index} --count 1\n  ${String(error)}`,
    )
  }
  found += findings.length
}
console.log(
  `${share * targets.length} inputs in ${((performance.now() - startMs) / 1000).toFixed(1)} s: ${found} findings, ${unexpected} uncaught`,
)
process.exit(found + unexpected === 0 ? 0 : 1)
