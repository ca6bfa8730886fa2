import { expect, test } from 'vitest'
import { fuzz, FUZZ_TARGETS } from '../fuzz/targets.ts'

/** `npm run fuzz` gives a million. */
const INPUTS = 1_000

test.each(FUZZ_TARGETS)('random inputs to $name do what they must, and no more', async (target) => {
  expect(await fuzz(target, { seed: 2, from: 0, count: INPUTS, most: 3 })).toEqual([])
})
