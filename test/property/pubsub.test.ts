import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CLOSES } from '../../server/client/close.ts'
import { compileGlob } from '../../shared/glob.ts'
import { TestCore, type TestClient } from '../support/test-core.ts'

type Space = 'channel' | 'pattern' | 'shard'

const SPACES = ['channel', 'pattern', 'shard'] as const
const SUBSCRIBE = { channel: 'subscribe', pattern: 'psubscribe', shard: 'ssubscribe' } as const
const UNSUBSCRIBE = {
  channel: 'unsubscribe',
  pattern: 'punsubscribe',
  shard: 'sunsubscribe',
} as const

const bulk = (text: string): string => `$${text.length}\r\n${text}\r\n`

/** One client of the naive model: what it is subscribed to, and every frame it must be sent. */
class NaiveClient {
  readonly names: Record<Space, Set<string>> = {
    channel: new Set(),
    pattern: new Set(),
    shard: new Set(),
  }
  readonly frames: string[] = []
  protocol: 2 | 3
  live = true
  /** Pushes that its own command caused: they follow the reply. */
  own: string[] | undefined

  constructor(protocol: 2 | 3) {
    this.protocol = protocol
  }

  get any(): boolean {
    return SPACES.some((space) => this.names[space].size > 0)
  }

  push(...items: (string | number | null)[]): string {
    const null_ = this.protocol === 2 ? '$-1\r\n' : '_\r\n'
    const text = items.map((item) =>
      item === null ? null_ : typeof item === 'number' ? `:${item}\r\n` : bulk(item),
    )
    return `${this.protocol === 2 ? '*' : '>'}${items.length}\r\n${text.join('')}`
  }

  count(space: Space): number {
    const { channel, pattern, shard } = this.names
    return space === 'shard' ? shard.size : channel.size + pattern.size
  }
}

/** Pub/Sub as one would write it down: on each message every client is asked for every name. */
class NaiveServer {
  readonly clients: NaiveClient[] = []

  publish(space: 'channel' | 'shard', channel: string, payload: string): number {
    let receivers = 0
    const give = (client: NaiveClient, ...items: string[]): void => {
      receivers++
      ;(client.own ?? client.frames).push(client.push(...items))
    }
    for (const client of this.clients) {
      if (!client.live) continue
      if (client.names[space].has(channel)) {
        give(client, space === 'shard' ? 'smessage' : 'message', channel, payload)
      }
    }
    if (space === 'shard') return receivers
    for (const pattern of this.patterns) {
      if (!compileGlob(pattern).matches(channel)) continue
      for (const client of this.clients) {
        if (client.live && client.names.pattern.has(pattern)) {
          give(client, 'pmessage', pattern, channel, payload)
        }
      }
    }
    return receivers
  }

  /** Distinct patterns, in the order in which they came. */
  readonly patterns = new Set<string>()

  forgetPatterns(): void {
    for (const pattern of this.patterns) {
      if (!this.clients.some(({ live, names }) => live && names.pattern.has(pattern))) {
        this.patterns.delete(pattern)
      }
    }
  }

  subscribe(client: NaiveClient, space: Space, name: string): string {
    client.names[space].add(name)
    if (space === 'pattern') this.patterns.add(name)
    return client.push(SUBSCRIBE[space], name, client.count(space))
  }

  unsubscribe(client: NaiveClient, space: Space, name: string): string {
    client.names[space].delete(name)
    this.forgetPatterns()
    return client.push(UNSUBSCRIBE[space], name, client.count(space))
  }

  unsubscribeAll(client: NaiveClient, space: Space): string {
    const names = [...client.names[space]]
    if (names.length === 0) return client.push(UNSUBSCRIBE[space], null, client.count(space))
    return names.map((name) => this.unsubscribe(client, space, name)).join('')
  }
}

/** The server under test beside the model, and what both do. */
class Bench {
  readonly server: TestCore
  readonly naive = new NaiveServer()
  readonly clients: TestClient[] = []
  readonly #read: number[] = []

