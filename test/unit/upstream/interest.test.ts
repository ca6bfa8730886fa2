import { describe, expect, test } from 'vitest'
import type { Space } from '../../../server/pubsub/subscriber.ts'
import { Interest } from '../../../server/upstream/interest.ts'
import { SubscriberLink } from '../../../server/upstream/link/subscriber-link.ts'
import type { Source } from '../../../server/upstream/link/source.ts'
import { FakeNetwork, NODE, pushOf, type FakeSocket } from '../../support/fake-node.ts'
import { TestCore, type TestClient } from '../../support/test-core.ts'

const TIMEOUT = 'TRYAGAIN the upstream does not confirm the subscription'

const WORD = {
  SUBSCRIBE: 'subscribe',
  UNSUBSCRIBE: 'unsubscribe',
  PSUBSCRIBE: 'psubscribe',
  PUNSUBSCRIBE: 'punsubscribe',
  SSUBSCRIBE: 'ssubscribe',
  SUNSUBSCRIBE: 'sunsubscribe',
} as const

interface Limits {
  maxChannels?: number
  maxCovers?: number
  lingerMs?: number
  maxLingering?: number
}

/** The interest of a gateway with one link, whose node the test plays. */
class Gateway {
  readonly network = new FakeNetwork()
  readonly core = new TestCore()
  readonly interest: Interest
  readonly link: SubscriberLink
  readonly told: string[] = []
  lost: readonly Source[] = []
  socket: FakeSocket
  random = 0.5

  constructor(limits: Limits = {}) {
    const { network, told } = this
    const { clock, turn } = network
    this.interest = new Interest({
      clock,
      random: () => this.random,
      atEndOfTurn: turn.atEndOfTurn,
      registry: this.core.registry,
      limits: {
        maxChannels: 1_000,
        maxCovers: 32,
        lingerMs: 0,
        maxLingering: 100,
        ...limits,
      },
      linkOf: () => this.link,
      forgotten: ({ name }) => void told.push(`forgotten ${name}`),
      onLevel: (level) => void told.push(`level ${level}`),
    })
    const { interest } = this
    this.link = new SubscriberLink(network.host(), {
      up: () => interest.linkFound(this.link),
      down: () => (this.lost = interest.linkLost(this.link)),
      message: (_space, name, channel, payload) => {
        const source = interest.find('pattern', name)
        if (source === undefined) return
        this.core.registry.publishToPatterns(channel, payload, (pattern) =>
          interest.isUnder(pattern, source),
        )
      },
      find: (space, name) => interest.find(space, name),
      confirmed: (source) => interest.confirmed(source),
      left: (source) => interest.dropped(source),
      lost: (source) => interest.sourceLost(source),
      refused: (source) => interest.refused(source),
      dropped: (source) => interest.dropped(source),
      changing: () => {},
      reply: () => {},
    })
    this.link.link.connectTo(NODE)
    this.socket = this.reconnect()
  }

  reconnect(): FakeSocket {
    this.network.clock.advance(0)
    this.socket = this.network.last
    this.socket.shakeHands()
    return this.socket
  }

  /** Subscribes a client as commands do: when the names are in force. @returns What became of it, as it comes. */
  subscribe(client: TestClient, space: Space, ...names: readonly string[]) {
    const state: { is: string; cancel: () => void } = { is: 'waits', cancel: () => {} }
    const done = (failure: string | undefined): void => {
      state.is = failure ?? 'in force'
      if (failure !== undefined) return
      for (const name of names) this.core.registry.subscribe(space, client.client, name, 'default')
    }
    const pending = this.interest.want(space, names, done)
    if (typeof pending === 'string') done(pending)
    else if (pending === undefined) done(undefined)
    else state.cancel = () => pending.cancel()
    return state
  }

  unsubscribe(client: TestClient, space: Space, name: string): void {
    this.core.registry.unsubscribe(space, client.client, name)
  }

  /** Ends the turn. @returns The commands that leave. */
  flush(): string[][] {
    this.network.turn.end()
    return this.socket.take()
  }

  /** Carries out all commands until none is left. @returns Them. */
  settle(): string[] {
    const seen: string[] = []
    for (let commands = this.flush(); commands.length > 0; commands = this.flush()) {
      for (const [word = '', ...names] of commands) {
        seen.push([word, ...names].join(' '))
        this.confirm(WORD[word as keyof typeof WORD], ...names)
      }
    }
    return seen
  }

  confirm(word: string, ...names: readonly string[]): void {
    for (const name of names) this.socket.receive(pushOf(word, name, 1))
  }

