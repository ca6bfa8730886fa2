import { describe, expect, test } from 'vitest'
import { compileGlob } from '../../shared/glob.ts'
import type { Space } from '../../server/pubsub/subscriber.ts'
import { messagesOf, ModelGateway } from '../support/model-upstream.ts'
import { seededRandom } from '../support/random.ts'
import type { TestClient } from '../support/test-core.ts'

const SEEDS = 60

const CHANNELS = ['a', 'a:1', 'a:1:x', 'ab', 'b', 'b:1', 'c.1', '\xff']
const PATTERNS = ['a*', 'a:*', 'a:1*', 'a:?', 'ab*', '*', 'b:[12]', 'b:*', 'c*', 'c.?', '\xff*']

/** One subscription from its registration to its end. */
interface Held {
  readonly client: TestClient
  readonly space: Space
  readonly name: string
  /** Publishes that the upstream had executed when it was wanted, and when it was in force here. */
  readonly wantedAt: number
  confirmedAt: number
  endedAt: number | undefined
  /** Indexes of publishes that it has got. */
  readonly got: number[]
}

/** One run: random steps of everybody, and what everybody has seen. */
class Run {
  readonly random: () => number
  readonly gateway: ModelGateway
  readonly clients: TestClient[]
  readonly held: Held[] = []
  /** What each client got, in order. */
  readonly seen = new Map<TestClient, number[]>()
  readonly answers: { readonly id: string; readonly is: { is: unknown } }[] = []
  ids = 0

  constructor(seed: number) {
    this.random = seededRandom(seed)
    this.gateway = new ModelGateway(
      {
        'upstream-max-covers': this.pick(['2', '4', '32']),
        'upstream-linger': this.pick(['0', '1']),
      },
      this.random,
    )
    this.clients = [1, 2, 3].map(() => this.gateway.client())
    for (const client of this.clients) this.seen.set(client, [])
    this.gateway.pass(1_000)
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.random() * items.length)] as T
  }

  get count(): number {
    return this.gateway.node.published.length
  }

  subscribe(): void {
    const client = this.pick(this.clients)
    const space: Space = this.random() < 0.6 ? 'pattern' : 'channel'
    const name = this.pick(space === 'pattern' ? PATTERNS : CHANNELS)
    if (client.client.subscriptions.names(space).has(name)) return
    const { upstream, core } = this.gateway
    const wantedAt = this.count
    const done = (failure: string | undefined): void => {
      if (failure !== undefined) return
      if (!core.registry.subscribe(space, client.client, name, 'default')) return
      // What has been delivered so far belongs to subscriptions before.
      this.read()
      const confirmedAt = this.count
      this.held.push({ client, space, name, wantedAt, confirmedAt, endedAt: undefined, got: [] })
    }
    const pending = upstream.want(space, [name], done)
    if (pending === undefined) done(undefined)
  }

  unsubscribe(): void {
    const held = this.pick(this.held.filter(({ endedAt }) => endedAt === undefined))
    if (held === undefined) return
    this.read()
    held.endedAt = this.count
    this.gateway.unsubscribe(held.client, held.space, held.name)
  }

  /** Takes note of what clients have been sent. */
  read(): void {
    for (const client of this.clients) {
      for (const line of messagesOf(client)) {
        const [, name = '', payload = ''] = /^(.*) (\d+)$/s.exec(line) ?? []
        const at = this.gateway.node.published.findIndex((one) => one.payload === payload)
        expect(at, 'a message that nobody has published').toBeGreaterThanOrEqual(0)
        this.seen.get(client)?.push(at)
        const [pattern, channel] = name.includes('>') ? name.split('>') : [undefined, name]
        expect(this.gateway.node.published[at]?.channel).toBe(channel)
        const held = this.held.find(
          (one) =>
            one.client === client &&
            one.endedAt === undefined &&
            one.name === (pattern ?? channel) &&
            (one.space === 'pattern') === (pattern !== undefined),
        )
        expect(held, 'a message without a subscription').toBeDefined()
        held?.got.push(at)
      }
    }
  }

  publish(): void {
    const id = String(this.ids++)
    const channel = this.pick(CHANNELS)
    if (this.random() < 0.3) {
      this.gateway.node.publish(channel, id)
      return
    }
    this.answers.push({ id, is: this.gateway.publish(channel, id) })
  }

  step(deaths: boolean): void {
    const { gateway } = this
    const { node, network } = gateway
    const choice = this.random()
    const peer = this.pick(node.peers)
    if (choice < 0.15) this.publish()
    else if (choice < 0.22) this.subscribe()
    else if (choice < 0.28) this.unsubscribe()
    else if (choice < 0.35) network.turn.endOne()
    else if (choice < 0.4) network.clock.advance(Math.floor(this.random() * 60))
    else if (deaths && choice < 0.404 && peer) node.kill(peer)
    else if (peer && choice < 0.7) node.execute(peer)
    else if (peer)
      node.deliver(peer, this.random() < 0.5 ? Math.floor(this.random() * 40) : undefined)
  }

  finish(): void {
    this.gateway.pass(4_000)
    this.read()
  }
}

const isFor = ({ space, name }: Held, channel: string): boolean =>
  space === 'pattern' ? compileGlob(name).matches(channel) : name === channel

describe.each([
  ['whose links stay', false],
  ['whose links die', true],
])('A gateway behind a sequencer %s', (_, deaths) => {
  test('delivers once and in one order, loses nothing outside of gaps, and counts exactly', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const run = new Run(seed)
      for (let step = 0; step < 400; step++) run.step(deaths)
      run.finish()
      const { published } = run.gateway.node
      const where = `seed ${seed}${deaths ? ', deaths' : ''}`
      for (const held of run.held) {
        const { got } = held
        const name = `${where}: ${held.space} ${held.name}`
        expect(new Set(got).size, `${name}: twice`).toBe(got.length)
        for (const [index, { channel, atMs }] of published.entries()) {
          if (index < held.confirmedAt || index >= (held.endedAt ?? published.length)) continue
          if (!isFor(held, channel) || got.includes(index)) continue
          // What was still under way when it was ended is no loss.
          if (held.endedAt !== undefined && index >= lastSeen(run, held)) continue
          const isTold = run.gateway.gaps.some(
            (gap) =>
              gap.holders.includes(held.client.client) && gap.fromMs <= atMs && atMs <= gap.toMs,
          )
          expect(isTold, `${name}: lost ${index} (${channel}), published at ${atMs}`).toBe(true)
        }
      }
      for (const [, order] of run.seen) {
        expect(order, `${where}: order`).toEqual(order.toSorted((a, b) => a - b))
      }
      for (const { id, is } of run.answers) {
        expect(is.is, `${where}: no answer to ${id}`).toBeDefined()
        const index = published.findIndex(({ payload }) => payload === id)
        if (is.is === 'TRYAGAIN not published') expect(index, `${where}: ${id}`).toBe(-1)
        if (typeof is.is !== 'number') continue
        expect(index, `${where}: ${id} was answered`).toBeGreaterThanOrEqual(0)
        const deliveries = run.held.filter(({ got }) => got.includes(index)).length
        if (!deaths) expect(is.is, `${where}: PUBLISH ${id}`).toBe(deliveries)
      }
    }
  })
})

/** Publishes before this one have surely come, if they came at all: the newest that its client has got. */
function lastSeen(run: Run, held: Held): number {
  return held.got.at(-1) ?? held.confirmedAt
}
