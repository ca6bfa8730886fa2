import { describe, expect, test } from 'vitest'
import { check, type Verdict } from '../../history/checker.ts'
import type { MessageSpace } from '../../history/history.ts'
import { Story } from './builder.ts'

/** The promises that a history breaks. */
function broken(story: Story): string[] {
  return [...new Set(check(story.history).violations.map(({ promise }) => promise))].toSorted()
}

function texts(story: Story): string[] {
  return check(story.history).violations.map(({ text }) => text)
}

function figures(story: Story): Verdict['figures'] {
  return check(story.history).figures
}

describe('A history without a fault', () => {
  test('breaks no promise, whatever the ways to subscribe', () => {
    const story = new Story()
    const exact = story.session('a').join('news')
    const pattern = story.session('b', 'g2', 'tcp').join('n*', 'pattern')
    const native = story.session('c', 'upstream', 'tcp').join('news')
    const shard = story.session('d', 'g2').join('news', 'shard')
    const message = story.publish('news', 3)
    exact.get(message)
    pattern.get(message, 'n*', 'pattern')
    native.get(message)
    shard.get(story.answer(story.send('news', 'q', 'g1', 'shard'), 1))
    expect(check(story.history).violations).toEqual([])
    expect(figures(story)).toMatchObject({ published: 2, deliveries: 4, exactNumbers: 2 })
  })

  test('has no duplicate where one client holds a name and a pattern', () => {
    const story = new Story()
    const both = story.session('a').join('news').join('n*', 'pattern')
    const message = story.publish('news', 2)
    both.get(message)
    both.get(message, 'n*', 'pattern')
    expect(broken(story)).toEqual([])
  })

  test('lets a name come and go', () => {
    const story = new Story()
    const client = story.session('a').join('news')
    client.get(story.publish('news', 1))
    client.leave('news')
    story.publish('news', 0)
    client.join('news')
    client.get(story.publish('news', 1))
    expect(broken(story)).toEqual([])
  })
})

test('A history may have commands that are sent before the ones before them are answered', () => {
  const story = new Story()
  const client = story.session('a')
  client.ask('news')
  client.leaving('news')
  client.ask('news')
  client.confirmed('news')
  client.left('news')
  client.confirmed('news')
  client.get(story.publish('news', 1))
  client.leaving('news')
  client.ask('news')
  client.left('news')
  client.refused('news')
  story.publish('news', 0)
  expect(broken(story)).toEqual([])
})

describe('P1: invention and duplicates', () => {
  test('bytes that nobody sent', () => {
    const story = new Story()
    story.session('a').join('news').getBytesOfNobody('news')
    expect(broken(story)).toEqual(['P1'])
  })

  test('a message that its publisher was told is not published', () => {
    const story = new Story()
    const client = story.session('a').join('news')
    client.get(story.answer(story.send('news'), 'not-published'))
    expect(broken(story)).toEqual(['P1'])
  })

  test('a message before it is sent', () => {
    const story = new Story()
    const client = story.session('a').join('news')
    const later = new Story().wait(100).send('news')
    client.get(later)
    expect(broken(story)).toEqual(['P1'])
  })

  test('a message twice', () => {
    const story = new Story()
    const client = story.session('a').join('news')
    const message = story.publish('news', 1)
    client.get(message)
    client.get(message)
    expect(broken(story)).toEqual(['P1', 'P4'])
    expect(texts(story)[0]).toBe('a gets p.0 of "news" twice')
  })

  test('a message twice, with a new subscription between', () => {
    const story = new Story()
    const client = story.session('a').join('news')
    const message = story.publish('news', 1)
    client.get(message)
    client.leave('news')
    client.join('news')
    client.get(message)
    expect(broken(story)).toContain('P1')
  })

  test('a message without a subscription, before its confirmation, and after its end', () => {
    const without = new Story()
    without.session('a').get(without.publish('news', 1))
    expect(broken(without)).toEqual(['P1', 'P4'])

    const before = new Story()
    const early = before.session('a')
    early.ask('news')
    early.get(before.publish('news', 1))
    early.confirmed('news')
    expect(broken(before)).toEqual(['P1'])

    const after = new Story()
    const late = after.session('a').join('news')
    const message = after.publish('news', 1)
    late.leave('news')
    late.get(message)
    expect(broken(after)).toEqual(['P1'])
  })

  test('a message of another channel, of the other space, or that the pattern does not match', () => {
    const other = new Story()
    const client = other.session('a').join('news')
    client.get(other.publish('sport', 1), 'news')
    expect(broken(other)).toContain('P1')

    const renamed = new Story()
    renamed.session('a').join('news').get(renamed.publish('news', 1), 'news', 'channel', 'sport')
    expect(broken(renamed)).toContain('P1')

    const space = new Story()
    const shard = space.session('a').join('news', 'shard')
    shard.get(space.publish('news', 1), 'news', 'shard')
    expect(broken(space)).toContain('P1')

    const pattern = new Story()
    const matching = pattern.session('a').join('s*', 'pattern')
    matching.get(pattern.publish('news', 1), 's*', 'pattern')
    expect(broken(pattern)).toContain('P1')
  })
})

