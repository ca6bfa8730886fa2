import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openOracle } from '../support/oracle.ts'
import { SeededRandom } from '../support/oracle-random.ts'
import { commandStep, escapeBytes } from '../support/transcript.ts'
import { parseReply, stringsOf } from '../support/transcript-values.ts'
import { Pair } from './differential.ts'
import { normalise } from './normalise.ts'

const oracle = await openOracle()

const PATTERNS = 160
const NAMES = 50

/** Characters that mean something in a pattern, each as often as a plain one. */
const PATTERN_PIECES = [
  'a',
  'b',
  'c',
  '*',
  '*',
  '*',
  '?',
  '[',
  ']',
  '^',
  '-',
  '\\',
  'ab',
  '[ab]',
  '[^a]',
]
const CLASS_PIECES = [
  'a-c',
  'c-a',
  '\\]',
  '\\-',
  '^',
  '-',
  '!',
  '\x00',
  '\xe9',
  'a-',
  '--0',
  '\xc3',
  'a-\xff',
  '\x00-\xff',
  '\x7f-\x80',
  '\x80-\xff',
]
const NAME_PIECES = ['a', 'b', 'c', '-', '^', ']', '[', '\\', '*', '?', '\x00', '\xe9', '\xc3', '.']

function patternOf(random: SeededRandom): string {
  return random
    .several(0, 6, () =>
      random.chance(25)
        ? `[${random.several(0, 3, () => random.pick(CLASS_PIECES)).join('')}${random.chance(85) ? ']' : ''}`
        : random.pick(PATTERN_PIECES),
    )
    .join('')
}

function distinct(count: number, make: () => string): string[] {
  const values = new Set<string>()
  while (values.size < count) values.add(make())
  return [...values]
}

describe.skipIf(oracle === undefined)('patterns match what they match in Redis', () => {
  let pair: Pair

  beforeAll(async () => {
    if (oracle) pair = await Pair.open(oracle)
  })

  afterAll(async () => {
    await pair.close()
  })

  test(`in PUBSUB CHANNELS: ${PATTERNS} patterns on ${NAMES} names`, async () => {
    const random = new SeededRandom(20_240_611)
    const names = distinct(NAMES, () =>
      random.several(0, 5, () => random.pick(NAME_PIECES)).join(''),
    )
    const patterns = distinct(PATTERNS, () => patternOf(random))
    const { oracle: theirs, respcast: ours } = pair.sessions()
    const subscribing = commandStep('A', [['SUBSCRIBE', ...names]])
    await Promise.all([theirs.run(subscribing), ours.run(subscribing)])
    let matches = 0
    for (const pattern of patterns) {
      const answers = await pair.ask('PUBSUB', 'CHANNELS', pattern)
      const expected = stringsOf(parseReply(answers.oracle)).toSorted()
      const found = stringsOf(parseReply(answers.respcast)).toSorted()
      expect(found.map(escapeBytes), escapeBytes(pattern)).toEqual(expected.map(escapeBytes))
      matches += found.length
    }
    expect(matches).toBeGreaterThan(150)
    await Promise.all([theirs.end(), ours.end()])
  })

  test('in PSUBSCRIBE: every pattern brings the same messages', async () => {
    const random = new SeededRandom(7)
    const patterns = distinct(60, () => patternOf(random))
    const names = distinct(40, () => random.several(0, 5, () => random.pick(NAME_PIECES)).join(''))
    const { oracle: theirs, respcast: ours } = pair.sessions()
    const subscribing = commandStep('A', [['PSUBSCRIBE', ...patterns]])
    await Promise.all([theirs.run(subscribing), ours.run(subscribing)])
    for (const name of names) {
      const step = commandStep('B', [['PUBLISH', name, 'm']])
      const [expected, found] = await Promise.all([theirs.run(step), ours.run(step)])
      expect(found.get('B'), step.source).toBe(expected.get('B'))
      expect(escapeBytes(normalise(found.get('A') ?? '')), step.source).toBe(
        escapeBytes(normalise(expected.get('A') ?? '')),
      )
    }
    await Promise.all([theirs.end(), ours.end()])
  })

  test('however many stars there are, up to the same depth', async () => {
    const name = 'a'.repeat(1_100)
    const { oracle: theirs, respcast: ours } = pair.sessions()
    const subscribing = commandStep('A', [['SUBSCRIBE', name]])
    await Promise.all([theirs.run(subscribing), ours.run(subscribing)])
    for (const stars of [1, 20, 1_000, 1_001, 1_002, 1_003, 1_100]) {
      for (const pattern of ['a*'.repeat(stars), `${'a*'.repeat(stars)}a`, '*a'.repeat(stars)]) {
        const answers = await pair.ask('PUBSUB', 'CHANNELS', pattern)
        expect(answers.respcast, `${stars} stars in ${pattern.slice(0, 4)}`).toBe(answers.oracle)
      }
    }
    await Promise.all([theirs.end(), ours.end()])
  })
})
