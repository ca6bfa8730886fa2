import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openOracle } from '../support/oracle.ts'
import { escapeBytes } from '../support/transcript.ts'
import { Pair } from './differential.ts'
import { generatePieces } from './fuzz-bytes.ts'
import { describeDifference, FuzzPlayer } from './fuzz-player.ts'
import { generateSession } from './fuzz-sessions.ts'
import { ruleNamed } from './rules.ts'

const oracle = await openOracle()

const STEPS = 40

/** `RESPCAST_FUZZ_SEEDS=1..2000` plays these seeds instead of the first 150. */
const [, first = '1', last = '150'] =
  /^(\d+)\.\.(\d+)$/.exec(process.env['RESPCAST_FUZZ_SEEDS'] ?? '') ?? []
const FIRST = Number(first)
const LAST = Number(last)
const TIMEOUT_MS = 60_000 + (LAST - FIRST) * 1_000

/** Where a request is refused that the oracle takes, what was answered before is still the same. */
const CRLF_RULE = ruleNamed('crlf-validated')
const INVALID_CRLF = '-ERR Protocol error: invalid CRLF in request\r\n<EOF>'

async function playPieces(pair: Pair, pieces: readonly string[]) {
  const { oracle: theirs, respcast: ours } = pair.sessions()
  const answers = { oracle: '', respcast: '' }
  for (const bytes of pieces) {
    const step = { peer: 'A', action: 'send', bytes } as const
    const [their, our] = await Promise.all([theirs.run(step), ours.run(step)])
    answers.oracle += their.get('A') ?? ''
    answers.respcast += our.get('A') ?? ''
  }
  await Promise.all([theirs.end(), ours.end()])
  return answers
}

describe.skipIf(oracle === undefined)('random bytes bring the same answers as from Redis:', () => {
  let pair: Pair

  beforeAll(async () => {
    if (oracle) pair = await Pair.open(oracle)
  })

  afterAll(async () => {
    await pair.close()
  })

  for (const transport of ['tcp', 'websocket'] as const) {
    test(
      `sessions of three connections over ${transport}, seeds ${FIRST} to ${LAST}, ${STEPS} steps each`,
      async () => {
        const player = new FuzzPlayer(pair, transport)
        for (let seed = FIRST; seed <= LAST; seed++) {
          const steps = generateSession(seed, STEPS)
          if ((await player.play(steps)) === undefined) continue
          const shortest = await player.shrink(steps)
          expect.fail(describeDifference(seed, shortest.steps, shortest.difference))
        }
      },
      TIMEOUT_MS,
    )
  }

  test(
    `damaged requests in pieces, seeds ${FIRST} to ${LAST}`,
    async () => {
      for (let seed = FIRST; seed <= LAST; seed++) {
        const pieces = generatePieces(seed)
        const answers = await playPieces(pair, pieces)
        const sent = `seed ${seed}: ${pieces.map(escapeBytes).join(' | ')}`
        const isRefused = answers.respcast.endsWith(INVALID_CRLF)
        const before = answers.respcast.slice(0, -INVALID_CRLF.length)
        if (isRefused && CRLF_RULE.holds(pair.oracle.identity)) {
          expect(escapeBytes(answers.oracle.slice(0, before.length)), sent).toBe(
            escapeBytes(before),
          )
        } else {
          expect(escapeBytes(answers.respcast), sent).toBe(escapeBytes(answers.oracle))
        }
      }
    },
    TIMEOUT_MS,
  )
})
