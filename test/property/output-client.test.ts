import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CLOSES } from '../../server/client/close.ts'
import { encodePush } from '../../server/resp/push.ts'
import { unframe } from '../support/recording-sink.ts'
import { command, TestCore, type TestClient } from '../support/test-core.ts'

const MOST_IN_FLIGHT = 262_144

function message(payload: string): string {
  return `>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$${payload.length}\r\n${payload}\r\n`
}

/** A subscriber, and the frames that it must be sent in their order. */
class Bench {
  readonly server: TestCore
  readonly subject: TestClient
  readonly frames: string[] = []
  readonly #publisher: TestClient
  #messages = 0

  constructor(transport: 'tcp' | 'websocket', shareBytes: number) {
    this.server = new TestCore({
      'min-string-size-avoid-copy-reply': String(shareBytes),
      'ws-max-payload': '1mb',
    })
    this.subject = this.server.connect({ transport, protocol: 3 })
    this.subject.becomeDefault()
    this.server.registry.subscribe('channel', this.subject.client, 'c', 'default')
    this.#publisher = this.server.connect()
  }

  get isClosed(): boolean {
    return this.subject.client.closed
  }

  publish(bytes: number, bySelf: boolean): void {
    const payload = `${this.#messages++}:${'x'.repeat(bytes)}`
    const own = bySelf && !this.isClosed
    if (own) this.frames.push(':1\r\n')
    if (!this.isClosed) this.frames.push(message(payload))
    const from = own ? this.subject : this.#publisher
    from.write(command('PUBLISH', 'c', payload))
  }

  echo(bytes: number): void {
    if (this.isClosed) return
    this.frames.push(`$${bytes}\r\n${'e'.repeat(bytes)}\r\n`)
    this.subject.write(command('ECHO', 'e'.repeat(bytes)))
  }

  push(): void {
    if (this.isClosed) return
    const frame = encodePush(3, ['token', 'expiring', this.#messages])
    this.frames.push(frame.toString('latin1'))
    this.subject.client.output.push(frame)
  }

  block(blocks: boolean): void {
    const { client, sink } = this.subject
    sink.blocks = blocks
    if (blocks) return
    sink.drain()
    client.output.onWritable()
  }

  endTurn(): void {
    this.server.turn.end()
    const { client, sink } = this.subject
    const { written, whole } = this.#written()
    const total = this.frames.reduce((sum, frame) => sum + frame.length, 0)
    if (!sink.blocks && client.closeCause !== CLOSES.killed) expect(written).toBe(total)
    if (!client.closed) expect(client.output.heldBytes - sink.pendingBytes).toBe(total - written)
    expect(whole).toBe(true)
    expect(sink.wasTamperedWith).toBe(false)
  }

  /** Returns how much of the frames was written, and whether every write is a run of whole frames. */
  #written(): { written: number; whole: boolean } {
    const { sink } = this.subject
    const writes = sink.framed ? sink.writes.flatMap(unframe) : sink.writes
    let at = 0
    let written = 0
    let whole = true
    for (const write of writes) {
      const first = this.frames[at]
      let length = 0
      const start = at
      while (length < write.length && at < this.frames.length)
        length += (this.frames[at++] as string).length
      const expected = this.frames.slice(start, at).join('')
      whole &&= expected === write.toString('latin1')
      // More than the cap only as one frame, or as one run of replies.
      const isRun = this.frames.slice(start, at).every((frame) => /^[:$]/.test(frame))
      if (write.length > MOST_IN_FLIGHT && at - start > 1 && !isRun) whole = false
      written += write.length
      expect(first).toBeDefined()
    }
    return { written, whole }
  }
}

type Step = (bench: Bench) => void

const size = fc.constantFrom(0, 10, 1_000, 16_384, 100_000, 200_000, 300_000)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(size, fc.boolean()).map(
      (args): Step =>
        (b) =>
          b.publish(...args),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(0, 100, 20_000).map(
      (bytes): Step =>
        (b) =>
          b.echo(bytes),
    ),
  },
  fc.constant<Step>((b) => b.push()),
  {
    weight: 2,
    arbitrary: fc.boolean().map(
      (blocks): Step =>
        (b) =>
          b.block(blocks),
    ),
  },
  { weight: 3, arbitrary: fc.constant<Step>((b) => b.endTurn()) },
)

const ending = fc.constantFrom<Step>(
  () => {},
  (b) => b.subject.client.close(CLOSES.killed),
  (b) => b.subject.client.close(CLOSES.quit),
)

describe('What a client is sent', () => {
  test.each([
    ['tcp', 1],
    ['tcp', 16_384],
    ['websocket', 1],
    ['websocket', 1_000_000],
  ] as const)(
    'are whole frames in order, over %s with payloads shared from %d bytes on',
    (transport, shareBytes) => {
      fc.assert(
        fc.property(
          fc.array(step, { minLength: 3, maxLength: 25 }),
          ending,
          fc.array(step, { maxLength: 8 }),
          (before, end, after) => {
            const bench = new Bench(transport, shareBytes)
            for (const run of [...before, end, ...after]) run(bench)
            bench.endTurn()
            bench.block(false)
            bench.endTurn()
            const { client, sink } = bench.subject
            if (client.closed) expect(sink.ends.length > 0 || sink.terminated).toBe(true)
          },
        ),
        { numRuns: 80 },
      )
    },
  )
})
