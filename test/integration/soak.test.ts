import { expect, test } from 'vitest'
import { ATTACKS } from '../soak/attacks.ts'
import { soak } from '../soak/soak.ts'

/** `npm run soak` takes a minute. */
const SECONDS = 5

/** Compiled code and caches of fixed size; a part of it is new because the server has just been started. */
const KEPT_MEGABYTES = 16

test('no attack takes a message from an honest client, or ends a server with a heap of 256 MB', async () => {
  const report = await soak({ seconds: SECONDS, floods: 1, seed: 3, restSeconds: 0 })
  expect(report.crash).toBeUndefined()
  expect(report.complaints).toEqual([])
  expect(report.published).toBeGreaterThan(100)
  expect(report.usedMegabytes.after).toBeLessThan(report.usedMegabytes.before + KEPT_MEGABYTES)
  expect(Object.keys(report.rounds).toSorted()).toEqual(Object.keys(ATTACKS).toSorted())
  expect(Math.min(...Object.values(report.rounds))).toBeGreaterThan(0)
}, 120_000)
