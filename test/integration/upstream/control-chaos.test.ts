import { describe, expect, test } from 'vitest'
import { controlChaos, type ControlChaosOptions } from '../../chaos/control/control-chaos.ts'
import { findProgram } from '../../support/redis-servers.ts'

/** What gateways agree on, while something goes wrong. `npm run chaos:control` takes longer, and knows more faults. */
const RUNS: readonly Pick<ControlChaosOptions, 'topology' | 'program' | 'faults'>[] = [
  {
    topology: 'standalone',
    program: 'redis-server',
    faults: ['flush', 'forge', 'unheard', 'kill-gateway', 'kill'],
  },
]

const isInstalled = ({ program }: { readonly program: string }): boolean =>
  process.env['CI'] === 'true' || findProgram(program) !== undefined

describe('Operators at two gateways', () => {
  test.each(RUNS.filter(isInstalled))(
    'take from sessions everywhere what they revoke, for good: $program, $topology, $faults',
    async ({ topology, program, faults }) => {
      const { violations, figures, rounds } = await controlChaos({
        topology,
        program,
        faults,
        gateways: 2,
        rate: 80,
        restMs: 150,
        seed: 7,
        rounds: faults.length,
        seconds: 60,
        longEvery: 1_000,
        hasKey: true,
        leaseSeconds: 4,
      })
      expect(violations).toEqual([])
      expect(rounds).toBe(faults.length)
      expect(figures.commits).toBeGreaterThan(10)
      expect(figures.untaken).toBeGreaterThan(0)
      expect(figures.withheld).toBeGreaterThan(0)
      expect(figures.finals).toBe(3)
    },
    150_000,
  )
})
