import { describe, expect, test } from 'vitest'
import { isError } from '../../../../shared/resp/types.ts'
import type { Reply } from '../../../../server/upstream/link/command-link.ts'
import { ControlLink } from '../../../../server/upstream/link/control-link.ts'
import { textOf } from '../../../../server/upstream/link/link.ts'
import { nodeText, type Node } from '../../../../server/upstream/node.ts'
import { FakeNetwork, NODE, type FakeSocket } from '../../../support/fake-node.ts'

const OTHER: Node = { host: '10.0.0.2', port: 7002 }

/** A control link that is up, and what its user was told. */
function controlLink(isCluster = true) {
  const network = new FakeNetwork()
  const told: string[] = []
  const link = new ControlLink(network.host(), {
    up: (isOther) => void told.push(isOther ? 'up elsewhere' : 'up'),
    down: () => void told.push('down'),
    misplaced: isCluster
      ? (line, from) => void told.push(`misplaced ${line} by ${nodeText(from)}`)
      : undefined,
  })
  const reply = (name: string): Reply => ({
    answered: (value) =>
      void told.push(`${name}: ${isError(value) ? value.message : textOf(value)}`),
    lost: (wasSent) => void told.push(`${name} lost, ${wasSent ? 'sent' : 'not sent'}`),
  })
  const ask = (name: string): void => link.ask(reply(name), 'GET', name)
  const pass = (ms: number): void => {
    network.clock.advance(ms)
    network.turn.end()
  }
  /** The connection that was made last is taken. */
  const accept = (): FakeSocket => {
    const { last } = network
    last.shakeHands()
    network.turn.end()
    return last
  }
  link.connectTo(NODE)
  pass(0)
  const first = accept()
  told.length = 0
  return { network, link, told, ask, pass, accept, first }
}

describe('A control link', () => {
  test('says whether it came up at another node than before', () => {
    const { link, told, pass, accept, first } = controlLink()
    first.close()
    pass(0)
    accept()
    link.connectTo(OTHER)
    pass(0)
    accept()
    expect(told).toEqual(['down', 'up', 'down', 'up elsewhere'])
  })

  test('hands errors to their command where there is no cluster', () => {
    const { ask, told, pass, first } = controlLink(false)
    ask('a')
    pass(0)
    first.receive('-MOVED 1 10.0.0.2:7002\r\n')
    expect(told).toEqual(['a: MOVED 1 10.0.0.2:7002'])
  })
})

describe('In a cluster a control link', () => {
  test('sends a command that was MOVED to the node that it is told of then, with those behind it', () => {
    const { link, ask, told, pass, accept, first } = controlLink()
    ask('a')
    ask('b')
    pass(0)
    first.receive('-MOVED 1 10.0.0.2:7002\r\n-MOVED 1 10.0.0.2:7002\r\n')
    pass(0)
    const line = 'misplaced MOVED 1 10.0.0.2:7002 by 127.0.0.1:6379'
    expect(told).toEqual([line, line])
    link.connectTo(OTHER)
    pass(0)
    const second = accept()
    expect([second.node, second.take()]).toEqual([
      OTHER,
      [
        ['GET', 'a'],
        ['GET', 'b'],
      ],
    ])
    second.receive('+1\r\n+2\r\n')
    expect(told.slice(2)).toEqual(['down', 'up elsewhere', 'a: 1', 'b: 2'])
  })

  test.each([
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'CLUSTERDOWN The cluster is down',
  ])('sends a command again after %s', (line) => {
    const { ask, told, pass, first } = controlLink()
    ask('a')
    pass(0)
    first.take()
    first.receive(`-${line}\r\n`)
    pass(0)
    expect(first.take()).toEqual([])
    pass(50)
    expect(first.take()).toEqual([['GET', 'a']])
    first.receive('+1\r\n')
    expect(told.at(-1)).toBe('a: 1')
  })

  test('gives up after five seconds, with what the cluster said last', () => {
    const { ask, told, pass, first } = controlLink()
    ask('a')
    for (let ms = 0; ms < 6_000; ms += 50) {
      pass(50)
      if (first.hasCommand) {
        first.take()
        first.receive('-CLUSTERDOWN The cluster is down\r\n')
      }
    }
    expect(told.filter((text) => text.startsWith('a'))).toEqual([
      'a: CLUSTERDOWN The cluster is down',
    ])
    expect(first.isDestroyed).toBe(false)
  })

  test('asks the node of ASK with ASKING, over a connection that ends when it has nothing to do', () => {
    const { network, link, ask, told, pass, accept, first } = controlLink()
    ask('a')
    pass(0)
    first.receive('-ASK 1 10.0.0.2:7002\r\n')
    pass(0)
    const aside = accept()
    expect([aside.node, aside.take()]).toEqual([OTHER, [['ASKING'], ['GET', 'a']]])
    expect(link.states.map(({ role, address }) => `${role} ${address}`)).toEqual([
      'control 127.0.0.1:6379',
      'control 10.0.0.2:7002',
    ])
    ask('b')
    pass(0)
    first.receive('-ASK 1 10.0.0.2:7002\r\n')
    aside.receive('+OK\r\n+1\r\n')
    pass(0)
    expect(aside.take()).toEqual([['ASKING'], ['GET', 'b']])
    aside.receive('+OK\r\n+2\r\n')
    expect(told).toEqual(['a: 1', 'b: 2'])
    pass(1_000)
    expect([aside.isDestroyed, network.last, link.states.length]).toEqual([true, aside, 1])
  })

  test('loses what was sent aside with that connection, and says whether it was sent', () => {
    const { ask, told, pass, accept, first } = controlLink()
    ask('a')
    pass(0)
    first.receive('-ASK 1 10.0.0.2:7002\r\n')
    pass(0)
    const aside = accept()
    aside.close()
    expect(told).toEqual(['a lost, sent'])
    ask('b')
    pass(0)
    first.receive('-ASK 1 10.0.0.3:7003\r\n')
    pass(7_000)
    expect(told.slice(1)).toEqual(['b lost, not sent'])
  })

  test('loses what waits to be sent again when it ends', () => {
    const { link, ask, told, pass, first } = controlLink()
    ask('a')
    pass(0)
    first.receive('-TRYAGAIN\r\n')
    pass(0)
    told.length = 0
    link.stop()
    expect(told.filter((text) => text.startsWith('a'))).toEqual(['a lost, not sent'])
  })
})
