import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OutputQueue } from '../../server/delivery/output-queue.ts'
import { payloadOf, Segment } from '../../server/delivery/segment.ts'
import { messagePrefix } from '../../server/resp/push.ts'
import { unframe } from '../support/recording-sink.ts'
import type { Output } from '../../server/delivery/output.ts'
import { newOutput } from '../support/new-output.ts'

const READER = newOutput()
const PREFIX = messagePrefix(3, 'message', 'ch')
/** Payloads from here on are shared. */
const SHARE_BYTES = 50

/** The waiting output, as a list of runs that must not be torn: a run of replies, or one message. */
interface Run {
  text: string
  readonly reply: boolean
}

/**
 * An output queue, whoever fills it as the core does, and the plainest model of it: the runs that wait, in order.
 * Channels 0 and 1 are shared by segments, channel 2 is handed out one by one.
 */
class Bench {
  readonly queue = new OutputQueue(READER)
  readonly model: Run[] = []
  readonly own = new OutputQueue(READER)
  readonly ownModel: Run[] = []
  #segments: (Segment | undefined)[] = []
  /** The buffer that replies lie in, one after the other, as in a writer's slab. */
  readonly #slab = Buffer.alloc(1_000_000)
  #slabEnd = 0
  #count = 0

  reply(text: string, adjacent: boolean): void {
    if (!adjacent) this.#slabEnd++
    const start = this.#slabEnd
    this.#slabEnd += this.#slab.write(text, start, 'latin1')
    this.queue.append(this.#slab, start, this.#slabEnd)
    const last = this.model.at(-1)
    // Replies that lie one after the other count as one.
    if (last?.reply && adjacent && start > 0) last.text += text
    else this.model.push({ text, reply: true })
  }

  publish(channel: number, payload: string, toOwn: boolean): void {
    const [queue, model] = toOwn ? [this.own, this.ownModel] : [this.queue, this.model]
    const text = `${this.#count++}${payload}`
    const fresh = this.#segments[channel] === undefined
    const segment = (this.#segments[channel] ??= new Segment())
    const start = segment.length
    segment.append(PREFIX, undefined, payloadOf(Buffer.from(text)), SHARE_BYTES)
    if (channel === 2) queue.deliver(segment, start, segment.length)
    else if (fresh || takeDetached(segment).includes(READER)) queue.attach(segment, start)
    model.push({ text: `${PREFIX.toString()}$${text.length}\r\n${text}\r\n`, reply: false })
  }

  /** The reply of a command that published to its own client, and after it what it published. */
  command(messages: readonly (readonly [number, string])[], reply: string): void {
    this.queue.closeTail()
    for (const [channel, payload] of messages) this.publish(channel, payload, true)
    if (reply !== '') this.reply(reply, false)
    this.queue.moveFrom(this.own)
    this.model.push(...this.ownModel.splice(0))
    expect(this.own.isEmpty).toBe(true)
  }

  endTurn(): void {
    this.#segments = []
  }

  /** Takes one write off both, and checks that it is what the model says. */
  take(most: number, framed: boolean): void {
    const write = this.queue.take(most, framed)
    const bytes = Buffer.concat(write.buffers)
    const payloads = framed && bytes.length > 0 ? unframe(bytes) : [bytes]
    expect(payloads).toHaveLength(1)
    const text = (payloads[0] as Buffer).toString('latin1')
    expect(write.length).toBe(text.length)
    let expected = ''
    let runs = 0
    while (expected.length < text.length) {
      expected += (this.model.shift() as Run).text
      runs++
    }
    expect(text).toBe(expected)
    if (runs > 1) expect(text.length).toBeLessThanOrEqual(most)
    const next = this.model[0]
    // As much as fits: a replies' run that does not fit waits, and so does a message.
    if (next) expect(text.length + next.text.length).toBeGreaterThan(most)
  }

  check(): void {
    const waiting = this.model.reduce((sum, { text }) => sum + text.length, 0)
    expect(this.queue.heldBytes).toBe(waiting)
    expect(this.queue.isEmpty).toBe(waiting === 0)
    expect(this.queue.itemCount === 0).toBe(waiting === 0)
    expect(this.queue.itemCount).toBeLessThanOrEqual(this.model.length)
  }
}

const payload = fc.oneof(
  fc.constantFrom('', 'a', 'bb'),
  fc.constant('x'.repeat(SHARE_BYTES)),
  fc.constant('y'.repeat(300)),
)
const message = fc.tuple(fc.nat(2), payload)
const replyText = fc.constantFrom('+OK\r\n', ':1\r\n', '$70\r\n' + 'r'.repeat(70) + '\r\n')

type Step = (bench: Bench) => void

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(replyText, fc.boolean()).map(
    ([text, adjacent]): Step =>
      (b) =>
        b.reply(text, adjacent),
  ),
  {
    weight: 4,
    arbitrary: message.map(
      ([channel, text]): Step =>
        (b) =>
          b.publish(channel, text, false),
    ),
  },
  fc.tuple(fc.array(message, { maxLength: 3 }), fc.oneof(replyText, fc.constant(''))).map(
    ([messages, reply]): Step =>
      (b) =>
        b.command(messages, reply),
  ),
  fc.constant<Step>((b) => b.queue.closeTail()),
  fc.constant<Step>((b) => b.endTurn()),
  fc
    .tuple(fc.constantFrom(1, 40, 60, 100, 250, 1_000, 262_144), fc.boolean(), fc.nat(4))
    .map(([most, framed, writes]): Step => (b) => {
      // A flush stands at the end of a turn, and goes on until the socket is full.
      b.endTurn()
      for (let i = 0; i <= writes && b.model.length > 0; i++) b.take(most, framed)
    }),
)

describe('An output queue', () => {
  test('gives out what was put in, in order and in whole frames', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const bench = new Bench()
        for (const run of steps) {
          run(bench)
          bench.check()
        }
        bench.endTurn()
        while (bench.model.length > 0) bench.take(120, false)
        bench.check()
      }),
      { numRuns: 1_500 },
    )
  })

  test('has nothing to give out once it was cleared', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 10 }), (steps) => {
        const bench = new Bench()
        for (const run of steps) run(bench)
        bench.queue.clear()
        bench.model.length = 0
        bench.check()
        expect(bench.queue.take(1_000, true)).toEqual({ buffers: [], length: 0, from: [] })
      }),
      { numRuns: 100 },
    )
  })
})

function takeDetached(segment: Segment): Output[] {
  const { detached = [] } = segment
  segment.detached = undefined
  return detached
}
