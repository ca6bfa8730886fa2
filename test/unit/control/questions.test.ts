import { describe, expect, test } from 'vitest'
import { encodeAnswer, encodeQuestion, type Question } from '../../../server/control/question.ts'
import { Fleet, type FleetGateway } from '../../support/control-fleet.ts'
import type { PublishSpace } from '../../../server/pubsub/registry.ts'

const ASK = '{respcast:model}:ask'
const ackOf = (id: string): string => `{respcast:model}:ack:${id}`
/** An id that no gateway has. */
const STRANGER = 'f'.repeat(16)

/** Clients of a gateway subscribe to a name, and its link does. */
function subscribe(gateway: FleetGateway, space: PublishSpace, name: string, clients = 1): void {
  gateway.local.add(space, name, clients)
  gateway.model.line.subscriptions.held[space].add(name)
}

/** Clients of a gateway subscribe to a pattern, and its link to what covers it. */
function psubscribe(gateway: FleetGateway, pattern: string, cover: string): void {
  gateway.local.add('pattern', pattern)
  gateway.model.line.subscriptions.held.pattern.add(cover)
}

async function fleetOf(count: number): Promise<{ fleet: Fleet; gateways: FleetGateway[] }> {
  const fleet = new Fleet()
  const gateways = await fleet.of(count)
  return { fleet, gateways }
}

function outcomesOf({ control }: FleetGateway): Record<string, number> {
  return Object.fromEntries(control.questions.outcomes)
}

const counts = (
  fleet: Fleet,
  gateway: FleetGateway,
  asked: readonly string[],
  space: PublishSpace = 'channel',
): Promise<readonly number[]> => fleet.outcome(gateway.control.questions.counts(space, asked))

async function names(
  fleet: Fleet,
  gateway: FleetGateway,
  pattern?: string,
  space: PublishSpace = 'channel',
): Promise<string[]> {
  return [...(await fleet.outcome(gateway.control.questions.names(space, pattern)))].toSorted()
}

describe('Subscribers of names', () => {
  test('are those of all gateways and native ones, in the order asked for', async () => {
    const { fleet, gateways } = await fleetOf(3)
    const [one, two, three] = gateways
    subscribe(one!, 'channel', 'a', 2)
    subscribe(two!, 'channel', 'a', 3)
    subscribe(three!, 'channel', 'b')
    fleet.server.natives.add('channel', 'a', 4)
    fleet.server.natives.add('channel', 'c')
    for (const gateway of gateways) {
      expect(await counts(fleet, gateway, ['c', 'nobody', 'a', 'b', 'a'])).toEqual([1, 0, 9, 1, 9])
    }
    expect(outcomesOf(one!)).toEqual({ whole: 1, partial: 0, dropped: 0 })
  })

  test('are not confused with those of shard channels of the same name', async () => {
    const { fleet, gateways } = await fleetOf(2)
    const [one, two] = gateways
    subscribe(two!, 'channel', 'a', 2)
    subscribe(two!, 'shard', 'a', 5)
    fleet.server.natives.add('shard', 'a')
    expect(await counts(fleet, one!, ['a'])).toEqual([2])
    expect(await counts(fleet, one!, ['a'], 'shard')).toEqual([6])
  })

  test('are not the links of gateways that linger', async () => {
    const { fleet, gateways } = await fleetOf(2)
    const [one, two] = gateways
    for (const gateway of gateways) gateway.model.line.subscriptions.held.channel.add('a')
    expect(await counts(fleet, one!, ['a'])).toEqual([0])
    fleet.server.natives.add('channel', 'a')
    expect(await counts(fleet, two!, ['a'])).toEqual([1])
  })

  test('are counted for many names, in several messages', async () => {
    const { fleet, gateways } = await fleetOf(2)
    const [one, two] = gateways
    const asked = Array.from({ length: 20_000 }, (_, at) => `room:${at}`)
    for (const at of [0, 4_000, 9_999, 19_999]) subscribe(two!, 'channel', `room:${at}`, at + 1)
    const found = await counts(fleet, one!, asked)
    expect(found.flatMap((count, at) => (count > 0 ? [[at, count]] : []))).toEqual([
      [0, 1],
      [4_000, 4_001],
      [9_999, 10_000],
      [19_999, 20_000],
    ])
    expect(outcomesOf(one!)['whole']).toBe(1)
  })

  test('of more names than a question holds are those of the upstream and of this gateway, and that is metered', async () => {
    const { fleet, gateways } = await fleetOf(2)
    const [one, two] = gateways
    const asked = Array.from({ length: 20 }, (_, at) => `${at}`.padStart(60_000, '-'))
    for (const name of asked) subscribe(two!, 'channel', name, 3)
    const found = await counts(fleet, one!, asked)
    expect([found[0], found.at(-1)]).toEqual([3, 1])
    expect(outcomesOf(one!)).toMatchObject({ whole: 0, partial: 1 })
  })
})

