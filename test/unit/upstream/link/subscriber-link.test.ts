import { describe, expect, test } from 'vitest'
import type { RespValue } from '../../../../shared/resp/types.ts'
import { Source } from '../../../../server/upstream/link/source.ts'
import { SubscriberLink } from '../../../../server/upstream/link/subscriber-link.ts'
import type { Space } from '../../../../server/pubsub/subscriber.ts'
import { FakeNetwork, NODE, pushOf, type FakeSocket } from '../../../support/fake-node.ts'

/** A subscriber link that is up, sources of its user, and what it was told of them. */
class Links {
  readonly network = new FakeNetwork()
  readonly told: string[] = []
  readonly replies: RespValue[] = []
  readonly sources = new Map<string, Source>()
  readonly link: SubscriberLink
  socket: FakeSocket

  constructor() {
    const { told } = this
    this.link = new SubscriberLink(this.network.host(), {
      up: () => void told.push('up'),
      down: (cause) => {
        for (const source of this.sources.values()) {
          source.state = 'out'
          source.batch = undefined
        }
        told.push(`down ${cause}`)
      },
      message: (space, source, channel, payload) =>
        void told.push(`${space} ${source} ${channel} ${payload.kept().toString('latin1')}`),
      find: (space, name) => this.sources.get(`${space} ${name}`),
      confirmed: ({ name }) => void told.push(`confirmed ${name}`),
      left: ({ name }) => void told.push(`left ${name}`),
      lost: ({ name }) => void told.push(`lost ${name}`),
      refused: ({ name }, line) => void told.push(`refused ${name}: ${line}`),
      dropped: ({ name }) => void told.push(`dropped ${name}`),
      changing: (sources) => void told.push(`changing ${sources.length}`),
      reply: (value) => void this.replies.push(value),
    })
    this.link.link.connectTo(NODE)
    this.network.clock.advance(0)
    this.socket = this.network.last
    this.socket.shakeHands()
    this.take()
  }

  source(name: string, space: Space = 'channel'): Source {
    const source = new Source(space, name)
    this.sources.set(`${space} ${name}`, source)
    return source
  }

  /** Somebody needs these sources, or nobody does any more. */
  need(sources: readonly Source[], isNeeded = true): void {
    for (const source of sources) {
      source.isOccupied = isNeeded
      this.link.update(source)
    }
  }

  /** Ends the turn. @returns The commands that leave. */
  flush(): string[][] {
    this.network.turn.end()
    return this.socket.take()
  }

  confirm(word: string, ...names: readonly string[]): void {
    this.socket.receive(...names.map((name) => pushOf(word, name, 1)))
  }

  /** Sources that are in force. */
  inForce(...names: readonly string[]): Source[] {
    const sources = names.map((name) => this.source(name))
    this.need(sources)
    this.flush()
    this.confirm('subscribe', ...names)
    this.take()
    return sources
  }

  /** @returns What the user was told since the last look. */
  take(): string[] {
    return this.told.splice(0)
  }
}

const names = (count: number, at = 0): string[] =>
  Array.from({ length: count }, (_, index) => `n${at + index}`)

