import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { command, TestCore, type TestClient } from '../support/test-core.ts'

/** Commands of one client, whose answers depend on its own past alone. */
const step = fc.oneof(
  fc.constantFrom(
    ['PING'],
    ['MULTI'],
    ['EXEC'],
    ['EXEC'],
    ['DISCARD'],
    ['CLIENT', 'GETNAME'],
    ['UNSUBSCRIBE'],
    ['NONSENSE'],
    ['RESET'],
    ['HELLO', '3'],
  ),
  fc.tuple(fc.constantFrom('ECHO', 'PING'), fc.string({ maxLength: 40 })),
  fc.tuple(fc.constant('CLIENT'), fc.constant('SETNAME'), fc.constantFrom('a', 'b')),
  fc.tuple(fc.constantFrom('SUBSCRIBE', 'UNSUBSCRIBE', 'PSUBSCRIBE'), fc.constantFrom('a', 'b')),
  fc.tuple(fc.constant('PUBLISH'), fc.constantFrom('a', 'b'), fc.string({ maxLength: 40 })),
)

interface Piece {
  readonly steps: readonly (readonly string[])[]
  /** Places, in thousandths, at which the bytes of the piece are cut. */
  readonly cuts: readonly number[]
  readonly endsTurn: boolean
}

const piece: fc.Arbitrary<Piece> = fc.record({
  steps: fc.array(step, { maxLength: 12 }),
  cuts: fc.array(fc.integer({ min: 0, max: 1_000 }), { maxLength: 3 }),
  endsTurn: fc.boolean(),
})

/** Sends the pieces, and returns everything that came back. */
function run(transport: 'tcp' | 'websocket', pieces: readonly Piece[], budget: number): string {
  const core = new TestCore({
    'tcp-turn-budget': String(budget),
    'ws-turn-budget': String(budget),
  })
  const client = core.connect({ transport })
  // RESET takes the login of a WebSocket away, and everything after it is refused.
  client.becomeDefault()
  let received = ''
  for (const { steps, cuts, endsTurn } of pieces) {
    const bytes = Buffer.concat(steps.map((args) => command(...args)))
    writeCut(client, bytes, cuts)
    if (endsTurn) core.turn.endOne()
  }
  received += client.read()
  return received
}

function writeCut(client: TestClient, bytes: Buffer, cuts: readonly number[]): void {
  const places = cuts.map((cut) => Math.floor((bytes.length * cut) / 1_000)).sort((a, b) => a - b)
  let from = 0
  for (const to of [...places, bytes.length]) {
    client.write(bytes.subarray(from, to))
    from = to
  }
}

describe('Pipelines and transactions, cut anywhere', () => {
  test.each(['tcp', 'websocket'] as const)(
    'are answered alike and in the same order under any budget of a turn (%s)',
    (transport) => {
      fc.assert(
        fc.property(
          fc.array(piece, { maxLength: 6 }),
          fc.integer({ min: 1, max: 12 }),
          (pieces, budget) => {
            expect(run(transport, pieces, budget)).toBe(run(transport, pieces, 0))
          },
        ),
        { numRuns: 100, seed: 11 },
      )
    },
  )
})