  /** A message to a channel comes from covers. */
  pmessage(channel: string, payload: string, ...covers: readonly string[]): void {
    for (const cover of covers) this.socket.receive(pushOf('pmessage', cover, channel, payload))
  }

  get names(): string[] {
    return [...this.interest.sources()].map(({ name, state }) => `${name} ${state}`)
  }
}

/** Payloads of the pattern messages that a client has got, each with its pattern. */
const got = (client: TestClient): string[] =>
  client
    .read()
    .split('>4\r\n')
    .slice(1)
    .map((frame) => frame.split('\r\n'))
    .map((lines) => `${lines[3]} ${lines[7]}`)

function gatewayWith(limits?: Limits) {
  const gateway = new Gateway(limits)
  const [a, b] = [1, 2].map(() => gateway.core.connect({ protocol: 3 })) as [TestClient, TestClient]
  return { gateway, a, b }
}

describe('A name that is wanted', () => {
  test('is in force when the upstream confirms it, and at once for the next', () => {
    const { gateway, a, b } = gatewayWith()
    const first = gateway.subscribe(a, 'channel', 'n')
    const second = gateway.subscribe(b, 'channel', 'n')
    expect(gateway.flush()).toEqual([['SUBSCRIBE', 'n']])
    expect([first.is, second.is]).toEqual(['waits', 'waits'])
    gateway.confirm('subscribe', 'n')
    expect([first.is, second.is]).toEqual(['in force', 'in force'])
    expect(gateway.subscribe(gateway.core.connect(), 'channel', 'n').is).toBe('in force')
    expect(gateway.flush()).toEqual([])
  })

  test('with others waits for all of them', () => {
    const { gateway, a } = gatewayWith()
    const both = gateway.subscribe(a, 'channel', 'n', 'm')
    gateway.flush()
    gateway.confirm('subscribe', 'm')
    expect(both.is).toBe('waits')
    gateway.confirm('subscribe', 'n')
    expect(both.is).toBe('in force')
  })

  test('is another in each space', () => {
    const { gateway, a } = gatewayWith()
    const states = (['channel', 'shard', 'pattern'] as const).map((space) =>
      gateway.subscribe(a, space, 'n'),
    )
    expect(gateway.settle().toSorted()).toEqual(['PSUBSCRIBE n*', 'SSUBSCRIBE n', 'SUBSCRIBE n'])
    expect(states.map(({ is }) => is)).toEqual(['in force', 'in force', 'in force'])
  })

  test('fails after 2 seconds without a confirmation, and is given up', () => {
    const { gateway, a } = gatewayWith()
    const wanted = gateway.subscribe(a, 'channel', 'n')
    gateway.flush()
    gateway.network.clock.advance(1_999)
    expect(wanted.is).toBe('waits')
    gateway.network.clock.advance(1)
    expect(wanted.is).toBe(TIMEOUT)
    gateway.confirm('subscribe', 'n')
    expect(gateway.settle()).toEqual(['UNSUBSCRIBE n'])
    expect(gateway.names).toEqual([])
  })

  test('fails where the upstream refuses it, and is forgotten', () => {
    const { gateway, a } = gatewayWith()
    const wanted = gateway.subscribe(a, 'channel', 'n')
    gateway.flush()
    gateway.socket.receive('-NOPERM no\r\n')
    expect(wanted.is).toBe('ERR the upstream refuses the subscription')
    gateway.flush()
    expect([gateway.names, gateway.told]).toEqual([[], ['forgotten n']])
  })

  test('is not taken for the one that was refused before it', () => {
    const { gateway, a, b } = gatewayWith()
    gateway.subscribe(a, 'channel', 'n')
    gateway.flush()
    gateway.socket.receive('-NOPERM no\r\n')
    const again = gateway.subscribe(b, 'channel', 'n')
    expect(gateway.settle()).toEqual(['SUBSCRIBE n'])
    expect([again.is, gateway.names]).toEqual(['in force', ['n in']])
  })

  test('is not asked for where whoever wanted it is gone by the end of the turn', () => {
    const { gateway, a } = gatewayWith()
    const wanted = gateway.subscribe(a, 'channel', 'n')
    wanted.cancel()
    expect([gateway.flush(), wanted.is, gateway.names]).toEqual([[], 'waits', []])
  })

  test('is left where whoever wanted it is gone when it is confirmed', () => {
    const { gateway, a } = gatewayWith()
    const wanted = gateway.subscribe(a, 'pattern', 'n:*')
    gateway.flush()
    wanted.cancel()
    gateway.confirm('psubscribe', 'n:*')
    expect(gateway.settle()).toEqual(['PUNSUBSCRIBE n:*'])
    expect([wanted.is, gateway.names]).toEqual(['waits', []])
  })

  test('is asked for again where it was being left', () => {
    const { gateway, a, b } = gatewayWith()
    gateway.subscribe(a, 'channel', 'n')
    gateway.settle()
    gateway.unsubscribe(a, 'channel', 'n')
    expect(gateway.flush()).toEqual([['UNSUBSCRIBE', 'n']])
    const again = gateway.subscribe(b, 'channel', 'n')
    expect([gateway.flush(), again.is]).toEqual([[], 'waits'])
    gateway.confirm('unsubscribe', 'n')
    expect(gateway.settle()).toEqual(['SUBSCRIBE n'])
    expect(again.is).toBe('in force')
  })

  test('is refused beyond upstream-max-channels, unless it is there already', () => {
    const { gateway, a, b } = gatewayWith({ maxChannels: 2 })
    gateway.subscribe(a, 'channel', 'n', 'm')
    gateway.settle()
    const most = 'ERR at most 2 channels of this gateway are allowed at the upstream'
    expect(gateway.subscribe(b, 'channel', 'n', 'm').is).toBe('in force')
    expect(gateway.subscribe(b, 'channel', 'o').is).toBe(most)
    expect(gateway.subscribe(b, 'shard', 'n').is).toBe(most)
    expect(gateway.names).toEqual(['n in', 'm in'])
  })
})

