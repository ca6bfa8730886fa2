import { describe, expect, test } from 'vitest'
import { RespReader } from '../../../../../shared/resp/reader.ts'
import {
  consoleUrl,
  GatewayWatch,
  readGateways,
  stateOf,
  totalsOf,
  warningsOf,
  type Gateway,
  type WatchedGateway,
} from '../../../../../web/console/model/gateways.ts'
import { coreWithControl, nodeRecord } from '../../../../support/fake-control.ts'
import { TestCore } from '../../../../support/test-core.ts'

const ONE: Gateway = {
  id: 'a1',
  number: 1,
  name: 'one',
  version: '1.2.3',
  resp: '10.0.0.1:6379',
  http: '10.0.0.1:8080',
  admin: '10.0.0.1:8081',
  startedAtMs: 1_000,
  clients: 1_200,
  sessions: 1_100,
  subscriptions: 40,
  applied: '5000-0',
  isDraining: false,
  isFenced: false,
  leaseMs: 9_000,
  isSelf: true,
  digests: { issuers: 'i', acl: 'a' },
}

const TWO: Gateway = { ...ONE, id: 'b2', number: 2, name: 'two', clients: 1, isSelf: false }

/** Looks at the change that gateway one and gateway two have applied. @returns For how long each is behind. */
function lookAt(watch: GatewayWatch, nowMs: number, one: string, two: string): number[] {
  const seen = [
    { ...ONE, applied: one },
    { ...TWO, applied: two },
  ]
  return watch.look(seen, nowMs).map(({ behindMs }) => behindMs)
}

function watched(gateway: Gateway, more: Partial<WatchedGateway> = {}): WatchedGateway {
  return { ...gateway, behindMs: 0, ...more }
}

/** What the console reads of a server's own reply. */
function askAndRead(server: TestCore): readonly Gateway[] {
  const reader = new RespReader()
  const reply = server.connect({ protocol: 3 }).send('RESPCAST', 'NODES')
  reader.push(Buffer.from(reply, 'latin1'))
  return readGateways(reader.next() ?? null)
}

describe('RESPCAST NODES in the console', () => {
  test('is a gateway for each entry', () => {
    const { server, control } = coreWithControl()
    const leaseEndsMs = server.clock.monotonicMs() + 7_000
    const addresses = { resp: 'a:1', http: 'b:2', admin: 'c:3' }
    const two = nodeRecord({ id: 'b2', number: 2, name: 'zw\u00f6lf', addresses, isDraining: true })
    control.nodes = [{ ...two, leaseEndsMs }]
    expect(askAndRead(server)).toEqual([
      expect.objectContaining({ name: 'one', isSelf: true, leaseMs: 9_500, isDraining: false }),
      {
        ...{ id: 'b2', number: 2, name: 'zw\u00f6lf', version: '1.0.0', startedAtMs: 1_000 },
        ...addresses,
        ...{ clients: 3, sessions: 2, subscriptions: 5, applied: '7-1' },
        ...{ isDraining: true, isFenced: false, leaseMs: 7_000, isSelf: false },
        digests: { issuers: 'i', acl: 'a' },
      },
    ])
    server.clock.advance(7_000)
    expect(askAndRead(server)[1]).toMatchObject({ isFenced: true, leaseMs: 0 })
  })

  test('has neither an id nor a lease where nothing is shared', () => {
    expect(askAndRead(new TestCore())).toMatchObject([{ id: '', leaseMs: undefined, isSelf: true }])
  })
})

describe('A gateway is behind', () => {
  test('while another one has applied a later change', () => {
    const watch = new GatewayWatch()
    expect(lookAt(watch, 0, '5000-0', '5000-0')).toEqual([0, 0])
    // Only ids tell: the first look at it begins the time.
    expect(lookAt(watch, 1_000, '9000-0', '5000-0')).toEqual([0, 0])
    expect(lookAt(watch, 3_000, '9000-0', '5000-0')).toEqual([0, 2_000])
    expect(lookAt(watch, 4_000, '9000-0', '9000-0')).toEqual([0, 0])
  })

  test('by the number within a millisecond as well, and by numbers, not by texts', () => {
    const watch = new GatewayWatch()
    lookAt(watch, 0, '10000-10', '10000-9')
    expect(lookAt(watch, 1_000, '10000-10', '10000-9')).toEqual([0, 1_000])
    lookAt(watch, 2_000, '10000-10', '9999-0')
    expect(lookAt(watch, 3_000, '10000-10', '9999-0')).toEqual([0, 3_000])
  })

  test('if it is this one, too', () => {
    const watch = new GatewayWatch()
    lookAt(watch, 0, '', '5000-0')
    expect(lookAt(watch, 500, '', '5000-0')).toEqual([500, 0])
  })

  test('not for longer than it takes to apply what was there at the first look, however much comes', () => {
    const watch = new GatewayWatch()
    lookAt(watch, 0, '2000-0', '1000-0')
    expect(lookAt(watch, 1_000, '3000-0', '2000-0')).toEqual([0, 0])
    expect(lookAt(watch, 2_000, '4000-0', '3000-0')).toEqual([0, 0])
    expect(lookAt(watch, 4_500, '5000-0', '3500-0')).toEqual([0, 2_500])
  })
})

