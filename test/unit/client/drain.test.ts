import { describe, expect, test } from 'vitest'
import { coreWithUpstream } from '../../support/fake-backplane.ts'
import { recordedLog } from '../../support/recorded-log.ts'
import type { Directives } from '../../support/settings.ts'
import { command, TestCore, type TestClient } from '../../support/test-core.ts'

/** The least time that a server looks at again whether somebody is due, in ms. */
const STEP_MS = 20

/** Lets time pass, and its turns. */
function pass({ clock, turn }: TestCore, ms: number): void {
  for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
    clock.advance(Math.min(STEP_MS, ms - passedMs))
    turn.end()
  }
}

/** A server with so many clients of each kind that have been quiet for a while. */
function crowd(webSockets: number, tcps: number, directives: Directives = {}) {
  const core = new TestCore(directives)
  const connect = (count: number, transport: 'tcp' | 'websocket'): TestClient[] =>
    Array.from({ length: count }, () => core.connect({ transport }))
  const clients = { webSockets: connect(webSockets, 'websocket'), tcps: connect(tcps, 'tcp') }
  for (const each of clients.webSockets) each.becomeDefault()
  pass(core, 1_000)
  return { core, ...clients }
}

/** The time at which each client is closed, in ms from now, as exact as {@link STEP_MS}. */
function closeTimes(core: TestCore, clients: readonly TestClient[], withinMs: number): number[] {
  const times: number[] = clients.map(() => Number.NaN)
  for (let ms = 0; ms <= withinMs; ms += STEP_MS) {
    for (const [at, { client }] of clients.entries()) {
      if (client.closed && Number.isNaN(times[at])) times[at] = ms
    }
    pass(core, STEP_MS)
  }
  return times
}

function isNewcomerRefused(core: TestCore, listener?: 'admin'): boolean {
  const arrival = {
    transport: 'websocket',
    ip: '192.0.2.1',
    ...(listener && { listener }),
  } as const
  return core.admission.admit(arrival) === 'shutdown'
}

test('a server does not drain until it is asked to', () => {
  const { core, tcps } = crowd(0, 1)
  pass(core, 60_000)
  expect([core.drain.isDraining, core.drain.endsAtMs, core.drain.restMs]).toEqual([
    false,
    undefined,
    0,
  ])
  expect(tcps[0]?.client.closed).toBe(false)
})

describe('during the grace', () => {
  test('everybody stays, and newcomers are let in', () => {
    const { core, webSockets, tcps } = crowd(2, 2)
    core.drain.begin()
    pass(core, 4_980)
    expect([...webSockets, ...tcps].map(({ client }) => client.closed)).toEqual(
      Array(4).fill(false),
    )
    expect(isNewcomerRefused(core)).toBe(false)
    expect(core.shutdowns).toBe(0)
  })

  test('it is known when the server ends at the latest', () => {
    const { core } = crowd(1, 1)
    const nowMs = core.clock.wallMs()
    core.drain.begin()
    expect([core.drain.isDraining, core.drain.endsAtMs]).toEqual([true, nowMs + 35_000])
    pass(core, 1_500)
    expect(core.drain.restMs).toBe(33_500)
  })

  test('a server without clients waits, since a load balancer may send it some', () => {
    const { core } = crowd(0, 0)
    core.drain.begin()
    pass(core, 4_980)
    expect(core.shutdowns).toBe(0)
    pass(core, STEP_MS)
    expect(core.shutdowns).toBe(1)
  })
})

describe('after the grace', () => {
  test('newcomers are refused, but for administrators', () => {
    const { core } = crowd(1, 1)
    core.drain.begin()
    pass(core, 5_000)
    expect(isNewcomerRefused(core)).toBe(true)
    expect(isNewcomerRefused(core, 'admin')).toBe(false)
  })

  test('WebSockets and RESP clients are closed evenly over the time, each kind for itself', () => {
    const { core, webSockets, tcps } = crowd(10, 3)
    core.drain.begin()
    pass(core, 5_000)
    const times = closeTimes(core, [...webSockets, ...tcps], 30_000)
    const even = (count: number) => Array.from({ length: count }, (_, at) => (at * 30_000) / count)
    for (const [at, dueMs] of [...even(10), ...even(3)].entries()) {
      expect(times[at]).toBeGreaterThanOrEqual(dueMs)
      expect(times[at]).toBeLessThanOrEqual(dueMs + STEP_MS)
    }
  })

  test('a WebSocket is told 4503 and when to return, a RESP client is closed', () => {
    const { core, webSockets, tcps } = crowd(1, 1)
    core.drain.begin()
    pass(core, 5_020)
    expect(webSockets[0]?.sink.ends).toEqual([
      { code: 4503, reason: 'draining|0|the server is going away' },
    ])
    expect(tcps[0]?.sink.ends).toHaveLength(1)
    expect(tcps[0]?.client.closeCause?.name).toBe('draining')
  })

  test('who is still connected gets what is published, before the close too', () => {
    const { core, webSockets, tcps } = crowd(3, 2)
    for (const client of webSockets) client.send('SUBSCRIBE', 'a')
    core.drain.begin()
    pass(core, 5_020)
    expect(webSockets.map(({ client }) => client.closed)).toEqual([true, false, false])
    expect(tcps[1]?.send('PUBLISH', 'a', 'x')).toBe(':2\r\n')
    const message = '>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n'
    expect(webSockets.map((client) => client.read())).toEqual(['', message, message])
  })

  test('the server ends as soon as nobody is left', () => {
    const { core, webSockets } = crowd(3, 0)
    core.drain.begin()
    pass(core, 5_020)
    for (const { client } of webSockets) client.peerClosed()
    core.turn.end()
    expect(core.shutdowns).toBe(1)
  })

  test("administrators' WebSockets stay, and do not hold up the end", () => {
    const { core } = crowd(1, 0)
    const admin = core.connect({ transport: 'websocket', listener: 'admin' })
    admin.becomeDefault()
    expect(core.drain.anyClient).toBe(true)
    core.drain.begin()
    pass(core, 5_020)
    expect([admin.client.closed, core.drain.anyClient, core.shutdowns]).toEqual([false, false, 1])
  })

  test('the server ends when the time is over, whoever is left', () => {
    const { core, tcps } = crowd(0, 30, { 'drain-seconds': '3' })
    core.drain.begin()
    pass(core, 5_000)
    const last = tcps.at(-1) as TestClient
    last.send('MULTI')
    pass(core, 2_980)
    expect([core.shutdowns, last.client.closed]).toEqual([0, false])
    pass(core, STEP_MS)
    expect([core.shutdowns, last.client.closed]).toEqual([1, false])
    expect(core.drain.isDraining).toBe(true)
  })
})

