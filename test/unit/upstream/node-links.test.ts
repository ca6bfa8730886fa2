import { describe, expect, test } from 'vitest'
import { ModelGateway, messagesOf, type Peer } from '../../support/model-upstream.ts'

const BEACON = /^\{respcast:.*\}:beacon$/

/** A gateway whose links are up, and whose beacons come. */
function gatewayUp(directives = {}) {
  const gateway = new ModelGateway(directives).pass(1_000)
  const client = gateway.client()
  const { node, network, upstream } = gateway
  return { gateway, client, node, network, upstream }
}

/** Executes everything that waits on a connection. */
function executeAll(gateway: ModelGateway, peer: Peer): void {
  gateway.network.turn.end()
  while (gateway.node.execute(peer));
}

const isBeacon = ([word, name = '']: readonly string[]): boolean =>
  word === 'PUBLISH' && BEACON.test(name)

describe('Beacons', () => {
  test('come back each second, and say that both links end at one node', () => {
    const { gateway, upstream, node } = gatewayUp()
    expect([upstream.problems, node.peers.length]).toEqual([[], 2])
    gateway.pass(10_000)
    expect([upstream.problems, upstream.figures.beaconSeconds]).toEqual([[], 0])
    expect(gateway.network.ended).toEqual([])
    expect(upstream.figures.reconnects.size).toBe(0)
  })

  test('that do not come back end the subscriber link after 3 seconds, and a gap is told', () => {
    const { gateway, client, node, network, upstream } = gatewayUp()
    gateway.subscribe(client, 'channel', 'n')
    gateway.pass(1_000)
    const { subscriber } = node
    const lastMs = network.clock.wallMs()
    for (let ms = 0; ms < 4_500 && !subscriber.socket.isDestroyed; ms += 100) {
      network.clock.advance(100)
      executeAll(gateway, node.command)
      node.deliver(node.command)
      if (ms === 2_500) expect(upstream.problems).toEqual(['upstream: 127.0.0.1:6379 is silent'])
    }
    expect(subscriber.socket.isDestroyed).toBe(true)
    gateway.pass(1_000)
    expect([...upstream.figures.reconnects]).toEqual([['silent', 1]])
    expect([upstream.problems, gateway.gaps.length]).toEqual([[], 1])
    expect(gateway.gaps[0]?.fromMs).toBeLessThanOrEqual(lastMs)
    expect(gateway.gaps[0]?.holders).toEqual([client.client])
  })

  test('with one left out end the subscriber link, with a gap from the beacon before it', () => {
    const { gateway, client, node, network } = gatewayUp()
    gateway.subscribe(client, 'channel', 'n')
    gateway.pass(1_000)
    const certainMs = network.clock.wallMs()
    network.clock.advance(1_000)
    executeAll(gateway, node.command)
    const { subscriber } = node
    // Beacon and message are lost, as at a node that the command link does not end at.
    subscriber.outbox = ''
    network.clock.advance(1_000)
    executeAll(gateway, node.command)
    node.deliver(subscriber)
    expect(subscriber.socket.isDestroyed).toBe(true)
    gateway.pass(1_000)
    expect(gateway.gaps).toHaveLength(1)
    expect(gateway.gaps[0]?.fromMs).toBeLessThanOrEqual(certainMs)
  })

  test('that the node refuses are no hole, and a problem until one is taken', () => {
    const { gateway, node, upstream } = gatewayUp()
    node.refuse = (command) => (isBeacon(command) ? 'BUSY a script runs' : undefined)
    gateway.pass(1_000)
    expect(upstream.problems).toEqual(['upstream: 127.0.0.1:6379 answers BUSY a script runs'])
    node.refuse = () => undefined
    gateway.pass(3_000)
    expect([upstream.problems, upstream.figures.reconnects.size]).toEqual([[], 0])
  })

  test('of the command link before are no hole', () => {
    const { gateway, node, network, upstream } = gatewayUp()
    network.clock.advance(1_000)
    const { command } = node
    executeAll(gateway, command)
    // It waits to be read while the next one is lost with its link.
    network.clock.advance(1_000)
    network.turn.end()
    node.kill(command)
    network.clock.advance(0)
    for (const peer of node.peers) {
      if (peer.subscriptions > 0) continue
      while (node.execute(peer)) node.deliver(peer)
    }
    gateway.pass(3_000)
    expect([...upstream.figures.reconnects]).toEqual([['closed', 1]])
  })
})

