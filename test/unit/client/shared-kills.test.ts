import { describe, expect, test } from 'vitest'
import { SharedKills } from '../../../server/client/shared-kills.ts'
import type { Change } from '../../../server/control/part.ts'
import { TestCore } from '../../support/test-core.ts'

/** The clock of the upstream, which is not that of this gateway. */
const UPSTREAM_MS = 5_000_000

function gateway() {
  const core = new TestCore()
  const startMs = core.clock.monotonicMs()
  const upstreamMs = () => UPSTREAM_MS + core.clock.monotonicMs() - startMs
  const part = new SharedKills(core.clients, core.clock, upstreamMs)
  const change = (atMs: number): Change => ({ origin: undefined, atMs, isLate: false })
  const kill = (order: object | string, atMs = upstreamMs()) =>
    part.obey(typeof order === 'string' ? order : JSON.stringify(order), change(atMs))
  return { core, part, kill, upstreamMs }
}

describe('CLIENT KILL of another gateway', () => {
  test('closes the connections that pass all of its filters, and counts them', () => {
    const { core, kill } = gateway()
    const [one, two, three] = [core.connect(), core.connect(), core.connect({ transport: 'unix' })]
    two.send('SUBSCRIBE', 'news')
    expect(kill({ type: 'normal', transport: 'tcp' })).toBe(1)
    expect([one, two, three].map(({ client }) => client.closed)).toEqual([true, false, false])
    expect(kill({})).toBe(2)
  })

  test.each([
    [{ id: 2 }, [2]],
    [{ addr: '10.0.0.2:2' }, [2]],
    [{ laddr: '127.0.0.1:6380' }, [1, 2, 3]],
    [{ user: 'ann' }, [3]],
    [{ type: 'pubsub' }, [1]],
    [{ type: 'replica' }, []],
    [{ sub: '42' }, []],
    [{ skip: 1 }, [2, 3]],
    [{ skip: 1, user: 'default' }, [2]],
  ])('by %j', (order, killed) => {
    const { core, kill } = gateway()
    core.setUser('ann', 'on nopass +@all')
    const clients = [core.connect(), core.connect({ address: '10.0.0.2:2' }), core.connect()]
    clients[0]?.send('SUBSCRIBE', 'news')
    clients[2]?.send('AUTH', 'ann', 'x')
    expect(kill(order)).toBe(killed.length)
    const closed = clients.filter(({ client }) => client.closed).map(({ client }) => client.id)
    expect(closed).toEqual(killed)
  })

  test('spares connections that are younger than the order, so that a replay kills nothing new', () => {
    const { core, kill, upstreamMs } = gateway()
    const old = core.connect()
    core.clock.advance(500)
    const atMs = upstreamMs()
    // Clocks of two gateways differ by no more than that.
    core.clock.advance(1_000)
    const same = core.connect()
    core.clock.advance(1)
    const young = core.connect()
    core.clock.advance(60_000)
    expect(kill({}, atMs)).toBe(2)
    expect([old, same, young].map(({ client }) => client.closed)).toEqual([true, true, false])
    expect(kill({}, atMs)).toBe(0)
  })

  test('is taken as given now where the clock of the upstream seems to be behind it', () => {
    const { core, kill, upstreamMs } = gateway()
    core.connect()
    expect(kill({}, upstreamMs() + 3_000)).toBe(1)
  })

  test('reckons MAXAGE from the time of the order', () => {
    const { core, kill, upstreamMs } = gateway()
    const [old] = [core.connect(), core.clock.advance(3_000)]
    const young = core.connect()
    const atMs = upstreamMs() + 2_000
    core.clock.advance(10_000)
    expect(kill({ maxAge: 5 }, atMs)).toBe(1)
    expect([old.client.closed, young.client.closed]).toEqual([true, false])
  })

  test.each([
    ['no JSON', '{'],
    ['no object', '[]'],
    ['nothing', 'null'],
    ['a filter that this version does not know', '{"zone":"eu"}'],
    ['a filter of objects', '{"__proto__":1,"constructor":"x"}'],
    ['an id that is none', '{"id":"1"}'],
    ['an age that is none', '{"maxAge":0}'],
    ['a type that is none', '{"type":"foo"}'],
    ['a name that is none', '{"user":7}'],
  ])('kills nobody if it is %s, and is not understood', (_title, order) => {
    const { core, kill, part } = gateway()
    const client = core.connect()
    expect(part.understands(order)).toBe(false)
    expect(kill(order)).toBe(0)
    expect(client.client.closed).toBe(false)
  })

  test('is understood with all filters that this version knows', () => {
    const { part } = gateway()
    expect(part.understands('{"id":2,"type":"pubsub","sub":"42","skip":1}')).toBe(true)
  })

  test('keeps nothing', () => {
    const { part } = gateway()
    expect([
      [...part.names()],
      part.valueOf(),
      part.accepts(),
      part.strays(),
      part.apply(),
    ]).toEqual([[], undefined, false, [], 0])
  })
})