describe('a client that is due', () => {
  /** A server that drains, and a client whose turn it is. */
  function due(prepare: (client: TestClient, core: TestCore) => void) {
    const { core, tcps } = crowd(0, 1, { 'drain-grace-seconds': '1' })
    const [tcp] = tcps as [TestClient]
    prepare(tcp, core)
    core.drain.begin()
    pass(core, 1_100)
    return { core, tcp }
  }

  test('gets the rest of a command in, and its reply', () => {
    const { core, tcp } = due((client) => client.write('PI'))
    expect(tcp.client.closed).toBe(false)
    tcp.write('NG\r\n')
    expect(tcp.read()).toBe('+PONG\r\n')
    expect(tcp.client.closed).toBe(false)
    pass(core, 2 * STEP_MS)
    expect(tcp.sink.ends).toHaveLength(1)
  })

  test('ends its transaction', () => {
    const { core, tcp } = due((client) => client.send('MULTI'))
    expect(tcp.client.closed).toBe(false)
    expect(tcp.send('EXEC')).toBe('*0\r\n')
    pass(core, 2 * STEP_MS)
    expect(tcp.client.closed).toBe(true)
  })

  test('is answered what waits for a pause to end', async () => {
    const { core, tcp } = due((client, server) => {
      server.connect().send('CLIENT', 'PAUSE', '1500', 'ALL')
      client.write(command('PING', 'x'))
      client.write(command('PING', 'y'))
    })
    expect([tcp.client.closed, tcp.client.isWaiting]).toEqual([false, true])
    pass(core, 400)
    await tcp.settled()
    expect(tcp.read()).toBe('$1\r\nx\r\n$1\r\ny\r\n')
    pass(core, 2 * STEP_MS)
    expect(tcp.client.closed).toBe(true)
  })

  test('is waited for while the upstream has not answered its messages', () => {
    const { server, upstream } = coreWithUpstream({ 'drain-grace-seconds': '0' })
    const publisher = server.connect()
    publisher.write(command('PUBLISH', 'a', 'x'))
    server.drain.begin()
    pass(server, 500)
    expect(publisher.client.closed).toBe(false)
    upstream.answer(3)
    expect(publisher.read()).toBe(':3\r\n')
    pass(server, STEP_MS)
    expect(publisher.client.closed).toBe(true)
  })

  test('is closed after two seconds though it is never quiet', () => {
    const { core, tcp } = due((client) => client.send('MULTI'))
    pass(core, 1_800)
    expect(tcp.client.closed).toBe(false)
    pass(core, 200)
    expect(tcp.client.closed).toBe(true)
  })
})

describe('a drain', () => {
  test('that has begun does not begin again', () => {
    const { core } = crowd(0, 1)
    core.drain.begin()
    pass(core, 4_000)
    const { endsAtMs } = core.drain
    core.drain.begin()
    expect(core.drain.endsAtMs).toBe(endsAtMs)
    pass(core, 1_020)
    expect(core.shutdowns).toBe(1)
  })

  test('without a grace or a time to spread closes ends the server at once', () => {
    const { core, tcps } = crowd(0, 1, { 'drain-grace-seconds': '0', 'drain-seconds': '0' })
    core.drain.begin()
    core.turn.end()
    expect([core.shutdowns, tcps[0]?.client.closed]).toEqual([1, false])
    expect(isNewcomerRefused(core)).toBe(true)
  })

  test.each([1_000, 6_000])('that is stopped after %d ms closes nobody any more', (ms) => {
    const { core, tcps } = crowd(0, 10)
    core.drain.begin()
    pass(core, ms)
    core.drain.stop()
    const closed = tcps.map(({ client }) => client.closed)
    pass(core, 60_000)
    expect(tcps.map(({ client }) => client.closed)).toEqual(closed)
    expect(core.shutdowns).toBe(0)
  })

  test('is in the log, with its numbers', () => {
    const { log, lines } = recordedLog()
    const core = new TestCore({}, log)
    core.connect()
    core.drain.begin()
    pass(core, 5_020)
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'draining', clients: 1, graceSeconds: 5, seconds: 30 }),
    )
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'closing clients, and taking no others', clients: 1 }),
    )
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'drained', clients: 0 }))
  })
})
