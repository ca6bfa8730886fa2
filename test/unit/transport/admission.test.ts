import { describe, expect, test } from 'vitest'
import { hostAndPort } from '../../../server/addresses.ts'
import type { Client } from '../../../server/client/client.ts'
import { CLOSES } from '../../../server/client/close.ts'
import { TestCore, type ConnectOptions } from '../../support/test-core.ts'

/** Admits connections of these addresses over WebSocket. @returns Why each was rejected, or undefined. */
function admit(core: TestCore, ...addresses: readonly string[]) {
  return addresses.map((ip) => {
    const rejection = core.admission.admit({ transport: 'websocket', ip })
    if (rejection === undefined) {
      const client = core.connect({ transport: 'websocket', address: hostAndPort(ip, 5) })
      core.admission.joined(client.client, ip)
    }
    return rejection
  })
}

test('counts connections of one address, and forgets them when they close', () => {
  const core = new TestCore({ 'ws-max-connections-per-ip': '1' })
  expect(admit(core, '192.0.2.1', '192.0.2.1', '192.0.2.9')).toEqual([
    undefined,
    'address',
    undefined,
  ])
  core.setUser('default', 'off')
  expect(core.admission.admit({ transport: 'tcp', ip: '192.0.2.1' })).toBeUndefined()
  for (const client of [...core.clients.all()]) client.close(CLOSES.peerClosed)
  expect(admit(core, '192.0.2.1')).toEqual([undefined])
  expect(core.counters.connectionsReceived).toBe(5)
  expect(core.counters.rejections.get('address')).toBe(1)
})

test.each([
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
  ['2001:db8:1:2::1', '2001:0DB8:0001:0002:0:0:0:5', true],
  ['2001:db8::1', '2001:db8:0:0:1::', true],
  ['fe80::1%eth0', 'fe80::2%eth0', true],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
])('%s and %s are one address: %s', (first, second, isSame) => {
  const core = new TestCore({ 'ws-max-connections-per-ip': '1' })
  expect(admit(core, first, second)).toEqual([undefined, isSame ? 'address' : undefined])
})

test('has room for maxclients, an unlimited number per address by default, and for none once closed', () => {
  const core = new TestCore({ maxclients: '2' })
  expect(admit(core, '192.0.2.1', '192.0.2.1')).toEqual([undefined, undefined])
  for (const client of core.clients.all()) client.authenticate()
  expect(admit(core, '192.0.2.1')).toEqual(['maxclients'])
  expect(core.admission.admit({ transport: 'tcp', ip: '127.0.0.1' })).toBe('maxclients')
  core.admission.close()
  expect(admit(core, '')).toEqual(['shutdown'])
})

test('of a server that drains lets in administrators alone', () => {
  const core = new TestCore()
  core.admission.drain()
  expect(core.admission.admit({ transport: 'websocket', ip: '127.0.0.1' })).toBe('shutdown')
  expect(core.admission.admit({ transport: 'tcp', ip: '127.0.0.1' })).toBe('shutdown')
  const admin = { transport: 'websocket', ip: '127.0.0.1', listener: 'admin' } as const
  expect(core.admission.admit(admin)).toBeUndefined()
  core.admission.close()
  expect(core.admission.admit(admin)).toBe('shutdown')
})

test('counts TCP and TLS connections of one address together, and apart from WebSockets', () => {
  const core = new TestCore({ 'tcp-max-connections-per-ip': '1', 'protected-mode': 'no' })
  core.admission.joined(core.connect({ transport: 'websocket' }).client, '192.0.2.1')
  expect(core.admission.admit({ transport: 'tls', ip: '192.0.2.1' })).toBeUndefined()
  core.admission.joined(core.connect({ transport: 'tls' }).client, '192.0.2.1')
  expect(core.admission.admit({ transport: 'tcp', ip: '192.0.2.1' })).toBe('address')
})

describe('Connections of an address that opens them too fast', () => {
  const start = () =>
    new TestCore({ 'http-connection-rate-per-ip': '1', 'tcp-connection-rate-per-ip': '1' })
  const open = (core: TestCore, kind: 'http' | 'tcp', ip: string) =>
    Array.from({ length: 5 }, () => core.admission.isTooFast(kind, ip))

  test('are refused beyond the burst, and counted', () => {
    const core = start()
    expect(open(core, 'http', '192.0.2.1')).toEqual([false, false, false, true, true])
    expect(core.counters.rejections.get('rate')).toBe(2)
    core.clock.advance(1_000)
    expect(open(core, 'http', '192.0.2.1')).toEqual([false, true, true, true, true])
  })

  test('are counted apart for HTTP and RESP, and never on a Unix socket', () => {
    const core = start()
    open(core, 'http', '192.0.2.1')
    expect(open(core, 'tcp', '192.0.2.1')).toEqual([false, false, false, true, true])
    expect(open(core, 'tcp', '')).toEqual([false, false, false, false, false])
  })

  test('have no limit by default', () => {
    const core = new TestCore()
    for (let i = 0; i < 100; i++) {
      expect(core.admission.isTooFast('http', '192.0.2.1')).toBe(false)
      expect(core.admission.isTooFast('tcp', '192.0.2.1')).toBe(false)
    }
  })
})