  constructor(shareBytes: number, webSockets: number) {
    this.server = new TestCore({ 'min-string-size-avoid-copy-reply': String(shareBytes) })
    for (let i = 0; i < 4 + webSockets; i++) {
      const transport = i < 4 ? 'tcp' : 'websocket'
      const client = this.server.connect({ transport })
      client.becomeDefault()
      this.clients.push(client)
      this.naive.clients.push(new NaiveClient(i < 4 ? 2 : 3))
      this.#read.push(0)
    }
  }

  /** Sends a command and notes the reply and the pushes that must come. */
  run(i: number, args: readonly string[], reply: (client: NaiveClient) => string): void {
    const naive = this.naive.clients[i] as NaiveClient
    if (!naive.live) return
    naive.own = []
    const text = reply(naive)
    const own = naive.own
    naive.own = undefined
    naive.frames.push(text, ...own)
    this.clients[i]?.write(Buffer.from(encode(args), 'latin1'))
  }

  /** Checks that a client was written whole frames of the model's output; all of it, unless its socket is full. */
  check(): void {
    this.server.turn.end()
    for (const [i, { client, sink }] of this.clients.entries()) {
      const naive = this.naive.clients[i] as NaiveClient
      const written = sink.framed ? sink.takeMessages().join('') : sink.take()
      let expected = ''
      let at = this.#read[i] as number
      while (expected.length < written.length) expected += naive.frames[at++] ?? '(nothing)'
      expect(written).toBe(expected)
      expect(sink.wasTamperedWith).toBe(false)
      this.#read[i] = at
      if (client.closed) continue
      const waiting = naive.frames.slice(at).join('')
      if (!sink.blocks) expect(waiting).toBe('')
      expect(client.output.heldBytes - sink.pendingBytes).toBe(waiting.length)
    }
    this.checkIndexes()
  }

  /** Forward and reverse indexes agree with the model, and nothing is stored for nobody. */
  checkIndexes(): void {
    const { registry } = this.server
    const live = this.naive.clients.filter((client) => client.live)
    for (const space of SPACES) {
      const names = new Set(live.flatMap((client) => [...client.names[space]]))
      const listed =
        space === 'pattern'
          ? new Map(Array.from(registry.patterns(), ({ name, size }) => [name, size]))
          : new Map(
              [...registry.channelNames(space)].map((name) => [
                name,
                registry.countOf(space, name),
              ]),
            )
      expect(new Set(listed.keys())).toEqual(names)
      for (const name of names) {
        const count = live.filter((client) => client.names[space].has(name)).length
        expect(listed.get(name)).toBe(count)
        expect(registry.countOf(space, name)).toBe(count)
      }
      for (const [i, { client }] of this.clients.entries()) {
        const naive = this.naive.clients[i] as NaiveClient
        const held = naive.live ? [...naive.names[space]] : []
        expect([...client.subscriptions.names(space).keys()]).toEqual(held)
      }
    }
    expect(registry.subscriberCount).toBe(live.filter((client) => client.any).length)
    expect(registry.patternCount).toBe(this.naive.patterns.size)
  }
}

function encode(args: readonly string[]): string {
  return `*${args.length}\r\n${args.map(bulk).join('')}`
}

const REFUSED = (name: string): string =>
  `-ERR Can't execute '${name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n`

type Step = (bench: Bench) => void

const who = fc.nat(5)
const space = fc.constantFrom(...SPACES)
const channel = fc.constantFrom('a', 'ab', 'b', '')
const name = fc.constantFrom('a', 'ab', 'b', 'a*', '?', '*')
const payload = fc.oneof(
  fc.constantFrom('', 'm'),
  fc.nat(400).map((length) => 'x'.repeat(length)),
)

