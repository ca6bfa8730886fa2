import { describe, expect, test } from 'vitest'
import { fixedNode, type Authority } from '../../../../server/upstream/topology/authority.ts'
import type { Node } from '../../../../server/upstream/node.ts'
import { NODE } from '../../../support/fake-node.ts'
import { messagesOf, ModelGateway } from '../../../support/model-upstream.ts'
import { recordedLog } from '../../../support/recorded-log.ts'

const OTHER: Node = { host: '10.0.0.2', port: 6379 }

describe('An upstream whose user may not publish', () => {
  test('keeps its links, and tells of no gap, until he may', () => {
    const { log, lines } = recordedLog()
    const gateway = new ModelGateway({}, () => 0, fixedNode(NODE), log).pass(2_000)
    expect(gateway.subscribe(gateway.client(), 'channel', 'a')).toEqual({ is: 'waits' })
    expect(gateway.pass(100).upstream.problems).toEqual([])
    gateway.node.refuse = ([word]) => (word === 'PUBLISH' ? 'NOPERM no' : undefined)
    gateway.pass(20_000)
    const problem =
      'upstream-user: 127.0.0.1:6379 refuses (NOPERM no): give this user the commands and channels that docs/scaling.md lists'
    expect(gateway.upstream.problems).toContain(problem)
    expect(lines.filter(({ msg }) => msg === problem)).toHaveLength(1)
    gateway.node.refuse = () => undefined
    expect(gateway.pass(2_000).upstream.problems).toEqual([])
    expect(gateway.network.sockets).toHaveLength(2)
    expect(gateway.gaps).toEqual([])
  })

  test('asks for the channel of its beacons again, if it was refused', () => {
    const gateway = new ModelGateway()
    gateway.node.refuse = ([word]) => (word === 'SUBSCRIBE' ? 'NOPERM no' : undefined)
    expect(gateway.pass(20_000).upstream.problems[0]).toContain('upstream-user: ')
    gateway.node.refuse = () => undefined
    expect(gateway.pass(2_000).upstream.problems).toEqual([])
    expect(gateway.network.sockets).toHaveLength(2)
  })
})

describe('An upstream whose node changes', () => {
  /** An authority that the test decides, which was certain until 1.5 s. */
  function decided(): {
    readonly authority: Authority
    readonly tell: (node: Node | undefined) => void
  } {
    let told: (node: Node | undefined) => void = () => {}
    const authority: Authority = {
      ...fixedNode(NODE),
      certainMs: 1_500,
      onChange: (listener) => (told = listener),
      start: () => told(NODE),
    }
    return { authority, tell: (node) => told(node) }
  }

  function begun() {
    const { authority, tell } = decided()
    const gateway = new ModelGateway({}, () => 0, authority).pass(3_000)
    gateway.subscribe(gateway.client(), 'channel', 'a')
    const atMs = gateway.network.clock.wallMs() - gateway.network.clock.monotonicMs()
    return { gateway: gateway.pass(1_000), tell, atMs }
  }

  test('cuts the links to the old one at once, and connects to the new one', () => {
    const { gateway, tell } = begun()
    const before = gateway.network.sockets.slice()
    tell(OTHER)
    expect(before.map(({ isDestroyed }) => isDestroyed)).toEqual([true, true])
    gateway.pass(1_000)
    expect(gateway.upstream.links.map(({ address, isUp }) => [address, isUp])).toEqual([
      ['10.0.0.2:6379', true],
      ['10.0.0.2:6379', true],
    ])
    expect(gateway.upstream.figures.gaps).toEqual(new Map([['authority', 1]]))
  })

  test('tells of a gap that begins when the old one was the right one for certain', () => {
    const { gateway, tell, atMs } = begun()
    tell(OTHER)
    gateway.pass(1_000)
    expect(gateway.gaps.map(({ fromMs }) => fromMs - atMs)).toEqual([1_500])
  })

  test('refuses to publish while there is none, and shows no links', () => {
    const { gateway, tell } = begun()
    tell(undefined)
    expect(gateway.publish('a', 'x')).toEqual({ is: 'TRYAGAIN not published' })
    expect(gateway.upstream.links).toEqual([])
  })
})