describe('Gateways need a look', () => {
  test('not while all serve, or drain', () => {
    expect(warningsOf([watched(ONE), watched(TWO, { isDraining: true })])).toEqual([])
  })

  test('if one is fenced, late or has other settings, the worst first', () => {
    const three = watched(TWO, { name: 'three', digests: { issuers: 'x', acl: 'y' } })
    const four = watched(TWO, { name: 'four', digests: { issuers: 'i', acl: 'y' } })
    const five = watched(TWO, { name: 'five', isFenced: true })
    expect(
      warningsOf([watched(ONE), watched(TWO, { behindMs: 12_000 }), three, four, five]),
    ).toEqual([
      'five is fenced or gone: its lease has lapsed, and it delivers nothing.',
      'two has not confirmed the last changes for 12 s.',
      'three has other settings about issuers of tokens and the ACL than this gateway: the same token may be another user there.',
      'four has other settings about the ACL than this gateway: the same token may be another user there.',
    ])
  })

  test('if it is this one', () => {
    expect(warningsOf([watched(ONE, { isFenced: true })])).toEqual([
      'This gateway is fenced: it serves nobody until it knows what was revoked.',
    ])
    expect(warningsOf([watched(ONE, { behindMs: 3_000 }), watched(TWO)])).toEqual([
      'This gateway has been behind the others for 3 s.',
    ])
  })

  test('not for what they tell each other within seconds, nor for changes that a fenced one cannot apply', () => {
    expect(warningsOf([watched(ONE), watched(TWO, { behindMs: 2_999 })])).toEqual([])
    expect(
      warningsOf([watched(ONE), watched(TWO, { isFenced: true, behindMs: 60_000 })]),
    ).toHaveLength(1)
  })
})

describe('The state of a gateway', () => {
  test.each([
    [{}, 'serving', 'good'],
    [{ isDraining: true }, 'draining', 'warn'],
    [{ isDraining: true, behindMs: 3_000 }, 'not confirmed', 'bad'],
    [{ isDraining: true, behindMs: 3_000, isFenced: true }, 'fenced', 'bad'],
  ] as const)('with %o is %s', (more, text, rank) => {
    expect(stateOf(watched(TWO, more))).toEqual({ text, rank })
  })
})

test('Totals count all gateways', () => {
  expect(totalsOf([ONE, TWO])).toBe('2 gateways, 1,201 clients, 2,200 sessions')
})

describe('The console of another gateway', () => {
  const here = { protocol: 'http:', hostname: '127.0.0.1' }
  const there = { protocol: 'https:', hostname: 'console.test' }

  test('is at its listener for administrators, by the protocol of this page', () => {
    const two = { ...TWO, admin: '10.0.0.2:8081' }
    expect(consoleUrl(two, ONE, here)).toBe('http://10.0.0.2:8081/')
    expect(consoleUrl(two, ONE, there)).toBe('https://10.0.0.2:8081/')
  })

  test.each(['127.0.0.1:9081', '[::1]:9081'])(
    'at %s is reached only from its own machine',
    (admin) => {
      expect(consoleUrl({ ...TWO, admin }, ONE, here)).toBe(`http://${admin}/`)
      expect(consoleUrl({ ...TWO, admin }, ONE, there)).toBeUndefined()
    },
  )

  test('is not known where it is closed, is this one, or has the address of this one on another machine', () => {
    expect(consoleUrl({ ...TWO, admin: '' }, ONE, here)).toBeUndefined()
    expect(consoleUrl(ONE, ONE, here)).toBeUndefined()
    const own = '127.0.0.1:8081'
    expect(consoleUrl({ ...TWO, admin: own }, { ...ONE, admin: own }, here)).toBeUndefined()
  })
})
