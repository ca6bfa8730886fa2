import { describe, expect, test } from 'vitest'
import { RoundRobin } from '../../../server/transport/round-robin.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { command, ManualTurn, TestCore } from '../../support/test-core.ts'

/** Participants that note their names, and wait again so many times. */
function round(msOfEach = 0) {
  const turn = new ManualTurn()
  const clock = new FakeClock()
  const order: string[] = []
  const turns = new RoundRobin({ atEndOfTurn: turn.atEndOfTurn, nowMs: () => clock.monotonicMs() })
  const add = (name: string, times: number): void => {
    turns.add({
      takeTurn: () => {
        order.push(name)
        clock.advance(msOfEach)
        if (times > 1) add(name, times - 1)
      },
    })
  }
  const next = (): string => {
    order.length = 0
    turn.endOne()
    return order.join('')
  }
  return { add, next }
}

describe('Waiting connections', () => {
  test('go on once each turn, in the order in which they began to wait', () => {
    const { add, next } = round()
    add('a', 3)
    add('b', 1)
    add('c', 2)
    expect([next(), next(), next(), next()]).toEqual(['abc', 'ac', 'a', ''])
  })

  test('go on in the next turn where they take long, before those that wait again', () => {
    const { add, next } = round(1.5)
    add('a', 2)
    add('b', 2)
    add('c', 1)
    expect([next(), next(), next(), next()]).toEqual(['ab', 'ca', 'b', ''])
  })

  test('go on at all where each takes longer than a turn may', () => {
    const { add, next } = round(100)
    add('a', 1)
    add('b', 1)
    expect([next(), next(), next()]).toEqual(['a', 'b', ''])
  })
})

/** A server whose clients may execute few commands each turn, and a log of who published. */
function fewEachTurn(commands: number) {
  const core = new TestCore({
    'tcp-turn-budget': String(commands + 1),
    'ws-turn-budget': String(commands + 1),
  })
  const witness = core.connect({ protocol: 3 })
  witness.send('SUBSCRIBE', 'log')
  /** Ends one turn. @returns The payloads that were published since the last look. */
  const turn = (): string => {
    core.turn.endOne()
    return witness.sink
      .take()
      .split('$3\r\nlog\r\n$1\r\n')
      .slice(1)
      .map((rest) => rest[0])
      .join('')
  }
  const publish = (name: string, count: number): Buffer =>
    Buffer.concat(Array<Buffer>(count).fill(command('PUBLISH', 'log', name)))
  return { core, turn, publish }
}