describe('A gateway in front of one node', () => {
  test('hands messages from anywhere to its subscribers, in the order of the node', () => {
    const gateway = new ModelGateway().pass(1_000)
    const [a, b] = [gateway.client(), gateway.client()]
    gateway.subscribe(a, 'channel', 'n', 'm')
    gateway.subscribe(b, 'pattern', '*')
    gateway.settle()
    gateway.node.publish('n', '\xff1')
    gateway.publish('m', '2')
    gateway.settle()
    gateway.node.publish('n', '3')
    gateway.settle()
    expect(messagesOf(a)).toEqual(['n \xff1', 'm 2', 'n 3'])
    expect(messagesOf(b)).toEqual(['*>n \xff1', '*>m 2', '*>n 3'])
  })

  test('starts while the node is away, says so, and is ready once it is there', () => {
    const gateway = new ModelGateway()
    const { network, upstream } = gateway
    expect(upstream.problems).toEqual(['upstream: not connected yet'])
    network.clock.advance(0)
    for (const socket of network.sockets) socket.fail('ECONNREFUSED')
    expect(upstream.problems).toEqual(['upstream: 127.0.0.1:6379: ECONNREFUSED'])
    const client = gateway.client()
    const wanted = gateway.subscribe(client, 'channel', 'n')
    expect(gateway.publish('n', 'm').is).toBe('TRYAGAIN not published')
    gateway.pass(1_000)
    expect([upstream.problems, wanted.is]).toEqual([[], 'in force'])
    expect(upstream.links.map(({ role, isUp }) => [role, isUp])).toEqual([
      ['subscriber', true],
      ['command', true],
    ])
  })

  test('tells one gap to all holders when the subscriber link was lost, and is not ready meanwhile', () => {
    const gateway = new ModelGateway().pass(1_000)
    const [a, b] = [gateway.client(), gateway.client()]
    gateway.subscribe(a, 'channel', 'n')
    gateway.subscribe(b, 'pattern', 'n*')
    gateway.client()
    gateway.pass(1_000)
    const { node, network, upstream } = gateway
    node.kill(node.subscriber)
    expect(upstream.problems).toEqual(['upstream: 127.0.0.1:6379 closed the connection'])
    node.publish('n', 'lost')
    const lostMs = network.clock.wallMs()
    gateway.pass(1_000)
    expect(upstream.problems).toEqual([])
    expect(gateway.gaps).toHaveLength(1)
    const [gap] = gateway.gaps
    expect(gap?.holders).toEqual([a.client, b.client])
    expect([(gap?.fromMs ?? 0) <= lostMs, (gap?.toMs ?? 0) >= lostMs]).toEqual([true, true])
    node.publish('n', 'found')
    gateway.settle()
    expect([messagesOf(a), messagesOf(b)]).toEqual([['n found'], ['n*>n found']])
    expect([...upstream.figures.gaps]).toEqual([['closed', 1]])
  })

  test('loses nothing when only the command link is lost', () => {
    const gateway = new ModelGateway().pass(1_000)
    const client = gateway.client()
    gateway.subscribe(client, 'channel', 'n')
    gateway.settle()
    const { node } = gateway
    node.kill(node.command)
    node.publish('n', '1')
    gateway.pass(3_000)
    expect([messagesOf(client), gateway.gaps]).toEqual([['n 1'], []])
  })

  test('is full beyond upstream-max-in-flight, and calls back when there is room', () => {
    const gateway = new ModelGateway({ 'upstream-max-in-flight': '1mb' }).pass(1_000)
    const { upstream } = gateway
    const calls: string[] = []
    upstream.whenRoom(() => void calls.push('at once'))
    for (let count = 0; count < 11; count++) gateway.publish('n', 'x'.repeat(100_000))
    expect(upstream.isFull).toBe(true)
    upstream.whenRoom(() => void calls.push('later'))
    expect(calls).toEqual(['at once'])
    gateway.settle()
    expect([upstream.isFull, calls, upstream.figures.inFlightBytes]).toEqual([
      false,
      ['at once', 'later'],
      0,
    ])
  })

  test('counts the publishes that were answered with a number, and the seconds from turn to turn', () => {
    const gateway = new ModelGateway().pass(1_000)
    const { network, upstream, node } = gateway
    for (const waitMs of [40, 60]) {
      gateway.publish('n', '1')
      gateway.publish('n', '2')
      network.turn.end()
      network.clock.advance(waitMs)
      gateway.settle()
    }
    const counted = (): number[] => [
      upstream.figures.publishes,
      Math.round(upstream.figures.publishSeconds * 1_000),
    ]
    expect(counted()).toEqual([4, 200])
    gateway.publish('n', 'lost')
    node.kill(node.command)
    gateway.settle()
    expect(counted()).toEqual([4, 200])
  })

  test('refuses the names of gateways themselves', () => {
    const { upstream } = new ModelGateway()
    expect(upstream.refuses('{respcast:x')).toBe(
      "ERR names that begin with '{respcast:' are reserved",
    )
    expect(upstream.refuses('{respcast')).toBeUndefined()
  })

  test('that stops answers what is in flight as unknown, and leaves no timer', async () => {
    const gateway = new ModelGateway().pass(1_000)
    const answer = gateway.publish('n', 'm')
    gateway.network.turn.end()
    await gateway.upstream.stop()
    expect(answer.is).toBe('TRYAGAIN unknown whether published')
    expect(gateway.network.clock.pendingTimers).toBe(0)
    expect(gateway.network.sockets.every(({ isDestroyed }) => isDestroyed)).toBe(true)
  })

  test('follows its authority to another node, and waits where there is none', () => {
    let tell: (node: Node | undefined) => void = () => {}
    const authority = {
      ...fixedNode(NODE),
      onChange: (listener: (node: Node | undefined) => void) => void (tell = listener),
      start: () => {},
    }
    const gateway = new ModelGateway({}, () => 0, authority)
    tell(NODE)
    gateway.pass(1_000)
    const client = gateway.client()
    gateway.subscribe(client, 'channel', 'n')
    gateway.settle()
    const flight = gateway.publish('n', '1')
    gateway.network.turn.end()
    tell(undefined)
    expect(flight.is).toBe('TRYAGAIN unknown whether published')
    expect(gateway.node.peers).toEqual([])
    const other = { host: '10.0.0.2', port: 6380 }
    tell(other)
    gateway.pass(1_000)
    expect(gateway.node.peers.map(({ socket }) => socket.node)).toEqual([other, other])
    expect([gateway.gaps.length, gateway.upstream.problems]).toEqual([1, []])
    gateway.node.publish('n', '2')
    gateway.settle()
    expect(messagesOf(client)).toEqual(['n 2'])
  })
})
