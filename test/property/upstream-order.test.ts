import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { PublishAnswer } from '../../server/upstream/backplane.ts'
import { coreWithUpstream, type SentMessage } from '../support/fake-backplane.ts'
import { command, type TestClient } from '../support/test-core.ts'

/** A message that the upstream has put into its order, and whom it is from. */
interface Sequenced extends SentMessage {
  readonly id: string
}

/** A frame that a client was sent: a message, or an element of a reply. */
type Frame = { readonly message: string } | { readonly reply: string }

const FRAME =
  /(?:>3\r\n\$7\r\nmessage\r\n\$1\r\n[cx]\r\n\$\d+\r\n(\d+)|>3\r\n\$9\r\n(subscribe)\r\n\$1\r\nx\r\n:2|\$\d+\r\n(\d+)|([-+:*][^\r]*))\r\n/gy

function framesOf(bytes: string): Frame[] {
  const frames: Frame[] = []
  let end = 0
  for (const match of bytes.matchAll(FRAME)) {
    const [text, message, word, bulk, line] = match
    end = match.index + text.length
    frames.push(message === undefined ? { reply: word ?? bulk ?? line ?? '' } : { message })
  }
  expect(bytes.slice(end)).toBe('')
  return frames
}

/** A client that is subscribed to `c`, what it has sent, and what it has to be sent for that. */
class Peer {
  readonly client: TestClient
  /** Replies in the order of the commands; a number is that of a message, whose answer it is. */
  readonly expected: (string | { readonly answerOf: string })[] = []
  readonly own: string[] = []
  /** Number of messages that had been delivered when it was subscribed to `x`. */
  joinedAt: number | undefined
  asksForX = false

  constructor(client: TestClient) {
    this.client = client
  }
}

/** Gateway, clients, and an upstream that takes, delivers and answers messages in its own time. */
class Bench {
  readonly #parts = coreWithUpstream({ 'tcp-turn-budget': '40' })
  readonly peers: Peer[] = []
  /** Messages in the order of the upstream, those that were delivered first. */
  readonly order: Sequenced[] = []
  delivered = 0
  readonly answers = new Map<string, string>()
  #sequenced = 0
  #nextId = 100

  constructor() {
    const { server, upstream } = this.#parts
    upstream.inForce.add('channel')
    for (const transport of ['tcp', 'websocket', 'tcp'] as const) {
      const client = server.connect({ transport, protocol: 3 })
      client.becomeDefault()
      client.send('SUBSCRIBE', 'c')
      this.peers.push(new Peer(client))
    }
    upstream.inForce.clear()
  }

  #publishing(peer: Peer, channel: string): { words: string[]; id: string } {
    const id = String(this.#nextId++)
    peer.own.push(id)
    return { words: ['PUBLISH', channel, id], id }
  }

  publish(peer: Peer, channel: string): void {
    const { words, id } = this.#publishing(peer, channel)
    peer.expected.push({ answerOf: id })
    peer.client.write(command(...words))
  }

