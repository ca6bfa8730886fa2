import { describe, expect, test } from 'vitest'
import { FailureRun, LoginFailures } from '../../../server/client/login-failures.ts'
import { recordedLog } from '../../support/recorded-log.ts'
import { TestCore, type ConnectOptions } from '../../support/test-core.ts'

describe('A run of failures', () => {
  test('grows until a minute passes without one', () => {
    const run = new FailureRun()
    expect([run.countAt(0), run.add(0), run.add(59_999), run.add(119_998)]).toEqual([0, 1, 2, 3])
    expect([run.countAt(179_997), run.countAt(179_998), run.add(179_998)]).toEqual([3, 0, 1])
  })
})

function opened(delayMs = '1000') {
  const { log, lines } = recordedLog()
  const core = new TestCore({ 'auth-failure-delay': delayMs }, log)
  const failures = new LoginFailures(core)
  const client = (address: string, options: ConnectOptions = {}) =>
    core.connect({ address, ...options }).client
  const waits = (times: number, address: string): number[] =>
    Array.from({ length: times }, () => failures.note(client(address), 'wrong-password').waitMs)
  const logged = () => lines.filter(({ msg }) => msg.startsWith('many failed logins'))
  return { core, failures, client, waits, logged }
}

const TEN_AT_ONCE = Array<number>(10).fill(0)

describe('The failed logins of an address', () => {
  test('are answered at once ten times, then after a wait that doubles up to auth-failure-delay', () => {
    const { waits } = opened()
    expect(waits(17, '203.0.113.7:1')).toEqual([
      ...TEN_AT_ONCE,
      62.5,
      125,
      250,
      500,
      1_000,
      1_000,
      1_000,
    ])
  })

  test('never wait with an auth-failure-delay of 0', () => {
    expect(new Set(opened('0').waits(50, '203.0.113.7:1'))).toEqual(new Set([0]))
  })

  test('are answered at once again after a minute without one', () => {
    const { core, waits } = opened()
    waits(20, '203.0.113.7:1')
    core.clock.advance(60_000)
    expect(waits(11, '203.0.113.7:1')).toEqual([...TEN_AT_ONCE, 62.5])
  })

  test.each([
    ['the ports of one address', '203.0.113.7:1', '203.0.113.7:2', true],
    ['two addresses', '203.0.113.7:1', '203.0.113.8:1', false],
    ['one IPv6 /64', '[2001:db8::1]:1', '[2001:db8:0:0:ffff::2]:9', true],
    ['two IPv6 /64s', '[2001:db8:0:1::1]:1', '[2001:db8:0:2::1]:1', false],
    ['an IPv4 address and its IPv6 form', '203.0.113.7:1', '[::ffff:203.0.113.7]:2', true],
    ['one Unix socket', '/run/r.sock:0', '/run/r.sock:0', true],
  ])('count together for %s, or not', (_name, one, other, isTogether) => {
    const { failures, client, waits } = opened()
    waits(10, one)
    expect(failures.mustWait(client(other))).toBe(isTogether)
  })

  test('are one line of the log for each run, with the address and the last reason', () => {
    const { core, waits, logged } = opened()
    waits(10, '203.0.113.7:1')
    expect(logged()).toEqual([])
    waits(90, '203.0.113.7:1')
    expect(logged()).toMatchObject([
      {
        level: 'warn',
        network: '203.0.113.7',
        address: '203.0.113.7:1',
        transport: 'tcp',
        reason: 'wrong-password',
      },
    ])
    core.clock.advance(60_000)
    waits(12, '203.0.113.7:1')
    expect(logged()).toHaveLength(2)
  })

  test('are remembered for 10,000 addresses, without the one that failed longest ago', () => {
    const { failures, client, waits } = opened()
    waits(10, '10.9.9.9:1')
    waits(10, '10.8.8.8:1')
    waits(1, '10.9.9.9:1')
    for (let i = 0; i < 9_999; i++) waits(1, `10.0.${i >> 8}.${i & 255}:1`)
    expect(failures.size).toBe(10_000)
    expect(failures.mustWait(client('10.9.9.9:1'))).toBe(true)
    expect(failures.mustWait(client('10.8.8.8:1'))).toBe(false)
  })

  test('are forgotten once their run is over, when another address fails', () => {
    const { core, failures, waits } = opened()
    for (let i = 0; i < 100; i++) waits(1, `10.0.0.${i}:1`)
    core.clock.advance(60_000)
    waits(1, '10.1.0.0:1')
    expect(failures.size).toBe(1)
  })
})

test('The fifth failure in a run is the last of a WebSocket, and no failure that of a TCP connection', () => {
  const { core, failures, client } = opened()
  const found = (['websocket', 'tcp'] as const).map((transport) => {
    const one = client('203.0.113.7:1', { transport })
    return Array.from({ length: 6 }, () => failures.note(one, 'wrong-password').isLast)
  })
  expect(found[0]).toEqual([false, false, false, false, true, true])
  expect(found[1]).toEqual(Array(6).fill(false))

  const patient = client('203.0.113.9:1', { transport: 'websocket' })
  for (let i = 0; i < 20; i++) {
    expect(failures.note(patient, 'token-expired').isLast).toBe(false)
    core.clock.advance(60_000)
  }
})