describe('When the link is lost', () => {
  test('waiters wait for the next, and names with many subscribers come back first', () => {
    const { gateway, a, b } = gatewayWith()
    gateway.subscribe(a, 'channel', 'few', 'many')
    gateway.subscribe(b, 'channel', 'many')
    gateway.settle()
    const wanted = gateway.subscribe(b, 'channel', 'new')
    gateway.flush()
    gateway.socket.close()
    expect(gateway.lost.map(({ name }) => name)).toEqual(['few', 'many'])
    const meanwhile = gateway.subscribe(b, 'shard', 's')
    gateway.reconnect()
    expect(gateway.settle()).toEqual(['SUBSCRIBE many few new', 'SSUBSCRIBE s'])
    expect([wanted.is, meanwhile.is]).toEqual(['in force', 'in force'])
  })

  test('a waiter waits again for the names that it had already', () => {
    const { gateway, a, b } = gatewayWith()
    gateway.subscribe(b, 'channel', 'old')
    gateway.settle()
    const wanted = gateway.subscribe(a, 'channel', 'old', 'new')
    gateway.flush()
    gateway.socket.close()
    gateway.reconnect()
    gateway.flush()
    gateway.confirm('subscribe', 'new')
    expect(wanted.is).toBe('waits')
    gateway.confirm('subscribe', 'old')
    expect(wanted.is).toBe('in force')
  })

  test('a waiter fails in time where no link comes', () => {
    const { gateway, a } = gatewayWith()
    gateway.socket.close()
    const wanted = gateway.subscribe(a, 'channel', 'n')
    gateway.network.clock.advance(2_000)
    expect([wanted.is, gateway.names]).toEqual([TIMEOUT, []])
  })

  test('names without a subscriber are forgotten', () => {
    const { gateway, a } = gatewayWith()
    gateway.subscribe(a, 'channel', 'n')
    gateway.settle()
    gateway.unsubscribe(a, 'channel', 'n')
    gateway.flush()
    gateway.socket.close()
    expect([gateway.names, gateway.lost, gateway.told]).toEqual([[], [], ['forgotten n']])
  })
})

describe('A name without a subscriber', () => {
  test('lingers for half to one and a half of upstream-linger', () => {
    const { gateway, a } = gatewayWith({ lingerMs: 10_000 })
    gateway.subscribe(a, 'channel', 'short', 'long')
    gateway.settle()
    gateway.random = 0
    gateway.unsubscribe(a, 'channel', 'short')
    gateway.random = 0.999
    gateway.unsubscribe(a, 'channel', 'long')
    gateway.network.clock.advance(4_000)
    expect(gateway.flush()).toEqual([])
    gateway.network.clock.advance(1_000)
    expect(gateway.settle()).toEqual(['UNSUBSCRIBE short'])
    gateway.network.clock.advance(9_000)
    expect(gateway.flush()).toEqual([])
    gateway.network.clock.advance(1_000)
    expect(gateway.settle()).toEqual(['UNSUBSCRIBE long'])
  })

  test('is in force at once for the next, and lingers no more', () => {
    const { gateway, a } = gatewayWith({ lingerMs: 10_000 })
    gateway.subscribe(a, 'channel', 'n')
    gateway.settle()
    gateway.unsubscribe(a, 'channel', 'n')
    expect(gateway.subscribe(a, 'channel', 'n').is).toBe('in force')
    gateway.network.clock.advance(60_000)
    expect(gateway.flush()).toEqual([])
  })

  test('makes room for the next beyond upstream-max-lingering', () => {
    const { gateway, a } = gatewayWith({ lingerMs: 10_000, maxLingering: 2 })
    gateway.subscribe(a, 'channel', '1', '2', '3')
    gateway.settle()
    for (const name of ['1', '2', '3']) gateway.unsubscribe(a, 'channel', name)
    expect(gateway.settle()).toEqual(['UNSUBSCRIBE 1'])
  })

  test('that is a cover makes room for others beyond upstream-max-covers', () => {
    const { gateway, a } = gatewayWith({ lingerMs: 10_000, maxCovers: 2 })
    for (const head of ['1', '2', '3', '4']) {
      gateway.subscribe(a, 'pattern', `${head}*`)
      gateway.settle()
      gateway.unsubscribe(a, 'pattern', `${head}*`)
      gateway.settle()
    }
    expect(gateway.names.length).toBeLessThanOrEqual(2)
  })
})