describe('Channels', () => {
  test('are those of all gateways and native ones, each once', async () => {
    const { fleet, gateways } = await fleetOf(3)
    const [one, two, three] = gateways
    subscribe(one!, 'channel', 'a')
    subscribe(two!, 'channel', 'a')
    subscribe(two!, 'channel', 'news:\n\xff')
    subscribe(three!, 'shard', 's')
    fleet.server.natives.add('channel', 'news:native')
    expect(await names(fleet, three!)).toEqual(['a', 'news:\n\xff', 'news:native'])
    expect(await names(fleet, one!, 'news:*')).toEqual(['news:\n\xff', 'news:native'])
    expect(await names(fleet, one!, undefined, 'shard')).toEqual(['s'])
  })

  test('come in several messages where there are many', async () => {
    const { fleet, gateways } = await fleetOf(2)
    const [one, two] = gateways
    for (let at = 0; at < 20_000; at++) two!.local.add('channel', `room:${at}`)
    expect(await names(fleet, one!)).toHaveLength(20_000)
    expect(outcomesOf(one!)).toMatchObject({ whole: 1, partial: 0 })
  })

  test('that are more than an answer holds are left out, and that is metered', async () => {
    const { fleet, gateways } = await fleetOf(2)
    const [one, two] = gateways
    for (let at = 0; at < 40; at++) two!.local.add('channel', `${at}`.padStart(60_000, '-'))
    expect(await names(fleet, one!)).toHaveLength(34)
    expect(outcomesOf(one!)).toMatchObject({ whole: 0, partial: 1 })
  })
})

describe('Patterns', () => {
  test('are counted once for all gateways, and what gateways subscribe to for them is not', async () => {
    const { fleet, gateways } = await fleetOf(3)
    const [one, two, three] = gateways
    psubscribe(one!, 'a:[12]', 'a:*')
    psubscribe(two!, 'a:[12]', 'a:*')
    psubscribe(two!, 'a:?', 'a:*')
    psubscribe(three!, '*x', '*')
    fleet.server.natives.add('pattern', 'native*')
    for (const gateway of gateways) {
      expect(await fleet.outcome(gateway.control.questions.patterns())).toBe(4)
    }
  })
})