test.each([
  ['tcp', '192.0.2.1', 'protected-mode'],
  ['tls', '2001:db8::1', 'protected-mode'],
  ['tcp', '127.0.0.1', undefined],
  ['tcp', '::ffff:127.0.0.1', undefined],
  ['tcp', '::1', undefined],
  ['unix', '', undefined],
  ['websocket', '192.0.2.1', undefined],
] as const)('protected mode rejects %s from %j: %s', (transport, ip, rejection) => {
  const core = new TestCore()
  expect(core.admission.admit({ transport, ip })).toBe(rejection)
  core.set('protected-mode', 'no')
  expect(core.admission.admit({ transport, ip })).toBeUndefined()
  core.set('protected-mode', 'yes')
  core.set('requirepass', 'secret')
  expect(core.admission.admit({ transport, ip })).toBeUndefined()
  expect(core.counters.connectionsReceived).toBe(3)
})

/** Connects a client as a listener does. @returns It, or the reason why it was rejected. */
function arrive(core: TestCore, options: ConnectOptions & { ip?: string } = {}) {
  const { transport = 'websocket', listener = 'public', ip = '192.0.2.1' } = options
  const rejection = core.admission.admit({ transport, ip, listener })
  return rejection ?? core.connect({ transport, listener, address: hostAndPort(ip, 5) })
}

/** So many arrivals that are let in. */
function arrivals(core: TestCore, count: number, options: ConnectOptions & { ip?: string } = {}) {
  return [...Array(count).keys()].map(() => {
    const arrived = arrive(core, options)
    if (typeof arrived === 'string') throw new Error(`rejected: ${arrived}`)
    return arrived
  })
}

const idsOf = (clients: Iterable<Client>): number[] => [...clients].map(({ id }) => id)

describe('A WebSocket that has not logged in', () => {
  test('gives way to a newcomer beyond ws-max-unauthenticated, the oldest first, and is told with 4429', () => {
    const core = new TestCore({ 'ws-max-unauthenticated': '3' })
    const [first, second] = arrivals(core, 5)
    expect(idsOf(core.clients.all())).toEqual([3, 4, 5])
    expect(first?.client.closeCause).toBe(CLOSES.crowdedOut)
    expect(first?.sink.ends).toMatchObject([{ code: 4429 }])
    expect(second?.sink.terminated).toBe(true)
    expect(core.counters.unauthenticatedEvicted).toBe(2)
    expect(core.clients.sockets).toBe(3)
  })

  test('counts no longer once it has logged in, and again after RESET, as the youngest', () => {
    const core = new TestCore({ 'ws-max-unauthenticated': '2' })
    const [browser] = arrivals(core, 1)
    browser?.becomeDefault()
    arrivals(core, 3)
    expect(idsOf(core.clients.all())).toEqual([1, 3, 4])
    browser?.send('RESET')
    expect(idsOf(core.clients.unauthenticated.of('public'))).toEqual([3, 4, 1])
    arrivals(core, 1)
    expect(idsOf(core.clients.all())).toEqual([1, 5])
  })

  test('gives way to one of its own network beyond ws-max-unauthenticated-per-ip', () => {
    const core = new TestCore({ 'ws-max-unauthenticated-per-ip': '1' })
    for (const ip of ['2001:db8:1:2::1', '192.0.2.1', '2001:db8:1:2:ffff::9']) {
      arrivals(core, 1, { ip })
    }
    expect(idsOf(core.clients.all())).toEqual([2, 3])
  })

  test('is let in without limit where both directives are 0', () => {
    const core = new TestCore({
      'ws-max-unauthenticated': '0',
      'ws-max-unauthenticated-per-ip': '0',
    })
    arrivals(core, 2_000)
    expect(core.clients.size).toBe(2_000)
  })

  test('is evicted with the others of a limit that was lowered', () => {
    const core = new TestCore()
    arrivals(core, 10)
    core.set('ws-max-unauthenticated', '3')
    arrivals(core, 1)
    expect(idsOf(core.clients.all())).toEqual([9, 10, 11])
  })
})