describe('Names on a subscriber link', () => {
  test('go out in one command for each space at the end of the turn, as bytes', () => {
    const links = new Links()
    links.need([links.source('a'), links.source('\xff\0'), links.source('p*', 'pattern')])
    expect(links.socket.take()).toEqual([])
    expect(links.flush()).toEqual([
      ['SUBSCRIBE', 'a', '\xff\0'],
      ['PSUBSCRIBE', 'p*'],
    ])
    expect(links.take()).toEqual(['changing 2', 'changing 1'])
  })

  test('of shard channels go out in one command for each slot', () => {
    const links = new Links()
    const shards = ['{a}1', '{b}1', '{a}2'].map((name) => links.source(name, 'shard'))
    links.need(shards)
    expect(links.flush()).toEqual([
      ['SSUBSCRIBE', '{a}1', '{a}2'],
      ['SSUBSCRIBE', '{b}1'],
    ])
  })

  test('are confirmed by name, whatever the order', () => {
    const links = new Links()
    const [a, b] = [links.source('a'), links.source('b')]
    links.need([a, b])
    links.flush()
    links.take()
    links.confirm('subscribe', 'b', 'stranger')
    expect([a.state, b.state]).toEqual(['asked', 'in'])
    links.confirm('subscribe', 'a')
    expect([a.state, b.state]).toEqual(['in', 'in'])
    expect(links.take()).toEqual(['confirmed b', 'confirmed a'])
  })

  test('go in batches of 512, of which 8 are unconfirmed at most', () => {
    const links = new Links()
    links.need(names(512 * 10).map((name) => links.source(name)))
    const sent = links.flush()
    expect(sent.map(({ length }) => length - 1)).toEqual(Array(8).fill(512))
    links.confirm('subscribe', ...names(511))
    expect(links.flush()).toEqual([])
    links.confirm('subscribe', 'n511')
    expect(links.flush()).toEqual([['SUBSCRIBE', ...names(512, 512 * 8)]])
    // The last of any batch makes room, not only that of the first.
    links.confirm('subscribe', ...names(512, 512 * 3))
    expect(links.flush()).toEqual([['SUBSCRIBE', ...names(512, 512 * 9)]])
  })

  test('go in batches of 64 KB at most, and a larger name by itself', () => {
    const links = new Links()
    const long = ['x', 'y', 'z'].map((letter) => letter.repeat(30_000))
    const giant = 'g'.repeat(100_000)
    links.need([...long, giant, 'last'].map((name) => links.source(name)))
    expect(links.flush()).toEqual([
      ['SUBSCRIBE', long[0], long[1]],
      ['SUBSCRIBE', long[2]],
      ['SUBSCRIBE', giant],
      ['SUBSCRIBE', 'last'],
    ])
  })

  test('that nobody needs any more by the end of the turn are not asked for', () => {
    const links = new Links()
    const a = links.source('a')
    links.need([a])
    links.need([a], false)
    expect(links.flush()).toEqual([])
    expect(new Set(links.take())).toEqual(new Set(['dropped a']))
  })

  test('that are needed again by the end of the turn are not left', () => {
    const links = new Links()
    const [a] = links.inForce('a')
    if (!a) throw new Error('no source')
    links.need([a], false)
    links.need([a])
    expect(links.flush()).toEqual([])
    expect(a.state).toBe('in')
  })

  test('that change their mind within one turn are asked for once', () => {
    const links = new Links()
    const a = links.source('a')
    for (const isNeeded of [true, false, true]) links.need([a], isNeeded)
    expect(links.flush()).toEqual([['SUBSCRIBE', 'a']])
  })

  test('that change their mind while all batches are under way go out both ways', () => {
    const links = new Links()
    const [a] = links.inForce('a')
    if (!a) throw new Error('no source')
    links.need(names(512 * 8).map((name) => links.source(name)))
    links.flush()
    const b = links.source('b')
    // `a` waits in the queue of those that are subscribed to as well as in that of those that are left.
    for (const isNeeded of [false, true, false]) links.need([a], isNeeded)
    links.need([b])
    links.confirm('subscribe', ...names(512 * 2))
    expect(links.flush()).toEqual([
      ['UNSUBSCRIBE', 'a'],
      ['SUBSCRIBE', 'b'],
    ])
  })

  test('that are queued in both directions do not hold each other up', () => {
    const links = new Links()
    const [a] = links.inForce('a')
    if (!a) throw new Error('no source')
    links.need(names(512 * 8).map((name) => links.source(name)))
    links.flush()
    // First in the queue of those that are subscribed to stands one that is to be left.
    a.isOccupied = false
    a.state = 'out'
    a.isOccupied = true
    links.link.update(a)
    a.state = 'in'
    a.isOccupied = false
    links.need([links.source('b')])
    links.confirm('subscribe', ...names(512 * 2))
    expect(new Set(links.flush().map((words) => words.join(' ')))).toEqual(
      new Set(['SUBSCRIBE b', 'UNSUBSCRIBE a']),
    )
  })

  test('are left when they are confirmed, if nobody needs them by then', () => {
    const links = new Links()
    const a = links.source('a')
    links.need([a])
    links.flush()
    links.need([a], false)
    expect(links.flush()).toEqual([])
    links.confirm('subscribe', 'a')
    expect(links.flush()).toEqual([['UNSUBSCRIBE', 'a']])
    links.need([a])
    expect(links.flush()).toEqual([])
    links.confirm('unsubscribe', 'a')
    expect(links.flush()).toEqual([['SUBSCRIBE', 'a']])
    expect(a.state).toBe('asked')
  })
})

