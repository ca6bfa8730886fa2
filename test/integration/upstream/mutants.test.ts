import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CONTROL_MUTANTS } from '../../chaos/control/control-mutants.ts'
import { MUTANTS } from '../../chaos/mutants.ts'
import { ROOT } from '../../support/process.ts'

/** `npm run chaos -- --mutants` and `npm run chaos:control -- --mutants` run them. */
const ALL = [...MUTANTS, ...CONTROL_MUTANTS]

test.each(ALL)('The guard is where it can be taken out: $name', ({ file, search }) => {
  const code = readFileSync(join(ROOT, 'dist', file), 'utf8')
  expect(code.split(search).length - 1).toBe(1)
})