  echo(peer: Peer): void {
    const id = String(this.#nextId++)
    peer.expected.push(id)
    peer.client.write(command('ECHO', id))
  }

  subscribe(peer: Peer): void {
    peer.asksForX = true
    peer.expected.push('subscribe')
    peer.client.write(command('SUBSCRIBE', 'x'))
  }

  transact(peer: Peer, channels: readonly string[], subscribes: boolean): void {
    const commands = [['MULTI']]
    const replies: Peer['expected'] = []
    if (subscribes) {
      peer.asksForX = true
      commands.push(['SUBSCRIBE', 'x'])
      replies.push('subscribe')
    }
    for (const channel of channels) {
      const { words, id } = this.#publishing(peer, channel)
      commands.push(words)
      replies.push({ answerOf: id })
    }
    peer.expected.push('+OK', ...replies.map(() => '+QUEUED'), `*${replies.length}`, ...replies)
    commands.push(['EXEC'])
    peer.client.write(Buffer.concat(commands.map((words) => command(...words))))
  }

  /** The upstream takes the messages that were sent first. */
  sequence(): void {
    const flight = this.#parts.upstream.flights[this.#sequenced]
    if (!flight) return
    this.#sequenced++
    for (const message of flight.messages) this.order.push({ ...message, id: message.payload })
  }

  deliver(): void {
    const message = this.order[this.delivered]
    if (!message) return
    this.delivered++
    this.#parts.upstream.deliver(message.key, message.payload)
  }

  /** Answers messages that the upstream has taken, or some that it has not, which fail. */
  answer(at: number): void {
    const { upstream } = this.#parts
    if (upstream.flights.length === 0) return
    const place = at % upstream.flights.length
    const isTaken = place < this.#sequenced
    const answers = upstream.flights[place]?.messages.map(({ payload }): PublishAnswer => {
      const answer = isTaken ? Number(payload) : (`TRYAGAIN ${payload}` as const)
      this.answers.set(payload, isTaken ? `:${answer}` : `-${answer}`)
      return answer
    })
    if (isTaken) this.#sequenced--
    upstream.answerAt(place, ...(answers ?? []))
  }

  confirm(): void {
    const { upstream } = this.#parts
    if (upstream.wants.length === 0) return
    upstream.confirm()
    for (const peer of this.peers) {
      if (peer.client.client.subscriptions.names('channel').has('x'))
        peer.joinedAt ??= this.delivered
    }
  }

  async pass(): Promise<void> {
    await new Promise((resolve) => void setImmediate(resolve))
    this.#parts.server.turn.end()
  }

  block(peer: Peer, blocks: boolean): void {
    const { client, sink } = peer.client
    sink.blocks = blocks
    if (blocks) return
    sink.drain()
    client.output.onWritable()
  }

  /** Lets everything come to its end. */
  async finish(): Promise<void> {
    const { upstream } = this.#parts
    for (const peer of this.peers) this.block(peer, false)
    for (let quiet = 0; quiet < 3;) {
      const isBusy = upstream.flights.length + upstream.wants.length > 0
      while (this.#sequenced < upstream.flights.length) this.sequence()
      while (this.delivered < this.order.length) this.deliver()
      while (upstream.flights.length > 0) this.answer(0)
      this.confirm()
      await this.pass()
      quiet = isBusy ? 0 : quiet + 1
    }
  }

  check(peer: Peer): void {
    const frames = framesOf(
      peer.client.sink.framed ? peer.client.sink.takeMessages().join('') : peer.client.sink.take(),
    )
    const replies = frames.flatMap((frame) => ('reply' in frame ? [frame.reply] : []))
    const expected = peer.expected.map((one) =>
      typeof one === 'string' ? one : (this.answers.get(one.answerOf) ?? 'no answer'),
    )
    expect(replies).toEqual(expected)

    const received = frames.flatMap((frame) => ('message' in frame ? [frame.message] : []))
    const due = this.order.filter(
      ({ key }, at) => key === 'c' || (peer.joinedAt !== undefined && at >= peer.joinedAt),
    )
    expect(received).toEqual(due.map(({ id }) => id))

    for (const id of peer.own) {
      const message = frames.findIndex((frame) => 'message' in frame && frame.message === id)
      const reply = frames.findIndex((frame) => 'reply' in frame && frame.reply.endsWith(id))
      if (message >= 0) expect(message).toBeGreaterThan(reply)
    }
    for (const [at, frame] of frames.entries()) {
      if (!('reply' in frame) || !frame.reply.startsWith('*')) continue
      // No message stands within a reply.
      const elements = frames.slice(at, at + 1 + Number(frame.reply.slice(1)))
      expect(elements.every((element) => 'reply' in element)).toBe(true)
    }
    expect(peer.client.sink.wasTamperedWith).toBe(false)
    expect(peer.client.client.output.isHeldUp).toBe(false)
  }
}

type Step = (bench: Bench) => void | Promise<void>

const peer = fc.nat(2)
const channel = fc.constantFrom('c', 'x')

function ofPeer(run: (bench: Bench, peer: Peer) => void): fc.Arbitrary<Step> {
  return peer.map((at) => (bench) => run(bench, bench.peers[at] as Peer))
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(peer, channel).map(
      ([at, name]): Step =>
        (bench) =>
          bench.publish(bench.peers[at] as Peer, name),
    ),
  },
  { weight: 2, arbitrary: ofPeer((bench, one) => bench.echo(one)) },
  ofPeer((bench, one) => {
    if (!one.asksForX) bench.subscribe(one)
  }),
  {
    weight: 2,
    arbitrary: fc
      .tuple(peer, fc.array(channel, { maxLength: 3 }), fc.boolean())
      .map(([at, channels, subscribes]): Step => (bench) => {
        const one = bench.peers[at] as Peer
        const isFirst = subscribes && !one.asksForX
        if (channels.length > 0 || isFirst) bench.transact(one, channels, isFirst)
      }),
  },
  { weight: 5, arbitrary: fc.constant<Step>((bench) => bench.sequence()) },
  { weight: 5, arbitrary: fc.constant<Step>((bench) => bench.deliver()) },
  {
    weight: 5,
    arbitrary: fc.nat(8).map(
      (at): Step =>
        (bench) =>
          bench.answer(at),
    ),
  },
  { weight: 2, arbitrary: fc.constant<Step>((bench) => bench.confirm()) },
  { weight: 4, arbitrary: fc.constant<Step>((bench) => bench.pass()) },
  fc.tuple(peer, fc.boolean()).map(
    ([at, blocks]): Step =>
      (bench) =>
        bench.block(bench.peers[at] as Peer, blocks),
  ),
)

test('Whatever the order of commands, messages and answers: replies follow the commands, own messages the replies, and nothing is lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      const bench = new Bench()
      for (const one of bench.peers) one.client.read()
      for (const run of steps) await run(bench)
      await bench.finish()
      for (const one of bench.peers) bench.check(one)
    }),
    { numRuns: 120 },
  )
})