describe('P2: one order', () => {
  /** Two publishers, whose messages nobody but the subscribers puts in an order. */
  function twoMessages(topology: 'standalone' | 'cluster', channels: readonly [string, string]) {
    const story = new Story(topology)
    const clients = ['a', 'b'].map((name, at) => story.session(name, `g${at}`))
    for (const client of clients) for (const channel of new Set(channels)) client.join(channel)
    const first = story.send(channels[0], 'p', 'g0')
    const second = story.send(channels[1], 'q', 'g0')
    story.answer(first, 2)
    story.answer(second, 2)
    return { story, clients, first, second }
  }

  test('two subscribers disagree', () => {
    const { story, clients, first, second } = twoMessages('standalone', ['news', 'news'])
    clients[0]?.get(first)
    clients[0]?.get(second)
    clients[1]?.get(second)
    clients[1]?.get(first)
    expect(broken(story)).toEqual(['P2'])
    expect(texts(story)[0]).toMatch(/^no order: ([pq])\.0 -\[[ab]\]-> [pq]\.0 -\[[ab]\]-> \1\.0$/)
  })

  test('two subscribers disagree across channels: in a cluster they may', () => {
    for (const topology of ['standalone', 'cluster'] as const) {
      const { story, clients, first, second } = twoMessages(topology, ['news', 'sport'])
      clients[0]?.get(first)
      clients[0]?.get(second)
      clients[1]?.get(second)
      clients[1]?.get(first)
      expect(broken(story)).toEqual(topology === 'standalone' ? ['P2'] : [])
    }
  })

  test('two subscribers disagree about a global channel while its slot goes to another owner: there they may, and nowhere else', () => {
    const story = (channel: string, beforeMs: number, lateMs: number, space: MessageSpace) => {
      const told = new Story('cluster')
      const clients = ['a', 'b'].map((name, at) => told.session(name, `g${at}`).join('news', space))
      told.replace(channel, 100).wait(beforeMs)
      const first = told.send('news', 'p', 'g0', space)
      told.answer(first, 2)
      const second = told.answer(told.send('news', 'q', 'g0', space), 2)
      clients[0]?.get(first)
      clients[0]?.get(second)
      clients[1]?.get(second)
      const third = told.wait(lateMs).answer(told.send('news', 'q', 'g0', space), 2)
      for (const client of clients) client.get(third)
      clients[1]?.get(first)
      return broken(told)
    }
    expect(story('news', 10, 10, 'channel')).toEqual([])
    expect(story('news', 10, 200, 'channel')).toEqual(['P2'])
    expect(story('news', 200, 10, 'channel')).toEqual(['P2'])
    expect(story('sport', 10, 10, 'channel')).toEqual(['P2'])
    expect(story('news', 10, 10, 'shard')).toEqual(['P2'])
  })

  test('a subscriber sees the messages of one publisher in another order', () => {
    const story = new Story()
    const client = story.session('a').join('news')
    const [first, second] = [story.send('news'), story.send('news')]
    story.answer(first, 1)
    story.answer(second, 1)
    client.get(second)
    client.get(first)
    expect(broken(story)).toEqual(['P2'])
  })

  test('a message overtakes one that was answered before it was sent', () => {
    const story = new Story()
    const client = story.session('a').join('news')
    const first = story.publish('news', 1, 'p')
    const second = story.publish('news', 1, 'q')
    client.get(second)
    client.get(first)
    expect(broken(story)).toEqual(['P2'])
  })

  test('three subscribers, of whom any two agree, have no order together', () => {
    const story = new Story()
    const [a, b, c] = ['a', 'b', 'c'].map((name, at) => story.session(name, `g${at}`))
    const names = ['x', 'y', 'z'] as const
    a?.join('x').join('y')
    b?.join('y').join('z')
    c?.join('z').join('x')
    const [x, y, z] = names.map((name) => story.send(name, name, 'g0'))
    for (const message of [x, y, z]) if (message) story.answer(message, 2)
    if (!x || !y || !z) throw new Error('three messages')
    a?.get(x)
    a?.get(y)
    b?.get(y)
    b?.get(z)
    c?.get(z)
    c?.get(x)
    expect(broken(story)).toEqual(['P2'])
  })

  test('the message of a name comes later than that of a pattern, with another between', () => {
    const story = new Story()
    const client = story.session('a').join('news').join('n*', 'pattern')
    const [first, second] = [story.send('news', 'p'), story.send('news', 'q')]
    story.answer(first, 2)
    story.answer(second, 2)
    client.get(first)
    client.get(second)
    client.get(first, 'n*', 'pattern')
    client.get(second, 'n*', 'pattern')
    expect(broken(story)).toEqual(['P2'])
  })

  test('what is published with unknown outcome may come at any later time', () => {
    const story = new Story()
    const client = story.session('a').join('news')
    const first = story.answer(story.send('news'), 'unknown')
    const second = story.publish('news', 1)
    client.get(second)
    client.get(first)
    expect(broken(story)).toEqual([])
  })
})