describe('A node', () => {
  test.each([0, 1])('that one link finds again is tried by the other at once: %i', (late) => {
    let luck = 0
    const gateway = new ModelGateway({}, () => luck).pass(1_000)
    const { network, node, upstream } = gateway
    luck = 0.999
    for (const peer of node.peers) node.kill(peer)
    network.clock.advance(200)
    let attempt = network.sockets.at(-2 + late)
    for (let times = 0; times < 4; times++) {
      attempt?.fail('ECONNREFUSED')
      if (times < 3) network.clock.advance(500)
      attempt = network.last
    }
    expect(upstream.links.map(({ isUp }) => isUp)).toEqual([false, false])
    gateway.settle()
    expect(upstream.links.map(({ isUp }) => isUp)).toEqual([true, true])
  })

  test('that is a replica now is left at once, with a gap from when it was master for certain', () => {
    const { gateway, client, node, network, upstream } = gatewayUp()
    gateway.subscribe(client, 'channel', 'n')
    gateway.pass(2_000)
    const masterMs = network.clock.wallMs()
    network.clock.advance(300)
    node.role = 'slave'
    // A transaction has a beacon follow it, which the replica sends back.
    gateway.publishAll(['other', 'm'])
    gateway.pass(700)
    gateway.pass(1_000)
    expect([...upstream.figures.reconnects.keys()]).toEqual(['authority'])
    expect(upstream.problems[0]).toMatch(/^upstream: 127\.0\.0\.1:6379 is a replica/)
    expect(gateway.publish('n', 'm').is).toBe('TRYAGAIN not published')
    node.role = 'master'
    gateway.pass(4_000)
    expect([upstream.problems, gateway.gaps.length]).toEqual([[], 1])
    expect(gateway.gaps[0]?.fromMs).toBeLessThanOrEqual(masterMs)
  })

  test('that refuses ROLE is a problem until it does not', () => {
    const { gateway, node, upstream } = gatewayUp()
    node.refuse = ([word]) => (word === 'ROLE' ? 'NOPERM no role' : undefined)
    gateway.pass(1_000)
    expect(upstream.problems).toEqual([
      'upstream-user: 127.0.0.1:6379 refuses (NOPERM no role): give this user the commands and channels that docs/scaling.md lists',
    ])
    node.refuse = () => undefined
    gateway.pass(1_000)
    expect(upstream.problems).toEqual([])
  })

  test('that owes a reply for more than 5 seconds is left, and publishes are unknown', () => {
    const { gateway, node, network } = gatewayUp()
    const { command } = node
    const answer = gateway.publish('n', 'm')
    for (let ms = 0; ms < 8_000 && !command.socket.isDestroyed; ms += 500) {
      network.clock.advance(500)
      network.turn.end()
    }
    expect([command.socket.isDestroyed, answer.is]).toEqual([
      true,
      'TRYAGAIN unknown whether published',
    ])
  })
})