function publish(i: number, into: 'channel' | 'shard', to: string, text: string): Step {
  const word = into === 'shard' ? 'spublish' : 'publish'
  return (bench) => {
    bench.run(i, [word, to, text], (client) => {
      if (client.protocol === 2 && client.any) return REFUSED(word)
      return `:${bench.naive.publish(into, to, text)}\r\n`
    })
  }
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(who, space, fc.array(name, { minLength: 1, maxLength: 3 }))
      .map(([i, into, names]): Step => (bench) => {
        bench.run(i, [SUBSCRIBE[into], ...names], (client) =>
          names.map((one) => bench.naive.subscribe(client, into, one)).join(''),
        )
      }),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(who, space, fc.array(name, { maxLength: 2 }))
      .map(([i, from, names]): Step => (bench) => {
        bench.run(i, [UNSUBSCRIBE[from], ...names], (client) =>
          names.length === 0
            ? bench.naive.unsubscribeAll(client, from)
            : names.map((one) => bench.naive.unsubscribe(client, from, one)).join(''),
        )
      }),
  },
  {
    weight: 8,
    arbitrary: fc
      .tuple(who, fc.constantFrom('channel' as const, 'shard' as const), channel, payload)
      .map((args) => publish(...args)),
  },
  // MULTI, two messages and a subscription between them, EXEC.
  fc.tuple(who, channel, payload, name).map(([i, to, text, one]): Step => (bench) => {
    const client = bench.naive.clients[i] as NaiveClient
    if (client.protocol === 2 && client.any) return
    const queued = [
      ['publish', to, text],
      ['subscribe', one],
      ['publish', to, text],
    ]
    bench.run(i, ['multi'], () => '+OK\r\n')
    for (const args of queued) bench.run(i, args, () => '+QUEUED\r\n')
    bench.run(i, ['exec'], (self) => {
      const first = `:${bench.naive.publish('channel', to, text)}\r\n`
      const second = bench.naive.subscribe(self, 'channel', one)
      return `*3\r\n${first}${second}:${bench.naive.publish('channel', to, text)}\r\n`
    })
  }),
  // The protocol changes while there are subscriptions.
  fc.tuple(fc.nat(3), fc.constantFrom(2 as const, 3 as const)).map(([i, to]): Step => (bench) => {
    bench.run(i, ['hello', String(to)], (client) => {
      if (client.protocol === 2 && client.any) return REFUSED('hello')
      client.protocol = to
      const id = bench.clients[i]?.client.id
      const fields = `${bulk('server')}${bulk('redis')}${bulk('version')}${bulk('8.0.6')}${bulk('proto')}:${to}\r\n`
      const rest = `${bulk('id')}:${id}\r\n${bulk('mode')}${bulk('standalone')}${bulk('role')}${bulk('master')}`
      return `${to === 2 ? '*14' : '%7'}\r\n${fields}${rest}${bulk('modules')}*0\r\n`
    })
  }),
  fc.tuple(who, fc.boolean()).map(([i, blocks]): Step => (bench) => {
    const { client, sink } = bench.clients[i] as TestClient
    sink.blocks = blocks
    if (blocks || client.closed) return
    sink.drain()
    client.output.onWritable()
  }),
  { weight: 3, arbitrary: fc.constant<Step>((bench) => bench.check()) },
  fc.tuple(who, fc.boolean()).map(([i, own]): Step => (bench) => {
    const naive = bench.naive.clients[i] as NaiveClient
    const { client } = bench.clients[i] as TestClient
    if (!naive.live || !own) return
    naive.live = false
    bench.naive.forgetPatterns()
    client.close(CLOSES.killed)
  }),
)

describe('Pub/Sub', () => {
  test.each([
    ['payloads are shared from 1 byte on', 1],
    ['payloads are shared from 200 bytes on', 200],
    ['nothing is shared', 1_000_000],
  ])('does what a naive model does, byte for byte, where %s', (_name, shareBytes) => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
        const bench = new Bench(shareBytes, 2)
        for (const run of steps) run(bench)
        for (const { client, sink } of bench.clients) {
          sink.blocks = false
          sink.drain()
          if (!client.closed) client.output.onWritable()
        }
        bench.check()
      }),
      { numRuns: 250 },
    )
  })
})
