import { describe, expect, test } from 'vitest'
import { CLOSES, closeWith } from '../../../server/client/close.ts'
import { encodePush } from '../../../server/resp/push.ts'
import { command, TestCore } from '../../support/test-core.ts'

const MESSAGE = '>3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$1\r\na\r\n'
const SUBSCRIBED = '>3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n'

/** A RESP3 subscriber of `foo` that has read its confirmation, and a publisher. */
function subscriber(transport: 'tcp' | 'websocket' = 'tcp') {
  const server = new TestCore()
  const listener = server.connect({ transport, protocol: 3 })
  server.registry.subscribe('channel', listener.client, 'foo', 'default')
  const publisher = server.connect()
  const publish = (payload: string): void => publisher.write(command('PUBLISH', 'foo', payload))
  return { server, listener, client: listener.client, sink: listener.sink, publisher, publish }
}

describe('A client', () => {
  test('is written once a turn, whatever came in', () => {
    const { server, sink, publish } = subscriber()
    publish('a')
    publish('a')
    expect(sink.writes).toEqual([])
    server.turn.end()
    expect(sink.writes.map(String)).toEqual([MESSAGE + MESSAGE])
  })

  test('gets a push of its own as a frame among the others', () => {
    const { client, listener, publish } = subscriber()
    publish('a')
    client.output.push(encodePush(3, ['token', 'expiring', 5]))
    publish('a')
    expect(listener.read()).toBe(
      `${MESSAGE}>3\r\n$5\r\ntoken\r\n$8\r\nexpiring\r\n:5\r\n${MESSAGE}`,
    )
  })

  test('gets what its own command publishes after the reply', () => {
    const { listener } = subscriber()
    expect(listener.send('PUBLISH', 'foo', 'a')).toBe(`:1\r\n${MESSAGE}`)
  })

  test('gets the messages of others before its reply', () => {
    const { listener, publish } = subscriber()
    publish('a')
    expect(listener.send('PUBLISH', 'foo', 'a')).toBe(`${MESSAGE}:1\r\n${MESSAGE}`)
  })

  test('gets what EXEC publishes after the whole reply', () => {
    const { listener } = subscriber()
    listener.write(
      Buffer.concat([command('MULTI'), command('PUBLISH', 'foo', 'a'), command('PING')]),
    )
    listener.write(command('EXEC'))
    expect(listener.read()).toBe(`+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n+PONG\r\n${MESSAGE}`)
  })

  test('counts bytes and dates what is written', () => {
    const { server, client, publish } = subscriber()
    server.clock.advance(1_500)
    publish('a')
    server.turn.end()
    expect([client.output.bytes, client.lastInteractionMs]).toEqual([MESSAGE.length, 1_500])
  })
})

describe('A client whose socket is full', () => {
  test('is not written to until the socket was drained', () => {
    const { server, client, sink, publish } = subscriber()
    sink.blocks = true
    publish('a')
    server.turn.end()
    publish('a')
    publish('a')
    server.turn.end()
    expect(sink.writes).toHaveLength(1)
    expect(client.output.isBlocked).toBe(true)
    expect(client.output.heldBytes).toBe(3 * MESSAGE.length)
    expect(client.output.itemCount).toBe(1)
    sink.drain()
    client.output.onWritable()
    expect(client.output.isBlocked).toBe(false)
    server.turn.end()
    expect(sink.writes.map(String)).toEqual([MESSAGE, MESSAGE + MESSAGE])
  })

  test('has one write of at most 256 KiB of whole frames on its way', () => {
    const { server, client, sink, publish } = subscriber()
    sink.blocks = true
    const frameBytes = 100_000 + MESSAGE.length + 5 - 1
    for (let i = 0; i < 5; i++) publish('x'.repeat(100_000))
    server.turn.end()
    expect(sink.writes.map(({ length }) => length)).toEqual([2 * frameBytes])
    expect(client.output.heldBytes).toBe(5 * frameBytes)
  })

  test('has a single larger message on its way as one write', () => {
    const { server, sink, publish } = subscriber()
    sink.blocks = true
    publish('a')
    publish('x'.repeat(300_000))
    publish('a')
    server.turn.end()
    expect(sink.writes.map(String)).toEqual([MESSAGE])
    sink.drain()
    server.clients.all().next().value?.output.onWritable()
    server.turn.end()
    expect(sink.writes.map(({ length }) => length)).toEqual([
      MESSAGE.length,
      300_000 + MESSAGE.length + 5 - 1,
    ])
  })
})

