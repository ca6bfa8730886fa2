import { describe, expect, test } from 'vitest'
import { fixedNode, type Authority } from '../../../server/upstream/authority.ts'
import type { Node } from '../../../server/upstream/node.ts'
import { NODE } from '../../support/fake-node.ts'
import { ModelGateway } from '../../support/model-upstream.ts'
import { recordedLog } from '../../support/recorded-log.ts'

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
