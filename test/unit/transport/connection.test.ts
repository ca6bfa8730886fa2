import { describe, expect, test } from 'vitest'
import { CLOSES } from '../../../server/client/close.ts'
import { Connection } from '../../../server/transport/connection.ts'
import { command, TestCore, type ConnectOptions } from '../../support/test-core.ts'
import type { Directives } from '../../support/settings.ts'

/** A second connection of a client of its own, driven by the test itself. */
function open(options: ConnectOptions = {}, directives: Directives = {}, login?: Promise<void>) {
  const core = new TestCore(directives)
  const { client, sink } = core.connect(options)
  const limits = client.isWebSocket ? core.limits.webSocketRequests : core.limits.tcpRequests
  const connection = new Connection(client, limits, core, login)
  const read = (): string => {
    core.turn.end()
    return sink.framed ? sink.takeMessages().join('') : sink.take()
  }
  return { core, client, sink, connection, read }
}

const PING = command('PING')

describe('A connection', () => {
  test('takes requests that are cut anywhere, whether the bytes are lent or not', () => {
    for (const isLent of [true, false]) {
      const { connection, read } = open()
      const bytes = Buffer.concat([PING, command('ECHO', 'hello'), Buffer.from('PING\r\n')])
      for (let at = 0; at < bytes.length; at += 3) {
        const piece = Buffer.from(bytes.subarray(at, at + 3))
        if (isLent) connection.receiveLent(piece)
        else connection.receive(piece)
        if (isLent) piece.fill(0xee)
      }
      expect(read()).toBe('+PONG\r\n$5\r\nhello\r\n+PONG\r\n')
    }
  })

  test('answers lent bytes at once, and others at the end of the turn', () => {
    const { connection, sink, core } = open()
    connection.receiveLent(Buffer.concat([PING, PING]))
    expect(sink.writes.map(String)).toEqual(['+PONG\r\n+PONG\r\n'])
    connection.receive(PING)
    expect(sink.writes).toHaveLength(1)
    core.turn.end()
    expect(sink.writes).toHaveLength(2)
  })

  test('counts what it receives', () => {
    const { connection, client, core } = open()
    core.clock.advance(700)
    connection.receive(Buffer.concat([PING, Buffer.from('*1\r\n$4')]))
    expect([client.bytesIn, core.counters.bytesIn, core.counters.reads]).toEqual([20, 20, 1])
    expect([client.queryBytes, client.lastInteractionMs]).toEqual([2, 700])
  })

  test.each([
    { payload: 1_048_574, isTaken: true },
    { payload: 1_048_575, isTaken: false },
    { payload: 1_090_000, isTaken: false },
  ])(
    'takes an argument that fills the query buffer with its line end, and none above: $payload bytes',
    ({ payload, isTaken }) => {
      const bytes = command('PUBLISH', 'a', 'x'.repeat(payload))
      for (const pieceBytes of [65_536, 9_999, bytes.length - 2, bytes.length - 1]) {
        const { connection, client, core } = open({}, { 'client-query-buffer-limit': '1mb' })
        for (let at = 0; at < bytes.length; at += pieceBytes)
          connection.receiveLent(bytes.subarray(at, at + pieceBytes))
        expect([pieceBytes, client.closeCause?.name, client.commands]).toEqual(
          isTaken ? [pieceBytes, undefined, 1] : [pieceBytes, 'query-buffer', 0],
        )
        expect(core.counters.queryBufferDisconnections).toBe(isTaken ? 0 : 1)
      }
    },
  )

  test('limits the arguments of a command that is not whole apart from the query buffer', () => {
    const { connection, client } = open({}, { 'client-query-buffer-limit': '1mb' })
    const half = Buffer.concat([
      Buffer.from('$600000\r\n'),
      Buffer.alloc(600_000),
      Buffer.from('\r\n'),
    ])
    connection.receiveLent(Buffer.from('*4\r\n$4\r\nECHO\r\n'))
    connection.receiveLent(half)
    expect([client.closed, client.queryBytes]).toEqual([false, 600_004])
    connection.receiveLent(half)
    expect(client.closeCause?.name).toBe('query-buffer')
  })

  test('answers a protocol error, and executes nothing after it', () => {
    const { connection, client, read, sink } = open()
    connection.receive(Buffer.concat([PING, Buffer.from('*1\r\n+x\r\n'), PING]))
    expect(read()).toBe("+PONG\r\n-ERR Protocol error: expected '$', got '+'\r\n")
    expect([client.closeCause?.name, sink.ends.length, client.commands]).toEqual([
      'protocol-error',
      1,
      1,
    ])
  })

  test('hangs up on HTTP without a byte', () => {
    const { connection, client, read, sink } = open()
    connection.receive(Buffer.from('POST / HTTP/1.1\r\n'))
    expect([client.closeCause, read(), sink.terminated]).toEqual([CLOSES.crossProtocol, '', true])
  })

  test('ends alone when a command throws', () => {
    const { connection, client, core, sink } = open()
    core.dispatcher.execute = () => {
      throw new Error('broken')
    }
    connection.receive(PING)
    expect([client.closeCause, sink.terminated]).toEqual([CLOSES.serverError, true])
  })
})