describe('A subscriber link is refused', () => {
  const NOPERM = '-NOPERM No permissions to access a channel\r\n'

  test('one name of many: each of its command is asked for by itself', () => {
    const links = new Links()
    links.need(['a', 'b', 'c'].map((name) => links.source(name)))
    links.flush()
    links.take()
    links.socket.receive(NOPERM)
    expect(links.flush()).toEqual([
      ['SUBSCRIBE', 'a'],
      ['SUBSCRIBE', 'b'],
      ['SUBSCRIBE', 'c'],
    ])
    links.socket.receive(pushOf('subscribe', 'a', 1), NOPERM, pushOf('subscribe', 'c', 2))
    expect(links.take().filter((line) => !line.startsWith('changing'))).toEqual([
      'confirmed a',
      'refused b: NOPERM No permissions to access a channel',
      'confirmed c',
    ])
    expect([...links.sources.values()].map(({ state }) => state)).toEqual(['in', 'out', 'in'])
  })

  test('the oldest command that is not confirmed, and no other', () => {
    const links = new Links()
    links.need([links.source('a'), links.source('p*', 'pattern'), links.source('s', 'shard')])
    links.flush()
    links.take()
    links.socket.receive(pushOf('subscribe', 'a', 1), NOPERM, pushOf('ssubscribe', 's', 1))
    expect(links.take()).toEqual([
      'confirmed a',
      'refused p*: NOPERM No permissions to access a channel',
      'confirmed s',
    ])
  })

  test('all names of a command by any other error', () => {
    const links = new Links()
    links.need(['{s}1', '{s}2'].map((name) => links.source(name, 'shard')))
    links.flush()
    links.take()
    links.socket.receive('-MOVED 1 127.0.0.1:7001\r\n')
    expect(links.take()).toEqual([
      'refused {s}1: MOVED 1 127.0.0.1:7001',
      'refused {s}2: MOVED 1 127.0.0.1:7001',
    ])
  })

  test('and does not stop at 8 refused names', () => {
    const links = new Links()
    links.need(names(20).map((name) => links.source(name)))
    links.flush()
    links.take()
    links.socket.receive(NOPERM)
    expect(links.flush()).toHaveLength(8)
    links.socket.receive(NOPERM.repeat(8))
    expect(links.flush()).toHaveLength(8)
    links.socket.receive(NOPERM.repeat(8))
    expect(links.flush()).toHaveLength(4)
  })

  test('and asks for a name that was allowed after all together with others again', () => {
    const links = new Links()
    const [a, b] = [links.source('a'), links.source('b')]
    links.need([a, b])
    links.flush()
    links.socket.receive(NOPERM)
    links.flush()
    links.confirm('subscribe', 'a', 'b')
    links.need([a, b], false)
    expect(links.flush()).toEqual([['UNSUBSCRIBE', 'a', 'b']])
  })

  test('something that is no subscription: its user is told', () => {
    const links = new Links()
    links.inForce('a')
    links.socket.receive('-ERR no\r\n', '+OK\r\n')
    expect(links.replies).toEqual([{ type: 'error', message: 'ERR no' }, 'OK'])
  })
})

describe('A name that goes out by itself', () => {
  test('is lost, once', () => {
    const links = new Links()
    const [a] = links.inForce('a')
    links.confirm('unsubscribe', 'a', 'a')
    expect(a?.state).toBe('out')
    expect(links.take()).toEqual(['lost a'])
  })

  test('is no answer to the command that asks for it again', () => {
    const links = new Links()
    const slot = links.source('s', 'shard')
    links.need([slot])
    links.flush()
    links.confirm('ssubscribe', 's')
    links.confirm('sunsubscribe', 's')
    links.link.update(slot)
    expect(links.flush()).toEqual([['SSUBSCRIBE', 's']])
    links.confirm('sunsubscribe', 's')
    expect(slot.state).toBe('asked')
    links.confirm('ssubscribe', 's')
    expect(slot.state).toBe('in')
  })
})

describe('A subscriber link that ends', () => {
  test('forgets what it has sent and what was queued', () => {
    const links = new Links()
    links.need(names(512 * 9).map((name) => links.source(name)))
    links.flush()
    links.take()
    links.socket.close()
    expect(links.take()).toEqual(['down closed'])
    expect(links.flush()).toEqual([])
    links.network.clock.advance(0)
    links.socket = links.network.last
    links.socket.shakeHands()
    expect(links.flush()).toEqual([])
    links.need([...links.sources.values()])
    expect(links.flush()).toHaveLength(8)
  })

  test('takes no updates until it is up', () => {
    const links = new Links()
    links.socket.close()
    links.need([links.source('a')])
    links.network.clock.advance(0)
    links.socket = links.network.last
    links.socket.shakeHands()
    expect(links.flush()).toEqual([])
  })
})

test('A subscriber link hands over messages', () => {
  const links = new Links()
  links.inForce('a')
  links.socket.receive(pushOf('message', 'a', '\xff'), pushOf('pmessage', 'p*', 'px', 'm'))
  links.socket.receive(pushOf('smessage', 's', ''))
  expect(links.take()).toEqual(['channel a a \xff', 'pattern p* px m', 'shard s s '])
})