describe('P3: losses', () => {
  test('a message that was published after the confirmation does not arrive', () => {
    const story = new Story()
    story.session('a').join('news')
    story.publish('news', 1)
    expect(broken(story)).toEqual(['P3'])
  })

  test('a message of unknown outcome that somebody gets has to arrive at all', () => {
    const story = new Story()
    const got = story.session('a').join('news')
    story.session('b', 'g2').join('news')
    got.get(story.answer(story.send('news'), 'unknown'))
    expect(broken(story)).toEqual(['P3'])
  })

  test('a message of unknown outcome that nobody gets is no loss', () => {
    const story = new Story()
    story.session('a').join('news')
    story.answer(story.send('news'), 'unknown')
    expect(broken(story)).toEqual([])
  })

  test('a message that is sent before the confirmation may be missed', () => {
    const story = new Story()
    const client = story.session('a')
    client.ask('news')
    const message = story.send('news')
    client.confirmed('news')
    story.answer(message, 0)
    expect(broken(story)).toEqual([])
  })

  test('a pattern and a shard channel miss a message', () => {
    const story = new Story()
    story.session('a').join('n*', 'pattern')
    story.session('b').join('news', 'shard')
    story.publish('news', 1)
    story.answer(story.send('news', 'q', 'g1', 'shard'), 1)
    expect(check(story.history).violations).toHaveLength(2)
    expect(broken(story)).toEqual(['P3'])
  })

  /** A message that is missed, between two that arrive. */
  function missing(
    told: (span: {
      fromMs: number
      toMs: number
    }) => readonly [number, number, string?] | undefined,
  ) {
    const story = new Story()
    const client = story.session('a').join('news')
    client.get(story.publish('news', 1))
    story.wait(100)
    const fromMs = story.nowMs
    story.publish('news', 1)
    const toMs = story.nowMs
    story.wait(100)
    const gap = told({ fromMs, toMs })
    if (gap) client.gap(...gap)
    client.get(story.publish('news', 1))
    return story
  }

  test('within a gap of the channel or of everything a loss is allowed', () => {
    expect(broken(missing(({ fromMs, toMs }) => [fromMs, toMs, 'news']))).toEqual([])
    expect(broken(missing(({ fromMs, toMs }) => [fromMs, toMs]))).toEqual([])
    expect(figures(missing(({ fromMs, toMs }) => [fromMs - 20, toMs + 20]))).toMatchObject({
      missedInGaps: 1,
      gaps: 1,
      longestGapMs: 42,
    })
  })

  test('no gap, one that is too early or too late, or one of another channel does not explain it', () => {
    expect(broken(missing(() => undefined))).toEqual(['P3'])
    expect(broken(missing(({ fromMs }) => [fromMs - 50, fromMs - 20]))).toEqual(['P3'])
    expect(broken(missing(({ toMs }) => [toMs + 20, toMs + 50]))).toEqual(['P3'])
    expect(broken(missing(({ fromMs, toMs }) => [fromMs, toMs, 'sport']))).toEqual(['P3'])
  })

  test('the end of a connection explains what is missed at its end, and nothing in the middle', () => {
    const story = new Story()
    const client = story.session('a', 'g1', 'websocket').join('news')
    client.get(story.publish('news', 1))
    story.publish('news', 1)
    client.close()
    expect(broken(story)).toEqual([])
    expect(figures(story).missedAtEnd).toBe(1)

    const middle = new Story()
    const other = middle.session('a', 'g1', 'websocket').join('news')
    middle.publish('news', 1)
    other.get(middle.publish('news', 1))
    other.close()
    expect(broken(middle)).toEqual(['P3'])
  })

  test('over TCP the end of the connection tells a gap, as far as WebSockets of that gateway are told one', () => {
    const story = (isTold: boolean, isWatched: boolean, by: 'server' | 'client') => {
      const told = new Story()
      const client = told.session('a', 'g1', 'tcp').join('news')
      const watch = isWatched ? told.session('b', 'g1').join('sport') : undefined
      told.wait(100)
      const fromMs = told.nowMs
      told.publish('news', 0)
      if (isTold) watch?.gap(fromMs, told.nowMs)
      told.wait(100)
      client.get(told.publish('news', 1))
      client.close(by)
      return told
    }
    expect(broken(story(true, true, 'server'))).toEqual([])
    expect(broken(story(false, false, 'server'))).toEqual(['P4'])
    expect(broken(story(false, true, 'server'))).toEqual(['P3', 'P4'])
    expect(broken(story(true, true, 'client'))).toEqual(['P3'])
  })

  test('whoever leaves may miss what is still on its way, and nothing before what arrived', () => {
    const story = new Story()
    const client = story.session('a').join('news')
    story.publish('news', 1)
    client.leave('news')
    expect(broken(story)).toEqual([])

    const middle = new Story()
    const other = middle.session('a').join('news')
    const [first, second] = [middle.send('news'), middle.send('news')]
    middle.answer(first, 1)
    middle.answer(second, 1)
    other.get(second)
    other.leave('news')
    expect(broken(middle)).toEqual(['P3'])
  })

  test('whoever leaves a pattern of a cluster may miss a message of one channel, though a later one of another has come', () => {
    for (const topology of ['standalone', 'cluster'] as const) {
      const story = new Story(topology)
      const client = story.session('a').join('*', 'pattern')
      story.publish('news', 1)
      client.get(story.publish('sport', 1), '*', 'pattern')
      client.leave('*', 'pattern')
      expect(broken(story)).toEqual(topology === 'standalone' ? ['P3'] : [])
    }
  })

  test('a subscription ends without having been left, or is confirmed without having been asked for', () => {
    const lost = new Story()
    lost.session('a').join('news').left('news')
    expect(broken(lost)).toEqual(['P3'])

    const given = new Story()
    given.session('a').confirmed('news')
    expect(broken(given)).toEqual(['P3'])
  })

  test('the bus of a cluster may lose what is published during a fault, but nothing else, and no shard message', () => {
    const story = (ms: number, space: 'channel' | 'shard') => {
      const told = new Story('cluster')
      told.session('a').join('news', space)
      told.disturb(50).wait(ms)
      told.answer(told.send('news', 'p', 'g1', space), 1)
      return told
    }
    expect(broken(story(10, 'channel'))).toEqual([])
    expect(figures(story(10, 'channel')).lostUpstream).toBe(1)
    expect(broken(story(100, 'channel'))).toEqual(['P3'])
    expect(broken(story(10, 'shard'))).toEqual(['P3'])
  })
})