describe('An answer', () => {
  test('is not waited for without others', async () => {
    const { fleet, gateways } = await fleetOf(1)
    const beforeMs = fleet.clock.monotonicMs()
    subscribe(gateways[0]!, 'channel', 'a')
    fleet.server.natives.add('channel', 'a')
    expect(await counts(fleet, gateways[0]!, ['a'])).toEqual([2])
    expect(fleet.clock.monotonicMs()).toBe(beforeMs)
  })

  test('comes after 250 ms without those who did not answer, and is metered', async () => {
    const { fleet, gateways } = await fleetOf(3)
    const [one, two, three] = gateways
    for (const gateway of gateways) subscribe(gateway, 'channel', 'a', 2)
    two!.model.line.hold()
    const beforeMs = fleet.clock.monotonicMs()
    // The link of the one that is silent counts as a native subscriber.
    expect(await counts(fleet, one!, ['a'])).toEqual([5])
    expect(fleet.clock.monotonicMs() - beforeMs).toBe(260)
    expect(outcomesOf(one!)).toMatchObject({ whole: 0, partial: 1 })
    two!.model.line.release()
    expect(await counts(fleet, three!, ['a'])).toEqual([6])
  })

  test('does not wait for a gateway whose lease has lapsed', async () => {
    const { fleet, gateways } = await fleetOf(2)
    const [one, two] = gateways
    subscribe(one!, 'channel', 'a')
    fleet.kill(two!)
    await fleet.pass(11_000)
    expect(await counts(fleet, one!, ['a'])).toEqual([1])
    expect(outcomesOf(one!)).toMatchObject({ whole: 1, partial: 0 })
  })

  test.each(['partial', 'silent'] as const)(
    'counts gateways alone as far as the upstream is %s, and is metered',
    async (state) => {
      const { fleet, gateways } = await fleetOf(2)
      const [one, two] = gateways
      subscribe(two!, 'channel', 'a', 2)
      one!.model.line.subscriptions.state = state
      expect(await counts(fleet, one!, ['a'])).toEqual([2])
      expect(await names(fleet, one!)).toEqual(['a'])
      expect(outcomesOf(one!)).toMatchObject({ whole: 0, partial: 2 })
    },
  )

  test('is that of this gateway while the upstream is away', async () => {
    const { fleet, gateways } = await fleetOf(2)
    const [one, two] = gateways
    subscribe(one!, 'channel', 'a', 2)
    subscribe(two!, 'channel', 'a', 2)
    one!.model.cut()
    one!.model.line.subscriptions.state = 'silent'
    expect(await counts(fleet, one!, ['a'])).toEqual([2])
    expect(outcomesOf(one!)['partial']).toBe(1)
  })

  test('counts once, and only where this gateway has asked, and not in its own name', async () => {
    const { fleet, gateways } = await fleetOf(3)
    const [one, two, three] = gateways
    const { id } = one!.control.self
    const forge = (number: number, item: string, node: string): void => {
      const answer = { node, number, part: 0, state: 'last', items: [item] } as const
      fleet.server.publish(ackOf(id), encodeAnswer(answer))
    }
    for (const gateway of [two!, three!]) gateway.model.line.hold()
    const asked = one!.control.questions.counts('channel', ['a'])
    forge(9, '0 100', two!.control.self.id)
    forge(1, '0 5', two!.control.self.id)
    forge(1, '0 7', two!.control.self.id)
    forge(1, '0 9', id)
    forge(1, '7 9', STRANGER)
    forge(1, 'nonsense', `${STRANGER.slice(1)}0`)
    fleet.server.publish(ackOf(id), Buffer.from('=nonsense'))
    expect(await fleet.outcome(asked)).toEqual([5])
  })

  test('is not taken beyond 16 MB, whoever sends it', async () => {
    const { fleet, gateways } = await fleetOf(2)
    const [one, two] = gateways
    two!.model.line.hold()
    const asked = one!.control.questions.names('channel', undefined)
    for (let part = 0; part < 20; part++) {
      const items = [`${part}`.padEnd(1_048_576, '-')]
      const answer = { node: STRANGER, number: 1, part, state: 'more', items } as const
      fleet.server.publish(ackOf(one!.control.self.id), encodeAnswer(answer))
    }
    expect([...(await fleet.outcome(asked))]).toHaveLength(15)
  })

  test('leaves the others out where 64 questions wait for theirs already', async () => {
    const { fleet, gateways } = await fleetOf(2)
    const [one, two] = gateways
    subscribe(two!, 'channel', 'a', 2)
    two!.model.line.hold()
    const asked = Array.from({ length: 65 }, () => one!.control.questions.counts('channel', ['a']))
    two!.model.line.release()
    const found = await Promise.all(asked.map((answer) => fleet.outcome(answer)))
    expect(found.map(([count]) => count)).toEqual([...Array.from({ length: 64 }, () => 2), 1])
    expect(outcomesOf(one!)).toMatchObject({ whole: 64, partial: 1 })
  })
})

describe('Questions of others', () => {
  const question: Question = {
    from: STRANGER,
    number: 1,
    kind: 'names',
    space: 'channel',
    part: 0,
    isLast: true,
    mostBytes: 1_000,
    items: ['*x'],
  }

  test('are dropped when they cost too much, until that is made up for', async () => {
    const { fleet, gateways } = await fleetOf(1)
    const [one] = gateways
    for (let at = 0; at < 10_000; at++) one!.local.add('channel', `room:${at}`)
    const forge = (): number => fleet.server.publish(ASK, encodeQuestion(question))
    for (let at = 0; at < 200; at++) forge()
    await fleet.settled()
    const { dropped } = outcomesOf(one!)
    // A million names may be looked at.
    expect(dropped).toBeGreaterThan(100)
    expect(dropped).toBeLessThan(110)
    await fleet.pass(100)
    forge()
    await fleet.settled()
    expect(outcomesOf(one!)['dropped']).toBe(dropped)
  })

  test('cost more by the length of their pattern', async () => {
    const { fleet, gateways } = await fleetOf(1)
    const [one] = gateways
    for (let at = 0; at < 1_000; at++) one!.local.add('channel', `room:${at}`)
    const long = encodeQuestion({ ...question, items: ['*a'.repeat(16_000)] })
    for (let at = 0; at < 3; at++) fleet.server.publish(ASK, encodeQuestion(question))
    fleet.server.publish(ASK, long)
    await fleet.settled()
    expect(outcomesOf(one!)['dropped']).toBe(0)
    fleet.server.publish(ASK, long)
    await fleet.settled()
    expect(outcomesOf(one!)['dropped']).toBe(1)
  })

  test('are dropped unread when they are larger than a question can be', async () => {
    const { fleet, gateways } = await fleetOf(1)
    fleet.server.publish(ASK, Buffer.alloc(1_100_000, 'x'))
    await fleet.settled()
    expect(outcomesOf(gateways[0]!)['dropped']).toBe(1)
  })

  test('are not those of this gateway, which come back to it', async () => {
    const { fleet, gateways } = await fleetOf(2)
    await counts(fleet, gateways[0]!, ['a'])
    expect(outcomesOf(gateways[0]!)['dropped']).toBe(0)
  })
})
