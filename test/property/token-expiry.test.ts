import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ExpiryWheel } from '../../server/token/session/expiry.ts'
import type { ExpiryEntry } from '../../server/token/session/expiry.ts'
import { FakeClock } from '../support/fake-clock.ts'

const TICK = 250
const ORDER = ['expiring', 'expired', 'end']

interface Session {
  readonly expiresAtMs: number
  readonly endsAtMs: number
  readonly told: string[]
  removed: boolean
  entry: ExpiryEntry | undefined
}

const step = fc.oneof(
  fc.record({
    kind: fc.constant('add' as const),
    lifeMs: fc.oneof(fc.integer({ min: -1000, max: 5000 }), fc.integer({ min: 0, max: 5_000_000 })),
    graceMs: fc.constantFrom(0, 300, 25_000),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  fc.record({ kind: fc.constant('remove' as const), index: fc.nat(20) }),
  fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 20_000 }) }),
  fc.record({
    kind: fc.constant('jump' as const),
    ms: fc.oneof(
      fc.integer({ min: -5000, max: 5000 }),
      fc.integer({ min: -9_000_000, max: 9_000_000 }),
    ),
  }),
)

describe('whatever the clock does and whoever comes and goes', () => {
  test('calls come in order, once, never early, at most a tick late, and never after removal', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (script) => {
        const clock = new FakeClock()
        const wheel = new ExpiryWheel(clock)
        const sessions: Session[] = []
        const add = (lifeMs: number, graceMs: number, random: number): void => {
          const expiresAtMs = clock.wallMs() + lifeMs
          const session: Session = {
            expiresAtMs,
            endsAtMs: expiresAtMs + graceMs,
            told: [],
            removed: false,
            entry: undefined,
          }
          const tell = (what: string, dueMs: number): void => {
            expect(session.removed).toBe(false)
            expect(clock.wallMs()).toBeGreaterThanOrEqual(dueMs)
            session.told.push(what)
          }
          session.entry = wheel.add(
            { expiresAtMs, graceMs },
            {
              expiring: (leftMs) => {
                expect(leftMs).toBeGreaterThan(0)
                tell('expiring', 0)
              },
              expired: () => tell('expired', session.expiresAtMs),
              end: () => tell('end', session.endsAtMs),
            },
            random,
          )
          sessions.push(session)
        }

        for (const one of script) {
          if (one.kind === 'add') add(one.lifeMs, one.graceMs, one.random)
          else if (one.kind === 'jump') clock.stepWall(one.ms)
          else if (one.kind === 'remove') {
            const session = sessions[one.index]
            if (session) session.removed = true
            session?.entry?.remove()
          } else {
            clock.advance(one.ms)
            for (const { told, removed, expiresAtMs, endsAtMs } of sessions) {
              if (removed) continue
              // Everything that was due a tick ago, on a clock that has not jumped since, has been told.
              const sureMs = clock.wallMs() - 2 * TICK
              if (one.ms >= 2 * TICK && sureMs >= expiresAtMs) expect(told).toContain('expired')
              if (one.ms >= 2 * TICK && sureMs >= endsAtMs) expect(told).toContain('end')
            }
          }
        }
        for (const { told } of sessions) {
          const sorted = [...told].sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b))
          expect(told).toEqual(sorted)
          expect(new Set(told).size).toBe(told.length)
        }
        const open = sessions.filter(({ told, removed }) => !removed && !told.includes('end'))
        expect(wheel.size).toBe(open.length)
        expect(clock.pendingTimers).toBe(open.length > 0 ? 1 : 0)
      }),
      { numRuns: 500 },
    )
  })
})