test('P3 for clients of the upstream itself holds while nothing disturbs it', () => {
  const story = (ms: number) => {
    const told = new Story('sentinel')
    told.session('a', 'upstream', 'tcp').join('news')
    told.disturb(50).wait(ms).publish('news', 1)
    return told
  }
  expect(broken(story(10))).toEqual([])
  expect(broken(story(100))).toEqual(['P3'])
})

test('P3 for what clients of the upstream publish at an old master does not hold, but for what gateways publish there', () => {
  const story = (place: string) => {
    const told = new Story('sentinel')
    told.session('a').join('news')
    told.disturb(50).wait(10).publish('news', 0, 'p', place)
    return told
  }
  expect(broken(story('upstream'))).toEqual([])
  expect(broken(story('g2'))).toEqual(['P3'])
})

describe('P4: the number of PUBLISH', () => {
  test('is smaller than the number of those who received it', () => {
    const story = new Story()
    const client = story.session('a').join('news')
    client.get(story.publish('news', 0))
    expect(broken(story)).toEqual(['P4'])
  })

  test('is larger than the number of those who could', () => {
    const story = new Story()
    story.session('a').join('news').get(story.publish('news', 2))
    expect(broken(story)).toEqual(['P4'])
  })

  test('counts each client of its gateway and of the upstream, and each other gateway once for a name and once for patterns', () => {
    const story = (receivers: number) => {
      const told = new Story()
      const clients = [
        told.session('a', 'g1').join('news'),
        told.session('b', 'g1').join('news'),
        told.session('c', 'g2').join('news'),
        told.session('d', 'g2').join('news'),
        told.session('e', 'upstream', 'tcp').join('news'),
      ]
      const pattern = told.session('f', 'g3').join('n*', 'pattern')
      const message = told.publish('news', receivers)
      for (const client of clients) client.get(message)
      pattern.get(message, 'n*', 'pattern')
      return told
    }
    expect(broken(story(5))).toEqual([])
    expect(figures(story(5)).exactNumbers).toBe(1)
    expect(broken(story(4))).toEqual(['P4'])
    expect(broken(story(6))).toEqual(['P4'])
  })

  test('may count a name that another gateway keeps after its last subscriber, and a cover of a pattern that does not match', () => {
    const story = (receivers: number) => {
      const told = new Story()
      told.session('a', 'g2').join('news').leave('news')
      told.session('b', 'g2').join('ne*x', 'pattern')
      told.wait(2_000)
      told.publish('news', receivers)
      return told
    }
    expect(broken(story(0))).toEqual(['P4'])
    expect(broken(story(1))).toEqual([])
    expect(broken(story(2))).toEqual([])
    expect(broken(story(3))).toEqual(['P4'])
    expect(figures(story(1)).exactNumbers).toBe(0)
  })

  test('may count a client that has just gone, or has just come', () => {
    const story = new Story()
    story.session('a').join('news').close('client')
    story.session('b').ask('news')
    story.publish('news', 2)
    expect(broken(story)).toEqual([])
    story.wait(2_000).publish('news', 2)
    expect(broken(story)).toEqual(['P4'])
  })

  test('is not judged from above while something is disturbed, nor for global channels of a cluster', () => {
    const story = new Story().disturb(50)
    story.publish('news', 7)
    expect(broken(story)).toEqual([])

    const cluster = new Story('cluster')
    cluster.publish('news', 7)
    cluster.answer(cluster.send('news', 'q', 'g1', 'shard'), 0)
    expect(broken(cluster)).toEqual([])
    cluster.answer(cluster.send('news', 'q', 'g1', 'shard'), 1)
    expect(broken(cluster)).toEqual(['P4'])
  })
})

describe('P5: a client and its own messages', () => {
  test('come after the reply', () => {
    for (const isLate of [true, false]) {
      const story = new Story()
      const client = story.session('a').join('news')
      const message = story.publish('news', 1, 'a')
      if (isLate) client.answered(message)
      client.get(message)
      if (!isLate) client.answered(message)
      expect(broken(story)).toEqual(isLate ? [] : ['P5'])
    }
  })

  test('without any reply are early', () => {
    const story = new Story()
    const client = story.session('a').join('news')
    client.get(story.send('news', 'a'))
    client.close()
    expect(broken(story)).toEqual(['P5'])
  })
})

test('P5 is not promised to clients of the upstream itself', () => {
  const story = new Story()
  const client = story.session('a', 'upstream', 'tcp').join('news')
  const message = story.publish('news', 1, 'a', 'upstream')
  client.get(message)
  client.answered(message)
  expect(broken(story)).toEqual([])
})

test('A stream that cannot be understood is a fault of its own', () => {
  const story = new Story()
  story.session('a').nonsense()
  expect(broken(story)).toEqual(['RESP'])
})