describe('A peer that sends nothing more', () => {
  test('is closed once what it sent is answered', () => {
    const { connection, client, read } = open()
    connection.receive(PING)
    connection.peerEnded()
    expect([client.closeCause, read()]).toEqual([CLOSES.peerEnded, '+PONG\r\n'])
  })

  test('is still answered if it ended while its connection was held', async () => {
    let release = (): void => {}
    const login = new Promise<void>((resolve) => (release = resolve))
    const { connection, client, read } = open({}, {}, login)
    connection.receive(PING)
    connection.peerEnded()
    expect([client.closed, read()]).toEqual([false, ''])
    release()
    await login
    expect([client.closeCause, read()]).toEqual([CLOSES.peerEnded, '+PONG\r\n'])
  })
})

describe('A held connection', () => {
  test('reads and executes nothing until it is released', async () => {
    let release = (): void => {}
    const login = new Promise<void>((resolve) => (release = resolve))
    const { client, connection, sink, read } = open({}, {}, login)
    expect([sink.paused, client.isWaiting]).toEqual([true, true])
    connection.receiveLent(PING)
    connection.receive(PING)
    expect([read(), client.queryBytes]).toEqual(['', 2 * PING.length])
    release()
    await login
    expect([sink.paused, client.isWaiting, client.queryBytes]).toEqual([false, false, 0])
    expect(read()).toBe('+PONG\r\n+PONG\r\n')
  })

  test('ends where what it waits for fails', async () => {
    const login = Promise.reject(new Error('broken'))
    const { client } = open({}, {}, login)
    await login.catch(() => {})
    expect(client.closeCause).toBe(CLOSES.serverError)
  })
})

describe('The rates of a WebSocket', () => {
  function throttled(directives: Directives) {
    const opened = open({ transport: 'websocket' }, directives)
    const { core, client } = opened
    core.clients.setIdentity(client, { user: core.users.default, ceilings: [], token: undefined })
    client.authenticate()
    return opened
  }

  test('hold back what is above ws-command-rate, and lose nothing', () => {
    const { connection, core, client, sink, read } = throttled({ 'ws-command-rate': '2' })
    connection.receive(Buffer.concat(Array<Buffer>(7).fill(PING)))
    expect([client.commands, sink.paused]).toEqual([5, true])
    core.clock.advance(500)
    expect(client.commands).toBe(6)
    core.clock.advance(500)
    expect(client.commands).toBe(7)
    core.clock.advance(500)
    expect(sink.paused).toBe(false)
    expect(read()).toBe('+PONG\r\n'.repeat(7))
  })

  test('count messages only for ws-publish-rate', () => {
    const { connection, client } = throttled({ 'ws-publish-rate': '1' })
    connection.receive(Buffer.concat(Array<Buffer>(50).fill(PING)))
    expect(client.commands).toBe(50)
    connection.receive(Buffer.concat(Array<Buffer>(5).fill(command('PUBLISH', 'a', 'b'))))
    expect(client.commands).toBe(53)
  })

  test('count each name for ws-subscription-rate', () => {
    const { connection, client, sink } = throttled({ 'ws-subscription-rate': '2' })
    connection.receive(Buffer.concat([command('SUBSCRIBE', 'a', 'b', 'c', 'd'), PING]))
    expect([client.commands, sink.paused]).toEqual([2, false])
    connection.receive(Buffer.concat([command('PSUBSCRIBE', 'e'), PING]))
    expect([client.commands, sink.paused]).toEqual([3, true])
  })

  test('count bytes for ws-input-rate, though no command is whole', () => {
    const { connection, core, client, sink } = throttled({ 'ws-input-rate': '100' })
    connection.receive(Buffer.from('*2\r\n$4\r\nECHO\r\n$1000\r\n'))
    connection.receive(Buffer.alloc(177, 'x'))
    expect(sink.paused).toBe(false)
    connection.receive(Buffer.alloc(100, 'x'))
    expect(sink.paused).toBe(true)
    core.clock.advance(1_000)
    expect([sink.paused, client.closed]).toEqual([false, false])
  })

  test('end a client that sends bytes too fast for more than ten seconds', () => {
    const { connection, core, client } = throttled({ 'ws-input-rate': '10' })
    for (let second = 0; second < 20; second++) {
      connection.receive(Buffer.concat([PING, PING]))
      core.clock.advance(1_000)
    }
    expect(client.closeCause?.close?.reason).toContain('too many bytes')
  })

  test('end a client that is above them for more than ten seconds', () => {
    const { connection, core, client } = throttled({ 'ws-command-rate': '1' })
    connection.receive(Buffer.concat(Array<Buffer>(100).fill(PING)))
    for (let second = 0; second < 10; second++) core.clock.advance(1_000)
    expect(client.closed).toBe(false)
    core.clock.advance(1_000)
    expect(client.closeCause?.name).toBe('rate-limited')
  })
})