describe('Where maxclients are connected', () => {
  const flooded = (): TestCore => {
    const core = new TestCore({ maxclients: '200', 'protected-mode': 'no', requirepass: 'secret' })
    arrivals(core, 260)
    return core
  }

  test('strangers leave maxclients-reserve to others, at most a quarter', () => {
    const core = flooded()
    expect(core.clients.size).toBe(150)
    core.set('maxclients-reserve', '10')
    arrivals(core, 100)
    expect(core.clients.size).toBe(190)
  })

  test('sessions that are logged in are not evicted for strangers, who then are rejected', () => {
    const core = flooded()
    for (const client of core.clients.all()) client.authenticate()
    expect(arrive(core)).toBe('maxclients')
    expect(core.clients.size).toBe(150)
  })

  test("RESP clients and administrators find a place, after that strangers' places, and then none", () => {
    const core = flooded()
    arrivals(core, 200, { transport: 'tcp' })
    expect(core.clients.size).toBe(200)
    expect(core.clients.unauthenticated.of('public').size).toBe(0)
    expect(arrive(core, { transport: 'tcp' })).toBe('maxclients')
    const [admin] = arrivals(core, 1, { listener: 'admin' })
    expect(admin?.client.closed).toBe(false)
    expect(core.clients.size).toBe(201)
  })

  test('16 administrators have places beyond, of which half may be taken by sockets that do not log in', () => {
    const core = new TestCore({ maxclients: '1' })
    arrivals(core, 1, { transport: 'tcp', ip: '127.0.0.1' })
    arrivals(core, 20, { listener: 'admin' })
    expect(idsOf(core.clients.all())).toEqual([1, 14, 15, 16, 17, 18, 19, 20, 21])
    for (const client of core.clients.all()) client.authenticate()
    for (const { client } of arrivals(core, 8, { listener: 'admin' })) client.authenticate()
    expect(arrive(core, { listener: 'admin' })).toBe('maxclients')
  })

  test('a closed client whose socket still sends counts, and is cut for a newcomer', () => {
    const core = new TestCore({ maxclients: '1' })
    const options = { transport: 'tcp', ip: '127.0.0.1' } as const
    const [first] = arrivals(core, 1, options)
    first?.client.close(CLOSES.peerEnded)
    expect([core.clients.size, core.clients.sockets, first?.sink.terminated]).toEqual([0, 1, false])
    arrivals(core, 1, options)
    expect([core.clients.sockets, first?.sink.terminated]).toEqual([1, true])
    expect(arrive(core, options)).toBe('maxclients')
  })
})

describe('A TCP client that has to log in', () => {
  test('gives way to a newcomer beyond tcp-max-unauthenticated, with the text of Redis', () => {
    const core = new TestCore({ requirepass: 'secret', 'tcp-max-unauthenticated': '2' })
    const [first, second] = arrivals(core, 2, { transport: 'tcp' })
    second?.send('AUTH', 'secret')
    arrivals(core, 2, { transport: 'tcp' })
    expect(first?.sink.take()).toBe('-ERR max number of clients reached\r\n')
    expect(idsOf(core.clients.all())).toEqual([2, 3, 4])
  })

  test('is never evicted by default, nor where the default user needs no password', () => {
    const core = new TestCore({ requirepass: 'secret', 'protected-mode': 'no' })
    arrivals(core, 50, { transport: 'tcp' })
    core.setUser('default', 'nopass')
    core.set('tcp-max-unauthenticated', '1')
    arrivals(core, 2, { transport: 'tcp' })
    expect(core.clients.size).toBe(52)
  })
})

describe('Before all listeners are open', () => {
  test('nobody is let in; then everybody is, in their order', () => {
    const { admission } = new TestCore()
    const told: string[] = []
    const wait = (name: string) =>
      admission.whenDue(
        'resp',
        () => told.push(`${name} goes`),
        () => told.push(`${name} is dropped`),
      )
    wait('one')
    wait('two')
    expect(told).toEqual([])
    admission.open()
    wait('three')
    expect(told).toEqual(['one goes', 'two goes', 'three goes'])
  })

  test('a server that fails drops those that wait', () => {
    const { admission } = new TestCore()
    const told: string[] = []
    admission.whenDue(
      'resp',
      () => told.push('goes'),
      () => told.push('is dropped'),
    )
    admission.close()
    expect(told).toEqual(['is dropped'])
  })
})