describe('A budget for each client and turn', () => {
  test.each(['tcp', 'websocket'] as const)(
    'lets the clients go in turn, whatever one has sent (%s)',
    (transport) => {
      const { core, turn, publish } = fewEachTurn(4)
      const [greedy, modest] = [core.connect({ transport }), core.connect({ transport })]
      greedy.becomeDefault()
      modest.becomeDefault()
      greedy.write(publish('g', 12))
      modest.write(publish('m', 2))
      expect(turn()).toBe('ggggmm')
      modest.write(publish('m', 2))
      expect([turn(), turn(), turn()]).toEqual(['gggggmm', 'ggg', ''])
      expect(core.counters.turnsYielded).toBe(2)
    },
  )

  test('is one for all reads of a turn, and new in the next', () => {
    const { core, publish } = fewEachTurn(4)
    const client = core.connect({ transport: 'websocket' })
    client.becomeDefault()
    client.write(publish('x', 1))
    client.write(publish('x', 1))
    expect([client.client.commands, client.sink.paused]).toEqual([2, false])
    client.write(publish('x', 1))
    expect([client.client.commands, client.sink.paused]).toEqual([2, true])
    core.turn.end()
    expect([client.client.commands, client.sink.paused]).toEqual([3, false])
    client.write(publish('x', 1))
    expect([client.client.commands, client.sink.paused]).toEqual([4, false])
  })

  test.each([
    ['websocket', [3, 32]],
    ['tcp', [32, 32]],
  ] as const)(
    'is a sixteenth in a turn that has read WebSockets for long, and the whole in the next (%s)',
    (transport, commands) => {
      const { core, publish } = fewEachTurn(32)
      const early = core.connect({ transport: 'websocket' })
      const late = core.connect({ transport })
      early.becomeDefault()
      late.becomeDefault()
      early.write(publish('e', 1))
      core.clock.advance(6)
      late.write(publish('l', 32))
      const before = late.client.commands
      core.turn.end()
      expect([before, late.client.commands]).toEqual(commands)
    },
  )

  test('answers everything in its order, also what the peer sent before it ended', () => {
    const { core } = fewEachTurn(3)
    const client = core.connect()
    const texts = Array.from({ length: 20 }, (_, i) => String(i))
    client.write(Buffer.concat(texts.map((text) => command('ECHO', text))))
    client.connection.peerEnded()
    expect(client.client.closed).toBe(false)
    expect(client.read()).toBe(texts.map((text) => `$${text.length}\r\n${text}\r\n`).join(''))
    expect(client.client.closeCause?.name).toBe('peer-closed')
  })

  test('is spent by the time that commands take', () => {
    const { core, publish } = fewEachTurn(1_000)
    const [slow, other] = [core.connect(), core.connect()]
    const { backplane } = core
    const through = backplane.publish.bind(backplane)
    backplane.publish = (...args) => {
      core.clock.advance(0.4)
      return through(...args)
    }
    slow.write(publish('s', 9))
    expect(slow.client.commands).toBe(3)
    other.write(publish('o', 1))
    expect(other.client.commands).toBe(1)
    core.turn.endOne()
    expect(slow.client.commands).toBe(6)
  })

  test('is spent by replies and by what is sent to subscribers', () => {
    const { core } = fewEachTurn(100)
    const client = core.connect()
    const text = 'x'.repeat(50_000)
    client.write(Buffer.concat(Array<Buffer>(9).fill(command('ECHO', text))))
    // The read itself is 110 of its work.
    expect(client.client.commands).toBe(0)
    core.turn.endOne()
    expect(client.client.commands).toBe(3)
    core.turn.end()
    for (let i = 0; i < 50; i++) core.connect({ protocol: 3 }).send('SUBSCRIBE', 'c')
    const publisher = core.connect()
    publisher.write(
      Buffer.concat(Array<Buffer>(5).fill(command('PUBLISH', 'c', 'x'.repeat(65_536)))),
    )
    expect(publisher.client.commands).toBe(1)
    core.turn.endOne()
    expect(publisher.client.commands).toBe(3)
  })

  test('0 is no limit, and a change holds at once', () => {
    const { core, publish } = fewEachTurn(4)
    core.set('tcp-turn-budget', '0')
    const client = core.connect()
    client.write(publish('x', 500))
    expect(client.client.commands).toBe(500)
    core.turn.end()
    core.set('tcp-turn-budget', '11')
    client.write(publish('x', 500))
    core.turn.endOne()
    expect(client.client.commands).toBe(511)
  })

  test('a closed client executes nothing more of what waited', () => {
    const { core, publish } = fewEachTurn(4)
    const client = core.connect()
    client.write(publish('x', 50))
    core.connect().send('CLIENT', 'KILL', 'ID', String(client.client.id))
    core.turn.end()
    expect(client.client.commands).toBe(4)
  })
})

describe('A turn of the event loop that reads WebSockets', () => {
  /** Asks, so many milliseconds after the last time, whether it is late. */
  function turnOf(clock: FakeClock) {
    const turn = new ManualTurn()
    const turns = new RoundRobin({
      atEndOfTurn: turn.atEndOfTurn,
      nowMs: () => clock.monotonicMs(),
    })
    return {
      isLateAfter: (ms: number) => {
        clock.advance(ms)
        return turns.isLate(clock.monotonicMs())
      },
      end: () => turn.endOne(),
    }
  }

  test('is late once it has gone on for five milliseconds, until its end', () => {
    const { isLateAfter, end } = turnOf(new FakeClock())
    expect([isLateAfter(0), isLateAfter(5), isLateAfter(0.1), isLateAfter(50)]).toEqual([
      false,
      false,
      true,
      true,
    ])
    end()
    expect([isLateAfter(0), isLateAfter(5.1)]).toEqual([false, true])
  })
})
