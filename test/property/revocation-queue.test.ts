import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OutputQueue } from '../../server/delivery/output-queue.ts'
import { payloadOf, Segment } from '../../server/delivery/segment.ts'
import { messagePrefix, type MessageKind } from '../../server/resp/push.ts'
import { newOutput } from '../support/new-output.ts'

const READER = newOutput()
const SHARE_BYTES = 8
/** Channels a, b and the pattern p, through which messages of both come. */
const SOURCES = ['a', 'b', 'p'] as const

/** One frame that waits: a reply has no channel. */
interface Frame {
  readonly text: string
  readonly name?: string
  readonly channel?: string
}

/** An output queue, and the frames that wait in it. */
class Bench {
  readonly queue = new OutputQueue(READER)
  frames: Frame[] = []
  #segments = new Map<string, Segment>()
  #count = 0
  readonly #hands: boolean

  /** @param hands Messages are handed out one by one, as to a subscriber that is filtered; else shares grow by themselves. */
  constructor(hands: boolean) {
    this.#hands = hands
  }

  reply(): void {
    const text = `+${this.#count++}\r\n`
    this.queue.append(Buffer.from(text), 0, text.length)
    this.frames.push({ text })
  }

  publish(name: (typeof SOURCES)[number], channel: 'a' | 'b', body: string): void {
    const kind: MessageKind = name === 'p' ? 'pmessage' : 'message'
    const of = name === 'p' ? channel : name
    let segment = this.#segments.get(name)
    if (!segment) this.#segments.set(name, (segment = new Segment(kind, name)))
    const prefix = messagePrefix(3, kind, name)
    const payload = Buffer.from(`${this.#count++}${body}`)
    const start = segment.length
    segment.append(prefix, name === 'p' ? of : undefined, payloadOf(payload), SHARE_BYTES)
    if (this.#hands) this.queue.deliver(segment, start, segment.length)
    else if (start === 0 || segment.detached?.includes(READER)) {
      segment.detached = undefined
      this.queue.attach(segment, start)
    }
    const named = name === 'p' ? `$1\r\n${of}\r\n` : ''
    const text = `${prefix.toString()}${named}$${payload.length}\r\n${payload.toString()}\r\n`
    this.frames.push({ text, name, channel: of })
  }

  endTurn(): void {
    // A segment that was open until now does not grow any more.
    this.queue.closeTail()
    this.#segments = new Map()
  }

  drop(drops: (name: string, channel: string) => boolean): void {
    this.queue.drop((_kind, name, channel) => drops(name, channel))
    this.frames = this.frames.filter(
      ({ name, channel }) => name === undefined || channel === undefined || !drops(name, channel),
    )
  }

  take(most: number): void {
    const { buffers } = this.queue.take(most, false)
    const text = Buffer.concat(buffers).toString('latin1')
    let expected = ''
    while (expected.length < text.length) expected += (this.frames.shift() as Frame).text
    expect(text).toBe(expected)
  }

  check(): void {
    const waiting = this.frames.reduce((sum, { text }) => sum + text.length, 0)
    expect(this.queue.heldBytes).toBe(waiting)
    expect(this.queue.isEmpty).toBe(waiting === 0)
  }
}

type Step = (bench: Bench) => void

const publish = fc
  .tuple(
    fc.constantFrom(...SOURCES),
    fc.constantFrom<'a' | 'b'>('a', 'b'),
    fc.constantFrom('', 'x', 'y'.repeat(20)),
  )
  .map(
    ([name, channel, body]): Step =>
      (bench) =>
        bench.publish(name, channel, body),
  )

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: publish },
  fc.constant<Step>((bench) => bench.reply()),
  fc.constant<Step>((bench) => bench.endTurn()),
  fc.constantFrom(1, 30, 60, 1_000).map((most): Step => (bench) => {
    // A flush stands at the end of a turn.
    bench.endTurn()
    bench.take(most)
  }),
  fc.constantFrom('a', 'b').map(
    (lost): Step =>
      (bench) =>
        bench.drop((_name, channel) => channel === lost),
  ),
  fc.constantFrom(...SOURCES).map(
    (lost): Step =>
      (bench) =>
        bench.drop((name) => name === lost),
  ),
)

describe('Dropping messages out of an output queue', () => {
  test('takes whole frames of the channels named, and leaves the rest in order', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.array(step, { maxLength: 40 }), (hands, steps) => {
        const bench = new Bench(hands)
        for (const run of steps) {
          run(bench)
          bench.check()
        }
        bench.endTurn()
        while (bench.frames.length > 0) bench.take(50)
        bench.check()
      }),
      { numRuns: 1_500 },
    )
  })

  test('closes an open share: what its segment gets later does not come by itself', () => {
    const queue = new OutputQueue(READER)
    const segment = new Segment('pmessage', '*')
    const append = (channel: string): void =>
      segment.append(messagePrefix(3, 'pmessage', '*'), channel, payloadOf(Buffer.from('m')), 100)
    append('kept')
    queue.attach(segment, 0)
    append('lost')
    queue.drop((_kind, _name, channel) => channel === 'lost')
    append('later')
    expect(Buffer.concat(queue.take(1_000, false).buffers).toString()).toBe(
      '>4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$4\r\nkept\r\n$1\r\nm\r\n',
    )
    expect(queue.isEmpty).toBe(true)
    expect(segment.detached).toEqual([READER])
  })
})
