import { Socket } from 'node:net'
import { EventEmitter } from 'node:events'
import { describe, expect, test } from 'vitest'
import { CLOSES } from '../../../server/client/close.ts'
import { Connection } from '../../../server/transport/connection.ts'
import { KeepAlive } from '../../../server/transport/keep-alive.ts'
import {
  serveWebSocket,
  CompressingSink,
  type ServedWebSocket,
} from '../../../server/transport/websocket.ts'
import { command, TestCore } from '../../support/test-core.ts'

/** A WebSocket of ws as far as it is used: it notes what it is told, and takes messages when the test says so. */
class FakeWebSocket extends EventEmitter {
  readonly OPEN = 1
  readyState = 1
  bufferedAmount = 0
  readonly calls: string[] = []
  /** Tells that the oldest message was taken. */
  readonly taken: (() => void)[] = []

  send(data: Buffer, options: { binary: boolean }, callback: () => void): void {
    this.calls.push(`send ${options.binary ? 'binary' : 'text'} ${data.toString('latin1')}`)
    this.bufferedAmount += data.length
    this.taken.push(() => {
      this.bufferedAmount -= data.length
      callback()
    })
  }

  close(code: number, reason: string): void {
    this.calls.push(`close ${code} ${reason}`)
    this.readyState = 2
  }

  ping(): void {
    this.calls.push('ping')
  }

  terminate(): void {
    this.calls.push('terminate')
  }

  pause(): void {
    this.calls.push('pause')
  }

  resume(): void {
    this.calls.push('resume')
  }

  /** As the type that ws has for it. */
  get served(): ServedWebSocket {
    return this as unknown as ServedWebSocket
  }
}

describe('A sink on a WebSocket with compression', () => {
  test('gives each write to ws as one binary message, and is writable once ws has taken it', () => {
    const webSocket = new FakeWebSocket()
    const sink = new CompressingSink(webSocket.served, new Socket())
    let writable = 0
    sink.writer = { onWritable: () => writable++ }
    expect(sink.framed).toBe(false)
    expect(sink.write([Buffer.from('a'), Buffer.from('b')])).toBe(false)
    expect([webSocket.calls, sink.pendingBytes, writable]).toEqual([['send binary ab'], 2, 0])
    webSocket.taken.shift()?.()
    expect([sink.pendingBytes, writable]).toEqual([0, 1])
  })

  test('writes nothing after the close frame', () => {
    const webSocket = new FakeWebSocket()
    const sink = new CompressingSink(webSocket.served, new Socket())
    sink.end({ code: 4403, reason: 'why' })
    expect(sink.write([Buffer.from('late')])).toBe(true)
    expect(webSocket.calls).toEqual(['close 4403 why'])
  })

  test('closes with 1000 where there is nothing to tell, and hands the rest on', () => {
    const webSocket = new FakeWebSocket()
    const sink = new CompressingSink(webSocket.served, new Socket())
    sink.pause()
    sink.resume()
    sink.end(undefined)
    sink.terminate()
    expect(webSocket.calls).toEqual(['pause', 'resume', 'close 1000 ', 'terminate'])
  })
})

/** A WebSocket that is served: its client is nobody, until it logs in. */
function serve() {
  const core = new TestCore({ 'ws-ping-interval': '10', 'ws-pong-timeout': '5' })
  const { client, sink } = core.connect({ transport: 'websocket' })
  const connection = new Connection(client, core.limits.webSocketRequests, core, undefined)
  const webSocket = new FakeWebSocket()
  const keepAlive = new KeepAlive(core.clock, core.config, () => 0.5)
  serveWebSocket(webSocket.served, connection, {
    keepAlive,
    nowMs: () => core.clock.monotonicMs(),
  })
  const wait = (seconds: number): void => {
    for (let second = 0; second < seconds; second++) core.clock.advance(1_000)
  }
  return { core, client, sink, webSocket, wait }
}

describe('A WebSocket that is served', () => {
  test('hands its messages to the connection', () => {
    const { core, sink, webSocket, client } = serve()
    webSocket.emit('message', command('PING'), true)
    core.turn.end()
    expect(sink.takeMessages()).toEqual(['-NOAUTH Authentication required.\r\n'])
    expect(client.commands).toBe(1)
  })

  test('takes a text message for a whole line, and a binary one for bytes', () => {
    const { core, sink, webSocket } = serve()
    webSocket.emit('message', Buffer.from('PING'), false)
    core.turn.end()
    expect(sink.takeMessages()).toEqual(['-NOAUTH Authentication required.\r\n'])
    webSocket.emit('message', Buffer.from('PING'), true)
    core.turn.end()
    expect(sink.takeMessages()).toEqual([])
  })

  test.each([
    ['a pong', (webSocket: FakeWebSocket) => webSocket.emit('pong')],
    ['a message', (webSocket: FakeWebSocket) => webSocket.emit('message', command('PING'), true)],
  ])('is alive after %s', (_name, answer) => {
    const { webSocket, wait, client } = serve()
    wait(10)
    expect(webSocket.calls).toEqual(['ping'])
    answer(webSocket)
    wait(6)
    expect(client.closeCause).not.toBe(CLOSES.noPong)
  })

  test('is ended if it does not answer a ping', () => {
    const { webSocket, wait, client, sink } = serve()
    // It has to log in by then, or be closed for that.
    client.authenticate()
    wait(15)
    expect([webSocket.calls, client.closeCause, sink.terminated]).toEqual([
      ['ping'],
      CLOSES.noPong,
      true,
    ])
  })

  test.each(['ping', 'pong'])('may send 30 %ss at once and ten a second', (kind) => {
    const { core, webSocket, client } = serve()
    for (let i = 0; i < 30; i++) webSocket.emit(kind)
    core.clock.advance(500)
    for (let i = 0; i < 5; i++) webSocket.emit(kind)
    expect(client.closed).toBe(false)
    webSocket.emit(kind)
    expect(client.closeCause).toBe(CLOSES.pingFlood)
  })

  test.each([
    ['WS_ERR_UNSUPPORTED_MESSAGE_LENGTH', CLOSES.messageTooLarge],
    ['WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH', CLOSES.messageTooLarge],
    ['WS_ERR_INVALID_UTF8', CLOSES.badFrame],
    ['WS_ERR_TOO_MANY_BUFFERED_PARTS', CLOSES.badFrame],
    ['ECONNRESET', undefined],
  ])('is closed in the turn of the error %s, if it is about a frame', (code, cause) => {
    const { webSocket, client } = serve()
    webSocket.emit('error', Object.assign(new Error('x'), { code }))
    expect(client.closeCause).toBe(cause)
  })

  test('is gone once it is closed, and pinged no more', () => {
    const { core, webSocket, wait, client } = serve()
    webSocket.emit('close')
    expect([client.closeCause, core.clients.size]).toEqual([CLOSES.peerClosed, 0])
    wait(100)
    expect(webSocket.calls).toEqual([])
  })
})