describe('Patterns', () => {
  test('are covered by their literal head, escaped', () => {
    const { gateway, a } = gatewayWith()
    gateway.subscribe(a, 'pattern', 'a:?b', '\\*\\?x[12]*', 'exact', '\xff*y')
    expect(gateway.settle()).toEqual(['PSUBSCRIBE a:* \\*\\?x* exact* \xff*'])
  })

  test('share a cover', () => {
    const { gateway, a, b } = gatewayWith()
    gateway.subscribe(a, 'pattern', 'a:*1')
    gateway.settle()
    expect(gateway.subscribe(b, 'pattern', 'a:*2').is).toBe('in force')
    expect(gateway.settle()).toEqual([])
    gateway.unsubscribe(a, 'pattern', 'a:*1')
    expect(gateway.settle()).toEqual([])
    gateway.unsubscribe(b, 'pattern', 'a:*2')
    expect(gateway.settle()).toEqual(['PUNSUBSCRIBE a:*'])
  })

  test('go under the cover of a shorter head', () => {
    const { gateway, a, b } = gatewayWith()
    gateway.subscribe(a, 'pattern', 'a*')
    gateway.settle()
    expect(gateway.subscribe(b, 'pattern', 'ab*').is).toBe('in force')
    expect(gateway.settle()).toEqual([])
  })

  test('move to the cover of a shorter head when that is confirmed, and leave theirs', () => {
    const { gateway, a, b } = gatewayWith()
    gateway.subscribe(a, 'pattern', 'ab*')
    gateway.settle()
    gateway.subscribe(b, 'pattern', 'a*')
    expect(gateway.flush()).toEqual([['PSUBSCRIBE', 'a*']])
    gateway.pmessage('abc', '1', 'ab*')
    gateway.confirm('psubscribe', 'a*')
    gateway.pmessage('abc', '2', 'ab*', 'a*')
    expect(gateway.flush()).toEqual([['PUNSUBSCRIBE', 'ab*']])
    gateway.pmessage('abc', '3', 'ab*', 'a*')
    gateway.confirm('punsubscribe', 'ab*')
    gateway.pmessage('abc', '4', 'a*')
    expect([got(a), got(b)]).toEqual([
      ['ab* 1', 'ab* 2', 'ab* 3', 'ab* 4'],
      ['a* 2', 'a* 3', 'a* 4'],
    ])
  })

  test('move back when the shorter head is gone', () => {
    const { gateway, a, b } = gatewayWith()
    gateway.subscribe(a, 'pattern', 'a*')
    gateway.subscribe(b, 'pattern', 'ab*')
    gateway.settle()
    gateway.unsubscribe(a, 'pattern', 'a*')
    gateway.pmessage('abc', '1', 'a*')
    expect(gateway.settle()).toEqual(['PSUBSCRIBE ab*', 'PUNSUBSCRIBE a*'])
    gateway.pmessage('abc', '2', 'ab*')
    expect(got(b)).toEqual(['ab* 1', 'ab* 2'])
  })

  test('do not move to a cover that is in force between the two messages of one publish', () => {
    const { gateway, a, b } = gatewayWith({ lingerMs: 10_000 })
    gateway.subscribe(a, 'pattern', 'ab*')
    gateway.settle()
    gateway.unsubscribe(a, 'pattern', 'ab*')
    // `ab*` lingers, in force.
    gateway.subscribe(a, 'pattern', 'a*')
    gateway.settle()
    gateway.subscribe(b, 'pattern', 'ab*')
    gateway.pmessage('abc', '1', 'a*')
    gateway.unsubscribe(a, 'pattern', 'a*')
    gateway.pmessage('abc', '1', 'ab*')
    gateway.pmessage('abc', '2', 'a*', 'ab*')
    gateway.interest.betweenMessages(gateway.link)
    gateway.pmessage('abc', '3', 'a*', 'ab*')
    expect(got(b)).toEqual(['ab* 1', 'ab* 2', 'ab* 3'])
  })

  test('beyond upstream-max-covers share the first part of their heads, and then one cover of all', () => {
    const { gateway, a } = gatewayWith({ maxCovers: 2 })
    gateway.subscribe(a, 'pattern', 'a:1*', 'a:2*')
    gateway.settle()
    gateway.subscribe(a, 'pattern', 'b.1*')
    expect(gateway.told).toEqual(['level 1'])
    gateway.settle()
    expect(gateway.names.toSorted()).toEqual(['a:* in', 'b.* in'])
    gateway.subscribe(a, 'pattern', 'c/1*')
    gateway.settle()
    expect(gateway.names).toEqual(['* in'])
    gateway.pmessage('a:1', '1', '*')
    gateway.pmessage('c/1', '2', '*')
    expect(got(a)).toEqual(['a:1* 1', 'c/1* 2'])
    for (const name of ['a:1*', 'a:2*', 'b.1*']) gateway.unsubscribe(a, 'pattern', name)
    gateway.settle()
    expect([gateway.told.filter((line) => line.startsWith('level')), gateway.names]).toEqual([
      ['level 1', 'level 2', 'level 0'],
      ['c/1* in'],
    ])
  })

  test('get each message once while the level changes', () => {
    const { gateway, a, b } = gatewayWith({ maxCovers: 2 })
    gateway.subscribe(a, 'pattern', 'a:1*', 'a:2*')
    gateway.settle()
    gateway.subscribe(b, 'pattern', 'b:*')
    const [first = []] = gateway.flush()
    expect(first.slice(1).toSorted()).toEqual(['a:*', 'b:*'])
    gateway.pmessage('a:1', '1', 'a:1*')
    gateway.confirm('psubscribe', 'a:*')
    gateway.pmessage('a:1', '2', 'a:1*', 'a:*')
    gateway.confirm('psubscribe', 'b:*')
    gateway.settle()
    gateway.pmessage('a:1', '3', 'a:*')
    expect(got(a)).toEqual(['a:1* 1', 'a:1* 2', 'a:1* 3'])
  })

  test('that are wanted by nobody are forgotten', () => {
    const { gateway, a } = gatewayWith()
    gateway.subscribe(a, 'pattern', 'a*')
    gateway.settle()
    // Wanted, in force, and never subscribed to.
    expect(gateway.interest.want('pattern', ['ab*'], () => {})).toBeUndefined()
    gateway.network.turn.end()
    gateway.unsubscribe(a, 'pattern', 'a*')
    gateway.settle()
    expect(gateway.names).toEqual([])
  })

  test('that are given up and wanted again within one turn stay', () => {
    const { gateway, a, b } = gatewayWith()
    gateway.subscribe(b, 'pattern', 'a*')
    gateway.settle()
    gateway.subscribe(a, 'pattern', 'ab*')
    gateway.unsubscribe(a, 'pattern', 'ab*')
    gateway.subscribe(a, 'pattern', 'ab*')
    gateway.settle()
    gateway.pmessage('abc', '1', 'a*')
    expect(got(a)).toEqual(['ab* 1'])
  })

  test('with an empty head bring no messages to the channel without a name', () => {
    const { gateway, a } = gatewayWith()
    gateway.subscribe(a, 'pattern', '*')
    gateway.settle()
    expect([...gateway.interest.coversOf('')]).toEqual([])
    expect([...gateway.interest.coversOf('x')].map(({ name }) => name)).toEqual(['*'])
  })

  test('survive the loss of the link in the middle of a move', () => {
    const { gateway, a, b } = gatewayWith()
    gateway.subscribe(a, 'pattern', 'ab*')
    gateway.settle()
    gateway.subscribe(b, 'pattern', 'a*')
    gateway.flush()
    gateway.socket.close()
    gateway.reconnect()
    expect(gateway.flush().flat().toSorted()).toEqual(['PSUBSCRIBE', 'a*', 'ab*'])
    gateway.confirm('psubscribe', 'a*', 'ab*')
    gateway.pmessage('abc', '1', 'a*', 'ab*')
    gateway.settle()
    expect([got(a), gateway.names]).toEqual([['ab* 1'], ['a* in']])
  })
})
