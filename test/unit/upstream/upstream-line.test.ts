import { describe, expect, test } from 'vitest'
import { fixedNode, type Authority } from '../../../server/upstream/topology/authority.ts'
import type { ControlLine } from '../../../server/upstream/control-line.ts'
import { onAnswer } from '../../../server/upstream/link/command-link.ts'
import type { Node } from '../../../server/upstream/node.ts'
import { silentLog } from '../../../server/log.ts'
import { ControlRecorder } from '../../support/control-recorder.ts'
import { NODE } from '../../support/fake-node.ts'
import { messagesOf, ModelGateway } from '../../support/model-upstream.ts'

const CTL = '{respcast:test}:ctl'
const OTHER: Node = { host: '10.0.0.2', port: 6379 }

/** A gateway whose line has a user, as it starts. */
function begun(authority: Authority = fixedNode(NODE)) {
  const user = new ControlRecorder()
  const gateway = new ModelGateway({}, () => 0, authority, silentLog(), user)
  const line = gateway.upstream.control as ControlLine
  return { gateway, user, line }
}

/** A gateway that has admitted its names, whenever it could, and a client that holds `a`. */
function serving(authority: Authority = fixedNode(NODE)) {
  const all = begun(authority)
  const { gateway, user, line } = all
  user.admitting(line)
  const client = gateway.client()
  gateway.subscribe(client, 'channel', 'a')
  gateway.pass(1_000)
  user.take()
  return { ...all, client }
}

/** The commands on a link of the gateway that name channels of clients. */
const namesAt = (gateway: ModelGateway): string[] => [...gateway.node.subscriber.channel]

describe('A control line', () => {
  test('is there with upstream-control alone', () => {
    expect(new ModelGateway().upstream.control).toBeUndefined()
    expect(new ModelGateway({ 'upstream-control': 'yes' }).upstream.control).toBeDefined()
  })

  test('without a user keeps nothing back, and makes no connection', () => {
    const gateway = new ModelGateway({ 'upstream-control': 'yes' }).pass(1_000)
    const wanted = gateway.subscribe(gateway.client(), 'channel', 'a')
    gateway.settle()
    expect([wanted.is, gateway.upstream.problems]).toEqual(['in force', []])
    expect(gateway.upstream.links.map(({ role }) => role)).toEqual(['subscriber', 'command'])
  })

  test('has its own connection among the links, and says when it is up', () => {
    const { gateway, user, line } = begun()
    expect(line.isUp).toBe(false)
    gateway.settle().pass(100)
    expect(line.isUp).toBe(true)
    expect(user.told).toEqual(['up', 'listening'])
    expect(gateway.upstream.links.map(({ role, isUp }) => [role, isUp])).toEqual([
      ['subscriber', true],
      ['command', true],
      ['control', true],
    ])
    gateway.node.kill(gateway.node.control)
    expect([line.isUp, user.take().at(-1)]).toEqual([false, 'down'])
    gateway.pass(1_000)
    expect([line.isUp, user.take()]).toEqual([true, ['up']])
  })

  test('answers commands in their order, and loses at once what cannot be sent', () => {
    const { gateway, line } = begun()
    const answers: unknown[] = []
    const ask = (name: string): void =>
      line.ask(
        {
          answered: (value) => answers.push([name, value]),
          lost: (sent) => answers.push([name, sent]),
        },
        'PUBLISH',
        'b',
        name,
      )
    ask('early')
    expect(answers).toEqual([['early', false]])
    gateway.pass(1_000)
    ask('1')
    ask('2')
    gateway.settle()
    expect(answers.slice(1)).toEqual([
      ['1', 0],
      ['2', 0],
    ])
    ask('3')
    gateway.network.turn.end()
    gateway.node.kill(gateway.node.control)
    expect(answers.at(-1)).toEqual(['3', true])
  })

  test('that is not answered for five seconds is made again, and others go on', () => {
    const { gateway, line, user } = serving()
    const { control } = gateway.node
    let isLost = false
    line.ask({ answered: () => {}, lost: () => (isLost = true) }, 'PUBLISH', 'b', '')
    gateway.network.turn.end()
    for (let ms = 0; ms < 7_000; ms += 500) {
      gateway.network.clock.advance(500)
      gateway.network.turn.end()
      for (const peer of gateway.node.peers) {
        if (peer === control) continue
        while (gateway.node.execute(peer));
        gateway.node.deliver(peer)
      }
    }
    expect([control.socket.isDestroyed, isLost]).toEqual([true, true])
    expect([user.take(), gateway.gaps]).toEqual([['down', 'up'], []])
  })
})

