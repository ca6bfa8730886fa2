import { describe, expect, test } from 'vitest'
import { chaos, type ChaosOptions } from '../../chaos/chaos.ts'
import { findProgram } from '../../support/redis-servers.ts'

/** Promises of docs/scaling.md, while something goes wrong. `npm run chaos` takes longer, and knows more faults. */
const RUNS: readonly Pick<ChaosOptions, 'topology' | 'program' | 'faults'>[] = [
  { topology: 'standalone', program: 'redis-server', faults: ['kill', 'kill-subscribers', 'cut'] },
  { topology: 'sentinel', program: 'valkey-server', faults: ['failover', 'kill-subscribers'] },
  { topology: 'cluster', program: 'valkey-server', faults: ['move-slot', 'kill-subscribers'] },
]

const isInstalled = ({ program }: { readonly program: string }): boolean =>
  process.env['CI'] === 'true' || findProgram(program) !== undefined

describe.concurrent('Clients of two gateways and of their upstream', () => {
  test.each(RUNS.filter(isInstalled))(
    'get every message once and in one order or are told of a gap: $program, $topology, $faults',
    async ({ topology, program, faults }) => {
      const { violations, figures, rounds } = await chaos({
        topology,
        program,
        faults,
        gateways: 2,
        rate: 100,
        seed: 7,
        rounds: faults.length,
        seconds: 60,
        longEvery: 1_000,
      })
      expect(violations).toEqual([])
      expect(rounds).toBe(faults.length)
      expect(figures.deliveries).toBeGreaterThan(100)
      expect(figures.exactNumbers).toBeGreaterThan(0)
      expect(figures.gaps).toBeGreaterThan(0)
    },
    120_000,
  )
})
