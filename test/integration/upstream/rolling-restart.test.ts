import { expect, test } from 'vitest'
import { faultsOf, rollingRestart } from '../../restart/rolling-restart.ts'
import { findProgram } from '../../support/redis-servers.ts'

/** `npm run rolling-restart` has 5,000 WebSockets and 2,000 messages a second. */
const OPTIONS = {
  gateways: 3,
  webSockets: 150,
  perChannel: 5,
  messagesPerSecond: 200,
  graceSeconds: 2,
  drainSeconds: 3,
  restSeconds: 1,
}

const isMissing = findProgram('valkey-server') === undefined

test.skipIf(isMissing && process.env['CI'] !== 'true')(
  'Three gateways are restarted one after another, and each client returns at its first attempt, knows its gaps, and finds an even load',
  async () => {
    const report = await rollingRestart(OPTIONS)
    expect(faultsOf(report, OPTIONS)).toEqual([])
    expect(report.received).toBeGreaterThan(report.published)
  },
  180_000,
)