describe('PUBLISH', () => {
  test('counts deliveries here exactly, and every other subscription upstream as one', () => {
    const { gateway, client, node } = gatewayUp()
    const others = [gateway.client(), gateway.client()]
    for (const other of [client, ...others]) gateway.subscribe(other, 'channel', 'n:1')
    gateway.subscribe(client, 'pattern', 'n:*', 'n:?', 'x*')
    gateway.settle()
    node.peers[0]?.channel.add('n:1')
    const answer = gateway.publish('n:1', 'm')
    gateway.settle()
    expect(answer.is).toBe(3 + 2 + 1)
    node.peers[0]?.channel.delete('n:1')
    expect(messagesOf(client)).toEqual(['n:1 m', 'n:*>n:1 m', 'n:?>n:1 m'])
  })

  test('to a shard channel counts its subscribers alone', () => {
    const { gateway, client } = gatewayUp()
    gateway.subscribe(client, 'shard', 's')
    gateway.subscribe(client, 'channel', 's')
    gateway.settle()
    const answer = gateway.publish('s', 'm', 'shard')
    gateway.settle()
    expect(answer.is).toBe(1)
  })

  test.each([
    ['before', false],
    ['after', true],
  ])('counts a subscription that comes into force %s it', (_, isAfter) => {
    const { gateway, client, node, network } = gatewayUp()
    const { subscriber, command } = node
    const answer = gateway.publish('n', 'm')
    gateway.subscribe(client, 'channel', 'n')
    gateway.subscribe(gateway.client(), 'channel', 'n')
    network.turn.end()
    const order = isAfter ? [command, subscriber] : [subscriber, command]
    for (const peer of order) while (node.execute(peer));
    node.deliver(command)
    node.deliver(subscriber)
    gateway.settle()
    expect(answer.is).toBe(isAfter ? 0 : 2)
    expect(messagesOf(client)).toEqual(isAfter ? [] : ['n m'])
  })

  test('is answered after the message has been given to subscribers here', () => {
    const { gateway, client, node, network } = gatewayUp()
    gateway.subscribe(client, 'channel', 'n')
    gateway.settle()
    const [subscriber, command] = [node.subscriber, node.command]
    const answer = gateway.publish('n', 'm')
    network.turn.end()
    node.execute(command)
    node.deliver(command)
    expect(answer.is).toBeUndefined()
    node.deliver(subscriber)
    expect([answer.is, messagesOf(client)]).toEqual([1, ['n m']])
  })

  test('does not wait for a message that was lost with its link', () => {
    const { gateway, client, node, network } = gatewayUp()
    gateway.subscribe(client, 'channel', 'n')
    gateway.settle()
    const { command } = node
    const answer = gateway.publish('n', 'm')
    network.turn.end()
    node.execute(command)
    node.deliver(command)
    node.kill(node.subscriber)
    expect(answer.is).toBe(1)
  })

  test('is refused where the links are down, and unknown where they end under it', () => {
    const { gateway, node, network } = gatewayUp()
    const sent = gateway.publish('n', '1')
    network.turn.end()
    const late = gateway.publish('n', '2')
    node.kill(node.command)
    expect([sent.is, late.is]).toEqual([
      'TRYAGAIN unknown whether published',
      'TRYAGAIN not published',
    ])
    expect(gateway.publish('n', '3').is).toBe('TRYAGAIN not published')
    expect(gateway.upstream.figures.inFlightBytes).toBe(0)
  })

  test('says that the upstream does not allow it', () => {
    const { gateway, node } = gatewayUp()
    node.refuse = ([word, name]) =>
      word === 'PUBLISH' && name === 'n' ? 'NOPERM no channel' : undefined
    const answer = gateway.publish('n', 'm')
    gateway.settle()
    expect(answer.is).toBe('ERR the upstream does not allow this gateway to publish there')
  })
})