describe('A WebSocket that has not logged in', () => {
  test('may send eight commands', () => {
    const { connection, client } = open({ transport: 'websocket' })
    for (let i = 0; i < 8; i++) connection.receive(PING)
    expect(client.closed).toBe(false)
    connection.receive(PING)
    expect(client.closeCause).toBe(CLOSES.notLoggedIn)
  })

  test('may send 16 KiB, though no command is whole', () => {
    const { connection, client } = open({ transport: 'websocket' })
    connection.receive(Buffer.from(`*2\r\n$4\r\nECHO\r\n$16384\r\n${'x'.repeat(16_362)}`))
    expect([client.bytesIn, client.closed]).toEqual([16_384, false])
    connection.receive(Buffer.from('x'))
    expect(client.closeCause).toBe(CLOSES.notLoggedIn)
  })
})

describe('Bytes that wait to be executed', () => {
  test('close a TCP client above client-query-buffer-limit, without a reply', () => {
    const { connection, client, core, read } = open({}, { 'client-query-buffer-limit': '1mb' })
    connection.receive(Buffer.from('*2\r\n$4\r\nECHO\r\n$2000000\r\n'))
    connection.receive(Buffer.alloc(1_048_576, 'x'))
    expect(client.closed).toBe(false)
    connection.receive(Buffer.from('x'))
    expect([client.closeCause, core.counters.queryBufferDisconnections, read()]).toEqual([
      CLOSES.queryBuffer,
      1,
      '',
    ])
  })
})

describe('A command on a WebSocket that stays unfinished', () => {
  const UNFINISHED = 'unfinished command: its last line needs an end (CR LF)'

  const webSocket = (login?: Promise<void>) =>
    open({ transport: 'websocket' }, { 'auth-timeout': '3600' }, login)

  test.each([
    ['an array', '*2\r\n$4\r\nECHO\r\n'],
    ['a header', '*'],
    ['an inline command in a binary message', 'PING'],
  ])('is a protocol error ten seconds after its last bytes: %s', (_name, bytes) => {
    const { connection, core, read, sink } = webSocket()
    connection.receive(Buffer.from(bytes))
    core.clock.advance(9_999)
    connection.receive(Buffer.from(bytes.startsWith('*2') ? '$1\r\n' : '1'))
    core.clock.advance(9_999)
    expect([read(), sink.ends]).toEqual(['', []])
    core.clock.advance(1)
    expect(read()).toBe(`-ERR Protocol error: ${UNFINISHED}\r\n`)
    expect(sink.ends).toEqual([{ code: 4400, reason: `protocol-error||${UNFINISHED}` }])
  })

  test('may be finished in time', () => {
    const { connection, core, client } = webSocket()
    connection.receive(Buffer.from('*1\r\n$4\r\nPI'))
    core.clock.advance(9_999)
    connection.receive(Buffer.from('NG\r\n'))
    core.clock.advance(60_000)
    expect([client.closed, client.commands]).toEqual([false, 1])
  })

  test('has its time from when the connection is no longer held', async () => {
    let loggedIn = (): void => {}
    const login = new Promise<void>((resolve) => (loggedIn = resolve))
    const { connection, core, client } = webSocket(login)
    connection.receive(Buffer.from('*1\r\n$4\r\nPI'))
    core.clock.advance(60_000)
    expect(client.closed).toBe(false)
    loggedIn()
    await login
    await Promise.resolve()
    core.clock.advance(9_999)
    expect(client.closed).toBe(false)
    core.clock.advance(1)
    expect(client.closeCause?.name).toBe('protocol-error')
  })

  test('leaves no timer behind when the peer goes', () => {
    const { connection, core } = webSocket()
    const before = core.clock.pendingTimers
    connection.receive(Buffer.from('*1'))
    expect(core.clock.pendingTimers).toBe(before + 1)
    connection.peerClosed()
    expect(core.clock.pendingTimers).toBeLessThanOrEqual(before)
  })

  test('may wait for ever over TCP, as with Redis', () => {
    const { connection, core, client } = open()
    connection.receive(Buffer.from('*1\r\n$4\r\nPI'))
    core.clock.advance(600_000)
    expect(client.closed).toBe(false)
  })
})