describe('A client that is killed', () => {
  test('over TCP is sent nothing more', () => {
    const { server, client, sink, publish } = subscriber()
    publish('a')
    client.close(CLOSES.killed)
    expect(sink.terminated).toBe(true)
    server.turn.end()
    publish('a')
    server.turn.end()
    expect(sink.writes).toEqual([])
    expect([client.closed, client.closeCause?.name, client.output.heldBytes]).toEqual([
      true,
      'killed',
      0,
    ])
  })

  test('over WebSocket is sent the last push and the close, whatever else is dropped', () => {
    const { server, client, listener, sink, publish } = subscriber('websocket')
    publish('a')
    const cause = CLOSES.permissionsChanged
    client.close(cause, encodePush(3, ['token', 'revoked', 'foo', 'why']))
    expect(listener.read()).toBe('>4\r\n$5\r\ntoken\r\n$7\r\nrevoked\r\n$3\r\nfoo\r\n$3\r\nwhy\r\n')
    expect(sink.ends).toEqual([{ code: 4403, reason: 'permissions-changed||permissions changed' }])
    expect(sink.terminated).toBe(false)
    publish('a')
    server.turn.end()
    expect(sink.takeMessages()).toEqual([])
  })

  test('while its socket is full keeps what is in flight whole and loses the rest', () => {
    const { server, client, sink, publish } = subscriber('websocket')
    sink.blocks = true
    publish('a')
    server.turn.end()
    publish('a')
    client.close(
      closeWith(CLOSES.sessionRevoked, { text: 'token revoked' }),
      encodePush(3, ['token', 'revoked']),
    )
    server.turn.end()
    expect(sink.ends).toEqual([])
    sink.drain()
    client.output.onWritable()
    server.turn.end()
    expect(sink.takeMessages()).toEqual([MESSAGE, '>2\r\n$5\r\ntoken\r\n$7\r\nrevoked\r\n'])
    expect(sink.ends).toEqual([{ code: 4403, reason: 'revoked||token revoked' }])
  })

  test('by its own command still gets that reply and those before it', () => {
    const { server, listener, client, sink } = subscriber()
    listener.write(command('PING'))
    listener.write(command('CLIENT', 'KILL', 'ID', String(client.id), 'SKIPME', 'no'))
    listener.write(command('PING'))
    expect(sink.terminated).toBe(false)
    server.turn.end()
    expect(sink.take()).toBe('+PONG\r\n:1\r\n')
    expect(sink.ends).toEqual([undefined])
  })

  test('in the middle of a pipeline executes none of the commands that follow', () => {
    const { server, listener, client } = subscriber()
    const kill = command('CLIENT', 'KILL', 'ID', String(client.id), 'SKIPME', 'no')
    const rest = Array.from({ length: 1_000 }, () => command('PUBLISH', 'foo', 'x'))
    listener.write(Buffer.concat([kill, ...rest]))
    expect([client.commands, server.counters.messagesPublished]).toEqual([1, 0])
    expect(listener.read()).toBe(':1\r\n')
  })

  test('is closed once: the first cause holds', () => {
    const { client } = subscriber()
    client.close(CLOSES.quit)
    client.close(CLOSES.killed)
    expect(client.closeCause).toBe(CLOSES.quit)
  })
})

describe('A client that is closed in good order', () => {
  test('is sent what is queued, then the end', () => {
    const { server, client, sink, publish } = subscriber()
    const other = server.connect({ protocol: 3 })
    server.registry.subscribe('channel', other.client, 'foo', 'default')
    sink.blocks = true
    publish('a')
    server.turn.end()
    publish('a')
    client.close(CLOSES.quit)
    publish('b')
    server.turn.end()
    expect(sink.ends).toEqual([])
    sink.drain()
    sink.blocks = false
    client.output.onWritable()
    server.turn.end()
    expect(sink.take()).toBe(MESSAGE + MESSAGE)
    expect(sink.ends).toEqual([undefined])
  })

  test('executes nothing behind QUIT', () => {
    const { listener, client } = subscriber()
    listener.write(Buffer.concat([command('QUIT'), command('SUBSCRIBE', 'x'), command('PING')]))
    expect(listener.read()).toBe('+OK\r\n')
    expect(client.subscriptions.any).toBe(false)
    expect(client.commands).toBe(1)
  })

  test('is terminated if it does not go within two seconds', () => {
    const { server, client, sink } = subscriber()
    client.close(CLOSES.quit)
    server.clock.advance(1_999)
    expect(sink.terminated).toBe(false)
    server.clock.advance(1)
    expect(sink.terminated).toBe(true)
  })
})

describe('A client whose peer is gone', () => {
  test('is terminated at once and left out from then on', () => {
    const { server, client, sink, publish, publisher } = subscriber()
    publish('a')
    client.close(CLOSES.peerClosed)
    expect(sink.terminated).toBe(true)
    expect(publisher.send('PUBLISH', 'foo', 'a')).toBe(':1\r\n:0\r\n')
    expect(server.registry.channelCount('channel')).toBe(0)
    expect(sink.writes).toEqual([])
  })

  test('takes no push any more', () => {
    const { client } = subscriber()
    client.close(CLOSES.peerClosed)
    client.output.push(encodePush(3, ['x']))
    expect(client.output.heldBytes).toBe(0)
  })
})

describe('A subscriber', () => {
  test('that subscribes gets its confirmation before any message of the channel', () => {
    const { server, publisher } = subscriber()
    const late = server.connect({ protocol: 3 })
    publisher.write(command('PUBLISH', 'foo', 'a'))
    late.write(command('SUBSCRIBE', 'foo'))
    publisher.write(command('PUBLISH', 'foo', 'a'))
    expect(late.read()).toBe(SUBSCRIBED + MESSAGE)
  })
})

describe('Reading', () => {
  test('is paused and resumed at the socket', () => {
    const { client, sink } = subscriber()
    client.output.sink.pause()
    expect(sink.paused).toBe(true)
    client.output.sink.resume()
    expect(sink.paused).toBe(false)
  })
})