describe('The channels of the control plane', () => {
  test('are in force before any other name is asked for', () => {
    const { gateway, user, line } = begun()
    const client = gateway.client()
    const wanted = gateway.subscribe(client, 'channel', 'a')
    gateway.pass(1_000)
    expect(namesAt(gateway)).toEqual(expect.arrayContaining([...user.channels]))
    expect(namesAt(gateway)).not.toContain('a')
    expect(wanted.is).toBe('waits')
    line.admit()
    gateway.settle()
    expect([namesAt(gateway).includes('a'), wanted.is]).toEqual([true, 'in force'])
  })

  test('are a problem until they are in force', () => {
    const { gateway } = begun()
    gateway.node.refuse = ([word]) => (word === 'SUBSCRIBE' ? 'LOADING wait' : undefined)
    gateway.pass(1_000)
    const problem = 'upstream: the channels of the control plane are not confirmed yet'
    expect(gateway.upstream.problems).toContain(problem)
    gateway.node.refuse = () => undefined
    expect(gateway.pass(2_000).upstream.problems).toEqual([])
  })

  test('that are not allowed name the directive, and are asked for until they are', () => {
    const { gateway, user } = begun()
    gateway.node.refuse = (command) =>
      command[0] === 'SUBSCRIBE' && command.includes(CTL) ? 'NOPERM no' : undefined
    gateway.pass(2_000)
    expect(gateway.upstream.problems.join()).toContain('upstream-user: 127.0.0.1:6379 refuses')
    expect(user.told).toEqual(['up'])
    gateway.node.refuse = () => undefined
    gateway.pass(6_000)
    expect([user.told, gateway.upstream.problems]).toEqual([['up', 'listening'], []])
  })

  test('bring their messages in place among all others, and hide them from subscribers', () => {
    const { gateway, user, client } = serving()
    gateway.subscribe(client, 'pattern', '*')
    gateway.settle()
    const seen: string[] = []
    user.onMessage = (text) => seen.push(text, ...messagesOf(client))
    gateway.node.publish('a', '1')
    gateway.node.publish(CTL, 'entry \xff')
    gateway.node.publish('a', '2')
    gateway.settle()
    expect(seen).toEqual(['entry \xff', 'a 1', '*>a 1'])
    expect(messagesOf(client)).toEqual(['a 2', '*>a 2'])
    expect(user.told).toEqual([`${CTL} entry \xff`])
  })

  test('come before the other names again when the link was lost, which wait for the next admission', () => {
    const { gateway, user, line, client } = serving()
    user.onListening = () => {}
    gateway.node.kill(gateway.node.subscriber)
    expect(user.take()).toEqual(['deaf'])
    gateway.pass(1_000)
    expect(user.take()).toEqual(['listening'])
    expect(namesAt(gateway)).not.toContain('a')
    line.admit()
    gateway.settle()
    gateway.node.publish('a', '1')
    gateway.settle()
    expect([messagesOf(client), gateway.gaps.length]).toEqual([['a 1'], 1])
  })

  test('cannot be admitted while they are not in force', () => {
    const { gateway, user, line } = serving()
    user.onListening = () => {}
    gateway.node.kill(gateway.node.subscriber)
    line.admit()
    gateway.pass(1_000)
    expect([user.take(), namesAt(gateway).includes('a')]).toEqual([['deaf', 'listening'], false])
  })
})