describe('EXEC', () => {
  test('publishes as one transaction, and counts each message', () => {
    const { gateway, client, node, network } = gatewayUp()
    gateway.subscribe(client, 'channel', 'n')
    gateway.settle()
    const answers = gateway.publishAll(['n', '1'], ['m', '2'], ['n', '1'])
    network.turn.end()
    const { command } = node
    const words: (string | undefined)[] = []
    node.refuse = ([word]) => void words.push(word)
    while (node.execute(command));
    expect(words).toEqual(['MULTI', 'PUBLISH', 'PUBLISH', 'PUBLISH', 'EXEC', 'PUBLISH'])
    node.refuse = () => undefined
    gateway.settle()
    expect(answers.is).toEqual([1, 0, 1])
    expect(messagesOf(client)).toEqual(['n 1', 'n 1'])
  })

  test('is answered while the subscriber link is down', () => {
    const { gateway, node, network } = gatewayUp()
    const { command } = node
    node.kill(node.subscriber)
    // Somebody else is subscribed.
    command.channel.add('n')
    const answers = gateway.publishAll(['n', '1'])
    network.turn.end()
    while (node.execute(command)) node.deliver(command)
    expect(answers.is).toEqual([1])
  })

  test('says which of its messages was refused, and that none was published then', () => {
    const { gateway, node } = gatewayUp()
    let isAborted = false
    node.refuse = ([word, name]) => {
      if (word === 'PUBLISH' && name === 'n') {
        isAborted = true
        return 'NOPERM no channel'
      }
      return word === 'EXEC' && isAborted ? 'EXECABORT discarded' : undefined
    }
    const answers = gateway.publishAll(['n', '1'], ['m', '2'])
    gateway.settle()
    expect(answers.is).toEqual([
      'ERR the upstream does not allow this gateway to publish there',
      'TRYAGAIN not published',
    ])
  })

  test('counts what was published though MULTI was refused, and the refusal is a problem', () => {
    const { gateway, node, upstream } = gatewayUp()
    node.refuse = ([word]) => (word === 'MULTI' ? 'NOPERM no multi' : undefined)
    const answers = gateway.publishAll(['n', '1'], ['m', '2'])
    gateway.settle()
    expect(node.published.map(({ channel }) => channel)).toEqual(['n', 'm'])
    expect(answers.is).toEqual([0, 0])
    expect(upstream.problems[0]).toMatch(/^upstream-user: .*NOPERM no multi/)
  })

  test('that ends with its link is unknown where it was sent, and not published where it was not', () => {
    const { gateway, node, network } = gatewayUp()
    const sent = gateway.publishAll(['n', '1'], ['n', '2'])
    network.turn.end()
    const late = gateway.publishAll(['n', '3'])
    node.kill(node.command)
    expect(sent.is).toEqual([
      'TRYAGAIN unknown whether published',
      'TRYAGAIN unknown whether published',
    ])
    expect(late.is).toEqual(['TRYAGAIN not published'])
    expect(gateway.publishAll(['n', '4']).is).toEqual(['TRYAGAIN not published'])
  })
})

describe('A name that the upstream refuses', () => {
  const NOPERM = 'NOPERM No permissions to access a channel'

  test('after it was in force is a gap for its holders until it is allowed', () => {
    const { gateway, client, node, upstream } = gatewayUp()
    const other = gateway.client()
    gateway.subscribe(client, 'channel', 'n')
    gateway.subscribe(other, 'channel', 'm')
    gateway.settle()
    node.refuse = (command) =>
      command[0] === 'SUBSCRIBE' && command.includes('n') ? NOPERM : undefined
    node.kill(node.subscriber)
    gateway.pass(1_000)
    expect(gateway.gaps.map(({ name, holders }) => [name, holders.length])).toEqual([
      [undefined, 2],
    ])
    expect(upstream.problems[0]).toMatch(/NOPERM/)
    const refusedMs = gateway.network.clock.wallMs()
    node.refuse = () => undefined
    gateway.pass(10_000)
    expect(upstream.problems).toEqual([])
    expect(gateway.gaps[1]).toMatchObject({ name: 'n', holders: [client.client] })
    expect(gateway.gaps[1]?.fromMs).toBeLessThanOrEqual(refusedMs)
    expect(gateway.publish('n', 'm').is).toBeUndefined()
    gateway.settle()
    expect(messagesOf(client)).toEqual(['n m'])
  })

  test('and that nobody holds is no problem of the gateway', () => {
    const { gateway, client, node, upstream } = gatewayUp()
    node.refuse = ([word]) => (word === 'SUBSCRIBE' ? NOPERM : undefined)
    const wanted = gateway.subscribe(client, 'channel', 'n')
    gateway.settle()
    expect([wanted.is, upstream.problems]).toEqual([
      'ERR the upstream refuses the subscription',
      [],
    ])
  })

  test('because it is busy is asked for again', () => {
    const { gateway, client, node } = gatewayUp()
    node.refuse = ([word]) => (word === 'SUBSCRIBE' ? 'BUSY a script runs' : undefined)
    const wanted = gateway.subscribe(client, 'channel', 'n')
    gateway.pass(500)
    expect(wanted.is).toBe('waits')
    node.refuse = () => undefined
    gateway.pass(200)
    expect(wanted.is).toBe('in force')
  })
})

test('Names of gateways themselves are hidden from patterns', () => {
  const { gateway, client } = gatewayUp()
  gateway.subscribe(client, 'pattern', '*')
  gateway.pass(3_000)
  expect(messagesOf(client)).toEqual([])
})
