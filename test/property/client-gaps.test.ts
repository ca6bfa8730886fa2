import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Subscription } from '../../web/client/types.ts'
import { FakeServer, settle } from '../unit/web/client/support/fake-server.ts'

/** Histories of a run; `npm test` has fewer than a proof. */
const HISTORIES = Number(process.env['RESPCAST_HISTORIES'] ?? 300)

const NAMES = ['a', 'b', 'c']

const STEP = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('subscribe' as const),
      name: fc.constantFrom(...NAMES),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('unsubscribe' as const), index: fc.nat(9) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('allow' as const), names: fc.subarray(NAMES) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('take' as const), name: fc.constantFrom(...NAMES) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('miss' as const),
      names: fc.subarray([...NAMES, ''], { minLength: 1 }),
      ms: fc.integer({ min: 1, max: 9000 }),
    }),
  },
  { weight: 3, arbitrary: fc.constant({ do: 'break' as const }) },
  { weight: 3, arbitrary: fc.constant({ do: 'drain' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'refresh' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.integer({ min: 1, max: 5000 }),
    }),
  },
)

type Step = typeof STEP extends fc.Arbitrary<infer Value> ? Value : never

/** One subscription, and the model of what it has to tell. */
interface Heard {
  readonly subscription: Subscription
  /** It was live once, and has not been since this time. */
  lostMs: number | undefined
  wasLive: boolean
}

/** A client with a server that answers at once, and a model of its gaps. */
class History {
  readonly server = new FakeServer()
  readonly client = this.server.client({ token: () => 'a.b.c' })
  readonly heard: Heard[] = []
  /** What was told wrongly: errors of listeners would reach the client only. */
  readonly faults: string[] = []
  /** Spans that subscriptions told since the client did. */
  told: number[] = []
  /** Names that may be subscribed to. */
  allowed: readonly string[] = NAMES

  constructor() {
    this.client.on('gap', ({ spanMs }) => {
      if (spanMs !== Math.max(...this.told)) this.faults.push(`${spanMs} after ${this.told.join()}`)
      this.told = []
    })
    this.client.on('error', () => undefined)
  }

  /** Answers the commands that came, as the server would. */
  async answer(): Promise<void> {
    for (let round = 0; round < 6; round++) {
      await settle()
      for (const [word = '', ...names] of this.server.socket.closed
        ? []
        : this.server.socket.commands()) {
        const isSubscribe = word === 'SUBSCRIBE'
        if (isSubscribe && names.some((name) => !this.allowed.includes(name))) {
          this.server.socket.receive('-NOPERM No permissions to access a channel\r\n')
        } else if (isSubscribe || word === 'UNSUBSCRIBE') {
          this.server.socket.confirm(word.toLowerCase(), ...names)
        } else {
          this.server.socket.receive('+OK\r\n')
        }
      }
    }
    // Whatever subscriptions told, the client has told by now.
    expect([this.told, this.faults]).toEqual([[], []])
  }

  subscribe(name: string): void {
    const subscription = this.client.subscribe(name, () => undefined)
    const heard: Heard = { subscription, lostMs: undefined, wasLive: false }
    let gaps = 0
    subscription.addEventListener('gap', ({ detail }) => {
      gaps++
      this.told.push(detail.spanMs)
    })
    subscription.addEventListener('status', ({ detail }) => {
      const nowMs = this.server.clock.monotonicMs()
      if (detail !== 'live') {
        if (heard.wasLive) heard.lostMs ??= nowMs
        return
      }
      // A gap is told if and only if it was live before; right after this event.
      const expected = gaps + (heard.wasLive ? 1 : 0)
      queueMicrotask(() => {
        if (gaps !== expected) this.faults.push(`${gaps} gaps of ${name}, not ${expected}`)
      })
      heard.wasLive = true
      heard.lostMs = undefined
    })
    heard.wasLive = subscription.status === 'live'
    this.heard.push(heard)
  }

  /** The server missed messages of some names, or of all: those that are live tell just that. */
  miss(names: readonly string[], ms: number): void {
    const expected: number[] = []
    for (const [at, name] of names.entries()) {
      for (const { subscription } of this.heard) {
        const isMeant = name === '' || name === subscription.name
        if (isMeant && subscription.status === 'live') expected.push(ms + at)
      }
      this.server.socket.push('gap', name, 1_764_000_000_000, 1_764_000_000_000 + ms + at)
    }
    if (this.told.join() !== expected.join())
      this.faults.push(`told ${this.told.join()}, not ${expected.join()}`)
  }

  async take(step: Step): Promise<void> {
    const { client, server } = this
    const isOnline = client.state.status === 'online'
    if (step.do === 'subscribe') this.subscribe(step.name)
    else if (step.do === 'unsubscribe') void this.heard[step.index]?.subscription.unsubscribe()
    else if (step.do === 'allow') this.allowed = step.names
    else if (step.do === 'pass') await server.pass(step.ms)
    else if (step.do === 'take' && isOnline) server.socket.push('unsubscribe', step.name, 0)
    else if (step.do === 'break' && isOnline) await server.socket.end()
    else if (step.do === 'drain' && isOnline) await server.socket.end(4503, 'draining||')
    else if (step.do === 'miss' && isOnline) this.miss(step.names, step.ms)
    else if (step.do === 'refresh' && isOnline) server.socket.push('token', 'expiring', 1000)
    if (client.state.status === 'waiting' && step.do !== 'pass') {
      await server.pass(client.state.retryInMs)
      await server.online()
    }
    if (client.state.status === 'connecting') await server.online()
    await this.answer()
  }
}

describe('Over random histories', () => {
  test(
    'the client tells a gap when, and only when, subscriptions did: the longest of them',
    { timeout: 600_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(STEP, { maxLength: 20 }), async (steps) => {
          const history = new History()
          await history.server.online()
          for (const step of steps) await history.take(step)
          history.client.close()
        }),
        { numRuns: HISTORIES },
      )
    },
  )
})