describe('A change of the authority', () => {
  test('takes the commands and the channels to the other node', () => {
    let told: (node: Node | undefined) => void = () => {}
    const { gateway, user, line } = serving({
      ...fixedNode(NODE),
      onChange: (listener) => (told = listener),
      start: () => told(NODE),
    })
    told(OTHER)
    expect(user.take().toSorted()).toEqual(['deaf', 'down'])
    gateway.pass(1_000)
    expect(user.take().toSorted()).toEqual(['listening', 'up elsewhere'])
    expect(gateway.upstream.links.map(({ address }) => address)).toEqual(
      Array.from({ length: 3 }, () => '10.0.0.2:6379'),
    )
    expect(line.isUp).toBe(true)
  })

  test('is seen by the role of the node as well: commands do not stay at a replica', () => {
    const { gateway, user, line } = serving()
    gateway.node.role = 'slave'
    gateway.pass(2_000)
    expect(line.isUp).toBe(false)
    expect(user.take()).toEqual(expect.arrayContaining(['deaf', 'down']))
  })
})

describe('A pause', () => {
  test('holds back what was published behind an entry, also of the same read', () => {
    const { gateway, user, line, client } = serving()
    user.onMessage = () => line.pause()
    gateway.node.publish('a', '1')
    gateway.node.publish(CTL, 'entry')
    gateway.node.publish('a', '2')
    gateway.settle()
    gateway.node.publish('a', '3')
    gateway.settle()
    expect(messagesOf(client)).toEqual(['a 1'])
    line.resume()
    gateway.settle()
    expect(messagesOf(client)).toEqual(['a 2', 'a 3'])
  })

  test('ends with as many calls as it began with, and may begin again at once', () => {
    const { gateway, user, line, client } = serving()
    user.onMessage = () => line.pause()
    line.pause()
    line.pause()
    for (const text of ['1', '2']) {
      gateway.node.publish('a', text)
      gateway.node.publish(CTL, text)
    }
    gateway.settle()
    line.resume()
    gateway.settle()
    expect(user.take()).toEqual([])
    line.resume()
    gateway.settle()
    expect([user.take(), messagesOf(client)]).toEqual([[`${CTL} 1`], ['a 1']])
    line.resume()
    gateway.settle()
    expect([user.take(), messagesOf(client)]).toEqual([[`${CTL} 2`], ['a 2']])
  })

  test.each([1_000, 2_900])('of %i ms is no silence: no link is cut', (ms) => {
    const { gateway, line, client } = serving()
    for (let times = 0; times < 5; times++) {
      line.pause()
      gateway.pass(ms, 100)
      expect(gateway.upstream.problems).toEqual([])
      line.resume()
      gateway.settle()
    }
    gateway.node.publish('a', '1')
    gateway.pass(1_000)
    expect([messagesOf(client), gateway.network.ended]).toEqual([['a 1'], []])
  })

  test('of more than three seconds is a link cut, with a gap', () => {
    const { gateway, user, line, client } = serving()
    line.pause()
    gateway.node.publish('a', 'lost')
    gateway.pass(5_000, 100)
    expect([...gateway.upstream.figures.reconnects]).toEqual([['silent', 1]])
    line.resume()
    gateway.pass(1_000)
    gateway.node.publish('a', '1')
    gateway.settle()
    expect([messagesOf(client), gateway.gaps.length]).toEqual([['a 1'], 1])
    expect(user.take()).toEqual(['deaf', 'listening'])
  })

  test('may last before names are admitted, since nothing is lost', () => {
    const { gateway, user, line } = begun()
    user.onListening = () => line.pause()
    const wanted = gateway.subscribe(gateway.client(), 'channel', 'a')
    gateway.pass(20_000, 100)
    gateway.node.publish(CTL, 'entry')
    gateway.settle()
    expect([user.take(), gateway.network.ended]).toEqual([['up', 'listening'], []])
    line.admit()
    line.resume()
    gateway.pass(2_000)
    expect([user.take(), gateway.network.ended]).toEqual([[`${CTL} entry`], []])
    expect([wanted.is, gateway.upstream.problems]).toEqual([
      'TRYAGAIN the upstream does not confirm the subscription',
      [],
    ])
  })

  test('does not hide that the node is silent', () => {
    const { gateway, line } = serving()
    const { subscriber } = gateway.node
    for (let ms = 0; ms < 12_000 && !subscriber.socket.isDestroyed; ms += 100) {
      if (ms % 1_000 === 0) line.pause()
      if (ms % 1_000 === 500) line.resume()
      gateway.network.clock.advance(100)
      gateway.network.turn.end()
      while (gateway.node.execute(gateway.node.command));
      gateway.node.deliver(gateway.node.command)
    }
    expect(subscriber.socket.isDestroyed).toBe(true)
  })

  test('does not hold back the replies of the control plane, nor those to publishes elsewhere', () => {
    const { gateway, line } = serving()
    line.pause()
    let answer: unknown
    line.ask(
      onAnswer((value) => (answer = value)),
      'PUBLISH',
      'b',
      '',
    )
    const published = gateway.publish('nobody', 'm')
    gateway.settle()
    expect([answer, published.is]).toEqual([0, 0])
  })
})

describe('A gateway that may not serve', () => {
  const line = 'TRYAGAIN the lease has lapsed'

  test('answers publishes and subscriptions with the reason, and sends nothing', () => {
    const { gateway, user } = serving()
    user.refusal = line
    expect(gateway.publish('a', 'm').is).toBe(line)
    expect(gateway.publishAll(['a', 'm'], ['b', 'm']).is).toEqual([line, line])
    expect(gateway.subscribe(gateway.client(), 'channel', 'a').is).toBe(line)
    gateway.settle()
    expect(gateway.node.published).toEqual([])
    user.refusal = undefined
    const answer = gateway.publish('a', 'm')
    gateway.settle()
    expect(answer.is).toBe(1)
  })

  test('has the problems of its control plane', () => {
    const { gateway, user } = serving()
    user.problems = ['upstream-lease: it has lapsed']
    expect(gateway.upstream.problems).toEqual(['upstream-lease: it has lapsed'])
  })

  test('delivers nothing from the cut on, hears the channels, and has a gap until it is admitted', () => {
    const { gateway, user, line: control, client } = serving()
    user.onListening = () => {}
    user.onMessage = () => control.cutOff('upstream-lease: it has lapsed')
    gateway.node.publish('a', '1')
    gateway.node.publish(CTL, 'entry')
    gateway.node.publish('a', '2')
    gateway.settle()
    expect(messagesOf(client)).toEqual(['a 1'])
    gateway.pass(5_000)
    expect(user.take()).toEqual([`${CTL} entry`, 'deaf', 'listening'])
    gateway.node.publish('a', '3')
    gateway.settle()
    expect([messagesOf(client), gateway.gaps]).toEqual([[], []])
    control.admit()
    gateway.settle()
    gateway.node.publish('a', '4')
    gateway.settle()
    expect([messagesOf(client), gateway.gaps.length]).toEqual([['a 4'], 1])
    expect([...gateway.upstream.figures.gaps]).toEqual([['fenced', 1]])
  })

  test('finds out before it delivers what was read, though no timer has run', () => {
    const { gateway, user, line: control, client } = serving()
    user.onListening = () => {}
    user.onRead = () => control.cutOff('upstream-lease: it has lapsed')
    gateway.node.publish('a', '1')
    gateway.settle()
    expect(messagesOf(client)).toEqual([])
  })
})
